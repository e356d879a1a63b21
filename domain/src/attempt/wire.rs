//! The parts of an answer that carry meaning on the wire: gRPC statuses, HTTP/2 stream ends, headers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::operation::named;

named! {
    /// A gRPC status, in the order of its numbers.
    GrpcStatus {
        /// 0: it worked.
        Ok = "OK",
        /// 1: cancelled, by either side.
        Cancelled = "CANCELLED",
        /// 2: anything, also a status that could not be read.
        Unknown = "UNKNOWN",
        /// 3: bad arguments. Only applications say so.
        InvalidArgument = "INVALID_ARGUMENT",
        /// 4: no answer in time; it may have worked.
        DeadlineExceeded = "DEADLINE_EXCEEDED",
        /// 5: the object is not there. Only applications say so.
        NotFound = "NOT_FOUND",
        /// 6: the object is there already. Only applications say so.
        AlreadyExists = "ALREADY_EXISTS",
        /// 7: not allowed.
        PermissionDenied = "PERMISSION_DENIED",
        /// 8: a limiter, or a library that found the *answer* too large.
        ResourceExhausted = "RESOURCE_EXHAUSTED",
        /// 9: the system is not in the state that it needs. Only applications say so.
        FailedPrecondition = "FAILED_PRECONDITION",
        /// 10: a concurrent change won. Only applications say so.
        Aborted = "ABORTED",
        /// 11: past the valid range. Only applications say so.
        OutOfRange = "OUT_OF_RANGE",
        /// 12: no such method, or a library that could not take the *answer*.
        Unimplemented = "UNIMPLEMENTED",
        /// 13: a broken invariant, also an answer that could not be read.
        Internal = "INTERNAL",
        /// 14: the connection broke or the server is going down.
        Unavailable = "UNAVAILABLE",
        /// 15: data was lost. Only applications say so.
        DataLoss = "DATA_LOSS",
        /// 16: no valid credentials.
        Unauthenticated = "UNAUTHENTICATED",
    }
}

impl GrpcStatus {
    /// Whether no library makes it by itself, on either side (gRPC's own list; `OK` besides).
    pub const fn is_said_by_applications_only(self) -> bool {
        match self {
            Self::Ok
            | Self::InvalidArgument
            | Self::NotFound
            | Self::AlreadyExists
            | Self::FailedPrecondition
            | Self::Aborted
            | Self::OutOfRange
            | Self::DataLoss => true,
            Self::Cancelled
            | Self::Unknown
            | Self::DeadlineExceeded
            | Self::PermissionDenied
            | Self::ResourceExhausted
            | Self::Unimplemented
            | Self::Internal
            | Self::Unavailable
            | Self::Unauthenticated => false,
        }
    }

    /// The status with this number.
    pub fn from_number(number: i64) -> Option<Self> {
        usize::try_from(number).ok().and_then(|index| Self::ALL.get(index).copied())
    }
}

named! {
    /// Why an HTTP/2 stream or connection was ended (RFC 9113 §7), in the order of the numbers.
    H2Code {
        /// 0x0: a graceful end.
        NoError = "NO_ERROR",
        /// 0x1: the other side broke the protocol.
        ProtocolError = "PROTOCOL_ERROR",
        /// 0x2: something failed inside.
        InternalError = "INTERNAL_ERROR",
        /// 0x3: flow control was broken.
        FlowControlError = "FLOW_CONTROL_ERROR",
        /// 0x4: settings were not confirmed.
        SettingsTimeout = "SETTINGS_TIMEOUT",
        /// 0x5: the stream was closed already.
        StreamClosed = "STREAM_CLOSED",
        /// 0x6: a frame of the wrong size.
        FrameSizeError = "FRAME_SIZE_ERROR",
        /// 0x7: refused before any processing.
        RefusedStream = "REFUSED_STREAM",
        /// 0x8: no longer wanted.
        Cancel = "CANCEL",
        /// 0x9: header compression broke.
        CompressionError = "COMPRESSION_ERROR",
        /// 0xa: the connection behind a CONNECT broke.
        ConnectError = "CONNECT_ERROR",
        /// 0xb: too much, too fast.
        EnhanceYourCalm = "ENHANCE_YOUR_CALM",
        /// 0xc: the transport is not secure enough.
        InadequateSecurity = "INADEQUATE_SECURITY",
        /// 0xd: use HTTP/1.1.
        Http11Required = "HTTP_1_1_REQUIRED",
    }
}

impl H2Code {
    /// The code with this number; one that nobody registered counts as an internal error (RFC 9113 §7).
    pub fn from_number(number: u32) -> Self {
        usize::try_from(number).ok().and_then(|index| Self::ALL.get(index).copied()).unwrap_or(Self::InternalError)
    }
}

/// How an HTTP/2 stream ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct H2 {
    /// The code of the `RST_STREAM`, if one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<H2Code>,
    /// The request's own stream id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// The last stream id that a `GOAWAY` names, if one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goaway_last: Option<u32>,
}

impl H2 {
    /// Whether the stream was refused before any processing.
    pub fn is_refused(self) -> bool {
        self.reset == Some(H2Code::RefusedStream)
    }

    /// Whether the stream lies above the last one that the `GOAWAY` says may have been processed.
    pub fn is_above_goaway(self) -> bool {
        self.stream.zip(self.goaway_last).is_some_and(|(stream, last)| stream > last)
    }
}

/// Headers whose values may be credentials; they are never kept.
const SECRET: [&str; 6] =
    ["authorization", "cookie", "proxy-authenticate", "proxy-authorization", "set-cookie", "www-authenticate"];

/// The headers of an answer, by lower-case name, without those that may carry credentials.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(BTreeMap<String, String>);

impl Headers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the header with this lower-case name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether they carry a header as a contract writes it: `name`, or `name: value`. Case does not count.
    pub fn carry(&self, header: &str) -> bool {
        let (name, value) = match header.split_once(':') {
            Some((name, value)) => (name, Some(value.trim())),
            None => (header, None),
        };
        let found = self.get(&name.trim().to_ascii_lowercase());
        found.is_some_and(|found| value.is_none_or(|value| found.eq_ignore_ascii_case(value)))
    }

    /// Whether a mesh or a gRPC library counts sends of its own under this one (semantics 4.5).
    pub fn count_hidden_sends(&self) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let at_least =
            |name, least| self.get(name).and_then(|value| value.parse::<u32>().ok()).is_some_and(|n| n >= least);
        at_least("x-envoy-attempt-count", 2) || at_least("grpc-previous-rpc-attempts", 1)
    }
}

impl FromIterator<(String, String)> for Headers {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(all: I) -> Self {
        let named = all.into_iter().map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        Self(named.filter(|(name, _)| !SECRET.contains(&name.as_str())).collect())
    }
}

//! The end of an attempt as its source reports it: how far it came, what came back, what else was in play.

use serde::{Deserialize, Serialize};

use crate::attempt::wire::{GrpcStatus, H2, Headers};
use crate::evidence::PartOf;
use crate::name::Receipt;
use crate::operation::named;

named! {
    /// How an attempt ended, in the words of the event vocabulary (cases §0).
    ReportedOutcome {
        /// It says it worked.
        Ok = "ok",
        /// The destination refused.
        Rejected = "rejected",
        /// Something failed.
        Error = "error",
        /// No answer in time.
        Timeout = "timeout",
        /// The connection broke.
        ConnLost = "conn_lost",
        /// A limiter refused.
        Throttled = "throttled",
        /// The sender died.
        Abandoned = "abandoned",
    }
}

named! {
    /// The point at which a send failed (semantics 3.2).
    Phase {
        /// Making the request: serialisation, a credential, a policy (E2).
        Prepare = "prepare",
        /// Looking up the address (E3).
        Resolve = "resolve",
        /// Connecting (E4).
        Connect = "connect",
        /// TLS before Finished (E5).
        Tls = "tls",
        /// The proxy refused the CONNECT (E6).
        Proxy = "proxy",
        /// The pool handed the request back unsent (E7).
        Pool = "pool",
        /// A byte was handed to the kernel (E10).
        Sent = "sent",
        /// The whole request was written (E12).
        Written = "written",
        /// Our own deadline ended the wait (E13).
        Deadline = "deadline",
        /// Somebody cancelled the wait (E13).
        Cancelled = "cancelled",
        /// The head arrived, the body did not (E14).
        Head = "head",
    }
}

named! {
    /// What else was in play beside a send, and voids what it would prove (semantics 3.4).
    Circumstance {
        /// A layer below sent again by itself.
        HiddenRetry = "hidden_retry",
        /// A proxy or another front stood between.
        Intermediary = "intermediary",
        /// Request data went out before the handshake was done: 0-RTT or TCP Fast Open.
        EarlyData = "early_data",
        /// Several copies were in flight by design.
        Hedging = "hedging",
        /// It went to another account, region or endpoint.
        Failover = "failover",
        /// Test keys or a sandbox answered for the live system, or the other way round.
        ModeMix = "mode_mix",
    }
}

named! {
    /// Why a receipt does not count (E15).
    ReceiptFault {
        /// It names no object.
        MissingId = "missing_id",
        /// It is for another amount.
        OtherAmount = "other_amount",
        /// It is in another currency.
        OtherCurrency = "other_currency",
        /// It echoes another reference than ours.
        OtherReference = "other_reference",
        /// It is from a test system.
        TestMode = "test_mode",
    }
}

impl ReceiptFault {
    /// What is wrong with it, in words.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::MissingId => "it names no object",
            Self::OtherAmount => "another amount",
            Self::OtherCurrency => "another currency",
            Self::OtherReference => "another reference than ours",
            Self::TestMode => "a test system",
        }
    }
}

/// The end of an attempt as reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// In the source's words.
    pub outcome: ReportedOutcome,
    /// The HTTP status, if one arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<u16>,
    /// The destination's error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The destination's name for what it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// What the receipt belongs to, where that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<PartOf>,
    /// Where the send failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Whether the answer was marked as replayed from a store.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// Who says so, when it is not the sender itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_by: Option<String>,
    /// The gRPC status, from the wire or made by the library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcStatus>,
    /// How the HTTP/2 stream ended, if it ended without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub h2: Option<H2>,
    /// The code of a JSON-RPC error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc: Option<i64>,
    /// Whether an MCP tool result says `isError`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The headers of the answer.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// `Retry-After` as it was written, where it is told apart from the headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// Whether the connection had carried an earlier request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// How many bytes of the request were handed to the kernel, where somebody counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_sent: Option<u64>,
    /// What else was in play.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circumstances: Vec<Circumstance>,
    /// Why the receipt does not count, if somebody checked it and it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_fault: Option<ReceiptFault>,
    /// The handle under which an accepted request will be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Whether the answer lists a result for each item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_item: bool,
}

impl End {
    /// An end of which nothing but the outcome is told.
    pub fn new(outcome: ReportedOutcome) -> Self {
        Self {
            outcome,
            http: None,
            error: None,
            receipt: None,
            object: None,
            phase: None,
            replayed: false,
            reported_by: None,
            grpc: None,
            h2: None,
            rpc: None,
            is_error: false,
            headers: Headers::default(),
            retry_after: None,
            reused: false,
            bytes_sent: None,
            circumstances: Vec::new(),
            receipt_fault: None,
            handle: None,
            per_item: false,
        }
    }

    /// `Retry-After` as it was written.
    pub fn retry_after(&self) -> Option<&str> {
        self.retry_after.as_deref().or_else(|| self.headers.get("retry-after"))
    }

    /// Whether something came back that only the destination, or a hop before it, can have said.
    pub fn shows_answer(&self) -> bool {
        self.http.is_some()
            || self.receipt.is_some()
            || self.rpc.is_some()
            || self.is_error
            || self.handle.is_some()
            || self.per_item
            || self.grpc.is_some_and(GrpcStatus::is_said_by_applications_only)
    }

    /// Whether it is marked as a stored answer: its source says so, or it carries the contract's marker.
    pub fn is_replayed(&self, marker: Option<&str>) -> bool {
        self.replayed || marker.is_some_and(|marker| self.headers.carry(marker))
    }

    /// Whether any circumstance was in play.
    pub fn is_any_in_play(&self) -> bool {
        !self.circumstances.is_empty() || self.is_in_play(Circumstance::HiddenRetry)
    }

    /// Whether a circumstance was in play: it is told, or the headers count more sends than this one.
    pub fn is_in_play(&self, circumstance: Circumstance) -> bool {
        self.circumstances.contains(&circumstance)
            || circumstance == Circumstance::HiddenRetry && self.headers.count_hidden_sends()
    }
}

//! Retries that somebody else made and that left a mark in a header or an attribute (semantics N7, N9, N11, I19).

use serde::{Deserialize, Serialize};

use crate::operation::{Finding, Severity};

/// A mark that tells which send of one call this was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum RetrySignal {
    /// `http.request.resend_count`: how often it was sent before, redirects included.
    ResendCount {
        /// As told.
        count: u32,
    },
    /// `x-envoy-attempt-count`: 1 on the first try.
    EnvoyAttemptCount {
        /// As told.
        count: u32,
    },
    /// `grpc-previous-rpc-attempts`: how many earlier tries; absent on the first.
    GrpcPreviousAttempts {
        /// As told.
        count: u32,
    },
    /// `amz-sdk-request`: `attempt=2; max=3`.
    AmzSdkRequest {
        /// From 1.
        attempt: u32,
        /// Missing on some first tries.
        max: Option<u32>,
    },
}

impl RetrySignal {
    /// Reads a header or an attribute; `None` if it is not one of these, or says nothing readable.
    pub fn read(name: &str, value: &str) -> Option<Self> {
        let number = || value.trim().parse().ok();
        Some(match name.to_ascii_lowercase().as_str() {
            "http.request.resend_count" => Self::ResendCount { count: number()? },
            "x-envoy-attempt-count" => Self::EnvoyAttemptCount { count: number()? },
            "grpc-previous-rpc-attempts" => Self::GrpcPreviousAttempts { count: number()? },
            "amz-sdk-request" => {
                let part = |wanted: &str| {
                    let parts = value.split(';').filter_map(|part| part.trim().split_once('='));
                    parts.into_iter().find(|(name, _)| *name == wanted).and_then(|(_, number)| number.parse().ok())
                };
                Self::AmzSdkRequest { attempt: part("attempt")?, max: part("max") }
            }
            _ => return None,
        })
    }

    /// Which send of the call it was, from 1.
    pub const fn send(self) -> u32 {
        match self {
            Self::ResendCount { count } | Self::GrpcPreviousAttempts { count } => count.saturating_add(1),
            Self::EnvoyAttemptCount { count } => count,
            Self::AmzSdkRequest { attempt, .. } => attempt,
        }
    }

    /// What it is called where it was read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ResendCount { .. } => "http.request.resend_count",
            Self::EnvoyAttemptCount { .. } => "x-envoy-attempt-count",
            Self::GrpcPreviousAttempts { .. } => "grpc-previous-rpc-attempts",
            Self::AmzSdkRequest { .. } => "amz-sdk-request",
        }
    }
}

/// I19: more sends than the owner of the retries made on record. `expected` is how many sends it made for this attempt;
/// 1 where every send is an attempt of its own.
pub fn find_hidden_retry(signal: RetrySignal, expected: u32) -> Option<Finding> {
    let send = signal.send();
    (send > expected).then(|| Finding {
        code: "hidden_retry".into(),
        severity: Severity::Audit,
        text: format!(
            "{} shows send number {send} where {expected} is on record: a layer that does not own the retries made them.",
            signal.name()
        ),
    })
}

//! What a destination promises about keys, look-ups and receipts (semantics 2.2).
//!
//! Every field is optional: `None` means unknown, and unknown always takes the unsafe value.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::attempt::{End, GrpcStatus};

macro_rules! named {
    ($(#[$doc:meta])* $enum:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $enum { $($(#[$vdoc])* #[serde(rename = $name)] $variant,)* }

        impl $enum {
            /// Its name in bodies and the record.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// What happens to a repeat under the same key with other parameters.
    OnMismatch {
        /// Refused with a declared signal.
        Error = "error",
        /// The old answer is returned.
        ReplayOld = "replay_old",
        /// It executes a second time.
        Executes = "executes",
    }
}

named! {
    /// What happens to a repeat while the first is still running.
    OnInFlight {
        /// Answered with a declared code.
        Codes = "codes",
        /// Held until the first is done.
        Blocks = "blocks",
    }
}

named! {
    /// Which answers are kept under a key.
    Stores {
        /// Successes only; after an error the request runs again.
        SuccessesOnly = "2xx_only",
        /// Any answer once execution began, a 500 included.
        AnyOnceStarted = "any_once_started",
        /// Failed or partial work is carried to completion.
        ResumeToCompletion = "resume_to_completion",
    }
}

named! {
    /// How soon a look-up sees a write.
    Consistency {
        /// At once.
        Strong = "strong",
        /// After a while.
        Eventual = "eventual",
    }
}

named! {
    /// What a look-up searches by.
    LookUpBy {
        /// The key that was sent.
        Key = "key",
        /// The receipt.
        Receipt = "receipt",
        /// Business fields; at most "likely".
        NaturalKey = "natural_key",
        /// An id we wrote into the destination's metadata.
        Metadata = "metadata",
    }
}

named! {
    /// How well a promise is known.
    Verification {
        /// Somebody says so.
        Claimed = "claimed",
        /// Seen on a stand-in.
        TestedStandIn = "tested_stand_in",
        /// Seen at the destination itself.
        TestedLive = "tested_live",
    }
}

named! {
    /// Whether the layer that sends retries below us.
    LayerRetries {
        /// Switched off.
        Off = "off",
        /// On.
        On = "on",
    }
}

/// How the truth can be read at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookUp {
    /// What it searches by.
    pub by: LookUpBy,
    /// How soon it sees a write; unknown when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<Consistency>,
    /// Whether a miss means that nothing is there.
    #[serde(default)]
    pub complete: bool,
}

/// A cancel that names the key instead of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelByKey {
    /// It answers success when there is nothing to cancel.
    #[serde(default)]
    pub noop_on_absent: bool,
    /// A create that arrives later stays cancelled.
    #[serde(default)]
    pub commutative: bool,
}

/// How an effect is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compensation {
    /// The tool that undoes.
    pub tool: String,
    /// How long after the effect it may be used, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_s: Option<u64>,
}

/// An answer that has a declared meaning. All given parts must match.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// The HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<u16>,
    /// The destination's error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The gRPC status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcStatus>,
    /// The code of a JSON-RPC error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc: Option<i64>,
    /// Whether an MCP tool result says `isError`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// A header of the answer: `name`, or `name: value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

impl Signal {
    /// Whether the answer carries this signal.
    pub fn matches(&self, end: &End) -> bool {
        let says_something = *self != Self::default();
        says_something
            && self.http.is_none_or(|status| end.http == Some(status))
            && self.error.as_ref().is_none_or(|code| end.error.as_ref() == Some(code))
            && self.grpc.is_none_or(|status| end.grpc == Some(status))
            && self.rpc.is_none_or(|code| end.rpc == Some(code))
            && self.is_error.is_none_or(|says| end.is_error == says)
            && self.header.as_ref().is_none_or(|header| end.headers.carry(header))
    }
}

macro_rules! contract {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// The promises of one tool's destination, and the numbers of semantics 4.9.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Contract {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }

        impl Contract {
            /// The names of all promises.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field),)*];

            /// Every promise of `self`, and those of `other` where `self` is silent.
            #[must_use]
            pub fn or(self, other: &Self) -> Self {
                Self { $($field: self.$field.or_else(|| other.$field.clone()),)* }
            }
        }
    };
}

contract! {
    /// Where the key travels: a header name or a body path.
    key_location: String,
    /// How long a key is kept, in seconds. Unknown: the key protects nothing.
    key_retention_s: u64,
    /// Same key, other parameters.
    on_mismatch: OnMismatch,
    /// Same key while the first runs.
    on_in_flight: OnInFlight,
    /// Which answers a key keeps.
    stores: Stores,
    /// Answers that prove the request was not executed.
    negative_signals: Vec<Signal>,
    /// Answers that mean "this key belongs to another request".
    mismatch_signals: Vec<Signal>,
    /// Answers that mean "your key is being processed".
    in_flight_signals: Vec<Signal>,
    /// 409 answers that mean "an object with this natural key exists" (E28).
    conflict_signals: Vec<Signal>,
    /// 409 answers that mean "the precondition was false" (E29).
    precondition_signals: Vec<Signal>,
    /// How the truth is looked up. Unknown: not at all.
    lookup: LookUp,
    /// How a key is cancelled.
    cancel_by_key: CancelByKey,
    /// How an effect is undone.
    compensation: Compensation,
    /// D: how long after the client deadline a request may still arrive, in seconds.
    max_arrival_delay_s: u64,
    /// How long a sender waits for an answer, in seconds.
    client_deadline_s: u64,
    /// How long after a statement of failure evidence is still awaited, in seconds.
    watch_s: u64,
    /// Whether a proxy stands between.
    intermediaries: bool,
    /// Whether the sending layer retries by itself.
    layer_retries: LayerRetries,
    /// Whether the tool removes an object, so that 404 may mean "done".
    removes: bool,
    /// Whether each send carries a precondition, or nobody else writes the object (rows 9, 9a).
    sole_writer: bool,
    /// Argument fields that do not count for sameness at intake.
    volatile_fields: Vec<String>,
    /// Argument fields that name the business object.
    intent_fields: Vec<String>,
    /// Argument fields that are never shown.
    secret_fields: Vec<String>,
    /// How well all this is known.
    verification: Verification,
    /// Where it is written.
    source_url: String,
    /// When it was last checked, as a date.
    checked_at: String,
    /// Answers that mean "declined as a matter of business", beside 402 (E24).
    decline_signals: Vec<Signal>,
    /// Answers that mean "a limiter refused it", beside 429 (E32).
    throttle_signals: Vec<Signal>,
    /// Answers to a removal that mean "gone already": likely by an earlier attempt of ours (E25).
    gone_signals: Vec<Signal>,
    /// Whether the head of a 4xx says enough when its body is cut (E14).
    status_suffices: bool,
    /// The header that marks a stored answer: `name`, or `name: value` (E35).
    replay_marker: String,
    /// Whether one request carries several items that may succeed one by one (E32, E36).
    partial_success: bool,
}

/// The margin on key age (semantics 4.9).
pub const KEY_AGE_MARGIN: Duration = Duration::from_mins(5);

impl Contract {
    /// D, by default 120 s (semantics 4.9).
    pub fn arrival_delay(&self) -> Duration {
        Duration::from_secs(self.max_arrival_delay_s.unwrap_or(120))
    }

    /// The client deadline, by default 30 s (semantics 4.9).
    pub fn client_deadline(&self) -> Duration {
        Duration::from_secs(self.client_deadline_s.unwrap_or(30))
    }

    /// The watch period, by default 24 h (semantics 4.9).
    pub fn watch(&self) -> Duration {
        Duration::from_secs(self.watch_s.unwrap_or(86_400))
    }

    /// Client deadline + D: how long after the last dispatch absence begins to mean something (semantics 4.9).
    pub fn settle(&self) -> Duration {
        self.client_deadline() + self.arrival_delay()
    }

    /// How long after the first send a key is certain to protect: retention − D − margin; `None` when
    /// the retention is unknown (semantics 4.4.1).
    pub fn key_window(&self) -> Option<Duration> {
        let retention = Duration::from_secs(self.key_retention_s?);
        Some(retention.saturating_sub(self.arrival_delay()).saturating_sub(KEY_AGE_MARGIN))
    }

    /// Whether a proxy must be assumed (unknown is unsafe).
    pub fn has_intermediary(&self) -> bool {
        self.intermediaries.unwrap_or(true)
    }
}

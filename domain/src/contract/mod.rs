//! What a destination promises about keys, look-ups and receipts (semantics 2.2).
//!
//! Every field is optional: `None` means unknown, and unknown always takes the unsafe value. The numbers of
//! semantics 4.9 are the exception: where they are silent, the one table in [`defaults`] speaks.

pub mod defaults;
mod key_shape;
pub mod library;
pub mod mcp;
mod provenance;
mod strictest;
#[cfg(test)]
pub(crate) mod tests;

pub use defaults::DEFAULTS;
pub use key_shape::{UnfitKey, as_read};
pub use provenance::{Acceptance, ByField, KEY_STANDS_ON, Provenance, UnknownField, Verified};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::attempt::{End, GrpcStatus};
use crate::budget::BudgetKind;
use crate::operation::named;

/// What stands where the value of a secret field was; as an argument it is refused.
pub const REDACTED: &str = "•••••• redacted by the tool's rules";

named! {
    /// How the key is written where it travels.
    KeyQuoting {
        /// As a structured-field string, in double quotes.
        StructuredString = "sf_string",
        /// As it is.
        Bare = "bare",
    }
}

named! {
    /// Which characters a key may have. Each takes less than the one before.
    KeyCharset {
        /// Visible ASCII.
        Ascii = "ascii",
        /// Letters, digits, `_`, `:` and `-`.
        Token = "A-Za-z0-9_:-",
        /// A UUID.
        Uuid = "uuid",
        /// A UUID other than the one of zeros only.
        UuidNotZero = "uuid_not_zero",
        /// A random UUID (version 4).
        Uuid4 = "uuid4",
    }
}

named! {
    /// When the retention of a key begins. We count from our own first send, which is never later than either.
    RetentionStarts {
        /// When the destination first sees the key.
        FirstSeen = "first_seen",
        /// When the first request under it is completed.
        FirstCompleted = "first_completed",
    }
}

named! {
    /// What a key space is divided by: a key means nothing across one of these.
    ScopePart {
        /// The account.
        Account = "account",
        /// The region.
        Region = "region",
        /// The zone.
        Zone = "zone",
        /// The endpoint.
        Endpoint = "endpoint",
        /// The credential's identity.
        Credential = "credential",
    }
}

named! {
    /// Which layer alone may retry (semantics 4.5).
    RetryOwner {
        /// Establishing the connection.
        Transport = "transport",
        /// The adapter to the destination.
        Adapter = "adapter",
        /// The workflow, across restarts.
        Workflow = "workflow",
        /// The agent, after a failure of meaning.
        Agent = "agent",
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    /// Whether it can undo a part of the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
    /// Whether it may arrive before the effect and still hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commutative: Option<bool>,
}

/// What the retention of a key depends on beside its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetentionRule {
    /// Nothing.
    Constant,
    /// It ends early when the object ends, which may have happened already.
    MinWithResourceLifetime {
        /// How long the key outlives the object, in seconds.
        after_end_s: u64,
    },
}

/// What makes an answer a receipt (E15, E16).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuccessReceipt {
    /// Where the object's id stands in the answer, as a JSON pointer.
    pub pointer: String,
    /// What it looks like; `*` stands for any characters: `pi_*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Values that the answer must repeat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_echo: Vec<Echo>,
}

/// A value that the answer must repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// Where it stands in the answer, as a JSON pointer.
    pub answer: String,
    /// Where it stands in the arguments, as a JSON pointer.
    pub argument: String,
}

/// Which names at the destination are one effect: a payment intent and its charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectIdentity {
    /// The kind of object that a receipt names.
    pub object: String,
    /// Other kinds of object that are the same effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// What the destination does with a request that it accepts and decides later (202, a task).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsyncAccept {
    /// Where the handle to ask again with stands: a header name, or a JSON pointer into the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<String>,
    /// Whether a repeat under the same key returns the same handle.
    #[serde(default)]
    pub same_handle: bool,
    /// How long it may take to decide, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<u64>,
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
            /// The names of all fields.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field),)*];

            fn filled_from(self, other: &Self) -> Self {
                Self { $($field: self.$field.or_else(|| other.$field.clone()),)* }
            }

            /// What both say alike; unknown where they differ.
            fn agreed(&self, other: &Self) -> Self {
                Self { $($field: if self.$field == other.$field { self.$field.clone() } else { None },)* }
            }

            /// Whether this field is declared.
            pub fn tells(&self, field: &str) -> bool {
                match field {
                    $(stringify!($field) => self.$field.is_some(),)*
                    _ => false,
                }
            }
        }
    };
}

contract! {
    /// Where the key travels: a header name, or a body path as a JSON pointer (`/idempotency_key`), or a
    /// query parameter (`?requestId`), or a directive (`@idempotent(key:)`).
    key_location: String,
    /// How the key is written there.
    key_quoting: KeyQuoting,
    /// The most bytes a key may have.
    key_max_len: u32,
    /// Which characters a key may have.
    key_charset: KeyCharset,
    /// How long a key is kept at least, in seconds. Unknown: the key protects nothing.
    key_retention_s: u64,
    /// When its retention begins.
    retention_starts: RetentionStarts,
    /// What its retention depends on. Unknown: nothing.
    retention_rule: RetentionRule,
    /// What the key space is divided by. Unknown: everything.
    scope: Vec<ScopePart>,
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
    /// What makes an answer a receipt. Unknown: nothing does by itself.
    success_receipt: SuccessReceipt,
    /// Which names at the destination are one effect. Unknown: every name is an effect of its own.
    effect_identity: EffectIdentity,
    /// What happens to a request that is decided later.
    async_accept: AsyncAccept,
    /// How the truth is looked up. Unknown: not at all.
    lookup: LookUp,
    /// How long after a write an eventual look-up sees it, in seconds.
    lookup_sees_after_s: u64,
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
    /// How long a claim is held, in seconds.
    lease_s: u64,
    /// How long an approval lives, in seconds.
    approval_life_s: u64,
    /// How many attempts one automatic episode may make.
    attempts_per_episode: u32,
    /// How many attempts an operation may have at all; nobody can grant more.
    attempts_cap: u32,
    /// How long an operation may take, in seconds.
    operation_deadline_s: u64,
    /// The margin on key age, in seconds.
    key_age_margin_s: u64,
    /// How many look-ups follow an uncertain outcome.
    lookup_count: u32,
    /// Over how long they are spread, in seconds.
    lookup_span_s: u64,
    /// The longest `Retry-After` that is waited for without a person, in seconds.
    retry_after_cap_s: u64,
    /// How long after the last dispatch absence begins to mean something, in seconds; it can only lengthen
    /// what client deadline and D say.
    settle_s: u64,
    /// Which layer alone may retry.
    retry_owner: RetryOwner,
    /// What retries are paid from.
    budget_kind: BudgetKind,
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
    /// How well all this is known, where `provenance` does not say otherwise of a field.
    verification: Verification,
    /// Where it is written.
    source_url: String,
    /// When it was last checked, as a date.
    checked_at: String,
    /// Where single fields are known from, and how well.
    provenance: ByField,
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

impl Contract {
    /// The fields that are not promises but speak about them.
    const ABOUT: [&'static str; 4] = ["verification", "source_url", "checked_at", "provenance"];

    /// The names of all promises: every field but those that speak about the others.
    pub fn promises() -> impl Iterator<Item = &'static str> {
        Self::FIELDS.iter().copied().filter(|field| !Self::ABOUT.contains(field))
    }

    /// Every promise of `self`, and those of `other` where `self` is silent. Each keeps its own provenance:
    /// what one side tested does not vouch for what the other claims.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let provenance = self.provenance_with(other);
        Self { provenance, ..self.filled_from(other) }
    }

    /// How long after the first send a key is certain to protect: retention − D − margin; `None` when
    /// the retention is unknown (semantics 4.4.1). Zero: it never protects.
    pub fn key_window(&self) -> Option<Duration> {
        let kept = match self.retention_rule {
            None | Some(RetentionRule::Constant) => self.key_retention_s?,
            // The object may have ended as soon as it was made.
            Some(RetentionRule::MinWithResourceLifetime { after_end_s }) => self.key_retention_s?.min(after_end_s),
        };
        Some(Duration::from_secs(kept).saturating_sub(self.arrival_delay()).saturating_sub(self.key_age_margin()))
    }

    /// What the key space is divided by; everything, where nobody says.
    pub fn key_scope(&self) -> &[ScopePart] {
        self.scope.as_deref().unwrap_or(ScopePart::ALL)
    }

    /// Whether a proxy must be assumed (unknown is unsafe).
    pub fn has_intermediary(&self) -> bool {
        self.intermediaries.unwrap_or(true)
    }
}

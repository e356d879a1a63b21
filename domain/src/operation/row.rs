//! What an operation's row shows: computed from the facts, stored beside them.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::evidence::Strength;
use crate::fingerprint::Hash;
use crate::name::{PrincipalId, Receipt};
use crate::operation::{Impact, State, named};
use crate::time::Timestamp;
use crate::tool::Class;

/// Which layer made an attempt and what is known of it: one notch of the tally.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notch {
    /// The layer, where it is told.
    pub layer: Option<String>,
    /// How it is drawn.
    pub mark: Mark,
}

named! {
    /// How a notch is drawn.
    Mark {
        /// Running.
        Running = "running",
        /// Hatched: unknown.
        Unknown = "unknown",
        /// Hollow: never left.
        NotSent = "not_sent",
        /// Red: refused, or declined by the business.
        Refused = "refused",
        /// Green: confirmed.
        Confirmed = "confirmed",
    }
}

/// How long the destination key protects a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "window", rename_all = "snake_case")]
pub enum KeyWindow {
    /// No key was sent, or nothing was sent.
    NoKey,
    /// Retention is unknown: the key protects nothing.
    Unknown,
    /// It protects from the first send until then. Whether that time has passed is for the reader's `now`.
    Until {
        /// The first send under the key.
        from: Timestamp,
        /// The last moment.
        until: Timestamp,
    },
}

/// Evidence in a few words for a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chip {
    /// What it says: `receipt pi_A`, `absent ×2 over 22 h`.
    pub text: String,
    /// How strong it is.
    pub strength: Strength,
}

named! {
    /// Why an operation waits for a person; the chips above the queue, in their order.
    Reason {
        /// No answer in time.
        TimedOut = "timed_out",
        /// The sender died, or was never heard of again.
        Crashed = "crashed",
        /// The key no longer protects.
        KeyExpired = "key_expired",
        /// The destination is still at it.
        InFlight = "in_flight",
        /// Success without a receipt.
        NoReceipt = "no_receipt",
        /// The connection broke.
        Reset = "reset",
        /// The destination or a hop failed.
        ServerError = "server_error",
        /// A status nobody declared.
        UndeclaredStatus = "undeclared_status",
        /// The key belongs to another request.
        KeyMismatch = "key_mismatch",
        /// Accepted, to be decided later.
        Accepted = "accepted",
        /// Facts disagree.
        Contradicted = "contradicted",
        /// The approval ran out.
        ApprovalExpired = "approval_expired",
        /// Attempts used up.
        BudgetExhausted = "budget_exhausted",
        /// An undo does not get on.
        CompensationStuck = "compensation_stuck",
        /// Its deadline passed and nothing will advance it.
        Stalled = "stalled",
        /// A dual act waits for a second person.
        AwaitsSecondPerson = "awaits_second_person",
        /// A proposal waits for an approval.
        AwaitsApproval = "awaits_approval",
    }
}

impl Reason {
    /// What a chip says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::TimedOut => "Timed out",
            Self::Crashed => "Crashed or lost",
            Self::KeyExpired => "Key expired",
            Self::InFlight => "In flight",
            Self::NoReceipt => "No receipt",
            Self::Reset => "Connection lost",
            Self::ServerError => "Server error",
            Self::UndeclaredStatus => "Undeclared status",
            Self::KeyMismatch => "Key mismatch",
            Self::Accepted => "Accepted",
            Self::Contradicted => "Contradicted",
            Self::ApprovalExpired => "Approval expired",
            Self::BudgetExhausted => "Budget spent",
            Self::CompensationStuck => "Undo stuck",
            Self::Stalled => "Stalled",
            Self::AwaitsSecondPerson => "Second person",
            Self::AwaitsApproval => "Awaits approval",
        }
    }
}

/// That an operation waits for a person, and how urgently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Why.
    pub reason: Reason,
    /// Smaller is more urgent: what loses its safe option soonest, then impact, then age.
    pub rank: i64,
}

named! {
    /// How serious a finding is.
    Severity {
        /// Worth knowing.
        Notice = "notice",
        /// A rule of the house was broken at the source.
        Audit = "audit",
        /// Two facts cannot both be right, or an effect may have doubled.
        Integrity = "integrity",
    }
}

/// Something an auditor should see, beside the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind in the record: `effects_exceed_intent`.
    pub code: String,
    /// How serious it is.
    pub severity: Severity,
    /// What was found, in a sentence.
    pub text: String,
}

/// What the operation's row shows. Computed by the rules, stored beside the facts, and rebuilt and
/// compared by `tallystick verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// The state.
    pub state: State,
    /// Since when, by the facts.
    pub since: Timestamp,
    /// Whether it waits for a person.
    pub attention: Option<Attention>,
    /// When the answer changes by time alone.
    pub next_change_at: Option<Timestamp>,
    /// Transport sends on record, possible sends included.
    pub attempts: u32,
    /// How many its source allows, where told.
    pub attempts_allowed: Option<u32>,
    /// Distinct P3 receipts of the intent.
    pub effects: u32,
    /// Distinct receipts of strength P2 that are not P3.
    pub effects_likely: u32,
    /// The receipt that stands, if one does.
    pub receipt: Option<Receipt>,
    /// The side-effect class in force.
    pub class: Class,
    /// One notch an attempt; the newest 60 where there are more.
    pub tally: Vec<Notch>,
    /// Evidence for the row.
    pub chips: Vec<Chip>,
    /// How long the key protects.
    pub key_window: KeyWindow,
    /// What is at stake.
    pub impact: Option<Impact>,
    /// The base row of semantics 6.1 that decides.
    pub row: String,
    /// The action recommended first.
    pub recommended: Action,
    /// Whose it is.
    pub assignee: Option<PrincipalId>,
    /// Findings, most serious first.
    pub findings: Vec<Finding>,
    /// The first send on record.
    pub first_dispatched_at: Option<Timestamp>,
    /// The latest fact on record.
    pub last_fact_at: Timestamp,
    /// Hash for sameness at intake; of the first arguments told.
    pub identity_hash: Option<Hash>,
    /// Hash of all arguments.
    pub args_hash: Option<Hash>,
    /// From when on it may be claimed; none while something other than time stands against it (T8, T17).
    #[serde(default)]
    pub claim_at: Option<Timestamp>,
    /// When the next look-up is due.
    #[serde(default)]
    pub look_up_at: Option<Timestamp>,
    /// What the newest answer that is open (else the newest of all) was judged by, with its error: `E12 timeout`.
    #[serde(default)]
    pub cause: Option<String>,
}

//! The fold: what all attempts and evidence together say (semantics 3.5–3.7).

mod closing;
mod findings;
mod fold;
mod key;
mod steps;

pub use fold::contract_in_force;
pub use key::{KeyUse, key_protects};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptRef, ReportedOutcome};
use crate::contract::Contract;
use crate::evidence::{Strength, Trust};
use crate::fingerprint::Hash;
use crate::name::{DestinationKey, LayerName, OperationId, Receipt, SourceName};
use crate::operation::{Finding, Record, State};
use crate::time::Timestamp;
use crate::tool::Tool;
use crate::verdict::{Instrumentation, Judgement};

/// What the rules need to know beside the record itself.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The operation's tool as declared, or [`Tool::undeclared`].
    pub tool: Tool,
    /// How far each source is believed; a source that is missing is unknown.
    pub trusts: BTreeMap<SourceName, Trust>,
    /// The other operations of the intent.
    pub relatives: Vec<Record>,
    /// Operations of other intents that were sent under one of this operation's keys at the same destination.
    pub sharers: Vec<Record>,
}

impl Surroundings {
    /// How far a source is believed.
    pub fn trust(&self, source: &SourceName) -> Trust {
        self.trusts.get(source).copied().unwrap_or_default()
    }

    /// Whose instruments stand behind what a source reports. No executor of ours reports yet.
    pub const fn instrumentation(&self, _source: &SourceName) -> Instrumentation {
        Instrumentation::External
    }
}

/// How a closed attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It made the effect.
    Positive,
    /// It did not, and may be tried again.
    NegativeRetryable,
    /// It did not, and would not if tried again.
    NegativePermanent,
    /// The destination ran it and said no.
    NegativeBusiness,
}

/// Why an attempt is no longer open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closure {
    /// The rule: `K1`.
    pub rule: String,
    /// How it ended.
    pub ending: Ending,
    /// The receipt credited to it, if any.
    pub receipt: Option<Receipt>,
}

/// One attempt with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedAttempt {
    /// Which one.
    pub id: AttemptRef,
    /// Which operation of the intent made it.
    pub operation: OperationId,
    /// Its number for people: as told, else by order.
    pub number: u32,
    /// The retry layer.
    pub owner: Option<LayerName>,
    /// The process.
    pub worker: Option<String>,
    /// The key that was sent.
    pub dest_key: Option<DestinationKey>,
    /// Hash of the arguments that were sent, where that is told.
    pub args_hash: Option<Hash>,
    /// The lease of its claim, in seconds.
    pub lease_s: Option<u64>,
    /// How many attempts its source allows.
    pub budget: Option<u32>,
    /// When it counts as sent.
    pub dispatched_at: Timestamp,
    /// When its end was reported.
    pub ended_at: Option<Timestamp>,
    /// When it stops counting as running without an end.
    pub runs_until: Timestamp,
    /// Whether it is running now.
    pub is_running: bool,
    /// Whether only a claim is known.
    pub is_possible_send: bool,
    /// What its source said about its end.
    pub reported: Option<ReportedOutcome>,
    /// Who said so, when it was not the sender itself.
    pub reported_by: Option<String>,
    /// The HTTP status, if one arrived.
    pub http: Option<u16>,
    /// The error code, if one arrived.
    pub error: Option<String>,
    /// The receipt it returned.
    pub receipt: Option<Receipt>,
    /// Whether its answer was marked as replayed from a store.
    pub replayed: bool,
    /// What its answer proves.
    pub judgement: Judgement,
    /// Why it is not open any more, if it is not.
    pub closed: Option<Closure>,
    /// Whether it began before an earlier attempt was known to have ended.
    pub overlaps: bool,
}

/// A distinct object at the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The destination's name for it.
    pub receipt: Receipt,
    /// How strong the best fact about it is.
    pub strength: Strength,
    /// The earliest time told for it.
    pub at: Timestamp,
    /// Whether it is one too many.
    pub is_surplus: bool,
    /// Whether this operation holds evidence of it.
    pub is_held: bool,
}

/// What the facts say now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The state.
    pub state: State,
    /// The step of the fold that named it: `F14`.
    pub fold_rule: String,
    /// Since when, by the facts.
    pub since: Timestamp,
    /// This operation's own attempts.
    pub attempts: Vec<JudgedAttempt>,
    /// Open attempts of ancestors that this operation inherited by adopting.
    pub inherited: Vec<JudgedAttempt>,
    /// Distinct effects of the intent, the primary first.
    pub effects: Vec<Effect>,
    /// What an auditor should see, most serious first.
    pub findings: Vec<Finding>,
    /// Whether a second copy is possible although the operation succeeded, or a failure is only attested.
    pub watch_until: Option<Timestamp>,
    /// Whether a repeat under the same key would be protected now.
    pub key_protects: bool,
    /// Why not, in words.
    pub key_protects_not: Option<String>,
    /// The contract in force: as declared for the tool, then as the stream declares it.
    pub contract: Contract,
    /// When the answer changes by time alone.
    pub next_change_at: Option<Timestamp>,
}

/// Folds everything on record about an operation's intent into what is known of this operation at `now`.
pub fn fold(record: &Record, around: &Surroundings, now: Timestamp) -> Outcome {
    fold::Fold::new(record, around, now).outcome()
}

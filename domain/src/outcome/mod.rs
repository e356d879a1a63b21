//! The fold: what all attempts and evidence together say (semantics 3.5–3.7).

mod aliases;
mod closing;
mod due;
mod findings;
mod fold;
mod key;
mod life;
mod steps;

pub use due::Due;
pub use fold::{BEFORE_RESTORE, contract_in_force};
pub use key::{KeyUse, Protection, key_protects};
pub(crate) use life::grant_exceeds_cap;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptRef, ReportedOutcome};
use crate::contract::Contract;
use crate::evidence::{PartOf, Strength, Trust};
use crate::fingerprint::{Hash, Json};
use crate::lease::Scope;
use crate::name::{DestinationKey, LayerName, OperationId, Receipt, SourceName};
use crate::operation::{Finding, Record, State};
use crate::policy::Policy;
use crate::time::Timestamp;
use crate::tool::Tool;
use crate::verdict::{Instrumentation, Judgement};
use crate::workflow::StepsAround;

/// What the rules need to know beside the record itself.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The operation's tool as declared, or [`Tool::undeclared`].
    pub tool: Tool,
    /// How far each source is believed; a source that is missing is unknown.
    pub trusts: BTreeMap<SourceName, Trust>,
    /// The sources that are executors of our own: what they say of how far a send came counts by itself (I13).
    pub own_executors: BTreeSet<SourceName>,
    /// The other operations of the intent.
    pub relatives: Vec<Record>,
    /// Operations of other intents that were sent under one of this operation's keys at the same destination.
    pub sharers: Vec<Record>,
    /// The compensations of this operation.
    pub children: Vec<Record>,
    /// The operations into which a partial result of this one was split (F13).
    pub items: Vec<Record>,
    /// Earlier declarations of the tool's contract, back to the first send: the strictest rules (T35).
    pub earlier_contracts: Vec<Contract>,
    /// The destination's scope as configured now, where it is known.
    pub scope: Option<Scope>,
    /// What the other steps of its workflow mean for it.
    pub steps: StepsAround,
    /// Whether a restore waits to be acknowledged (4.8).
    pub restore_pending: bool,
    /// Whether the workspace lets a lone administrator act with the recorded override (4.4.9).
    pub lone_override: bool,
    /// The arguments in force as they were received, for an act that compares with them.
    pub arguments: Option<Json>,
    /// Which safety rules are in force: all of them, but in tests that show what each prevents.
    pub policy: Policy,
}

impl Surroundings {
    /// A tool alone: nothing else is around.
    pub fn of_tool(tool: Tool) -> Self {
        Self {
            tool,
            trusts: BTreeMap::new(),
            own_executors: BTreeSet::new(),
            relatives: Vec::new(),
            sharers: Vec::new(),
            children: Vec::new(),
            items: Vec::new(),
            earlier_contracts: Vec::new(),
            scope: None,
            steps: StepsAround::default(),
            restore_pending: false,
            lone_override: false,
            arguments: None,
            policy: Policy::FULL,
        }
    }

    /// How far a source is believed.
    pub fn trust(&self, source: &SourceName) -> Trust {
        self.trusts.get(source).copied().or_else(|| Trust::of_own(source)).unwrap_or_default()
    }

    /// Whose instruments stand behind what a source reports.
    pub fn instrumentation(&self, source: &SourceName) -> Instrumentation {
        if self.own_executors.contains(source) { Instrumentation::Own } else { Instrumentation::External }
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
    pub rule: Cow<'static, str>,
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
    pub worker: Option<Arc<str>>,
    /// The key that was sent.
    pub dest_key: Option<DestinationKey>,
    /// Hash of the arguments that were sent, where that is told.
    pub args_hash: Option<Hash>,
    /// The lease of its claim, in seconds.
    pub lease_s: Option<u64>,
    /// How many attempts its source allows.
    pub budget: Option<u32>,
    /// How far the best of its sources is believed; our own fenced write is verified.
    pub trust: Trust,
    /// When it counts as sent.
    pub dispatched_at: Timestamp,
    /// From when the age of its key counts: its sending, or for a forgotten send the earliest it can have been (3.7.6).
    pub key_from: Timestamp,
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
    /// What that receipt belongs to, where it is told.
    pub object: Option<PartOf>,
    /// Whether its answer was marked as replayed from a store.
    pub replayed: bool,
    /// Before when the destination asked not to be called again.
    pub retry_after: Option<Timestamp>,
    /// What its answer proves.
    pub judgement: Judgement,
    /// Why it is not open any more, if it is not.
    pub closed: Option<Closure>,
    /// Whether it began before an earlier attempt was known to have ended.
    pub overlaps: bool,
    /// What the fenced write recorded, for a guarded send.
    pub sent: Option<Box<Sent>>,
    /// Whether the record may have forgotten it: a possible send before a restore (T45).
    pub is_restored: bool,
    /// Whether its sender is known to have stopped: it reported its end, or is proved dead (K6).
    pub sender_ended: bool,
    /// Whether two people accepted that it may still succeed, for the operation that is judged (T43).
    pub is_accepted_risk: bool,
}

/// What is known of a guarded send beside its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The epoch of its lease.
    pub epoch: u64,
    /// The process that sent it.
    pub incarnation: String,
    /// Hash of the bytes that went out.
    pub wire_hash: Option<Hash>,
    /// Where its key is unique.
    pub scope: Option<Scope>,
}

/// A distinct object at the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The destination's name for it.
    pub receipt: Receipt,
    /// Other objects at the destination that are the same effect by declared aliases.
    pub aliases: Vec<Receipt>,
    /// How strong the best fact about it is.
    pub strength: Strength,
    /// The earliest time told for it.
    pub at: Timestamp,
    /// Whether it is one too many.
    pub is_surplus: bool,
    /// Whether this operation holds evidence of it.
    pub is_held: bool,
}

impl Effect {
    /// Whether this receipt names it, by itself or as an alias.
    pub fn is_called(&self, receipt: &Receipt) -> bool {
        self.receipt == *receipt || self.aliases.contains(receipt)
    }

    /// Its receipt, with the aliases: `pi_A (also ch_A)`.
    pub fn names(&self) -> String {
        match self.aliases.as_slice() {
            [] => self.receipt.to_string(),
            aliases => {
                let aliases: Vec<&str> = aliases.iter().map(Receipt::as_str).collect();
                format!("{} (also {})", self.receipt, aliases.join(", "))
            }
        }
    }
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
    /// OPEN: the open attempts of the whole intent, less those whose risk was accepted for this operation.
    pub open: Vec<AttemptRef>,
    /// Whether one of them was sent in another scope than the destination has now (row 30).
    pub scope_changed: bool,
    /// Until when the lease in force runs, if one does.
    pub lease_until: Option<Timestamp>,
    /// What the facts say beneath a live lease, where that differs from claimed or executing (F1).
    pub beneath_lease: Option<State>,
    /// Guarded: sends on record and how many are allowed, grants included.
    pub attempts_left: Option<u32>,
    /// Guarded: when its time is up, grants included.
    pub deadline: Option<Timestamp>,
    /// Guarded and sent before: when the next send is due.
    pub due: Option<Due>,
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
    /// Until when a repeat under the same key is certain to be protected; none if it is not, or nothing limits it.
    pub key_protects_until: Option<Timestamp>,
    /// When the answer changes by time alone.
    pub next_change_at: Option<Timestamp>,
}

/// Folds everything on record about an operation's intent into what is known of this operation at `now`.
pub fn fold(record: &Record, around: &Surroundings, now: Timestamp) -> Outcome {
    fold::Fold::new(record, around, now).outcome()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::PROOFS;

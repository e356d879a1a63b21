//! The facts that the decision table looks at, gathered once.

use crate::contract::{CancelByKey, Consistency};
use crate::evidence::Claim;
use crate::operation::{Doubt, Fact, Mode, Record, State, SuccessBasis};
use crate::outcome::{Outcome, Surroundings};
use crate::permission::Actor;
use crate::time::Timestamp;
use crate::tool::Class;

/// How well the truth can be looked up (semantics §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookUpKind {
    /// L+: strong and complete.
    Strong,
    /// L~: eventual, partial or unknown; always so for observed operations.
    Weak,
    /// L0: none.
    None,
}

/// What became of a compensation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// None was asked for.
    None,
    /// It is on its way.
    Running,
    /// It does not get on.
    Stuck,
}

/// What the table looks at. Fields are public so that a test can make any combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// Guarded or observed.
    pub mode: Mode,
    /// The state by the fold.
    pub state: State,
    /// The side-effect class in force.
    pub class: Class,
    /// KP: whether a repeat under the same key is protected (3.7).
    pub key_protects: bool,
    /// How well the truth can be looked up.
    pub look_up: LookUpKind,
    /// Whether an absent look-up was sent after settle.
    pub absent_after_settle: bool,
    /// Whether a live approval covers the current arguments.
    pub approval_live: bool,
    /// Whether any attempt is open.
    pub any_open: bool,
    /// Whether anything was ever sent for the intent.
    pub ever_sent: bool,
    /// Whether the destination's scope changed since an open attempt.
    pub scope_changed: bool,
    /// Whether a lease is held.
    pub lease_live: bool,
    /// What became of a compensation.
    pub child: Child,
    /// Whether the workflow is past its pivot.
    pub past_pivot: bool,
    /// Whether the watch period after a statement of failure, or after the last send, is over.
    pub watch_over: bool,
    /// Whether the last answer, or the last send, is younger than settle.
    pub is_fresh: bool,
    /// Whether an accepted request's deadline has passed, or is unknown and the watch period is over.
    pub acceptance_over: bool,
    /// Whether the contract returns the same handle for a repeat of an accepted request.
    pub same_handle: bool,
    /// Whether a precondition was sent, or nobody else writes (class N).
    pub sole_writer: bool,
    /// The cancel by key that the contract declares.
    pub cancel_by_key: Option<CancelByKey>,
    /// Whether a compensation is declared.
    pub compensation_declared: bool,
    /// Success evidence of strength P2 or more that no resolution of ours earned.
    pub success_evidence: bool,
    /// Whether another operation of the intent holds such evidence.
    pub success_elsewhere: bool,
    /// Whether a newer guarded operation of the intent exists.
    pub newer_guarded: bool,
    /// Whether a guarded operation of the intent is not final.
    pub guarded_at_work: bool,
    /// Whether the amount is at or above the tool's dual threshold (O5).
    pub above_threshold: bool,
    /// Whether the tool is declared executable, with a contract.
    pub executable: bool,
    /// Whether attempts or deadline are used up.
    pub budget_spent: bool,
    /// Whether the actor proposed the operation.
    pub actor_proposed: bool,
    /// Whether the actor is a program.
    pub automation: bool,
    /// Whether a conflicting proposal is open.
    pub conflict_open: bool,
}

impl Situation {
    /// Gathers the situation of an operation at `now`.
    pub fn of(
        record: &Record,
        around: &Surroundings,
        outcome: &Outcome,
        actor: Option<&Actor>,
        now: Timestamp,
    ) -> Self {
        let contract = &outcome.contract;
        let open: Vec<_> =
            outcome.attempts.iter().chain(&outcome.inherited).filter(|attempt| attempt.closed.is_none()).collect();
        let last_sent = open.iter().map(|attempt| attempt.ended_at.unwrap_or(attempt.dispatched_at)).max();
        let age = now.since(last_sent.unwrap_or(outcome.since));
        let guarded_relatives = || around.relatives.iter().filter(|relative| relative.head.mode == Mode::Guarded);
        Self {
            mode: record.head.mode,
            state: outcome.state,
            class: around.tool.class,
            key_protects: outcome.key_protects,
            look_up: look_up_kind(record, outcome, now),
            absent_after_settle: absent_after_settle(record, outcome),
            approval_live: false,
            any_open: !open.is_empty(),
            ever_sent: !outcome.attempts.is_empty() || !outcome.inherited.is_empty(),
            scope_changed: false,
            lease_live: false,
            child: child(record),
            past_pivot: false,
            watch_over: age >= contract.watch(),
            is_fresh: age < contract.settle(),
            acceptance_over: record.deadline().map_or(age >= contract.watch(), |deadline| now >= deadline),
            same_handle: false,
            sole_writer: false,
            cancel_by_key: contract.cancel_by_key,
            compensation_declared: contract.compensation.is_some(),
            success_evidence: outcome.effects.iter().any(|effect| effect.is_held),
            success_elsewhere: outcome.effects.iter().any(|effect| !effect.is_held),
            newer_guarded: guarded_relatives().any(|relative| relative.head.recorded_at > record.head.recorded_at),
            guarded_at_work: guarded_relatives()
                .any(|relative| relative.row.as_ref().is_none_or(|row| !row.state.is_final())),
            above_threshold: is_above_threshold(record, around),
            executable: around.tool.declared && around.tool.executable && around.tool.destination.is_some(),
            budget_spent: false,
            actor_proposed: actor
                .is_some_and(|actor| record.proposals().any(|proposal| proposal.by.as_ref() == Some(&actor.id))),
            automation: actor.is_some_and(Actor::is_automation),
            conflict_open: record.facts.iter().any(|fact| matches!(fact, Fact::Conflict { .. })),
        }
    }

    /// Whether the state is uncertain for this reason.
    pub fn doubts(&self, doubt: Doubt) -> bool {
        self.state == State::Uncertain(doubt)
    }

    /// Whether the state is uncertain at all.
    pub const fn is_uncertain(&self) -> bool {
        matches!(self.state, State::Uncertain(_))
    }

    /// Class V or X.
    pub const fn is_unsafe_write(&self) -> bool {
        matches!(self.class, Class::Reversible | Class::Irreversible)
    }

    /// Succeeded by proof: P3, or some of several items.
    pub const fn is_proved_success(&self) -> bool {
        matches!(self.state, State::Succeeded(SuccessBasis::Receipt | SuccessBasis::Partial))
    }

    /// Guarded or observed.
    pub fn is_guarded(&self) -> bool {
        self.mode == Mode::Guarded
    }
}

fn look_up_kind(record: &Record, outcome: &Outcome, now: Timestamp) -> LookUpKind {
    let Some(lookup) = outcome.contract.lookup else { return LookUpKind::None };
    // Unavailable or ambiguous for longer than the watch period counts as none.
    let mut answers: Vec<_> = record.evidence().filter(|evidence| evidence.sent_at.is_some()).collect();
    answers.sort_by_key(|evidence| (evidence.at, &evidence.id));
    let useless = |claim: &Claim| matches!(claim, Claim::Unavailable | Claim::Ambiguous);
    let in_vain: Vec<_> = answers.iter().rev().take_while(|evidence| useless(&evidence.claim)).collect();
    if in_vain.last().is_some_and(|first| now.since(first.at) > outcome.contract.watch()) {
        return LookUpKind::None;
    }
    let strong = lookup.consistency == Some(Consistency::Strong) && lookup.complete;
    if strong && record.head.mode == Mode::Guarded { LookUpKind::Strong } else { LookUpKind::Weak }
}

fn absent_after_settle(record: &Record, outcome: &Outcome) -> bool {
    let last_sent = outcome.attempts.iter().chain(&outcome.inherited).map(|attempt| attempt.dispatched_at).max();
    let Some(settled_at) = last_sent.map(|at| at.plus(outcome.contract.settle())) else { return false };
    record
        .evidence()
        .any(|evidence| evidence.claim == Claim::Absent && evidence.sent_at.is_some_and(|sent_at| sent_at > settled_at))
}

fn child(record: &Record) -> Child {
    let proposed = record.facts.iter().any(|fact| matches!(fact, Fact::CompensationProposed { .. }));
    if proposed { Child::Running } else { Child::None }
}

fn is_above_threshold(record: &Record, around: &Surroundings) -> bool {
    let amount =
        record.proposals().find_map(|proposal| proposal.impact.as_ref()).and_then(|impact| impact.amount_minor);
    around.tool.dual_threshold_minor.zip(amount).is_some_and(|(threshold, amount)| amount >= threshold)
}

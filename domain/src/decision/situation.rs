//! The facts that the decision table looks at, gathered once.

use std::time::Duration;

use crate::contract::{CancelByKey, Consistency, DEFAULTS};
use crate::evidence::Claim;
use crate::name::{OperationId, Receipt};
use crate::operation::{Doubt, Fact, Mode, Record, State, SuccessBasis};
use crate::outcome::{Effect, Outcome, Surroundings};
use crate::permission::{Actor, Role};
use crate::policy::{Policy, SafetyRule};
use crate::time::Timestamp;
use crate::tool::Class;
use crate::workflow::compensation_key;

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
    /// Whether this operation was ever sent.
    pub ever_sent: bool,
    /// Whether anything of its intent was ever sent (T36).
    pub intent_sent: bool,
    /// Whether the destination's scope changed since an open attempt.
    pub scope_changed: bool,
    /// Whether a lease is held.
    pub lease_live: bool,
    /// What became of a compensation.
    pub child: Child,
    /// Whether the workflow is past its pivot.
    pub past_pivot: bool,
    /// Whether a step that builds on it is neither undone nor proved never to have run (T30).
    pub dependent_stands: bool,
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
    /// Whether the window of the declared compensation is over.
    pub compensation_window_over: bool,
    /// Whether every effect is compensated already, or a compensation of it is on its way.
    pub compensated: bool,
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
    /// Whether a restore waits to be acknowledged (O3).
    pub restore_pending: bool,
    /// Whether the question "same intent?" waits for an answer (4.4.3).
    pub question_open: bool,
    /// Whether the actor may act alone under the recorded override (4.4.9).
    pub lone_override: bool,
    /// Whether the request carries other arguments than those in force (overlay 1).
    pub args_differ: bool,
    /// Whether a surplus effect stands that is neither compensated nor waived.
    pub surplus_standing: bool,
    /// Which safety rules are in force.
    pub policy: Policy,
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
        let newest_only = around.policy.keeps(SafetyRule::NewestOfIntentOnly);
        Self {
            mode: record.head.mode,
            state: outcome.state,
            class: around.tool.class,
            key_protects: outcome.key_protects,
            look_up: look_up_kind(record, outcome, now),
            absent_after_settle: absent_after_settle(record, outcome),
            approval_live: record.live_approval(&around.tool, now).is_ok(),
            any_open: !outcome.open.is_empty(),
            ever_sent: !outcome.attempts.is_empty(),
            intent_sent: was_ever_sent(record, around),
            scope_changed: outcome.scope_changed,
            lease_live: outcome.lease_until.is_some(),
            child: child(record, around, now),
            past_pivot: around.steps.past_pivot,
            dependent_stands: around.steps.undo_waits_for.is_some(),
            watch_over: outcome.watch_until.map_or(age >= contract.watch(), |until| now >= until),
            is_fresh: age < contract.settle(),
            acceptance_over: record.deadline().map_or(age >= contract.watch(), |deadline| now >= deadline),
            same_handle: contract.async_accept.as_ref().is_some_and(|accepted| accepted.same_handle),
            sole_writer: contract.sole_writer == Some(true),
            cancel_by_key: contract.cancel_by_key,
            compensation_declared: contract.compensation.is_some(),
            compensation_window_over: is_window_over(outcome, now),
            compensated: is_compensated(around, outcome),
            success_evidence: outcome.effects.iter().any(|effect| effect.is_held),
            success_elsewhere: outcome.effects.iter().any(|effect| !effect.is_held),
            newer_guarded: newest_only && has_newer_guarded(record, around),
            guarded_at_work: guarded_relatives()
                .any(|relative| relative.row.as_ref().is_none_or(|row| !row.state.is_final())),
            above_threshold: is_above_threshold(record, around),
            executable: around.tool.declared && around.tool.executable && around.tool.destination.is_some(),
            budget_spent: outcome.attempts_left == Some(0) || outcome.deadline.is_some_and(|deadline| now >= deadline),
            actor_proposed: actor.is_some_and(|actor| record.is_proposed_by(&actor.id)),
            automation: actor.is_some_and(Actor::is_automation),
            conflict_open: record.facts.acts().any(|fact| matches!(fact, Fact::Conflict { .. })),
            restore_pending: around.restore_pending,
            question_open: record.unanswered_question().is_some(),
            lone_override: around.lone_override && actor.is_some_and(|actor| actor.role == Role::Administrator),
            args_differ: false,
            surplus_standing: standing_surplus(record, around, outcome).next().is_some(),
            policy: around.policy,
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
    // A sender that others run, and of which no bound is declared, may send at any time (4.0).
    let unbounded = !outcome.inherited.is_empty() && outcome.contract.max_arrival_delay_s.is_none();
    let is_ours = record.head.mode == Mode::Guarded && !unbounded;
    if strong && is_ours { LookUpKind::Strong } else { LookUpKind::Weak }
}

fn absent_after_settle(record: &Record, outcome: &Outcome) -> bool {
    let last_sent = outcome.attempts.iter().chain(&outcome.inherited).map(|attempt| attempt.dispatched_at).max();
    let Some(settled_at) = last_sent.map(|at| at.plus(outcome.contract.settle())) else { return false };
    record
        .evidence()
        .any(|evidence| evidence.claim == Claim::Absent && evidence.sent_at.is_some_and(|sent_at| sent_at > settled_at))
}

/// Whether anything of the intent was ever sent, or may have been (T36).
pub(crate) fn was_ever_sent(record: &Record, around: &Surroundings) -> bool {
    let restored = |fact: &Fact| matches!(fact, Fact::Restored { .. });
    let was_sent = |one: &Record| one.facts.reports().next().is_some() || one.facts.acts().any(restored);
    std::iter::once(record).chain(&around.relatives).any(was_sent)
}

/// Whether a newer guarded operation of the intent exists (T8, T10, O9a).
pub(crate) fn has_newer_guarded(record: &Record, around: &Surroundings) -> bool {
    let age = |record: &Record| (record.head.recorded_at, record.head.id.clone());
    around.relatives.iter().any(|other| other.head.mode == Mode::Guarded && age(other) > age(record))
}

/// The operations that undo this one: of each intent the newest, which is the one that people work on (T33).
fn undos(around: &Surroundings) -> impl Iterator<Item = &Record> {
    let age = |record: &Record| (record.head.recorded_at, record.head.id.clone());
    around.children.iter().filter(move |child| {
        let is_newer = |other: &Record| other.head.intent_id == child.head.intent_id && age(other) > age(child);
        !around.children.iter().any(is_newer)
    })
}

fn child(record: &Record, around: &Surroundings, now: Timestamp) -> Child {
    let state = |child: &Record| child.row.as_ref().map_or(State::Proposed, |row| row.state);
    let is_stuck = |child: &Record| match state(child) {
        State::Failed(_) => true,
        State::Uncertain(_) => {
            let default = || child.head.recorded_at.plus(DEFAULTS.operation_deadline);
            now >= child.deadline().unwrap_or_else(default)
        }
        _ => false,
    };
    if undos(around).any(is_stuck) && !record.is_undo_waived() {
        return Child::Stuck;
    }
    let told = record.facts.iter().filter_map(|fact| match fact {
        Fact::CompensationProposed { child, .. } => Some(child),
        _ => None,
    });
    let is_there = |id: &OperationId| around.children.iter().any(|child| child.head.id == *id);
    let all_there = told.into_iter().all(is_there);
    if all_there && undos(around).all(|child| state(child).is_final()) { Child::None } else { Child::Running }
}

fn is_window_over(outcome: &Outcome, now: Timestamp) -> bool {
    let window = outcome.contract.compensation.as_ref().and_then(|declared| declared.window_s);
    let at = outcome.effects.iter().map(|effect| effect.at).min();
    window.zip(at).is_some_and(|(window, at)| now > at.plus(Duration::from_secs(window)))
}

/// Compensations that were not given up.
fn undoing(around: &Surroundings) -> impl Iterator<Item = &Record> {
    undos(around).filter(|child| {
        let state = child.row.as_ref().map(|row| row.state);
        !matches!(state, Some(State::Failed(_) | State::Denied | State::Cancelled | State::Superseded))
    })
}

/// Whether a child undoes this effect, or is on its way to: the key of its intent is made of both (C4).
fn is_being_undone(around: &Surroundings, effect: &Effect) -> bool {
    let names = || std::iter::once(&effect.receipt).chain(&effect.aliases);
    undoing(around).any(|child| {
        let undoes = |forward: &OperationId, name: &Receipt| {
            compensation_key(forward, name).is_ok_and(|key| {
                around.children.iter().any(|one| one.head.intent_id == child.head.intent_id && one.head.key == key)
            })
        };
        child.head.compensates.as_ref().is_some_and(|forward| names().any(|name| undoes(forward, name)))
    })
}

fn is_compensated(around: &Surroundings, outcome: &Outcome) -> bool {
    let mut to_undo = outcome.effects.iter().filter(|effect| effect.is_surplus).peekable();
    if to_undo.peek().is_some() {
        return to_undo.all(|effect| is_being_undone(around, effect));
    }
    !outcome.effects.is_empty() && undoing(around).next().is_some()
}

/// Surplus effects that nobody undoes and nobody waived (T27).
pub(crate) fn standing_surplus<'a>(
    record: &'a Record,
    around: &'a Surroundings,
    outcome: &'a Outcome,
) -> impl Iterator<Item = &'a Receipt> {
    let waived = |effect: &Effect| {
        let left = |fact: &Fact| matches!(fact, Fact::Waived { receipt: Some(left), .. } if effect.is_called(left));
        record.facts.acts().any(left)
    };
    let surplus = outcome.effects.iter().filter(|effect| effect.is_surplus);
    let standing = surplus.filter(move |effect| !waived(effect) && !is_being_undone(around, effect));
    standing.map(|effect| &effect.receipt)
}

fn is_above_threshold(record: &Record, around: &Surroundings) -> bool {
    let amount = record.impact().and_then(|impact| impact.amount_minor);
    around.tool.dual_threshold_minor.zip(amount).is_some_and(|(threshold, amount)| amount >= threshold)
}

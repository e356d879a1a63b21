//! `decide(record, surroundings, command, now)`: the only way anything changes (T rows).

mod acts;
mod carry;
mod permit;
mod project;
mod sending;
mod unwinding;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action::{Act, AwaitedAct};
use crate::approval::{Approval, Approver};
use crate::decision;
use crate::guard::GuardResult;
use crate::name::{ActionKey, OperationId, OperationKey};
use crate::operation::{Doubt, Fact, Failure, Mode, Projection, Record, State, SuccessBasis};
use crate::outcome::{self, Outcome, Surroundings};
use crate::permission::Actor;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::tool::Class;

pub(crate) use acts::check_reason;
pub use acts::confirmation_text;
pub use permit::{Found, Permit, permit};
pub use project::mark;
pub use sending::{Sending, Worker};

/// What is asked of the rules.
#[derive(Debug, Clone)]
pub enum Command {
    /// Facts arrived: proposals, reports, evidence, history.
    Record(Vec<Fact>),
    /// A person (or an automation, where it may) acts.
    Act {
        /// What they ask.
        act: Act,
        /// The id that a new operation gets, should the act make one.
        new_id: OperationId,
    },
    /// A second person completes a dual act.
    Complete {
        /// The act's key; it must still wait.
        awaited: ActionKey,
        /// Who completes it.
        second: Actor,
        /// The version the second person saw.
        seen_version: u64,
        /// What they typed to confirm.
        confirmation: Option<String>,
        /// The id that a new operation gets, should the act make one.
        new_id: OperationId,
    },
    /// A second person declines a dual act, or the first takes it back.
    Decline {
        /// The act's key.
        act: ActionKey,
        /// Who declines.
        by: Actor,
        /// The version they saw.
        seen_version: u64,
        /// Why.
        reason: String,
    },
    /// A worker asks for the lease (T8, T17).
    Claim {
        /// Who.
        worker: Worker,
        /// For how long.
        lease: Duration,
    },
    /// The holder asks for more time.
    Renew {
        /// Which lease.
        epoch: u64,
        /// Until when.
        until: Timestamp,
    },
    /// The holder gives the lease back with nothing sent (T9, T11).
    Release {
        /// Which lease.
        epoch: u64,
        /// Why.
        reason: String,
    },
    /// The holder is about to send (T10).
    Dispatch(Box<Sending>),
    /// The record was restored from a copy of that time (T45).
    Restore {
        /// The time of the copy.
        backup_at: Timestamp,
    },
    /// The operation's workflow goes back, and its turn has come (T30, T6).
    Unwind {
        /// What is done with it.
        how: Unwind,
        /// The step because of which.
        because: OperationKey,
        /// Who stands for it in the record.
        by: Actor,
        /// The id that the operation gets which undoes it.
        new_id: OperationId,
    },
    /// Time passed, or the tool's contract, a source's trust or a relative changed.
    Refold,
}

/// What a workflow that goes back does with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwind {
    /// An operation that undoes it is proposed.
    Undo,
    /// It is cancelled, so that it never begins.
    Cancel,
}

/// What came of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActOutcome {
    /// Done.
    Done,
    /// Recorded; waits for a second person.
    AwaitsSecondPerson,
    /// A second person declined it.
    Declined,
}

/// What the rules decided. Nothing has happened yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Facts to append, in this order.
    pub facts: Vec<Fact>,
    /// The row as it is from now on.
    pub row: Projection,
    /// Rules that spoke, for the journal: `E12`, `K1`, `F14`, `T15`, `row 21`.
    pub rules: Vec<String>,
    /// An operation that is made in the same commit (adopting). It has version 0, its facts, and its row.
    pub creates: Option<Box<Record>>,
    /// Operations whose answer may change because of this one: fold them again in the same commit.
    pub refold: Vec<OperationId>,
    /// What came of an act.
    pub outcome: ActOutcome,
    /// The guards that were asked, each with its answer.
    pub guards: Vec<GuardResult>,
    /// Arguments that are kept in the same commit, exactly as given.
    pub arguments: Option<NewArguments>,
}

/// Arguments that an act brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArguments {
    /// Whose.
    pub operation: OperationId,
    /// Which version of them.
    pub args_version: u32,
    /// Exactly as given.
    pub bytes: Vec<u8>,
}

impl Decision {
    /// Whether nothing would change.
    pub fn is_empty(&self, record: &Record) -> bool {
        self.facts.is_empty() && self.creates.is_none() && record.row.as_ref() == Some(&self.row)
    }
}

/// Decides what a command changes, or refuses with the fact that refused it.
pub fn decide(record: &Record, around: &Surroundings, command: &Command, now: Timestamp) -> Result<Decision, Refusal> {
    match command {
        Command::Record(facts) => Ok(record_facts(record, around, facts, now)),
        Command::Refold => {
            Ok(approve_by_policy(record, around, conclude(record, around, Vec::new(), command, now), now))
        }
        Command::Claim { worker, lease } => sending::claim(record, around, worker, *lease, command, now),
        Command::Renew { epoch, until } => sending::renew(record, around, *epoch, *until, command, now),
        Command::Release { epoch, reason } => sending::release(record, around, *epoch, reason, command, now),
        Command::Dispatch(sending) => sending::dispatch(record, around, sending, command, now),
        Command::Restore { backup_at } => Ok(sending::restore(record, around, *backup_at, command, now)),
        Command::Unwind { how, because, by, new_id } => {
            unwinding::unwind(record, around, &unwinding::Unwinder { how: *how, because, by, new_id }, command, now)
        }
        Command::Act { act, new_id } => acts::act(record, around, act, new_id, command, now),
        Command::Complete { awaited, second, seen_version, confirmation, new_id } => {
            let awaited = acts::awaited(record, awaited)?.clone();
            let completion = acts::Completion {
                awaited,
                second,
                seen_version: *seen_version,
                confirmation: confirmation.as_deref(),
            };
            acts::complete(record, around, &completion, new_id, command, now)
        }
        Command::Decline { act, by, seen_version, reason } => {
            acts::check_version(record, *seen_version)?;
            check_reason(reason, true)?;
            let AwaitedAct { act: asked, .. } = acts::awaited(record, act)?;
            let fact = Fact::SecondPersonDeclined {
                act: asked.key.clone(),
                by: by.clone(),
                at: now,
                reason: reason.trim().into(),
            };
            let decision = conclude(record, around, vec![fact], command, now);
            Ok(Decision { outcome: ActOutcome::Declined, ..decision })
        }
    }
}

/// Facts that are on record already are nothing new (I27): byte-equal ones, evidence by id (I22),
/// an operator's act at the source by its own key.
fn record_facts(record: &Record, around: &Surroundings, facts: &[Fact], now: Timestamp) -> Decision {
    let mut new: Vec<Fact> = Vec::new();
    for fact in facts {
        let known = record.facts.iter().chain(&new).any(|other| is_same_fact(other, fact));
        if !known {
            new.push(fact.clone());
        }
    }
    let decision = conclude(record, around, new, &Command::Record(Vec::new()), now);
    approve_by_policy(record, around, decision, now)
}

/// T2: the tool's policy may approve classes R and N by itself; nothing else is approved without a person.
fn approve_by_policy(record: &Record, around: &Surroundings, decision: Decision, now: Timestamp) -> Decision {
    let tool = &around.tool;
    let by_policy = tool.auto_approve && matches!(tool.class, Class::Read | Class::Idempotent);
    let waits = record.head.mode == Mode::Guarded && decision.row.state == State::Proposed;
    if !by_policy || !waits {
        return decision;
    }
    let mut after = record.clone();
    after.facts.extend(decision.facts.iter().cloned());
    let version = after.args_version();
    let id = ActionKey::parse(format!("policy-{}-{version}", record.head.id));
    let (Some(arguments), Ok(id), None) = (after.arguments(), id, after.unanswered_question()) else { return decision };
    let approval = Approval {
        id,
        args_version: version,
        args_hash: arguments.args_hash,
        tool: record.head.tool.clone(),
        destination: record.head.destination.clone(),
        class: tool.class,
        contract_version: tool.version,
        approver: Approver::Policy,
        alone: false,
        granted_at: now,
        expires_at: now.plus(tool.contract.approval_life()),
    };
    if after.approvals().any(|other| other.id == approval.id) {
        return decision;
    }
    let mut facts = decision.facts;
    facts.push(Fact::Approved(approval));
    conclude(record, around, facts, &Command::Refold, now).by("T2")
}

fn is_same_fact(one: &Fact, other: &Fact) -> bool {
    match (one, other) {
        // Nobody takes an id away from a source that is believed more.
        (Fact::Evidence(a), Fact::Evidence(b)) => a.id == b.id && a.source == b.source && a.claim == b.claim,
        (Fact::ActedElsewhere { act: a, .. }, Fact::ActedElsewhere { act: b, .. }) => a == b,
        _ => one == other,
    }
}

/// Folds the record with the new facts, and says what its row is from now on.
fn conclude(record: &Record, around: &Surroundings, facts: Vec<Fact>, command: &Command, now: Timestamp) -> Decision {
    let mut after = Cow::Borrowed(record);
    if !facts.is_empty() {
        after.to_mut().facts.extend(facts.iter().cloned());
    }
    let outcome = outcome::fold(&after, around, now);
    let ruling = decision::evaluate(&decision::Situation::of(&after, around, &outcome, None, now));
    let row = project::project(&after, around, &outcome, &ruling, now);
    let mut rules = rules_that_spoke(&outcome, &facts);
    rules.extend(transition_rule(record, row.state, command).map(Into::into));
    rules.push(format!("row {}", ruling.row));
    let undone = record.head.compensates.clone();
    let concerned = around.relatives.iter().chain(&around.sharers).map(|other| other.head.id.clone());
    let concerned = concerned.chain(undone);
    let refold = if record.row.as_ref() == Some(&row) { Vec::new() } else { concerned.collect() };
    let outcome = ActOutcome::Done;
    Decision { facts, row, rules, creates: None, refold, outcome, guards: Vec::new(), arguments: None }
}

fn rules_that_spoke(outcome: &Outcome, facts: &[Fact]) -> Vec<String> {
    let mut rules = Vec::new();
    let reported: BTreeSet<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Report(report) => Some(&report.attempt),
            _ => None,
        })
        .collect();
    for attempt in &outcome.attempts {
        if reported.contains(&attempt.id) && attempt.ended_at.is_some() {
            rules.push(attempt.judgement.rule.to_string());
        }
        rules.extend(attempt.closed.as_ref().map(|closure| closure.rule.to_string()));
    }
    rules.push(outcome.fold_rule.clone());
    rules.sort();
    rules.dedup();
    rules
}

/// The row of semantics 4.3 that a change of state goes by.
fn transition_rule(record: &Record, to: State, command: &Command) -> Option<&'static str> {
    let from = record.row.as_ref().map(|row| row.state);
    let from = match from {
        None => return Some(if record.head.adopts.is_some() { "T37" } else { "T1" }),
        Some(from) if from == to => return None,
        Some(from) => from,
    };
    let acted = matches!(command, Command::Act { .. } | Command::Complete { .. });
    Some(match (from, to) {
        (State::Contradicted(_), _) if acted => "T27",
        (_, State::Succeeded(_)) if acted => "T21",
        (_, State::Failed(Failure::Attested)) if acted => "T22",
        (_, State::Failed(Failure::Deadline)) if !matches!(from, State::Uncertain(_) | State::Executing) => "T39",
        (State::Failed(_), State::RetryWait(_) | State::Authorized | State::ApprovalExpired) => "T40",
        (State::Succeeded(SuccessBasis::Attested), State::Contradicted(_)) => "T25",
        (State::Succeeded(_), State::Contradicted(_)) => "T26",
        (State::Uncertain(_) | State::Executing, State::Contradicted(_)) => "T44",
        (_, State::Contradicted(_)) => "T24",
        (State::Uncertain(Doubt::Partial), State::Succeeded(_) | State::Failed(_)) => "T49",
        (State::Executing, State::Succeeded(_)) => "T12",
        (State::Uncertain(_), State::Succeeded(_)) => "T18",
        (State::Uncertain(_) | State::Executing, State::Failed(Failure::Business)) => "T47",
        (State::Executing, State::Failed(_)) => "T14",
        (State::Uncertain(_), State::Failed(_)) => "T20",
        (State::Succeeded(_), State::Succeeded(_)) | (State::Failed(_), State::Failed(_)) => "T46",
        _ if record.head.mode == Mode::Observed => "T48",
        (State::Executing, State::Uncertain(Doubt::Crashed)) => "T16",
        (State::Executing, State::Uncertain(_)) => "T15",
        (State::Executing, State::RetryWait(_)) => "T13",
        (State::Executing | State::Uncertain(_), State::ApprovalExpired) => "T42",
        (State::Uncertain(_), State::RetryWait(_) | State::Authorized | State::Proposed) => "T19",
        (State::Proposed, State::Authorized) => "T2",
        (State::Proposed | State::Authorized | State::RetryWait(_), State::ApprovalExpired) => "T4",
        (State::Authorized, State::Proposed) => "T41",
        (State::ApprovalExpired, State::Authorized | State::RetryWait(_) | State::Proposed) => "T7",
        (State::Claimed, State::Executing) => "T10",
        (State::Claimed, _) => "T9",
        (_, State::Claimed) => "T8",
        (_, State::Denied) => "T3",
        (_, State::Cancelled) => "T6",
        (_, State::Superseded) => "T5",
        (_, State::Uncertain(Doubt::Restored)) => "T45",
        _ => return None,
    })
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
pub(crate) use tests::{ACTS_PROOFS, GUARDED_TRICKY_PROOFS, ROWS_PROOFS, TRACE_PROOFS, TRICKY_PROOFS};

//! Operations as steps: the place that a proposal tells, the workflow that the records make, and when a step may begin.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ChildProof, ChildView, Direction, Forward, Misbuilt, Progress, StepView, Undo, Workflow, is_open, progress,
};
use crate::contract::Contract;
use crate::name::{IntentId, OperationId, OperationKey};
use crate::operation::{Record, State};
use crate::time::Timestamp;
use crate::workflow::compensation_key;

/// An operation's place in its workflow (4.1): fixed when it is proposed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its number, from 1. Steps of one number stand side by side.
    pub number: u32,
    /// Whether it is the go or no go (C3).
    #[serde(default)]
    pub is_pivot: bool,
    /// The operation keys of the steps whose results it uses. Not told: every step with a lower number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<OperationKey>>,
}

/// Why a step is not sent yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wait", rename_all = "snake_case")]
pub enum StepWait {
    /// A step that it needs has not succeeded, or is undone.
    Needs {
        /// Which one.
        step: OperationKey,
    },
    /// Its workflow goes back.
    GoesBack {
        /// The step because of which.
        because: OperationKey,
    },
}

impl StepWait {
    /// In a sentence.
    pub fn words(&self) -> String {
        match self {
            Self::Needs { step } => format!("It waits for the step {step}, which has not succeeded."),
            Self::GoesBack { because } => format!("Its workflow goes back because of {because}; nothing new begins."),
        }
    }
}

/// What the other steps of its workflow mean for an operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepsAround {
    /// Whether only people undo it: the pivot happened, or it is the pivot or comes after it (row 29).
    pub past_pivot: bool,
    /// Why it is not sent yet.
    pub wait: Option<StepWait>,
    /// A step that builds on it and is neither undone nor proved never to have run (T30).
    pub undo_waits_for: Option<OperationKey>,
}

/// One operation of a workflow, with what its tool's destination promises.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The operation, with its row.
    pub record: &'a Record,
    /// The contract in force.
    pub contract: &'a Contract,
}

impl Workflow {
    /// Puts the operations of one workflow together: of each intent the newest is the step, and operations that undo one
    /// say how far its undo has come.
    pub fn gather(members: &[Member<'_>], now: Timestamp) -> Result<Self, Misbuilt> {
        let mut intents: BTreeMap<&IntentId, Vec<Member<'_>>> = BTreeMap::new();
        for member in members.iter().filter(|member| member.record.head.compensates.is_none()) {
            intents.entry(&member.record.head.intent_id).or_default().push(*member);
        }
        let mut told: Vec<(Timestamp, Vec<Member<'_>>)> = intents.into_values().map(oldest_first).collect();
        told.sort_by(|(a, one), (b, other)| (a, id_of(one)).cmp(&(b, id_of(other))));
        let ids: BTreeMap<&OperationKey, &OperationId> = told
            .iter()
            .filter_map(|(_, intent)| Some((intent, newest(intent)?)))
            .flat_map(|(intent, step)| intent.iter().map(move |one| (&one.record.head.key, &step.record.head.id)))
            .collect();
        let mut steps = Vec::with_capacity(told.len());
        for (order, (_, intent)) in (1..).zip(&told) {
            let Some(step) = newest(intent) else { continue };
            let place = intent.iter().rev().find_map(|one| one.record.head.step.as_ref());
            let undo = undo_of(step);
            steps.push(StepView {
                id: step.record.head.id.clone(),
                key: step.record.head.key.clone(),
                step_no: place.map_or(order, |place| place.number),
                is_pivot: place.is_some_and(|place| place.is_pivot),
                depends_on: place
                    .and_then(|place| place.needs.as_ref())
                    .map(|needs| known(step, needs, &ids))
                    .transpose()?,
                mode: step.record.head.mode,
                state: state_of(step.record),
                undo,
                compensation: progress_of(intent, step, undo, members, now),
            });
        }
        Self::new(steps)
    }

    /// What the others mean for this step; nothing, for an operation that is no step.
    pub fn around(&self, id: &OperationId) -> StepsAround {
        let Some(step) = self.step(id) else { return StepsAround::default() };
        let dependent = self.unsettled_dependent(id).map(|other| other.key.clone());
        StepsAround { past_pivot: self.is_past_pivot(id), wait: self.may_begin(step).err(), undo_waits_for: dependent }
    }

    /// A step begins when all that it needs has succeeded and stands, and while nothing goes back. A statement that one
    /// succeeded is enough: each step has an approval of its own.
    fn may_begin(&self, step: &StepView) -> Result<(), StepWait> {
        if !is_open(step.state) {
            return Ok(());
        }
        if let Direction::Back { because } = self.direction()
            && because != step.id
        {
            let because = self.step(&because).map_or_else(|| step.key.clone(), |other| other.key.clone());
            return Err(StepWait::GoesBack { because });
        }
        let stands = |other: &StepView| {
            matches!(other.state, State::Succeeded(_))
                && matches!(other.compensation, Progress::None | Progress::Waived)
        };
        let needed = self.steps.iter().filter(|other| other.id != step.id && self.depends(&step.id, &other.id));
        match needed.into_iter().find(|other| !stands(other)) {
            Some(other) => Err(StepWait::Needs { step: other.key.clone() }),
            None => Ok(()),
        }
    }
}

fn oldest_first(mut intent: Vec<Member<'_>>) -> (Timestamp, Vec<Member<'_>>) {
    intent.sort_by_key(|one| (one.record.head.recorded_at, &one.record.head.id));
    let first = intent.first().map_or(Timestamp::from_micros(0), |one| one.record.head.recorded_at);
    (first, intent)
}

fn id_of<'a>(intent: &[Member<'a>]) -> Option<&'a OperationId> {
    intent.first().map(|one| &one.record.head.id)
}

fn newest<'a>(intent: &[Member<'a>]) -> Option<Member<'a>> {
    intent.last().copied()
}

fn state_of(record: &Record) -> State {
    record.row.as_ref().map_or(State::Proposed, |row| row.state)
}

/// The steps of these keys.
fn known(
    step: Member<'_>,
    needs: &[OperationKey],
    ids: &BTreeMap<&OperationKey, &OperationId>,
) -> Result<Vec<OperationId>, Misbuilt> {
    let unknown = |key: &OperationKey| Misbuilt::UnknownKey { step: step.record.head.key.clone(), on: key.clone() };
    needs.iter().map(|key| ids.get(key).map(|id| (*id).clone()).ok_or_else(|| unknown(key))).collect()
}

fn undo_of(step: Member<'_>) -> Undo {
    match (&step.contract.compensation, step.contract.cancel_by_key) {
        (Some(declared), _) => {
            let since = step.record.row.as_ref().map_or(step.record.head.recorded_at, |row| row.since);
            Undo::Declared { until: declared.window_s.map(|window| since.plus(Duration::from_secs(window))) }
        }
        (None, Some(_)) => Undo::Declared { until: None },
        (None, None) => Undo::Undeclared,
    }
}

fn progress_of(
    intent: &[Member<'_>],
    step: Member<'_>,
    undo: Undo,
    members: &[Member<'_>],
    now: Timestamp,
) -> Progress {
    let is_of_intent = |id: &OperationId| intent.iter().any(|one| one.record.head.id == *id);
    let undoes_it = |member: &&Member<'_>| member.record.head.compensates.as_ref().is_some_and(is_of_intent);
    let mut undoing: BTreeMap<&IntentId, Vec<Member<'_>>> = BTreeMap::new();
    for member in members.iter().filter(undoes_it).filter(|member| !undoes_a_surplus(step.record, member.record)) {
        undoing.entry(&member.record.head.intent_id).or_default().push(*member);
    }
    let latest = undoing.into_values().filter_map(|undos| newest(&oldest_first(undos).1));
    let children: Vec<ChildView> = latest.map(|child| child_view(step, child)).collect();
    let is_waived = step.record.is_undo_waived();
    let amount_minor = step.record.impact().and_then(|impact| impact.amount_minor);
    progress(&Forward { amount_minor, undo, is_wanted: false, is_waived }, &children, now)
}

/// Where an effect is there more than once, undoing a surplus one leaves the step done.
fn undoes_a_surplus(step: &Record, child: &Record) -> bool {
    let Some(row) = step.row.as_ref().filter(|row| row.effects > 1) else { return false };
    let stands = row.receipt.as_ref().and_then(|receipt| compensation_key(&step.head.id, receipt).ok());
    stands.is_some_and(|key| !child.head.key.as_str().starts_with(key.as_str()))
}

fn child_view(step: Member<'_>, child: Member<'_>) -> ChildView {
    let record = child.record;
    let life = child.contract.operation_deadline();
    let is_cancel = record.head.key.as_str().ends_with(":cancel");
    let leaves_open = step.contract.cancel_by_key.is_some_and(|cancel| cancel.noop_on_absent && !cancel.commutative);
    ChildView {
        state: state_of(record),
        amount_minor: record.impact().and_then(|impact| impact.amount_minor),
        deadline_at: record.deadline().unwrap_or_else(|| record.head.recorded_at.plus(life)),
        proof: if is_cancel && leaves_open {
            // Once it is confirmed, the state of the operation that it cancels says so (K7).
            ChildProof::NothingStands { is_confirmed: false }
        } else {
            ChildProof::Undone
        },
        is_attested_by_two: record.resolution().is_some_and(|said| said.actors.len() > 1),
    }
}

#[cfg(test)]
mod tests;

//! Workflows: steps, their pivot, what of them may be undone now, and how they end (semantics 1.7, 4.3 T30–T33, I23, I24).
//!
//! A step is an operation, and so is each undo of one. Here is only what follows from how they stand to each other.

mod compensation;
mod place;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::PROOFS;
mod unwinding;

pub use compensation::{ChildProof, ChildView, Forward, Progress, Undo, compensation_key, progress};
pub use place::{Member, Place, StepWait, StepsAround};
pub use unwinding::{Hold, Unwinding};

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::name::{OperationId, OperationKey, PrincipalId};
use crate::operation::{Failure, Mode, State, named};

named! {
    /// What a step is to its workflow (C3).
    StepKind {
        /// Before the pivot: what it did can be undone.
        Compensable = "compensable",
        /// Go or no go: neither undone nor repeated.
        Pivot = "pivot",
        /// After the pivot: driven forward until it succeeds.
        Retriable = "retriable",
    }
}

/// One step, as far as the others depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepView {
    /// Its operation; of several operations of one intent, the newest.
    pub id: OperationId,
    /// That operation's key, for people.
    pub key: OperationKey,
    /// Its place.
    pub step_no: u32,
    /// Whether it is the go or no go.
    pub is_pivot: bool,
    /// The steps whose results it uses. `None`: not told, so every step with a lower number.
    pub depends_on: Option<Vec<OperationId>>,
    /// Who sends it.
    pub mode: Mode,
    /// Its state.
    pub state: State,
    /// Whether and how long what it did can be undone.
    pub undo: Undo,
    /// How far its undo has come.
    pub compensation: Progress,
}

/// Why steps do not make a workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "misbuilt", rename_all = "snake_case")]
pub enum Misbuilt {
    /// There is none.
    #[error("a workflow has at least one step")]
    Empty {},
    /// One step twice.
    #[error("step {step} is there twice")]
    Twice {
        /// Which.
        step: OperationId,
    },
    /// More than one pivot.
    #[error("both {one} and {other} claim to be the pivot")]
    TwoPivots {
        /// One.
        one: OperationId,
        /// The other.
        other: OperationId,
    },
    /// A dependency on something else.
    #[error("step {step} depends on {on}, which is no step of the workflow")]
    Unknown {
        /// Which step.
        step: OperationId,
        /// On what.
        on: OperationId,
    },
    /// A dependency on a key that no step has.
    #[error("step {step} needs {on}, which is no step of the workflow")]
    UnknownKey {
        /// Which step.
        step: OperationKey,
        /// On what.
        on: OperationKey,
    },
    /// A step that depends on itself through others.
    #[error("step {step} depends on itself")]
    Cycle {
        /// Which step.
        step: OperationId,
    },
}

/// Where a workflow stands to its pivot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has none, or the pivot is proved never to have happened.
    Revocable,
    /// The pivot has not begun; it must not begin once anything is undone.
    PivotAhead,
    /// Whether the pivot happened is not known.
    PivotUnknown,
    /// The pivot happened.
    Passed,
}

named! {
    /// Who undoes the steps of a workflow that goes back.
    Unwinds {
        /// People, step by step.
        ByPeople = "by_people",
        /// Tallystick proposes each undo when its turn has come, and cancels what has not begun. Every undo has an approval
        /// of its own (T30).
        ByItself = "by_itself",
    }
}

/// Which way a workflow goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "direction", rename_all = "snake_case")]
pub enum Direction {
    /// On to the next steps.
    Forward,
    /// Back: what was done is undone.
    Back {
        /// The step that failed, or whose undo has begun.
        because: OperationId,
    },
    /// Past the pivot a step failed: it must be driven forward, and nothing does so by itself.
    Escalate {
        /// Which step.
        step: OperationId,
    },
}

/// The three ways in which a workflow ends (I23).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    /// All steps succeeded.
    Succeeded,
    /// Each step that succeeded is undone, or its undo was waived.
    Undone,
    /// An undo does not get on, and somebody owns that.
    Stuck {
        /// Who.
        owner: PrincipalId,
        /// Steps that are undone, or waived.
        undone: Vec<OperationId>,
        /// Steps whose effect stands.
        not_undone: Vec<OperationId>,
    },
}

/// Steps that belong together: each known, no circle among them, at most one pivot.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// In an order in which each comes after all that it depends on.
    steps: Vec<StepView>,
    /// By step, everything that depends on it, through others as well.
    dependents: BTreeMap<OperationId, BTreeSet<OperationId>>,
}

impl Workflow {
    /// Puts steps together.
    pub fn new(steps: Vec<StepView>) -> Result<Self, Misbuilt> {
        let mut by_id: BTreeMap<OperationId, StepView> = BTreeMap::new();
        let mut pivot: Option<OperationId> = None;
        for step in steps {
            if step.is_pivot
                && let Some(one) = pivot.replace(step.id.clone())
            {
                return Err(Misbuilt::TwoPivots { one, other: step.id });
            }
            if let Some(twin) = by_id.insert(step.id.clone(), step) {
                return Err(Misbuilt::Twice { step: twin.id });
            }
        }
        if by_id.is_empty() {
            return Err(Misbuilt::Empty {});
        }
        let needs = needs(&by_id)?;
        let order = order(&by_id, &needs)?;
        let mut dependents: BTreeMap<OperationId, BTreeSet<OperationId>> = BTreeMap::new();
        for id in order.iter().rev() {
            // Whoever depends on this step comes later in the order and is complete already.
            let mut all = dependents.get(id).cloned().unwrap_or_default();
            all.insert(id.clone());
            for needed in needs.get(id).into_iter().flatten() {
                dependents.entry(needed.clone()).or_default().extend(all.iter().cloned());
            }
        }
        let steps = order.iter().filter_map(|id| by_id.remove(id)).collect();
        Ok(Self { steps, dependents })
    }

    /// Its steps, each after all that it depends on.
    pub fn steps(&self) -> &[StepView] {
        &self.steps
    }

    /// What this step is to the workflow; `None` if it is no step of it.
    pub fn kind(&self, id: &OperationId) -> Option<StepKind> {
        let step = self.step(id)?;
        Some(match self.pivot() {
            Some(pivot) if pivot.id == *id => StepKind::Pivot,
            Some(pivot) if step.step_no > pivot.step_no || self.depends(id, &pivot.id) => StepKind::Retriable,
            Some(_) | None => StepKind::Compensable,
        })
    }

    /// Whether this step is undone by people only (row 29): the pivot happened, or the step is it or comes after it.
    pub fn is_past_pivot(&self, id: &OperationId) -> bool {
        self.phase() == Phase::Passed || !matches!(self.kind(id), None | Some(StepKind::Compensable))
    }

    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        let failed = self.steps.iter().find(|step| is_failed_for_good(step.state)).map(|step| step.id.clone());
        let undoing = self.steps.iter().find(|step| step.compensation != Progress::None).map(|step| step.id.clone());
        match (self.phase(), failed, undoing) {
            (Phase::Passed, Some(step), _) => Direction::Escalate { step },
            (Phase::Passed, None, _) => Direction::Forward,
            (Phase::Revocable | Phase::PivotAhead | Phase::PivotUnknown, failed, undoing) => {
                failed.or(undoing).map_or(Direction::Forward, |because| Direction::Back { because })
            }
        }
    }

    /// How it ended, if it did. `owner` is who recovers it: without one a stuck workflow has not ended (I23).
    pub fn ending(&self, owner: Option<&PrincipalId>) -> Option<Ending> {
        let ids = |of: &dyn Fn(&StepView) -> bool| -> Vec<OperationId> {
            self.steps.iter().filter(|step| of(step)).map(|step| step.id.clone()).collect()
        };
        if self.steps.iter().all(StepView::is_settled) {
            return Some(Ending::Undone);
        }
        let is_undisturbed = |step: &StepView| {
            matches!(step.state, State::Succeeded(_))
                && !step.compensation.is_moving()
                && !step.compensation.is_stopped()
        };
        if self.steps.iter().all(is_undisturbed) {
            return Some(Ending::Succeeded);
        }
        let is_stopped = self.steps.iter().any(|step| step.compensation.is_stopped());
        let is_moving = self.steps.iter().any(StepView::is_moving);
        let owner = owner.filter(|_| is_stopped && !is_moving)?.clone();
        let has_succeeded = |step: &StepView| matches!(step.state, State::Succeeded(_));
        let undone = ids(&|step| has_succeeded(step) && step.is_settled());
        let not_undone = ids(&|step| has_succeeded(step) && !step.is_settled());
        Some(Ending::Stuck { owner, undone, not_undone })
    }

    fn step(&self, id: &OperationId) -> Option<&StepView> {
        self.steps.iter().find(|step| step.id == *id)
    }

    fn pivot(&self) -> Option<&StepView> {
        self.steps.iter().find(|step| step.is_pivot)
    }

    /// Whether `id` uses what `on` did, through others as well.
    fn depends(&self, id: &OperationId, on: &OperationId) -> bool {
        self.dependents.get(on).is_some_and(|dependents| dependents.contains(id))
    }

    fn phase(&self) -> Phase {
        let Some(pivot) = self.pivot() else { return Phase::Revocable };
        let may_begin = match pivot.state {
            State::Succeeded(_) => return Phase::Passed,
            State::Proposed | State::Authorized | State::RetryWait(_) | State::ApprovalExpired => {
                pivot.mode == Mode::Guarded
            }
            State::Claimed
            | State::Executing
            | State::Uncertain(_)
            | State::Failed(_)
            | State::Contradicted(_)
            | State::Denied
            | State::Cancelled
            | State::Superseded => false,
        };
        match (pivot.is_settled(), may_begin) {
            (true, _) => Phase::Revocable,
            (false, true) => Phase::PivotAhead,
            (false, false) => Phase::PivotUnknown,
        }
    }
}

impl StepView {
    /// Whether no effect of it is left to undo: proved never to have happened, undone, or waived.
    fn is_settled(&self) -> bool {
        match self.state {
            State::Succeeded(_) => matches!(self.compensation, Progress::Compensated | Progress::Waived),
            state => is_failed_for_good(state),
        }
    }

    /// Whether something about it will still change by itself.
    fn is_moving(&self) -> bool {
        is_open(self.state) || self.compensation.is_moving()
    }
}

/// Whether a step may still be sent, first or again, or an answer is still coming; what is over waits for nothing.
const fn is_open(state: State) -> bool {
    match state {
        State::Proposed
        | State::Authorized
        | State::Claimed
        | State::Executing
        | State::RetryWait(_)
        | State::Uncertain(_)
        | State::ApprovalExpired => true,
        State::Succeeded(_)
        | State::Failed(_)
        | State::Contradicted(_)
        | State::Denied
        | State::Cancelled
        | State::Superseded => false,
    }
}

/// Whether a step ended without its effect, by proof or before anything was open. A failure that is somebody's word
/// proves nothing, and a superseded operation says nothing about its successor.
fn is_failed_for_good(state: State) -> bool {
    match state {
        State::Failed(failure) => failure != Failure::Attested,
        State::Denied | State::Cancelled => true,
        State::Proposed
        | State::Authorized
        | State::Claimed
        | State::Executing
        | State::RetryWait(_)
        | State::Uncertain(_)
        | State::Succeeded(_)
        | State::Contradicted(_)
        | State::ApprovalExpired
        | State::Superseded => false,
    }
}

type Needs = BTreeMap<OperationId, BTreeSet<OperationId>>;

/// By step, what it depends on directly.
fn needs(steps: &BTreeMap<OperationId, StepView>) -> Result<Needs, Misbuilt> {
    let mut needs = Needs::new();
    for step in steps.values() {
        let needed: BTreeSet<OperationId> = match &step.depends_on {
            Some(told) => told.iter().cloned().collect(),
            None => steps.values().filter(|other| other.step_no < step.step_no).map(|other| other.id.clone()).collect(),
        };
        if let Some(on) = needed.iter().find(|on| !steps.contains_key(on)) {
            return Err(Misbuilt::Unknown { step: step.id.clone(), on: on.clone() });
        }
        needs.insert(step.id.clone(), needed);
    }
    Ok(needs)
}

/// Each step after all that it depends on; of those that could come next, the lowest number first.
fn order(steps: &BTreeMap<OperationId, StepView>, needs: &Needs) -> Result<Vec<OperationId>, Misbuilt> {
    let mut left: Vec<&StepView> = steps.values().collect();
    left.sort_by_key(|step| (step.step_no, &step.id));
    let mut order: Vec<OperationId> = Vec::new();
    let mut placed: BTreeSet<&OperationId> = BTreeSet::new();
    while let Some(first) = left.first() {
        let is_next =
            |step: &&StepView| needs.get(&step.id).is_none_or(|needed| needed.iter().all(|on| placed.contains(on)));
        let Some(index) = left.iter().position(is_next) else {
            return Err(Misbuilt::Cycle { step: first.id.clone() });
        };
        let step = left.remove(index);
        placed.insert(&step.id);
        order.push(step.id.clone());
    }
    Ok(order)
}

//! Going back: what may be undone now, and what holds the rest (semantics 4.4.8, C1, C4, T30, T32, I23, I24).

use serde::{Deserialize, Serialize};

use super::{Phase, Progress, StepView, Workflow};
use crate::name::OperationId;
use crate::operation::{Doubt, Failure, Mode, State, SuccessBasis};
use crate::time::Timestamp;

/// Why a step is not undone now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hold", rename_all = "snake_case")]
pub enum Hold {
    /// It may still begin; it must be cancelled first.
    NotBegun,
    /// It runs; its answer is waited for.
    Running,
    /// Whether it happened is not known; that is waited for.
    Uncertain {
        /// Why not.
        doubt: Doubt,
    },
    /// Its undo is under way.
    Undoing,
    /// A step that builds on it is not yet undone.
    Dependent {
        /// Which one.
        step: OperationId,
    },
    /// Whether the pivot happened is not known, or it may still begin.
    PivotOpen,
    /// Past the pivot: only people undo it.
    PastPivot,
    /// An undo is stuck, so nothing more is undone by itself.
    StuckElsewhere {
        /// The undo of which step.
        step: OperationId,
    },
    /// Its own undo is stuck.
    Stuck,
    /// Its undo is impossible.
    Impossible,
    /// No undo is declared for it.
    NoCompensation,
    /// The time in which it could be undone is over.
    WindowClosed,
    /// A part of it is undone; the rest needs a decision.
    PartlyUndone,
    /// Its success is somebody's word, and a word satisfies no guard (I15).
    AttestedSuccess,
    /// Its failure is somebody's word, and a word proves nothing (I15).
    AttestedFailure,
    /// Facts about it disagree.
    Contradicted,
    /// Somebody else sends it, and what ran is not on record.
    NotOnRecord,
    /// It was superseded, and its successor is not among the steps.
    SuccessorDecides,
    /// There is nothing to undo.
    NothingToUndo,
    /// It is no step of this workflow.
    NoStep,
}

impl Hold {
    /// Whether a person must act; otherwise it ends by itself.
    pub const fn needs_person(&self) -> bool {
        match self {
            Self::NotBegun
            | Self::Running
            | Self::Uncertain { .. }
            | Self::Undoing
            | Self::Dependent { .. }
            | Self::PivotOpen
            | Self::NothingToUndo
            | Self::NoStep => false,
            Self::PastPivot
            | Self::StuckElsewhere { .. }
            | Self::Stuck
            | Self::Impossible
            | Self::NoCompensation
            | Self::WindowClosed
            | Self::PartlyUndone
            | Self::AttestedSuccess
            | Self::AttestedFailure
            | Self::Contradicted
            | Self::NotOnRecord
            | Self::SuccessorDecides => true,
        }
    }
}

/// What is done now in order to go back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unwinding {
    /// Steps to undo, side by side if wished (C1); the last of the workflow first.
    pub undo: Vec<OperationId>,
    /// Steps to cancel, so that they never begin.
    pub cancel: Vec<OperationId>,
    /// Steps that are not settled and not undone now, and why.
    pub holds: Vec<(OperationId, Hold)>,
}

impl Workflow {
    /// The guard of T30 within the workflow: the effect is proved, can be undone, is not being undone, and everything
    /// that builds on it is undone or proved never to have run. It holds for people too; the pivot binds only what
    /// happens by itself. A surplus effect (contradicted) and a cancel by key (22a, 22b) have guards of their own.
    pub fn may_compensate(&self, id: &OperationId, now: Timestamp) -> Result<(), Hold> {
        let step = self.step(id).ok_or(Hold::NoStep)?;
        if step.is_settled() {
            return Err(Hold::NothingToUndo);
        }
        if let Some(hold) = own_hold(step, now) {
            return Err(hold);
        }
        match self.unsettled_dependent(id) {
            Some(dependent) => Err(Hold::Dependent { step: dependent.id.clone() }),
            None => Ok(()),
        }
    }

    /// What happens by itself once the workflow goes back. Repeating it is harmless: what was begun is not begun again.
    pub fn unwind(&self, now: Timestamp) -> Unwinding {
        let mut unwinding = Unwinding::default();
        let phase = self.phase();
        for step in self.steps.iter().rev().filter(|step| !step.is_settled()) {
            let hold = self.automatic_hold(step, phase).or_else(|| self.may_compensate(&step.id, now).err());
            match hold {
                None => unwinding.undo.push(step.id.clone()),
                Some(hold) => {
                    // Past the pivot what has not begun is still to come.
                    if hold == Hold::NotBegun && phase != Phase::Passed {
                        unwinding.cancel.push(step.id.clone());
                    }
                    unwinding.holds.push((step.id.clone(), hold));
                }
            }
        }
        unwinding
    }

    /// What binds only the automatic undo of an effect: the pivot (I24), and an undo that is stuck (T32).
    fn automatic_hold(&self, step: &StepView, phase: Phase) -> Option<Hold> {
        if !matches!(step.state, State::Succeeded(_)) || step.compensation != Progress::None {
            return None;
        }
        if self.is_past_pivot(&step.id) {
            return Some(Hold::PastPivot);
        }
        // Like steno (1.6): a stuck undo starts nothing more, neither of its ancestors nor beside them.
        let stuck = self.steps.iter().find(|other| other.compensation.is_stopped());
        if let Some(stuck) = stuck {
            return Some(Hold::StuckElsewhere { step: stuck.id.clone() });
        }
        (phase != Phase::Revocable).then_some(Hold::PivotOpen)
    }

    pub(super) fn unsettled_dependent(&self, id: &OperationId) -> Option<&StepView> {
        self.steps.iter().rev().find(|other| self.depends(&other.id, id) && !other.is_settled())
    }
}

/// What holds an unsettled step by itself, whatever the others do.
fn own_hold(step: &StepView, now: Timestamp) -> Option<Hold> {
    match (step.state, step.mode) {
        (State::Claimed | State::Executing, _) => Some(Hold::Running),
        (State::Uncertain(doubt), _) => Some(Hold::Uncertain { doubt }),
        (State::Contradicted(_), _) => Some(Hold::Contradicted),
        (State::Proposed | State::Authorized | State::RetryWait(_) | State::ApprovalExpired, Mode::Guarded) => {
            Some(Hold::NotBegun)
        }
        (State::Proposed | State::Authorized | State::RetryWait(_) | State::ApprovalExpired, Mode::Observed) => {
            Some(Hold::NotOnRecord)
        }
        (State::Failed(Failure::Attested), _) => Some(Hold::AttestedFailure),
        (State::Superseded, _) => Some(Hold::SuccessorDecides),
        (State::Failed(_) | State::Denied | State::Cancelled, _) => Some(Hold::NothingToUndo),
        (State::Succeeded(basis), _) => hold_of_effect(step, basis, now),
    }
}

fn hold_of_effect(step: &StepView, basis: SuccessBasis, now: Timestamp) -> Option<Hold> {
    match step.compensation {
        Progress::Requested | Progress::Running => return Some(Hold::Undoing),
        Progress::Stuck => return Some(Hold::Stuck),
        Progress::Impossible => return Some(Hold::Impossible),
        Progress::Partial => return Some(Hold::PartlyUndone),
        Progress::Compensated | Progress::Waived => return Some(Hold::NothingToUndo),
        Progress::None => {}
    }
    match (basis, step.undo) {
        (SuccessBasis::Attested, _) => Some(Hold::AttestedSuccess),
        (SuccessBasis::Receipt | SuccessBasis::Partial, super::Undo::Undeclared) => Some(Hold::NoCompensation),
        (SuccessBasis::Receipt | SuccessBasis::Partial, undo) => (!undo.is_open(now)).then_some(Hold::WindowClosed),
    }
}

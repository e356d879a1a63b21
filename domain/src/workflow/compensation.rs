//! How far the undo of one operation has come, read from the operations that undo it (semantics 4.2, T30–T33).

use serde::{Deserialize, Serialize};

use crate::fingerprint::Hash;
use crate::name::{NameError, OperationId, OperationKey, Receipt};
use crate::operation::{State, SuccessBasis, named};
use crate::time::Timestamp;

named! {
    /// The `compensation` of a forward operation. Not a state of its own: it is computed from its children.
    Progress {
        /// Nobody undoes it.
        None = "none",
        /// An undo is on record and has sent nothing.
        Requested = "requested",
        /// An undo was sent and is not proved.
        Running = "running",
        /// It is undone, by proof.
        Compensated = "compensated",
        /// A part is undone.
        Partial = "partial",
        /// An undo does not get on; a person must.
        Stuck = "stuck",
        /// An undo is wanted and there is no way.
        Impossible = "impossible",
        /// Two people decided to leave it.
        Waived = "waived",
    }
}

impl Progress {
    /// Whether an undo is under way.
    pub const fn is_moving(self) -> bool {
        matches!(self, Self::Requested | Self::Running)
    }

    /// Whether only a person gets it on.
    pub const fn is_stopped(self) -> bool {
        matches!(self, Self::Stuck | Self::Impossible)
    }
}

/// Whether and how long an effect can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "undo", rename_all = "snake_case")]
pub enum Undo {
    /// No way is declared.
    Undeclared,
    /// By a declared tool.
    Declared {
        /// Until then; `None` is without limit.
        until: Option<Timestamp>,
    },
}

impl Undo {
    /// Whether it can be undone at `now`.
    pub fn is_open(self, now: Timestamp) -> bool {
        match self {
            Self::Undeclared => false,
            Self::Declared { until } => until.is_none_or(|until| now < until),
        }
    }
}

/// The forward operation, as far as its undo is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forward {
    /// What it moved, in minor units, where it moved an amount.
    pub amount_minor: Option<i64>,
    /// How it can be undone.
    pub undo: Undo,
    /// Whether somebody, or the unwinding, wants it undone.
    pub is_wanted: bool,
    /// Whether two people waived the undo.
    pub is_waived: bool,
}

/// What the success of a child proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildProof {
    /// The effect is undone.
    Undone,
    /// A cancel that also answers success when there is nothing to cancel (22a, C5): proof only once settle passed and
    /// a second check agreed.
    NothingStands {
        /// Whether both did.
        is_confirmed: bool,
    },
}

/// An operation that undoes the forward one; of several of one intent, the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildView {
    /// Its state.
    pub state: State,
    /// What it moves back, in minor units. `None`: the whole.
    pub amount_minor: Option<i64>,
    /// When it must be done.
    pub deadline_at: Timestamp,
    /// What its success proves.
    pub proof: ChildProof,
    /// Whether two people stand behind its state, where that is attested (T33).
    pub is_attested_by_two: bool,
}

/// What one child contributes.
enum Part {
    Requested,
    Running,
    Done { is_whole: bool, amount_minor: Option<i64> },
    Stuck,
    Aside,
}

/// T30–T33: the word for the forward row.
pub fn progress(forward: &Forward, children: &[ChildView], now: Timestamp) -> Progress {
    let parts: Vec<Part> = children.iter().map(|child| part(child, now)).collect();
    let done = amount_done(forward, &parts);
    // What is undone by proof is undone, whatever was decided or failed beside it.
    match done {
        Done::All => Progress::Compensated,
        Done::Some | Done::Nothing if forward.is_waived => Progress::Waived,
        Done::Some | Done::Nothing => {
            let any = |of: &dyn Fn(&Part) -> bool| parts.iter().any(of);
            if any(&|part| matches!(part, Part::Stuck)) {
                Progress::Stuck
            } else if any(&|part| matches!(part, Part::Running)) {
                Progress::Running
            } else if any(&|part| matches!(part, Part::Requested)) {
                Progress::Requested
            } else if done == Done::Some {
                Progress::Partial
            } else if forward.is_wanted && !forward.undo.is_open(now) {
                Progress::Impossible
            } else {
                Progress::None
            }
        }
    }
}

fn part(child: &ChildView, now: Timestamp) -> Part {
    let is_unproved = child.proof == ChildProof::NothingStands { is_confirmed: false };
    match child.state {
        State::Proposed | State::Authorized | State::Claimed | State::ApprovalExpired => Part::Requested,
        State::Executing | State::RetryWait(_) => Part::Running,
        State::Uncertain(_) => {
            if now >= child.deadline_at {
                Part::Stuck
            } else {
                Part::Running
            }
        }
        State::Succeeded(SuccessBasis::Receipt) if is_unproved => Part::Running,
        // T33: only two people can stand in for the P3 that T31 asks for.
        State::Succeeded(SuccessBasis::Attested) if !child.is_attested_by_two => Part::Stuck,
        State::Succeeded(basis) => {
            Part::Done { is_whole: basis != SuccessBasis::Partial, amount_minor: child.amount_minor }
        }
        // An undo must be driven to its end (C2): one that was refused, stopped or contradicted is a person's.
        State::Failed(_) | State::Contradicted(_) | State::Denied | State::Cancelled => Part::Stuck,
        State::Superseded => Part::Aside,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Nothing,
    Some,
    All,
}

fn amount_done(forward: &Forward, parts: &[Part]) -> Done {
    let mut sum: i64 = 0;
    let mut done = Done::Nothing;
    for part in parts {
        let Part::Done { is_whole, amount_minor } = part else { continue };
        done = Done::Some;
        match (forward.amount_minor, amount_minor) {
            (Some(_), Some(amount)) if *is_whole => sum = sum.saturating_add(*amount),
            (_, None) | (None, Some(_)) if *is_whole => return Done::All,
            _ => {}
        }
    }
    if done == Done::Some && forward.amount_minor.is_some_and(|whole| sum >= whole) { Done::All } else { done }
}

/// The operation key of an undo: `comp:{operation}:{effect}` (T30), with a hash for an effect whose name is too long.
pub fn compensation_key(forward: &OperationId, effect: &Receipt) -> Result<OperationKey, NameError> {
    let plain = format!("comp:{forward}:{effect}");
    if plain.chars().count() <= OperationKey::LIMIT {
        return OperationKey::parse(plain);
    }
    OperationKey::parse(format!("comp:{forward}:sha256:{}", Hash::of(effect.as_str().as_bytes())))
}

//! How far a bulk action has come, why it stopped, and why it cannot be started.

use serde::{Deserialize, Serialize};

use crate::permission::{Actor, Role};
use crate::time::Timestamp;

/// When it was started, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// By the record's clock.
    pub at: Timestamp,
    /// The reason that goes into every one of its actions.
    pub reason: String,
}

/// Why no further item begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "snake_case")]
pub enum Stop {
    /// A person stopped it.
    Asked {
        /// Who.
        by: Actor,
    },
    /// Whoever started it may not do this any more.
    NotPermitted {
        /// Their role now.
        role: Role,
    },
    /// Whoever started it is not on record any more.
    Gone,
}

impl Stop {
    /// Why, in a sentence.
    pub fn phrase(&self) -> String {
        match self {
            Self::Asked { by } => format!("{} stopped it.", by.name),
            Self::NotPermitted { role } => format!(
                "Whoever started it is {} now, and that role does not admit this any more. No further item was begun.",
                role.name()
            ),
            Self::Gone => "Whoever started it is not on record any more. No further item was begun.".into(),
        }
    }
}

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// Frozen, and nothing is done.
    Previewed,
    /// Items are carried out.
    Running(Started),
    /// Every item has its answer.
    Done {
        /// Its start.
        started: Started,
        /// Its end.
        at: Timestamp,
    },
    /// Stopped: what was not begun is not done.
    Aborted {
        /// Its start, if it was started.
        started: Option<Started>,
        /// When.
        at: Timestamp,
        /// Why.
        why: Stop,
    },
}

impl Life {
    /// Its name in bodies and the record.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Previewed => "previewed",
            Self::Running(_) => "running",
            Self::Done { .. } => "done",
            Self::Aborted { .. } => "aborted",
        }
    }

    /// Its start, if it was started.
    pub const fn started(&self) -> Option<&Started> {
        match self {
            Self::Previewed => None,
            Self::Running(started) | Self::Done { started, .. } => Some(started),
            Self::Aborted { started, .. } => started.as_ref(),
        }
    }

    /// Its end, if it has one.
    pub const fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Previewed | Self::Running(_) => None,
            Self::Done { at, .. } | Self::Aborted { at, .. } => Some(*at),
        }
    }

    /// Whether nothing of it will happen any more.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Aborted { .. })
    }
}

/// Why it cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStartable {
    /// The preview is too old.
    Expired,
    /// It was stopped before it was started.
    Stopped,
    /// What is confirmed is not what is kept here.
    Differs,
    /// It was started before, with another reason.
    OtherReason,
    /// Every item is left out.
    NothingEligible,
}

impl NotStartable {
    /// In a sentence, with what to do.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Expired => "This preview is too old to be started: operations change. Make a new one.",
            Self::Stopped => "This bulk action was stopped. Make a new preview.",
            Self::Differs => "What you confirm is not the list that is kept here. Open its page again and read it.",
            Self::OtherReason => {
                "This bulk action was already started, with another reason. Its page shows how far it is."
            }
            Self::NothingEligible => "Every operation of this list is skipped, so there is nothing to start.",
        }
    }
}

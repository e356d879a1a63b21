//! What may be done now, and why (semantics §6). The page shows this; the POST evaluates it again.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::evidence::Strength;
use crate::time::Timestamp;

/// The verdict on one action, least strict first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// S.
    Safe,
    /// C: typed confirmation and a reason.
    Confirm,
    /// D: a second person.
    Dual,
    /// F.
    Forbidden,
    /// –: does not concern this state; counts as forbidden.
    NotOffered,
}

impl Verdict {
    /// What a badge says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Confirm => "confirm",
            Self::Dual => "second person",
            Self::Forbidden => "forbidden",
            Self::NotOffered => "not offered",
        }
    }
}

/// The verdict on one action with its grounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRuling {
    /// Which action.
    pub action: Action,
    /// What the rules say.
    pub verdict: Verdict,
    /// One sentence why.
    pub reason: String,
    /// Rows that forbid it, beside the deciding one.
    pub forbidden_by: Vec<String>,
    /// Overlays of 6.2 that made it stricter.
    pub overlays: Vec<String>,
    /// When the verdict changes by time alone: "until then, afterwards forbidden".
    pub expires_at: Option<Timestamp>,
}

/// A fact that the ruling stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundFact {
    /// In words.
    pub text: String,
    /// How strong it is.
    pub strength: Strength,
    /// When it was learned.
    pub at: Timestamp,
}

/// All verdicts about one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// The deciding row of 6.1.
    pub row: String,
    /// Why, in the row's words.
    pub why: String,
    /// What to do first.
    pub recommended: Action,
    /// One an action, in the order of [`Action::ALL`].
    pub actions: Vec<ActionRuling>,
    /// What the ruling stands on.
    pub facts: Vec<GroundFact>,
    /// What is known, in a few sentences for a tired operator.
    pub known: Vec<String>,
}

impl Ruling {
    /// The ruling on one action.
    pub fn on(&self, action: Action) -> Option<&ActionRuling> {
        self.actions.iter().find(|ruling| ruling.action == action)
    }
}

//! `decide(record, surroundings, command, now)`: the only way anything changes (T rows).

use crate::action::{Act, AwaitedAct};
use crate::name::{ActionKey, OperationId};
use crate::operation::{Fact, Projection, Record};
use crate::outcome::Surroundings;
use crate::permission::Actor;
use crate::refusal::Refusal;
use crate::time::Timestamp;

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
        /// What the first person asked; it must still wait.
        awaited: AwaitedAct,
        /// Who completes it.
        second: Actor,
        /// The version the second person saw.
        seen_version: u64,
        /// What they typed to confirm.
        confirmation: Option<String>,
        /// The id that a new operation gets, should the act make one.
        new_id: OperationId,
    },
    /// A second person declines a dual act.
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
    /// Time passed, or the tool's contract, a source's trust or a relative changed.
    Refold,
}

/// What came of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
    /// Operations whose answer may change because of this one: fold them again after the commit.
    pub refold: Vec<OperationId>,
    /// What came of an act.
    pub outcome: ActOutcome,
}

impl Decision {
    /// Whether nothing would change.
    pub fn is_empty(&self, record: &Record) -> bool {
        self.facts.is_empty() && self.creates.is_none() && record.row.as_ref() == Some(&self.row)
    }
}

/// Decides what a command changes, or refuses with the fact that refused it.
pub fn decide(record: &Record, around: &Surroundings, command: &Command, now: Timestamp) -> Result<Decision, Refusal> {
    let _ = (record, around, command, now);
    todo!()
}

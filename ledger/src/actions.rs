//! Operator actions: keyed, versioned, answered once.

use tallystick_domain::action::{Act, Action};
use tallystick_domain::name::{ActionKey, OperationId};
use tallystick_domain::operation::State;
use tallystick_domain::permission::Actor;
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;

use crate::operations::Page;
use crate::{Ledger, LedgerError};

/// How far an action has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionStatus {
    /// Refused; nothing was done.
    Refused,
    /// Recorded; a second person must complete it.
    AwaitsSecondPerson,
    /// A second person declined it.
    Declined,
    /// Done.
    Done,
}

/// One row of the audit log.
#[derive(Debug, Clone)]
pub struct ActionRecord {
    /// The action's key.
    pub key: ActionKey,
    /// On which operation.
    pub operation_id: OperationId,
    /// That operation's key, for reading.
    pub operation_key: String,
    /// What was asked, with its input.
    pub act: Act,
    /// How far it has come.
    pub status: ActionStatus,
    /// Who completed or declined it, under dual control.
    pub second: Option<Actor>,
    /// Why it was refused.
    pub refusal: Option<Refusal>,
    /// When it was asked.
    pub at: Timestamp,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
    /// The state before and after.
    pub from: Option<State>,
    /// The state after.
    pub to: Option<State>,
    /// The version that it made.
    pub made_version: Option<u64>,
    /// The operation that it made (adopting).
    pub created: Option<OperationId>,
}

/// The answer to a press.
#[derive(Debug, Clone)]
pub struct ActionAnswer {
    /// The row as stored.
    pub record: ActionRecord,
    /// Whether it was there already: same key, same content.
    pub already_recorded: bool,
}

impl Ledger {
    /// Makes an action. The same key with the same content gives the stored answer; with other content
    /// [`Refusal::ActionKeyReused`]. A refusal is recorded too (with the reason typed) and returned as an
    /// answer whose status is `Refused`; `Err` is for failures of the store and for unknown operations.
    pub async fn act(&self, id: &OperationId, act: Act) -> Result<ActionAnswer, LedgerError> {
        let _ = (id, act);
        todo!()
    }

    /// Completes a dual action as the second person. `key` is this press's own key.
    pub async fn complete_action(
        &self,
        second: &Actor,
        awaited: &ActionKey,
        key: &ActionKey,
        seen_version: u64,
        confirmation: Option<String>,
    ) -> Result<ActionAnswer, LedgerError> {
        let _ = (second, awaited, key, seen_version, confirmation);
        todo!()
    }

    /// Declines a dual action as the second person (or takes it back as the first).
    pub async fn decline_action(
        &self,
        by: &Actor,
        awaited: &ActionKey,
        key: &ActionKey,
        seen_version: u64,
        reason: String,
    ) -> Result<ActionAnswer, LedgerError> {
        let _ = (by, awaited, key, seen_version, reason);
        todo!()
    }

    /// One action.
    pub async fn action(&self, by: &Actor, key: &ActionKey) -> Result<Option<ActionRecord>, LedgerError> {
        let _ = (by, key);
        todo!()
    }

    /// A page of the audit log, newest first; of one operation, or of one action kind, where asked.
    pub async fn actions(
        &self,
        by: &Actor,
        operation: Option<&OperationId>,
        action: Option<Action>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<ActionRecord>, LedgerError> {
        let _ = (by, operation, action, after, limit);
        todo!()
    }
}

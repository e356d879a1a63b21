//! Why the rules said no: one variant a reason, phrased for an operator, with what to do next.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::bulk::NotStartable;
use crate::decision::Verdict;
use crate::guard::GuardResult;
use crate::operation::FieldChange;
use crate::permission::{Permission, Role};

/// The rules said no; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// The role does not admit it.
    #[error("The role {} may not {}. Nothing was done. Ask an administrator for another role.", role.name(), permission.phrase())]
    NotPermitted {
        /// The role that asked.
        role: Role,
        /// What it asked for.
        permission: Permission,
    },
    /// The operation changed since the person looked.
    #[error(
        "The operation changed since you looked: you saw version {seen}, it is now {current}. Nothing was done. Read what changed, then decide again."
    )]
    StaleVersion {
        /// What the person saw.
        seen: u64,
        /// What it is.
        current: u64,
    },
    /// The same action key came with other content.
    #[error(
        "This action key was already used for something else. Nothing was done. Open the form again to get a fresh key."
    )]
    ActionKeyReused {},
    /// The decision table forbids it.
    #[error("{} is forbidden now (row {row}): {reason} Nothing was done.", action.label())]
    Forbidden {
        /// What was asked.
        action: Action,
        /// The row of semantics 6.1 that says so.
        row: String,
        /// Why, in words.
        reason: String,
    },
    /// A reason is needed.
    #[error("A reason is missing. Nothing was done. Write why; it goes into the audit log.")]
    ReasonMissing {},
    /// The typed confirmation is missing or wrong.
    #[error("The confirmation is missing or differs. Nothing was done. Type {expected:?} to confirm.")]
    ConfirmationMissing {
        /// What must be typed.
        expected: String,
        /// The verdict that asks for it.
        verdict: Verdict,
    },
    /// The same person cannot be the second person.
    #[error("The second person must be somebody else; your tokens count as you. Nothing was done.")]
    SamePersonTwice {},
    /// The dual act is no longer waiting.
    #[error("This act no longer waits for a second person. Nothing was done. Its page shows what happened.")]
    NotAwaited {},
    /// A field does not hold what it must.
    #[error("{field}: {problem}. Nothing was done.")]
    BadField {
        /// Which field.
        field: String,
        /// What is wrong.
        problem: String,
    },
    /// Guards of a transition do not hold (semantics 4.3).
    #[error("{transition} is not possible now: {}. Nothing was done.", guards_in_words(failed))]
    GuardsFailed {
        /// The transition: `T10`.
        transition: String,
        /// The guards that refused, each with the fact.
        #[serde(rename = "failed_guards", alias = "failed")]
        failed: Vec<GuardResult>,
    },
    /// The operation key is taken by other arguments; a conflicting proposal was kept.
    #[error(
        "This operation key is already recorded with other arguments. No operation was made; the proposal is kept beside operation {operation_id} for a person to see."
    )]
    OperationKeyConflict {
        /// The operation that has the key.
        operation_id: String,
        /// How the arguments differ.
        changes: Vec<FieldChange>,
    },
    /// The key belongs to an observed operation.
    #[error(
        "This operation key belongs to the observed operation {operation_id}. No operation was made. Adopt it to act on it."
    )]
    ObservedOperation {
        /// The observed operation.
        operation_id: String,
    },
    /// Only whoever made a preview starts it.
    #[error("Only {by} may start this, who made the preview. Nothing was done. Make a preview of your own.")]
    BulkOfAnother {
        /// Who made it.
        by: String,
    },
    /// A bulk action cannot be started.
    #[error("{} Nothing was done.", why.phrase())]
    BulkNotStartable {
        /// Why.
        why: NotStartable,
    },
    /// There is no such thing.
    #[error("There is no {what} {name:?}. Nothing was done.")]
    Unknown {
        /// What kind of thing.
        what: String,
        /// Its name.
        name: String,
    },
}

fn guards_in_words(failed: &[GuardResult]) -> String {
    let words: Vec<String> =
        failed.iter().map(|result| format!("not true that {} ({})", result.guard.label(), result.because)).collect();
    words.join("; ")
}

impl Refusal {
    /// Its stable name: the last part of a problem type.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotPermitted { .. } => "not-permitted",
            Self::StaleVersion { .. } => "stale-version",
            Self::ActionKeyReused {} => "idempotency-key-mismatch",
            Self::Forbidden { .. } => "transition-not-allowed",
            Self::ReasonMissing {} => "reason-missing",
            Self::ConfirmationMissing { .. } => "unsafe-action-needs-confirmation",
            Self::SamePersonTwice {} => "separation-of-duties",
            Self::NotAwaited {} => "not-awaited",
            Self::BadField { .. } => "bad-field",
            Self::GuardsFailed { .. } => "guards-failed",
            Self::OperationKeyConflict { .. } => "operation-key-conflict",
            Self::ObservedOperation { .. } => "observed-operation",
            Self::BulkOfAnother { .. } => "bulk-of-another",
            Self::BulkNotStartable { .. } => "bulk-not-startable",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The HTTP status that goes with it (semantics P3).
    pub const fn status(&self) -> u16 {
        match self {
            Self::NotPermitted { .. } | Self::SamePersonTwice {} | Self::BulkOfAnother { .. } => 403,
            Self::Unknown { .. } => 404,
            Self::Forbidden { .. }
            | Self::ConfirmationMissing { .. }
            | Self::NotAwaited {}
            | Self::GuardsFailed { .. }
            | Self::BulkNotStartable { .. }
            | Self::ObservedOperation { .. } => 409,
            Self::StaleVersion { .. } => 412,
            Self::ActionKeyReused {}
            | Self::OperationKeyConflict { .. }
            | Self::ReasonMissing {}
            | Self::BadField { .. } => 422,
        }
    }
}

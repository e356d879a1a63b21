//! Bulk actions: one action on many operations, as a person saw them.
//!
//! A *preview* freezes which operations are meant, at which version, and what the decision says about each. Starting
//! confirms that list and no filter, so nothing that a filter would find later is ever hit. Each item is then one operator
//! action of its own, under a key made of the bulk action and the operation: doing an item twice does it once.

mod filter;
mod life;
mod standing;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::filter::Filter;
pub use self::life::{Life, NotStartable, Started, Stop};
pub use self::standing::{Counts, Standing};
use crate::action::{Act, Action, ActionInput};
use crate::decision::{Ruling, Verdict};
use crate::fingerprint::Hash;
use crate::name::{ActionKey, BulkId, NameError, OperationId, PrincipalId};
use crate::permission::{Actor, Permission};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::transition::check_reason;

/// The most operations that one bulk action may name.
pub const ITEM_LIMIT: usize = 1_000;
/// How long a preview may be started.
pub const PREVIEW_LASTS: Duration = Duration::from_hours(1);
/// How the keys of items begin; no other action may have such a key.
pub const KEY_PREFIX: &str = "bulk:";

impl Action {
    /// Whether it can be done to many operations at once: it needs nothing but a reason that holds for all of them.
    pub const fn is_for_many(self) -> bool {
        match self {
            Self::LookUp
            | Self::RerunSameKey
            | Self::Deny
            | Self::Revoke
            | Self::Cancel
            | Self::Escalate
            | Self::Assign
            | Self::Comment => true,
            // An approval says that a person has read these arguments (4.4.1); a list does not show them. The others
            // need something said about each one, or are never safe.
            Self::Approve
            | Self::Renew
            | Self::RerunNew
            | Self::Adopt
            | Self::MarkSucceeded
            | Self::MarkFailed
            | Self::ChangeArguments
            | Self::GrantAttempts
            | Self::AttachEvidence
            | Self::PickVerdict
            | Self::Compensate
            | Self::Waive
            | Self::DismissFinding => false,
        }
    }
}

/// What is asked of each of many operations. `to` is whom they are assigned to, or nobody.
pub fn input_for_many(action: Action, to: Option<PrincipalId>) -> Result<ActionInput, Refusal> {
    if to.is_some() && action != Action::Assign {
        return Err(Refusal::BadField { field: "to".into(), problem: "is only for assign".into() });
    }
    match action {
        Action::LookUp => Ok(ActionInput::LookUp {}),
        Action::RerunSameKey => Ok(ActionInput::RerunSameKey {}),
        Action::Deny => Ok(ActionInput::Deny {}),
        Action::Revoke => Ok(ActionInput::Revoke {}),
        Action::Cancel => Ok(ActionInput::Cancel {}),
        Action::Escalate => Ok(ActionInput::Escalate {}),
        Action::Assign => Ok(ActionInput::Assign { to }),
        Action::Comment => Ok(ActionInput::Comment {}),
        Action::Approve
        | Action::Renew
        | Action::RerunNew
        | Action::Adopt
        | Action::MarkSucceeded
        | Action::MarkFailed
        | Action::ChangeArguments
        | Action::GrantAttempts
        | Action::AttachEvidence
        | Action::PickVerdict
        | Action::Compensate
        | Action::Waive
        | Action::DismissFinding => Err(not_for_many(action)),
    }
}

/// An action that is done to one operation at a time.
pub fn not_for_many(action: Action) -> Refusal {
    let known: Vec<&str> =
        Action::ALL.iter().copied().filter(|action| action.is_for_many()).map(Action::name).collect();
    let problem =
        format!("{} is done to one operation at a time; for many there are {}", action.name(), known.join(", "));
    Refusal::BadField { field: "action".into(), problem }
}

/// Which operations a preview is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// These, chosen one by one out of a list.
    Chosen {
        /// In the order in which they were seen.
        operations: Vec<OperationId>,
        /// How that list was filtered, where that is known.
        from: Option<Filter>,
    },
    /// All that the filter finds now.
    Matching(Filter),
}

/// Where the frozen list came from, for reading. Nothing is ever selected by it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "selected", rename_all = "snake_case")]
pub enum Origin {
    /// Chosen one by one.
    Chosen {
        /// How the list was filtered.
        from: Option<Filter>,
    },
    /// All that matched.
    Matching {
        /// The filter.
        filter: Filter,
    },
}

/// Why an item is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "skip", rename_all = "snake_case")]
pub enum Skip {
    /// The verdict asks for a typed confirmation of this operation's own key.
    NeedsConfirmation,
    /// The verdict asks for two people.
    NeedsSecondPerson,
    /// The decision forbids it, or it does not concern the state.
    Forbidden {
        /// Why, in the decision's words.
        reason: String,
    },
}

impl Skip {
    /// Why, in a sentence.
    pub fn phrase(&self) -> String {
        match self {
            Self::NeedsConfirmation => "It needs a typed confirmation of its own: use its form.".into(),
            Self::NeedsSecondPerson => "It needs a second person: use its form.".into(),
            Self::Forbidden { reason } => reason.clone(),
        }
    }
}

/// One operation of the frozen list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Which.
    pub operation: OperationId,
    /// The version that was judged.
    pub seen_version: u64,
    /// Why it is left out; nothing, if it is to be done.
    pub skip: Option<Skip>,
}

/// Whether the ruling lets the action be done beside many others: only where it is safe (S).
pub fn skip_of(ruling: &Ruling, action: Action) -> Option<Skip> {
    let not_offered = || "It does not concern the state that this operation is in.".to_owned();
    let Some(one) = ruling.on(action) else { return Some(Skip::Forbidden { reason: not_offered() }) };
    match one.verdict {
        Verdict::Safe => None,
        Verdict::Confirm => Some(Skip::NeedsConfirmation),
        Verdict::Dual => Some(Skip::NeedsSecondPerson),
        Verdict::Forbidden | Verdict::NotOffered if one.reason.is_empty() => {
            Some(Skip::Forbidden { reason: not_offered() })
        }
        Verdict::Forbidden | Verdict::NotOffered => Some(Skip::Forbidden { reason: one.reason.clone() }),
    }
}

/// One action on many operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulk {
    /// Its id.
    pub id: BulkId,
    /// What is asked of each.
    pub input: ActionInput,
    /// Where the list came from.
    pub origin: Origin,
    /// How many items the list has.
    pub items: u32,
    /// How many of them are to be done.
    pub eligible: u32,
    /// Of the action and the whole list.
    pub hash: Hash,
    /// Who made the preview; only they may start it.
    pub by: Actor,
    /// When the preview was made.
    pub made_at: Timestamp,
    /// How far it has come.
    pub life: Life,
}

impl Bulk {
    /// Until when it may be started; exclusive.
    pub fn expires_at(&self) -> Timestamp {
        self.made_at.plus(PREVIEW_LASTS)
    }

    /// Starting: the life that follows, or nothing where the same start is on record.
    pub fn start(&self, by: &Actor, hash: Hash, reason: &str, now: Timestamp) -> Result<Option<Life>, Refusal> {
        if by.id != self.by.id {
            return Err(Refusal::BulkOfAnother { by: self.by.name.clone() });
        }
        let refused = |why| Err(Refusal::BulkNotStartable { why });
        if hash != self.hash {
            return refused(NotStartable::Differs);
        }
        if let Some(started) = self.life.started() {
            return if started.reason == reason { Ok(None) } else { refused(NotStartable::OtherReason) };
        }
        if self.life.is_over() {
            return refused(NotStartable::Stopped);
        }
        if now >= self.expires_at() {
            return refused(NotStartable::Expired);
        }
        if self.eligible == 0 {
            return refused(NotStartable::NothingEligible);
        }
        check_reason(reason, self.input.action().needs_reason())?;
        Ok(Some(Life::Running(Started { at: now, reason: reason.to_owned() })))
    }

    /// Stopping: the life that follows, or nothing where it is over already. Whoever may do the action may stop it.
    pub fn abort(&self, by: &Actor, now: Timestamp) -> Result<Option<Life>, Refusal> {
        let permission = Permission::Act(self.input.action());
        if by.id != self.by.id && !by.role.allows(permission) {
            return Err(Refusal::NotPermitted { role: by.role, permission });
        }
        Ok(self.stopped(Stop::Asked { by: by.clone() }, now))
    }

    /// The life that follows when no further item may begin; nothing where it is over already.
    pub fn stopped(&self, why: Stop, now: Timestamp) -> Option<Life> {
        let started = self.life.started().cloned();
        (!self.life.is_over()).then_some(Life::Aborted { started, at: now, why })
    }

    /// The key of one item's action.
    pub fn item_key(&self, operation: &OperationId) -> Result<ActionKey, NameError> {
        ActionKey::parse(format!("{KEY_PREFIX}{}:{operation}", self.id))
    }

    /// One item's action. `actor` is whoever started it, with the role they have now.
    pub fn act_on(&self, item: &Item, actor: Actor, reason: &str) -> Result<Act, NameError> {
        Ok(Act {
            key: self.item_key(&item.operation)?,
            input: self.input.clone(),
            actor,
            reason: reason.to_owned(),
            confirmation: None,
            seen_version: item.seen_version,
        })
    }
}

/// Which bulk action an action's key belongs to.
pub fn bulk_of_key(key: &str) -> Option<&str> {
    key.strip_prefix(KEY_PREFIX)?.split_once(':').map(|(bulk, _)| bulk)
}

/// The hash of what is confirmed: the action and every item with its version and what is to become of it.
pub fn list_hash(input: &ActionInput, items: &[Item]) -> Hash {
    let mut parts = vec![input.action().name().to_owned(), assignee_text(input)];
    for Item { operation, seen_version, skip } in items {
        let skip = skip.as_ref().map(Skip::phrase).unwrap_or_default();
        parts.extend([operation.to_string(), seen_version.to_string(), skip]);
    }
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    Hash::of_parts(&parts)
}

/// The only thing that an action on many says beside its reason.
fn assignee_text(input: &ActionInput) -> String {
    if let ActionInput::Assign { to: Some(to) } = input { to.to_string() } else { String::new() }
}

#[cfg(test)]
mod tests;

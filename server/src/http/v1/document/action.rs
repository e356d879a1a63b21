//! One action of the audit log as a document.

use serde::Serialize;
use tallystick_domain::permission::Actor;
use tallystick_domain::refusal::Refusal;
use tallystick_ledger::actions::{ActionRecord, ActionStatus};
use utoipa::ToSchema;

use super::{state, time};

/// One action of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActionDocument {
    /// Its key.
    pub key: String,
    /// On which operation.
    pub operation_id: String,
    /// That operation's key.
    pub operation_key: String,
    /// What was asked.
    pub action: &'static str,
    /// Its input.
    #[schema(value_type = Object)]
    pub input: serde_json::Value,
    /// Why, in their words.
    pub reason: String,
    /// Who asked.
    pub actor: ActorDocument,
    /// `refused`, `awaits_second_person`, `declined` or `done`.
    pub status: &'static str,
    /// Who completed or declined it.
    pub second: Option<ActorDocument>,
    /// Why it was refused.
    pub refusal: Option<String>,
    /// The problem code of the refusal.
    pub refusal_code: Option<&'static str>,
    /// The version that was seen.
    pub seen_version: u64,
    /// When it was asked.
    pub at: String,
    /// When it was settled.
    pub settled_at: Option<String>,
    /// The state before.
    pub from: Option<String>,
    /// The state after.
    pub to: Option<String>,
    /// The version that it made.
    pub made_version: Option<u64>,
    /// The operation that it made.
    pub created: Option<String>,
}

/// Who acted.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActorDocument {
    /// The id.
    pub id: String,
    /// As shown.
    pub name: String,
    /// The role.
    pub role: &'static str,
}

impl From<&Actor> for ActorDocument {
    fn from(actor: &Actor) -> Self {
        Self { id: actor.id.to_string(), name: actor.name.clone(), role: actor.role.name() }
    }
}

impl From<&ActionRecord> for ActionDocument {
    fn from(record: &ActionRecord) -> Self {
        Self {
            key: record.key.to_string(),
            operation_id: record.operation_id.to_string(),
            operation_key: record.operation_key.clone(),
            action: record.act.input.action().name(),
            input: serde_json::to_value(&record.act.input).unwrap_or_default(),
            reason: record.act.reason.clone(),
            actor: (&record.act.actor).into(),
            status: status_name(record.status),
            second: record.second.as_ref().map(Into::into),
            refusal: record.refusal.as_ref().map(ToString::to_string),
            refusal_code: record.refusal.as_ref().map(Refusal::code),
            seen_version: record.act.seen_version,
            at: record.at.to_string(),
            settled_at: time(record.settled_at),
            from: state(record.from),
            to: state(record.to),
            made_version: record.made_version,
            created: record.created.as_ref().map(ToString::to_string),
        }
    }
}

/// How far an action has come, by name.
const fn status_name(status: ActionStatus) -> &'static str {
    match status {
        ActionStatus::Refused => "refused",
        ActionStatus::AwaitsSecondPerson => "awaits_second_person",
        ActionStatus::Declined => "declined",
        ActionStatus::Done => "done",
    }
}

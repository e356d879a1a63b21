//! The pages' writes. Each ends in a redirect to where the answer can be read, whatever the answer is, so that a form
//! works alike with and without script, and reloading sends nothing again.

use tallystick_domain::action::{Act, Action, ActionInput, Pick};
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{ActionKey, DestinationName, NameError, OperationId, PrincipalId, Receipt};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::view::encoded;
use tallystick_ledger::LedgerError;
use tallystick_ledger::actions::{ActionAnswer, ActionStatus};

use super::zone::parse_zone;
use super::{Reader, bad_name, not_found, refused, set_status, told};
use crate::api::ApiError;

/// The fields of all action forms; each action reads its own.
pub struct Fields {
    /// The destination's name for the object.
    pub receipt: String,
    /// A ticket, a statement line, a link.
    pub reference: String,
    /// That the other system sends no more.
    pub statement: String,
    /// `succeeded` or `failed`.
    pub pick: String,
    /// The new owner's id; empty gives the operation back.
    pub to: String,
    /// The arguments from now on, as typed.
    pub arguments: String,
    /// How many attempts more.
    pub attempts: String,
    /// A later deadline, RFC 3339; empty leaves it.
    pub deadline: String,
    /// The finding's kind.
    pub code: String,
}

/// One press of a form's button.
pub struct Press {
    /// On which operation.
    pub operation_id: String,
    /// Which action.
    pub action: String,
    /// The key made when the form was rendered.
    pub action_key: String,
    /// The version that the form showed.
    pub seen_version: String,
    /// Why.
    pub reason: String,
    /// What was typed to confirm.
    pub confirmation: String,
    /// The action's own fields.
    pub fields: Fields,
}

/// A key for a form that is being rendered.
pub fn fresh_key() -> Result<String, ApiError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "The system gives no random bytes: {error}");
        ApiError::Failed
    })?;
    Ok(bytes.iter().fold(String::from("web-"), |key, byte| format!("{key}{byte:02x}")))
}

impl Reader {
    /// Makes an action and leads to its answer.
    pub async fn submit(&self, press: Press) -> Result<(), ApiError> {
        let action = Action::parse(&press.action).ok_or_else(|| not_found("action"))?;
        let id = OperationId::parse(&press.operation_id).map_err(|error| bad_name(&error))?;
        let act = self.act_of(action, &press)?;
        let answer = match self.ledger.act(&id, act.clone()).await {
            Err(LedgerError::Refused(Refusal::ActionKeyReused {})) => return self.submit_corrected(&id, act).await,
            answer => answer.map_err(told)?,
        };
        leptos_axum::redirect(&place_of(&answer));
        Ok(())
    }

    fn act_of(&self, action: Action, press: &Press) -> Result<Act, ApiError> {
        Ok(Act {
            key: ActionKey::parse(press.action_key.clone()).map_err(|error| bad_name(&error))?,
            input: input_of(action, &press.fields)?,
            actor: self.actor.clone(),
            // Browsers send line ends as CR LF; the record keeps one kind.
            reason: press.reason.replace("\r\n", "\n").trim().to_owned(),
            confirmation: given(&press.confirmation),
            seen_version: version_of(&press.seen_version)?,
        })
    }

    /// The same form again with other content: the person went back after a refusal and corrected it. What was
    /// refused did nothing, so the correction is a press of its own, under a key that its content gives: pressed
    /// twice, it is still one. Where the first press did something, that stands and this one is not made.
    async fn submit_corrected(&self, id: &OperationId, act: Act) -> Result<(), ApiError> {
        let earlier = self.action_record(act.key.as_str()).await?;
        let is_own = earlier.act.actor.id == self.actor.id && earlier.operation_id == *id;
        if !is_own || earlier.status != ActionStatus::Refused {
            leptos_axum::redirect(&format!("/actions/{}?reused=1", encoded(act.key.as_str())));
            return Ok(());
        }
        let content = format!("{:?}{}{:?}{}", act.input, act.reason, act.confirmation, act.seen_version);
        let digest = Hash::of(content.as_bytes()).to_string();
        let key = format!("{}.{}", act.key, digest.get(..16).unwrap_or(&digest));
        let key = ActionKey::parse(key).map_err(|error| bad_name(&error))?;
        let answer = self.ledger.act(id, Act { key, ..act }).await.map_err(told)?;
        leptos_axum::redirect(&place_of(&answer));
        Ok(())
    }

    /// Completes a dual action and leads back to it.
    pub async fn complete(&self, awaited: &str, key: &str, seen: &str, confirmation: String) -> Result<(), ApiError> {
        let (awaited, key) = (action_key(awaited)?, action_key(key)?);
        let seen = version_of(seen)?;
        let answer = self.ledger.complete_action(&self.actor, &awaited, &key, seen, given(&confirmation)).await;
        lead_back(&awaited, &key, answer)
    }

    /// Declines a dual action and leads back to it.
    pub async fn decline(&self, awaited: &str, key: &str, seen: &str, reason: String) -> Result<(), ApiError> {
        let (awaited, key) = (action_key(awaited)?, action_key(key)?);
        let seen = version_of(seen)?;
        let reason = reason.replace("\r\n", "\n").trim().to_owned();
        let answer = self.ledger.decline_action(&self.actor, &awaited, &key, seen, reason).await;
        lead_back(&awaited, &key, answer)
    }

    /// Pauses or resumes a destination and leads back to the budgets.
    pub async fn pause_destination(&self, name: String, is_paused: bool) -> Result<(), ApiError> {
        let name = DestinationName::parse(name).map_err(|error| bad_name(&error))?;
        self.ledger.pause_destination(&self.actor, &name, is_paused).await.map_err(told)?;
        leptos_axum::redirect(&format!("/budgets?changed={}", encoded(name.as_str())));
        Ok(())
    }

    /// Goes on after the restore that the reader saw, and leads back to the budgets.
    pub async fn acknowledge_restore(&self, declared_at: &str) -> Result<(), ApiError> {
        let Some(seen) = Timestamp::parse_rfc3339(declared_at) else {
            return Err(bad_field("declared_at", "is not a time; open the page again"));
        };
        match self.ledger.acknowledge_restore(&self.actor, Some(seen)).await {
            // Pressed before, or another restore was declared since: the page says which.
            Err(LedgerError::Refused(Refusal::BadField { .. })) => {
                leptos_axum::redirect("/budgets?acknowledged=before");
            }
            answer => {
                answer.map_err(told)?;
                leptos_axum::redirect("/budgets?acknowledged=1");
            }
        }
        Ok(())
    }

    /// Sets the workspace zone and leads back to the settings.
    pub async fn set_zone(&self, zone: &str, seen: &str) -> Result<(), ApiError> {
        let Some(known) = parse_zone(zone) else {
            leptos_axum::redirect("/settings?problem=zone");
            return Ok(());
        };
        match self.ledger.set_zone(&self.actor, known.name(), version_of(seen)?).await {
            Err(LedgerError::Refused(Refusal::StaleVersion { .. })) => {
                leptos_axum::redirect("/settings?problem=stale");
                return Ok(());
            }
            answer => answer.map_err(told)?,
        };
        leptos_axum::redirect("/settings?saved=1");
        Ok(())
    }
}

/// Where an answer is read: the action's own page, or its form again when it was refused.
fn place_of(answer: &ActionAnswer) -> String {
    let record = &answer.record;
    let key = encoded(record.key.as_str());
    match record.status {
        ActionStatus::Refused => {
            format!("/operations/{}/{}?refused={key}", encoded(record.operation_id.as_str()), record.act.input.action())
        }
        ActionStatus::AwaitsSecondPerson | ActionStatus::Declined | ActionStatus::Done if answer.already_recorded => {
            format!("/actions/{key}?again=1")
        }
        ActionStatus::AwaitsSecondPerson | ActionStatus::Declined | ActionStatus::Done => format!("/actions/{key}"),
    }
}

/// The second person's press is read on the page of the action that waited, refused or not.
fn lead_back(awaited: &ActionKey, key: &ActionKey, answer: Result<ActionAnswer, LedgerError>) -> Result<(), ApiError> {
    let answer = answer.map_err(told)?;
    let (page, press) = (encoded(awaited.as_str()), encoded(key.as_str()));
    let place = match (answer.record.status, answer.already_recorded) {
        (ActionStatus::Refused, _) => format!("/actions/{page}?refused={press}"),
        (_, true) => format!("/actions/{page}?again=1"),
        (_, false) => format!("/actions/{page}"),
    };
    leptos_axum::redirect(&place);
    Ok(())
}

fn action_key(text: &str) -> Result<ActionKey, ApiError> {
    ActionKey::parse(text).map_err(|error| bad_name(&error))
}

fn version_of(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| bad_field("seen_version", "is not a whole number; open the form again"))
}

/// What was typed into a one-line field; nothing where only blanks were. A pasted tab or line end is a blank.
fn given(text: &str) -> Option<String> {
    let text = text.split(char::is_control).collect::<Vec<_>>().join(" ");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn input_of(action: Action, fields: &Fields) -> Result<ActionInput, ApiError> {
    let receipt =
        || given(&fields.receipt).map(Receipt::parse).transpose().map_err(|error| bad_value("receipt", &error));
    Ok(match action {
        Action::MarkSucceeded => {
            ActionInput::MarkSucceeded { receipt: receipt()?, reference: given(&fields.reference) }
        }
        Action::MarkFailed => ActionInput::MarkFailed {},
        Action::Adopt => ActionInput::Adopt { statement: given(&fields.statement).unwrap_or_default() },
        Action::PickVerdict => ActionInput::PickVerdict {
            pick: match fields.pick.as_str() {
                "succeeded" => Pick::Succeeded,
                "failed" => Pick::Failed,
                _ => return Err(bad_field("pick", "must be chosen: the effect stands, or there is none")),
            },
            receipt: receipt()?,
        },
        Action::Assign => ActionInput::Assign {
            to: given(&fields.to).map(PrincipalId::parse).transpose().map_err(|error| bad_value("to", &error))?,
        },
        Action::Waive => ActionInput::Waive { receipt: receipt()? },
        Action::Comment => ActionInput::Comment {},
        Action::Escalate => ActionInput::Escalate {},
        Action::LookUp => ActionInput::LookUp {},
        Action::RerunSameKey => ActionInput::RerunSameKey {},
        Action::RerunNew => ActionInput::RerunNew {},
        // Browsers send line ends as CR LF; what the person saw had one kind.
        Action::ChangeArguments => ActionInput::ChangeArguments { arguments: fields.arguments.replace("\r\n", "\n") },
        Action::Approve => ActionInput::Approve {},
        Action::Deny => ActionInput::Deny {},
        Action::Renew => ActionInput::Renew {},
        Action::Revoke => ActionInput::Revoke {},
        Action::Cancel => ActionInput::Cancel {},
        Action::GrantAttempts => ActionInput::GrantAttempts {
            attempts: fields.attempts.trim().parse().map_err(|_| bad_field("attempts", "must be a whole number"))?,
            deadline: given(&fields.deadline)
                .map(|text| {
                    Timestamp::parse_rfc3339(&text)
                        .ok_or_else(|| bad_field("deadline", "must be a time such as 2026-10-05T09:00:00Z"))
                })
                .transpose()?,
        },
        Action::AttachEvidence => ActionInput::AttachEvidence { receipt: receipt()? },
        Action::Compensate => ActionInput::Compensate { receipt: receipt()? },
        Action::DismissFinding => ActionInput::DismissFinding { code: given(&fields.code).unwrap_or_default() },
    })
}

fn bad_value(field: &str, error: &NameError) -> ApiError {
    bad_field(field, &error.to_string())
}

pub(super) fn bad_field(field: &str, problem: &str) -> ApiError {
    let answer = refused(&Refusal::BadField { field: field.into(), problem: problem.into() });
    set_status(&answer);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_two_forms_differ() {
        let (one, other) = (fresh_key().unwrap(), fresh_key().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), "web-".len() + 32);
    }

    #[test]
    fn blanks_are_nothing_and_a_pasted_tab_is_a_blank() {
        assert_eq!(given("  \t "), None);
        assert_eq!(given(" re_1\t"), Some("re_1".to_owned()));
    }

    #[test]
    fn every_action_has_an_input_of_its_own() {
        let fields = || Fields {
            receipt: "re_1".into(),
            reference: String::new(),
            statement: "stopped".into(),
            pick: "failed".into(),
            to: String::new(),
            arguments: "{}".into(),
            attempts: "1".into(),
            deadline: String::new(),
            code: "stalled".into(),
        };
        for &action in Action::ALL {
            let input = input_of(action, &fields()).unwrap();
            assert_eq!(input.action(), action);
        }
    }
}

//! What the rules say about attempts, effects and actions, as documents.

use serde::Serialize;
use tallystick_domain::decision::{self, ActionRuling, GroundFact, Ruling};
use tallystick_domain::outcome::{Effect, JudgedAttempt};
use tallystick_domain::verdict::Verdict;
use utoipa::ToSchema;

use super::time;

/// One attempt with its verdict.
#[derive(Debug, Serialize, ToSchema)]
pub struct AttemptDocument {
    /// Its identity.
    pub attempt: String,
    /// The operation that made it.
    pub operation_id: String,
    /// Its number.
    pub number: u32,
    /// The retry layer.
    pub owner: Option<String>,
    /// The process.
    pub worker: Option<String>,
    /// The key that was sent.
    pub destination_key: Option<String>,
    /// When it counts as sent.
    pub dispatched_at: String,
    /// When its end was reported.
    pub ended_at: Option<String>,
    /// Whether it is running now.
    pub is_running: bool,
    /// Whether only a claim is known.
    pub is_possible_send: bool,
    /// What its source said about its end.
    #[schema(value_type = Option<String>)]
    pub reported: Option<serde_json::Value>,
    /// The HTTP status.
    pub http: Option<u16>,
    /// The error code.
    pub error: Option<String>,
    /// What its answer proves.
    pub verdict: &'static str,
    /// Why it is unknown, if it is.
    pub doubt: Option<&'static str>,
    /// The rule that says so.
    pub rule: String,
    /// How strong the ground is.
    pub strength: &'static str,
    /// In words.
    pub text: String,
    /// The rule that closed it, if it is closed.
    pub closed_by: Option<String>,
    /// Whether it began before an earlier one was known to have ended.
    pub overlaps: bool,
}

/// A distinct object at the destination.
#[derive(Debug, Serialize, ToSchema)]
pub struct EffectDocument {
    /// The destination's name for it.
    pub receipt: String,
    /// Other names of the same effect, by aliases that the contract declares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How strong the best fact is.
    pub strength: &'static str,
    /// The earliest time told.
    pub at: String,
    /// Whether it is one too many.
    pub is_surplus: bool,
}

/// What may be done now, and why.
#[derive(Debug, Serialize, ToSchema)]
pub struct DecisionDocument {
    /// The deciding row.
    pub row: String,
    /// Why, in the row's words.
    pub why: String,
    /// What to do first.
    pub recommended: &'static str,
    /// One for each action.
    pub actions: Vec<ActionRulingDocument>,
    /// What is known.
    pub known: Vec<String>,
    /// What it stands on.
    pub facts: Vec<GroundDocument>,
}

/// The verdict on one action.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActionRulingDocument {
    /// Its name.
    pub action: &'static str,
    /// `safe`, `confirm`, `dual`, `forbidden` or `not_offered`.
    #[schema(value_type = String)]
    pub verdict: decision::Verdict,
    /// One sentence why.
    pub reason: String,
    /// Other rows that forbid it.
    pub forbidden_by: Vec<String>,
    /// Overlays that made it stricter.
    pub overlays: Vec<String>,
    /// When the verdict changes by time alone.
    pub expires_at: Option<String>,
}

/// A fact that the decision stands on.
#[derive(Debug, Serialize, ToSchema)]
pub struct GroundDocument {
    /// In words.
    pub text: String,
    /// How strong.
    pub strength: &'static str,
    /// Since when.
    pub at: String,
}

impl From<&JudgedAttempt> for AttemptDocument {
    fn from(attempt: &JudgedAttempt) -> Self {
        let (verdict, doubt) = match attempt.judgement.verdict {
            Verdict::NotSent => ("not_sent", None),
            Verdict::RefusedRetryable => ("refused_retryable", None),
            Verdict::RefusedPermanent => ("refused_permanent", None),
            Verdict::Executed => ("executed", None),
            Verdict::ExecutedNoEffect => ("executed_no_effect", None),
            Verdict::Unknown(doubt) => ("unknown", Some(doubt.name())),
        };
        Self {
            attempt: attempt.id.to_string(),
            operation_id: attempt.operation.to_string(),
            number: attempt.number,
            owner: attempt.owner.as_ref().map(ToString::to_string),
            worker: attempt.worker.as_deref().map(Into::into),
            destination_key: attempt.dest_key.as_ref().map(ToString::to_string),
            dispatched_at: attempt.dispatched_at.to_string(),
            ended_at: time(attempt.ended_at),
            is_running: attempt.is_running,
            is_possible_send: attempt.is_possible_send,
            reported: attempt.reported.and_then(|outcome| serde_json::to_value(outcome).ok()),
            http: attempt.http,
            error: attempt.error.clone(),
            verdict,
            doubt,
            rule: attempt.judgement.rule.to_string(),
            strength: attempt.judgement.strength.name(),
            text: attempt.judgement.text.to_string(),
            closed_by: attempt.closed.as_ref().map(|closure| closure.rule.to_string()),
            overlaps: attempt.overlaps,
        }
    }
}

impl From<&Effect> for EffectDocument {
    fn from(effect: &Effect) -> Self {
        Self {
            receipt: effect.receipt.to_string(),
            aliases: effect.aliases.iter().map(ToString::to_string).collect(),
            strength: effect.strength.name(),
            at: effect.at.to_string(),
            is_surplus: effect.is_surplus,
        }
    }
}

impl From<&Ruling> for DecisionDocument {
    fn from(ruling: &Ruling) -> Self {
        Self {
            row: ruling.row.clone(),
            why: ruling.why.clone(),
            recommended: ruling.recommended.name(),
            actions: ruling.actions.iter().map(Into::into).collect(),
            known: ruling.known.clone(),
            facts: ruling.facts.iter().map(Into::into).collect(),
        }
    }
}

impl From<&ActionRuling> for ActionRulingDocument {
    fn from(ruling: &ActionRuling) -> Self {
        Self {
            action: ruling.action.name(),
            verdict: ruling.verdict,
            reason: ruling.reason.clone(),
            forbidden_by: ruling.forbidden_by.clone(),
            overlays: ruling.overlays.clone(),
            expires_at: time(ruling.expires_at),
        }
    }
}

impl From<&GroundFact> for GroundDocument {
    fn from(fact: &GroundFact) -> Self {
        Self { text: fact.text.clone(), strength: fact.strength.name(), at: fact.at.to_string() }
    }
}

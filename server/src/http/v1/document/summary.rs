//! One operation as lists show it.

use serde::Serialize;
use tallystick_domain::decision::Ruling;
use tallystick_domain::name::OperationId;
use tallystick_domain::operation::{Attention, Finding, Head, Impact, KeyWindow, Projection};
use tallystick_domain::outcome::Outcome;
use tallystick_ledger::operations::Listed;
use utoipa::ToSchema;

use super::time;

/// One operation as lists show it.
#[derive(Debug, Serialize, ToSchema)]
pub struct OperationSummary {
    /// The row id; addresses use it.
    pub id: String,
    /// The business name.
    pub operation_key: String,
    /// Whether the key came with the operation.
    pub key_given: bool,
    /// `guarded` or `observed`.
    pub mode: &'static str,
    /// The root of its chain.
    pub intent_id: String,
    /// The tool, where one is told.
    pub tool: Option<String>,
    /// The destination, where one is told.
    pub destination: Option<String>,
    /// `read`, `idempotent`, `reversible` or `irreversible`.
    pub class: &'static str,
    /// The state with what stands behind it: `uncertain(timeout)`.
    pub state: String,
    /// The state's word alone.
    pub state_word: &'static str,
    /// What stands behind the word, if anything.
    pub state_detail: Option<&'static str>,
    /// The state in the words of a life cycle: `proposed`, `authorized`, `executing`, `completed`, `uncertain`; none for what
    /// was stopped before anything was sent.
    pub lifecycle: Option<&'static str>,
    /// The state in the words of an outcome: `pending`, `succeeded`, `failed`, `uncertain`.
    pub outcome: &'static str,
    /// Whether nothing more is expected by itself.
    pub is_final: bool,
    /// Since when, by the facts.
    pub since: String,
    /// How many changes it has seen; `If-Match` takes it.
    pub version: u64,
    /// Transport sends on record, possible sends included.
    pub attempt_count: u32,
    /// How many attempts its source allows.
    pub attempts_allowed: Option<u32>,
    /// Distinct receipts of strength P3, per intent.
    pub effect_count: u32,
    /// Distinct receipts that are only likely.
    pub effect_likely_count: u32,
    /// The receipt that stands.
    pub receipt: Option<String>,
    /// How long the destination key protects a repeat.
    pub key_window: KeyWindowDocument,
    /// What is at stake.
    pub impact: Option<ImpactDocument>,
    /// Why it waits for a person, if it does.
    pub attention: Option<AttentionDocument>,
    /// What an auditor should see.
    pub findings: Vec<FindingDocument>,
    /// The deciding row of the decision table.
    pub row: String,
    /// The action recommended first.
    pub recommended: &'static str,
    /// Whose it is.
    pub assignee: Option<String>,
    /// When the answer changes by time alone.
    pub next_change_at: Option<String>,
    /// When it was recorded.
    pub recorded_at: String,
    /// The operation it adopts.
    pub adopts: Option<String>,
    /// The operation it runs again.
    pub retries_of: Option<String>,
    /// The operation it replaces.
    pub supersedes: Option<String>,
    /// The operation it undoes.
    pub compensates: Option<String>,
    /// The workflow it belongs to.
    pub workflow: Option<String>,
    /// SHA-256 of the arguments without volatile fields.
    pub identity_hash: Option<String>,
    /// SHA-256 of all arguments.
    pub args_hash: Option<String>,
}

/// How long the destination key protects.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyWindowDocument {
    /// `no_key`, `unknown` or `until`.
    pub window: &'static str,
    /// The first send under the key.
    pub from: Option<String>,
    /// The last moment.
    pub until: Option<String>,
}

/// What is at stake.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImpactDocument {
    /// An amount in minor units, as a string.
    pub amount_minor: Option<String>,
    /// Its currency.
    pub currency: Option<String>,
    /// How many people it reaches, as a string.
    pub people: Option<String>,
}

/// Why it waits for a person.
#[derive(Debug, Serialize, ToSchema)]
pub struct AttentionDocument {
    /// The reason's name.
    pub reason: &'static str,
    /// Smaller is more urgent; a string, for it may exceed 2^53.
    pub rank: String,
}

/// What an auditor should see.
#[derive(Debug, Serialize, ToSchema)]
pub struct FindingDocument {
    /// Its kind.
    pub code: String,
    /// `notice`, `audit` or `integrity`.
    pub severity: &'static str,
    /// What was found.
    pub text: String,
}

impl OperationSummary {
    /// From a list's row.
    pub fn of_listed(listed: &Listed) -> Self {
        Self::new(&listed.head, listed.version, &listed.row)
    }

    pub(super) fn new(head: &Head, version: u64, row: &Projection) -> Self {
        let text = |id: &Option<OperationId>| id.as_ref().map(ToString::to_string);
        Self {
            id: head.id.to_string(),
            operation_key: head.key.to_string(),
            key_given: head.key_given,
            mode: head.mode.name(),
            intent_id: head.intent_id.to_string(),
            tool: head.tool.as_ref().map(ToString::to_string),
            destination: head.destination.as_ref().map(ToString::to_string),
            class: row.class.name(),
            state: row.state.to_string(),
            state_word: row.state.word(),
            state_detail: row.state.detail(),
            lifecycle: row.state.lifecycle_word(),
            outcome: row.state.outcome_word(),
            is_final: row.state.is_final(),
            since: row.since.to_string(),
            version,
            attempt_count: row.attempts,
            attempts_allowed: row.attempts_allowed,
            effect_count: row.effects,
            effect_likely_count: row.effects_likely,
            receipt: row.receipt.as_ref().map(ToString::to_string),
            key_window: row.key_window.into(),
            impact: row.impact.as_ref().map(Into::into),
            attention: row.attention.map(Into::into),
            findings: row.findings.iter().map(Into::into).collect(),
            row: row.row.clone(),
            recommended: row.recommended.name(),
            assignee: row.assignee.as_ref().map(ToString::to_string),
            next_change_at: time(row.next_change_at),
            recorded_at: head.recorded_at.to_string(),
            adopts: text(&head.adopts),
            retries_of: text(&head.retries_of),
            supersedes: text(&head.supersedes),
            compensates: text(&head.compensates),
            workflow: head.workflow.clone(),
            identity_hash: row.identity_hash.as_ref().map(ToString::to_string),
            args_hash: row.args_hash.as_ref().map(ToString::to_string),
        }
    }
}

impl OperationSummary {
    /// What depends on the time of reading comes from the judgement made now, not from the stored row: the sweeper may be
    /// a second behind.
    pub(super) fn show_now(&mut self, outcome: &Outcome, ruling: &Ruling) {
        self.state = outcome.state.to_string();
        self.state_word = outcome.state.word();
        self.state_detail = outcome.state.detail();
        self.lifecycle = outcome.state.lifecycle_word();
        self.outcome = outcome.state.outcome_word();
        self.is_final = outcome.state.is_final();
        self.since = outcome.since.to_string();
        self.findings = outcome.findings.iter().map(Into::into).collect();
        self.next_change_at = time(outcome.next_change_at);
        self.row.clone_from(&ruling.row);
        self.recommended = ruling.recommended.name();
    }
}

impl From<KeyWindow> for KeyWindowDocument {
    fn from(window: KeyWindow) -> Self {
        match window {
            KeyWindow::NoKey => Self { window: "no_key", from: None, until: None },
            KeyWindow::Unknown => Self { window: "unknown", from: None, until: None },
            KeyWindow::Until { from, until } => {
                Self { window: "until", from: Some(from.to_string()), until: Some(until.to_string()) }
            }
        }
    }
}

impl From<&Impact> for ImpactDocument {
    fn from(impact: &Impact) -> Self {
        Self {
            amount_minor: impact.amount_minor.map(|amount| amount.to_string()),
            currency: impact.currency.clone(),
            people: impact.people.map(|people| people.to_string()),
        }
    }
}

impl From<Attention> for AttentionDocument {
    fn from(attention: Attention) -> Self {
        Self { reason: attention.reason.name(), rank: attention.rank.to_string() }
    }
}

impl From<&Finding> for FindingDocument {
    fn from(finding: &Finding) -> Self {
        Self { code: finding.code.clone(), severity: finding.severity.name(), text: finding.text.clone() }
    }
}

//! What the API answers: flat documents with their own names, independent of how pages show things. Times are RFC 3339 in
//! UTC; whole numbers that may exceed 2^53 are strings; texts that came as bytes are given exactly.

use serde::Serialize;
use tallystick_domain::decision::{ActionRuling, GroundFact, Ruling};
use tallystick_domain::operation::{
    Attention, Fact, FieldChange, Finding, Head, Impact, KeyWindow, Projection, Proposal, State,
};
use tallystick_domain::outcome::{Effect, JudgedAttempt, Outcome};
use tallystick_domain::time::Timestamp;
use tallystick_domain::verdict::Verdict;
use tallystick_ledger::actions::{ActionRecord, ActionStatus};
use tallystick_ledger::operations::{Entry, Examined, Listed, Page, Relative};
use utoipa::ToSchema;

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

/// One operation with everything the rules say about it now.
#[derive(Debug, Serialize, ToSchema)]
pub struct OperationDocument {
    /// As in lists.
    #[serde(flatten)]
    pub summary: OperationSummary,
    /// Three numbers that are never mixed.
    pub counts: Counts,
    /// Its own attempts.
    pub attempts: Vec<AttemptDocument>,
    /// Open attempts that it inherited by adopting.
    pub inherited_attempts: Vec<AttemptDocument>,
    /// Distinct effects of the intent, the primary first.
    pub effects: Vec<EffectDocument>,
    /// What may be done now, by whoever asks.
    pub decision: DecisionDocument,
    /// Whether a repeat under the same key would be protected now.
    pub key_protects: bool,
    /// Why not.
    pub key_protects_not: Option<String>,
    /// Until when a second copy is watched for.
    pub watch_until: Option<String>,
    /// The contract in force.
    #[schema(value_type = Object)]
    pub contract: serde_json::Value,
    /// Names that sources give it.
    pub aliases: Vec<AliasDocument>,
    /// Proposals under its key with other arguments.
    pub conflicting_proposals: Vec<ConflictDocument>,
    /// The arguments exactly as received, as text; nothing if none are told or they are longer than 64 KiB (then see `/arguments`).
    pub arguments: Option<String>,
    /// Other operations.
    pub relatives: Vec<RelativeDocument>,
    /// Its journal, oldest first.
    pub journal: Vec<JournalDocument>,
    /// A dual act that waits for a second person: its key.
    pub awaits_second_person: Option<String>,
    /// The record's clock when it was read.
    pub as_of: String,
    /// The newest change that this shows.
    pub sequence: i64,
}

/// Operations, attempts, effects.
#[derive(Debug, Serialize, ToSchema)]
pub struct Counts {
    /// Operations of the intent, aliases and conflicting proposals excluded.
    pub operations: usize,
    /// Transport sends on record.
    pub attempts: u32,
    /// Distinct receipts at the destination.
    pub effects: u32,
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
    pub verdict: tallystick_domain::decision::Verdict,
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

/// A source's name for the operation.
#[derive(Debug, Serialize, ToSchema)]
pub struct AliasDocument {
    /// The name.
    pub name: String,
    /// The source.
    pub source: String,
}

/// A proposal under the same key with other arguments.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConflictDocument {
    /// When.
    pub at: String,
    /// Who says so.
    pub source: String,
    /// The source's name for it.
    pub name: String,
    /// How it differs.
    #[schema(value_type = Vec<Object>)]
    pub changes: Vec<FieldChange>,
}

/// Another operation that has to do with this one.
#[derive(Debug, Serialize, ToSchema)]
pub struct RelativeDocument {
    /// How.
    pub link: &'static str,
    /// Its id.
    pub id: String,
    /// Its key.
    pub operation_key: String,
    /// Its state.
    pub state: String,
}

/// One entry of the journal.
#[derive(Debug, Serialize, ToSchema)]
pub struct JournalDocument {
    /// Which version it made.
    pub version: u64,
    /// When, by the record's clock.
    pub at: String,
    /// Who caused it.
    pub actor: String,
    /// What was asked.
    pub command: String,
    /// Rules that spoke.
    pub rules: Vec<String>,
    /// The state before.
    pub from: Option<String>,
    /// The state after.
    pub to: String,
}

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

/// A page of a list. `Link: rel="next"` holds the address of the next one.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageDocument<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// The record's clock when it was read.
    pub as_of: String,
    /// The newest change that this shows.
    pub sequence: i64,
}

impl<T> PageDocument<T> {
    /// A page with its rows turned into documents.
    pub fn of<R>(page: Page<R>, document: impl FnMut(R) -> T) -> Self {
        Self {
            rows: page.rows.into_iter().map(document).collect(),
            next: page.next,
            as_of: page.as_of.to_string(),
            sequence: page.sequence,
        }
    }
}

impl OperationSummary {
    /// From a list's row.
    pub fn of_listed(listed: &Listed) -> Self {
        Self::new(&listed.head, listed.version, &listed.row)
    }

    fn new(head: &Head, version: u64, row: &Projection) -> Self {
        let text = |id: &Option<tallystick_domain::name::OperationId>| id.as_ref().map(ToString::to_string);
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

impl OperationDocument {
    /// From an operation as the ledger examined it. `None` if it has no row, which cannot be for one that is recorded.
    pub fn of(examined: Examined) -> Option<Self> {
        let row = examined.record.row.as_ref()?;
        let mut summary = OperationSummary::new(&examined.record.head, examined.record.version, row);
        let outcome = examined.outcome;
        summary.show_now(&outcome, &examined.ruling);
        let same_intent = examined
            .relatives
            .iter()
            .filter(|relative| relative.operation.head.intent_id == examined.record.head.intent_id);
        let counts = Counts {
            operations: 1 + same_intent.count(),
            attempts: summary.attempt_count,
            effects: summary.effect_count,
        };
        Some(Self {
            counts,
            summary,
            attempts: outcome.attempts.iter().map(Into::into).collect(),
            inherited_attempts: outcome.inherited.iter().map(Into::into).collect(),
            effects: outcome.effects.iter().map(Into::into).collect(),
            decision: (&examined.ruling).into(),
            key_protects: outcome.key_protects,
            key_protects_not: outcome.key_protects_not,
            watch_until: time(outcome.watch_until),
            contract: serde_json::to_value(&outcome.contract).unwrap_or_default(),
            aliases: examined
                .aliases
                .into_iter()
                .map(|(name, source)| AliasDocument { name: name.to_string(), source })
                .collect(),
            conflicting_proposals: examined.record.facts.iter().filter_map(conflict).collect(),
            arguments: examined.arguments.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            relatives: examined.relatives.iter().map(Into::into).collect(),
            journal: examined.entries.iter().map(Into::into).collect(),
            awaits_second_person: examined.record.awaited_act().map(|awaited| awaited.act.key.to_string()),
            as_of: examined.now.to_string(),
            sequence: examined.sequence,
        })
    }
}

impl OperationSummary {
    /// What depends on the time of reading comes from the judgement made now, not from the stored row: the sweeper may be
    /// a second behind.
    fn show_now(&mut self, outcome: &Outcome, ruling: &Ruling) {
        self.state = outcome.state.to_string();
        self.state_word = outcome.state.word();
        self.state_detail = outcome.state.detail();
        self.is_final = outcome.state.is_final();
        self.since = outcome.since.to_string();
        self.findings = outcome.findings.iter().map(Into::into).collect();
        self.next_change_at = time(outcome.next_change_at);
        self.row.clone_from(&ruling.row);
        self.recommended = ruling.recommended.name();
    }
}

fn conflict(fact: &Fact) -> Option<ConflictDocument> {
    let Fact::Conflict { proposal: Proposal { at, source, name, .. }, changes } = fact else { return None };
    Some(ConflictDocument {
        at: at.to_string(),
        source: source.to_string(),
        name: name.to_string(),
        changes: changes.clone(),
    })
}

fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

fn state(state: Option<State>) -> Option<String> {
    state.map(|state| state.to_string())
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
            worker: attempt.worker.clone(),
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
            rule: attempt.judgement.rule.clone(),
            strength: attempt.judgement.strength.name(),
            text: attempt.judgement.text.clone(),
            closed_by: attempt.closed.as_ref().map(|closure| closure.rule.clone()),
            overlaps: attempt.overlaps,
        }
    }
}

impl From<&Effect> for EffectDocument {
    fn from(effect: &Effect) -> Self {
        Self {
            receipt: effect.receipt.to_string(),
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

impl From<&Relative> for RelativeDocument {
    fn from(relative: &Relative) -> Self {
        let listed = &relative.operation;
        Self {
            link: relative.link,
            id: listed.head.id.to_string(),
            operation_key: listed.head.key.to_string(),
            state: listed.row.state.to_string(),
        }
    }
}

impl From<&Entry> for JournalDocument {
    fn from(entry: &Entry) -> Self {
        Self {
            version: entry.version,
            at: entry.at.to_string(),
            actor: entry.actor.name.clone(),
            command: entry.command.clone(),
            rules: entry.rules.clone(),
            from: state(entry.from),
            to: entry.to.to_string(),
        }
    }
}

impl From<&tallystick_domain::permission::Actor> for ActorDocument {
    fn from(actor: &tallystick_domain::permission::Actor) -> Self {
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
            refusal_code: record.refusal.as_ref().map(tallystick_domain::refusal::Refusal::code),
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
pub const fn status_name(status: ActionStatus) -> &'static str {
    match status {
        ActionStatus::Refused => "refused",
        ActionStatus::AwaitsSecondPerson => "awaits_second_person",
        ActionStatus::Declined => "declined",
        ActionStatus::Done => "done",
    }
}

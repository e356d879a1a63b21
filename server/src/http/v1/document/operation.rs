//! One operation as a document: identity, what is known, what may be done, and how it came to be.

use std::collections::BTreeMap;

use serde::Serialize;
use tallystick_domain::operation::{Fact, FieldChange, Proposal};
use tallystick_domain::view::rules::rule_groups;
use tallystick_ledger::operations::{Entry, Examined, Relative};
use utoipa::ToSchema;

use super::{AttemptDocument, DecisionDocument, EffectDocument, OperationSummary, state, time};

/// One operation with everything the rules say about it now.
#[derive(Debug, Serialize, ToSchema)]
pub struct OperationDocument {
    /// As in lists.
    #[serde(flatten)]
    pub summary: OperationSummary,
    /// Three numbers that are never mixed.
    pub counts: Counts,
    /// The step of the fold that named the state: `F14`.
    pub fold_rule: String,
    /// Every rule behind state, attempts and decision, each with its sentence.
    pub rules: BTreeMap<String, String>,
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
        let groups = rule_groups(&outcome, &examined.ruling);
        let rules = groups.into_iter().flat_map(|group| group.rules).map(|rule| (rule.id, rule.sentence)).collect();
        Some(Self {
            counts,
            fold_rule: outcome.fold_rule.clone(),
            rules,
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

fn conflict(fact: &Fact) -> Option<ConflictDocument> {
    let Fact::Conflict { proposal: Proposal { at, source, name, .. }, changes } = fact else { return None };
    Some(ConflictDocument {
        at: at.to_string(),
        source: source.to_string(),
        name: name.to_string(),
        changes: changes.clone(),
    })
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

//! A stream explained line by line: what is known after each, what may be done now, and which rules say so. As data for
//! machines and as text for people. Times are UTC: there is no workspace here whose zone could be asked for.

mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

pub use text::Paint;

use super::decision::row_name;
use super::state::state_badge;
use super::target_in_words;
use crate::decision::{Ruling, Verdict};
use crate::intake::Line;
use crate::name::{IntentId, OperationId};
use crate::operation::Finding;
use crate::outcome::{Effect, JudgedAttempt};
use crate::stream::{Judged, Stream};
use crate::time::Timestamp;
use crate::verdict;

/// Tells lines to a stream and explains what came of each.
#[derive(Debug)]
pub struct Explainer {
    stream: Stream,
    /// What was known then; later lines are left out.
    as_of: Option<Timestamp>,
    counts: Counts,
    /// The operations in the order of their first line.
    order: Vec<OperationId>,
    /// The decision on each operation as it was last given, and after which line.
    last: BTreeMap<OperationId, (u64, String)>,
    spoken: BTreeSet<String>,
}

/// What became of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Lines read, blank ones excepted.
    pub lines: u64,
    /// Lines that could not be read or that the rules refused.
    pub not_taken: u64,
    /// Lines left out because they are later than the time asked for.
    pub later: u64,
}

/// What became of one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Explained {
    /// It was told.
    Told(ToldLine),
    /// It was not taken; nothing of it counts.
    Bad(BadLine),
    /// It is later than the time asked for, and was left out.
    Later(LaterLine),
}

/// A line that was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToldLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its event.
    pub event: &'static str,
    /// Its time.
    pub at: String,
    /// Every operation that it touched, as known after it.
    pub operations: Vec<ExplainedOperation>,
}

/// A line that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// Why.
    pub not_taken: String,
}

/// A line that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaterLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its event.
    pub event: &'static str,
    /// Its time.
    pub at: String,
    /// Until when lines were told.
    pub later_than: String,
}

/// How a line touched an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    /// It speaks of it.
    Named,
    /// What it says changes the answer about it.
    Concerned,
    /// Only time passed.
    Time,
    /// Nothing; it is told once more at the end.
    End,
}

/// One operation as known at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedOperation {
    /// Its name at its source.
    pub operation: String,
    /// How the line touched it.
    pub touched: Touch,
    /// Its business name.
    pub operation_key: String,
    /// Whether the key came with it.
    pub key_given: bool,
    /// Tool and destination in words.
    pub target: String,
    /// `read`, `idempotent`, `reversible` or `irreversible`.
    pub class: &'static str,
    /// The state: `uncertain(timeout)`.
    pub state: String,
    /// The state in words.
    pub state_in_words: String,
    /// The step of the fold that named it: `F14`.
    pub fold_rule: String,
    /// Since when, by the facts.
    pub since: String,
    /// Its attempts, and those inherited by adopting.
    pub attempts: Vec<ExplainedAttempt>,
    /// Distinct effects of the intent, the primary first.
    pub effects: Vec<ExplainedEffect>,
    /// What an auditor should see.
    pub findings: Vec<Finding>,
    /// Whether a repeat under the same key would be protected.
    pub key_protects: bool,
    /// Why not.
    pub key_protects_not: Option<String>,
    /// What is known, in sentences.
    pub known: Vec<String>,
    /// What may be done now.
    pub decision: ExplainedDecision,
    /// When the answer changes by time alone.
    pub next_change_at: Option<String>,
    #[serde(skip)]
    glyph: (super::state::Tone, char),
}

/// One attempt with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedAttempt {
    /// Its identity.
    pub attempt: String,
    /// Its number.
    pub number: u32,
    /// The retry layer.
    pub owner: Option<String>,
    /// The key that was sent.
    pub destination_key: Option<String>,
    /// What its answer proves: `unknown`.
    pub verdict: &'static str,
    /// Why it is unknown, if it is.
    pub doubt: Option<&'static str>,
    /// The rule that says so: `E12`.
    pub rule: String,
    /// How strong the ground is.
    pub strength: &'static str,
    /// In words.
    pub text: String,
    /// Whether it is running.
    pub is_running: bool,
    /// The rule that closed it: `K1`; nothing while it is open.
    pub closed_by: Option<String>,
}

/// A distinct object at the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedEffect {
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedDecision {
    /// The deciding row.
    pub row: String,
    /// Why, in the row's words.
    pub why: String,
    /// What to do first.
    pub recommended: &'static str,
    /// After which line the same was decided for the last time, if nothing changed since.
    pub unchanged_since_line: Option<u64>,
    /// One for each action.
    pub actions: Vec<ExplainedAction>,
}

/// The verdict on one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedAction {
    /// Its name.
    pub action: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence why.
    pub reason: String,
    /// Other rows that forbid it.
    pub forbidden_by: Vec<String>,
    /// Overlays that made it stricter.
    pub overlays: Vec<String>,
    /// When the verdict changes by time alone.
    pub expires_at: Option<String>,
    #[serde(skip)]
    label: &'static str,
}

/// Everything at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct End {
    /// At which time; nothing where no line was told and no time asked for.
    pub as_of: Option<String>,
    /// `asked` or `last_line`.
    pub as_of_is: &'static str,
    /// What became of the lines.
    pub lines: Counts,
    /// How many operations, attempts and effects there are: never mixed.
    pub totals: Totals,
    /// Every operation, as known at that time.
    pub operations: Vec<ExplainedOperation>,
    /// Every rule that spoke, with its sentence.
    pub rules: BTreeMap<String, &'static str>,
}

/// Three numbers that are never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Operations, aliases and conflicting proposals excluded.
    pub operations: usize,
    /// Transport sends on record.
    pub attempts: usize,
    /// Distinct receipts at the destination, each intent's once.
    pub effects: usize,
}

impl Explainer {
    /// Explains what will be told to `stream`; up to `as_of` if a time is asked for.
    pub fn new(stream: Stream, as_of: Option<Timestamp>) -> Self {
        Self {
            stream,
            as_of,
            counts: Counts::default(),
            order: Vec::new(),
            last: BTreeMap::new(),
            spoken: BTreeSet::new(),
        }
    }

    /// Tells one line. `None` for a blank one.
    pub fn tell(&mut self, number: u64, bytes: &[u8]) -> Option<Explained> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let line = match Line::parse(bytes, self.stream.source()) {
            Ok(line) => line,
            Err(error) => return Some(self.refuse(number, error.to_string())),
        };
        if let Some(end) = self.as_of.filter(|end| line.at > *end) {
            self.counts.lines += 1;
            self.counts.later += 1;
            let (at, later_than) = (line.at.to_string(), end.to_string());
            return Some(Explained::Later(LaterLine { line: number, event: line.event, at, later_than }));
        }
        let told = match self.stream.tell(&line) {
            Ok(told) => told,
            Err(refusal) => return Some(self.refuse(number, refusal.to_string())),
        };
        self.counts.lines += 1;
        let named = told.named.into_iter().map(|id| (id, Touch::Named));
        let others = told.others.into_iter().map(|id| (id, Touch::Concerned));
        let by_time = told.by_time.into_iter().map(|id| (id, Touch::Time));
        let touched: Vec<_> = named.chain(others).chain(by_time).collect();
        let operations = touched.into_iter().filter_map(|(id, touch)| self.explain(&id, touch, number)).collect();
        Some(Explained::Told(ToldLine { line: number, event: line.event, at: line.at.to_string(), operations }))
    }

    /// Counts a line that cannot be read at all, such as one that is too long.
    pub fn refuse(&mut self, number: u64, reason: String) -> Explained {
        self.counts.lines += 1;
        self.counts.not_taken += 1;
        Explained::Bad(BadLine { line: number, not_taken: reason })
    }

    /// Whether every line was taken.
    pub const fn is_complete(&self) -> bool {
        self.counts.not_taken == 0
    }

    /// Lets the clock come to the time asked for, and tells everything that is known then.
    pub fn end(mut self) -> End {
        if let Some(end) = self.as_of {
            // The rules refuse no passing of time; should they, what was known before it is shown.
            let _ = self.stream.wait_until(end);
        }
        let order = std::mem::take(&mut self.order);
        let operations: Vec<_> =
            order.iter().filter_map(|id| self.explain(id, Touch::End, self.counts.lines)).collect();
        let mut effects: BTreeMap<IntentId, usize> = BTreeMap::new();
        for (id, operation) in order.iter().zip(&operations) {
            if let Some(record) = self.stream.record_of(id) {
                let known = effects.entry(record.head.intent_id.clone()).or_default();
                *known = operation.effects.len().max(*known);
            }
        }
        let rules = self.spoken.iter().filter_map(|id| Some((id.clone(), super::rules::rule_sentence(id)?))).collect();
        End {
            as_of: (self.as_of.is_some() || !order.is_empty()).then(|| self.stream.now().to_string()),
            as_of_is: if self.as_of.is_some() { "asked" } else { "last_line" },
            lines: self.counts,
            totals: Totals {
                operations: operations.len(),
                attempts: operations.iter().map(|one| one.attempts.len()).sum(),
                effects: effects.values().sum(),
            },
            operations,
            rules,
        }
    }

    fn explain(&mut self, id: &OperationId, touched: Touch, line: u64) -> Option<ExplainedOperation> {
        let class = self.stream.tool_of(self.stream.record_of(id)?).class;
        let mut explained = explained(&self.stream.judge(id)?, class.name(), touched);
        if !self.last.contains_key(id) {
            self.order.push(id.clone());
        }
        let decided = explained.decision.signature();
        explained.decision.unchanged_since_line =
            self.last.get(id).filter(|(_, before)| *before == decided).map(|(since, _)| *since);
        if explained.decision.unchanged_since_line.is_none() {
            self.last.insert(id.clone(), (line, decided));
        }
        self.spoken.extend(explained.rules());
        Some(explained)
    }
}

impl ExplainedOperation {
    /// The numbers of every rule that speaks here.
    pub fn rules(&self) -> BTreeSet<String> {
        let judged = |one: &ExplainedAttempt| (!one.is_running).then(|| one.rule.clone());
        let attempts = self.attempts.iter().flat_map(|one| [judged(one), one.closed_by.clone()]);
        let actions = self.decision.actions.iter().filter(|action| action.verdict != Verdict::NotOffered);
        let actions = actions.flat_map(|action| {
            let rows = action.forbidden_by.iter().map(|row| row_name(row));
            rows.chain(action.overlays.iter().cloned())
        });
        let own = [self.fold_rule.clone(), row_name(&self.decision.row)];
        attempts.flatten().chain(own).chain(actions).collect()
    }
}

impl ExplainedDecision {
    /// What makes two decisions the same, the ages in their words aside.
    fn signature(&self) -> String {
        let mut text = format!("{} {}", self.row, self.recommended);
        for action in &self.actions {
            let grounds = [action.forbidden_by.join(" "), action.overlays.join(" ")].join("/");
            let _ = write!(text, " {}={}({grounds})", action.action, action.verdict.label());
        }
        text
    }
}

fn explained(judged: &Judged<'_>, class: &'static str, touched: Touch) -> ExplainedOperation {
    let Judged { record, outcome, ruling } = judged;
    let head = &record.head;
    let badge = state_badge(outcome.state);
    ExplainedOperation {
        operation: head.id.to_string(),
        touched,
        operation_key: head.key.to_string(),
        key_given: head.key_given,
        target: target_in_words(
            head.tool.as_ref().map(super::super::name::ToolName::as_str),
            head.destination.as_ref().map(super::super::name::DestinationName::as_str),
        ),
        class,
        state: outcome.state.to_string(),
        state_in_words: badge.phrase,
        fold_rule: outcome.fold_rule.clone(),
        since: outcome.since.to_string(),
        attempts: outcome.attempts.iter().chain(&outcome.inherited).map(explained_attempt).collect(),
        effects: outcome.effects.iter().map(explained_effect).collect(),
        findings: outcome.findings.clone(),
        key_protects: outcome.key_protects,
        key_protects_not: outcome.key_protects_not.clone(),
        known: ruling.known.clone(),
        decision: explained_decision(ruling),
        next_change_at: outcome.next_change_at.map(|at| at.to_string()),
        glyph: (badge.tone, badge.glyph),
    }
}

fn explained_attempt(attempt: &JudgedAttempt) -> ExplainedAttempt {
    let doubt = match attempt.judgement.verdict {
        verdict::Verdict::Unknown(doubt) => Some(doubt.name()),
        _ => None,
    };
    ExplainedAttempt {
        attempt: attempt.id.to_string(),
        number: attempt.number,
        owner: attempt.owner.as_ref().map(ToString::to_string),
        destination_key: attempt.dest_key.as_ref().map(ToString::to_string),
        verdict: attempt.judgement.verdict.word(),
        doubt,
        rule: attempt.judgement.rule.to_string(),
        strength: attempt.judgement.strength.name(),
        text: attempt.judgement.text.to_string(),
        is_running: attempt.is_running,
        closed_by: attempt.closed.as_ref().map(|closure| closure.rule.to_string()),
    }
}

fn explained_effect(effect: &Effect) -> ExplainedEffect {
    ExplainedEffect {
        receipt: effect.receipt.to_string(),
        aliases: effect.aliases.iter().map(ToString::to_string).collect(),
        strength: effect.strength.name(),
        at: effect.at.to_string(),
        is_surplus: effect.is_surplus,
    }
}

fn explained_decision(ruling: &Ruling) -> ExplainedDecision {
    let actions = ruling.actions.iter().map(|one| ExplainedAction {
        action: one.action.name(),
        verdict: one.verdict,
        reason: one.reason.clone(),
        forbidden_by: one.forbidden_by.clone(),
        overlays: one.overlays.clone(),
        expires_at: one.expires_at.map(|at| at.to_string()),
        label: one.action.label(),
    });
    ExplainedDecision {
        row: ruling.row.clone(),
        why: ruling.why.clone(),
        recommended: ruling.recommended.name(),
        unchanged_since_line: None,
        actions: actions.collect(),
    }
}

#[cfg(test)]
mod tests;

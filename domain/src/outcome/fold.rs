//! What is gathered before the fold speaks: attempts with their verdicts, and distinct effects.

use std::collections::BTreeMap;

use crate::attempt::{self, Attempt, End, Report};
use crate::contract::Contract;
use crate::evidence::{Claim, Evidence, LinkedBy, Strength};
use crate::name::{OperationId, Receipt};
use crate::operation::{Doubt, Finding, Mode, Record, Severity};
use crate::outcome::closing::closure_by_own_answer;
use crate::outcome::{Effect, JudgedAttempt, Surroundings};
use crate::time::Timestamp;
use crate::tool::{Class, Tool};
use crate::verdict::{self, Judgement, Verdict};

/// The contract in force for an operation: as declared for the tool, then as its stream declares it.
pub fn contract_in_force(record: &Record, tool: &Tool) -> Contract {
    let streams = record.proposals().filter_map(|proposal| proposal.contract.as_ref());
    streams.fold(tool.contract.clone(), Contract::or)
}

/// A success that some fact of the intent names.
pub(super) struct Success<'a> {
    receipt: &'a Receipt,
    strength: Strength,
    at: Timestamp,
    held: bool,
}

pub(super) struct Fold<'a> {
    pub(super) record: &'a Record,
    pub(super) around: &'a Surroundings,
    pub(super) now: Timestamp,
    pub(super) contract: Contract,
    pub(super) class: Class,
    /// The intent's attempts, earliest first; this operation's own and its relatives'.
    pub(super) attempts: Vec<JudgedAttempt>,
    /// The intent's effects, the primary first.
    pub(super) effects: Vec<Effect>,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Fold<'a> {
    pub(super) fn new(record: &'a Record, around: &'a Surroundings, now: Timestamp) -> Self {
        let contract = contract_in_force(record, &around.tool);
        let class = around.tool.class;
        let mut fold = Self {
            record,
            around,
            now,
            contract,
            class,
            attempts: Vec::new(),
            effects: Vec::new(),
            findings: Vec::new(),
        };
        fold.attempts = fold.judge_attempts();
        fold.effects = fold.collect_effects();
        fold.close_by_replay();
        fold.close_by_protected_answer();
        fold.close_by_absence();
        fold.credit_receipts();
        fold.close_key_reuse();
        fold
    }

    pub(super) fn intent(&self) -> impl Iterator<Item = &'a Record> {
        std::iter::once(self.record).chain(&self.around.relatives)
    }

    pub(super) fn judge_attempts(&self) -> Vec<JudgedAttempt> {
        let mut gathered: Vec<(OperationId, Attempt<'a>)> = Vec::new();
        for operation in self.intent() {
            let attempts = attempt::gather(operation.reports(), self.contract.client_deadline());
            // E1: what we claim is sent only after its dispatch is on record; a bare claim is no attempt.
            let fenced = operation.head.mode == Mode::Guarded;
            let sent = attempts.into_iter().filter(|attempt| !(fenced && attempt.is_possible_send));
            gathered.extend(sent.map(|attempt| (operation.head.id.clone(), attempt)));
        }
        gathered.sort_by(|(_, a), (_, b)| (a.dispatched_at, a.id).cmp(&(b.dispatched_at, b.id)));
        let mut judged: Vec<JudgedAttempt> = Vec::with_capacity(gathered.len());
        let mut open_until: Option<Timestamp> = None;
        let mut any_open = false;
        let mut counts: BTreeMap<OperationId, u32> = BTreeMap::new();
        for (operation, attempt) in gathered {
            let overlaps = open_until.is_some_and(|until| attempt.dispatched_at < until);
            let number = counts.entry(operation.clone()).or_insert(0);
            *number += 1;
            let next = self.judge_attempt(operation, &attempt, *number, any_open, overlaps);
            // Without a reported end an attempt may run for ever; only a closed one is known to be over.
            let over_at = if next.closed.is_some() { next.ended_at.unwrap_or(next.runs_until) } else { FOREVER };
            open_until = open_until.max(Some(over_at));
            any_open |= next.closed.is_none();
            judged.push(next);
        }
        judged
    }

    pub(super) fn judge_attempt(
        &self,
        operation: OperationId,
        attempt: &Attempt<'a>,
        ordinal: u32,
        earlier_open: bool,
        overlaps: bool,
    ) -> JudgedAttempt {
        let (contract, class) = (&self.contract, self.class);
        let judge_end = |(report, end): &(&Report, &End)| {
            let trust = self.around.trust(&report.source);
            let instrumentation = self.around.instrumentation(&report.source);
            verdict::judge(end, verdict::Grounds { contract, class, trust, instrumentation, earlier_open })
        };
        let is_running = attempt.is_running(self.now);
        // Where sources disagree about one send, proof outranks doubt and a receipt outranks a refusal.
        let best = attempt.ends.iter().map(|end| (judge_end(end), end)).max_by_key(|(judgement, _)| rank(judgement));
        let (judgement, end) = match best {
            Some((judgement, (_, end))) => (judgement, Some(*end)),
            None => (Judgement::without_end(is_running), None),
        };
        let closed = closure_by_own_answer(&judgement, end);
        JudgedAttempt {
            id: attempt.id.clone(),
            operation,
            number: attempt.number.unwrap_or(ordinal),
            owner: attempt.owner.cloned(),
            worker: attempt.worker.map(Into::into),
            dest_key: attempt.dest_key.cloned(),
            args_hash: attempt.args_hash.copied(),
            lease_s: attempt.lease_s,
            budget: attempt.budget,
            dispatched_at: attempt.dispatched_at,
            ended_at: attempt.ended_at(),
            runs_until: attempt.runs_until,
            is_running,
            is_possible_send: attempt.is_possible_send,
            reported: end.map(|end| end.outcome),
            reported_by: end.and_then(|end| end.reported_by.clone()),
            http: end.and_then(|end| end.http),
            error: end.and_then(|end| end.error.clone()),
            receipt: end.and_then(|end| end.receipt.clone()),
            replayed: end.is_some_and(|end| end.is_replayed(contract.replay_marker.as_deref())),
            judgement,
            closed,
            overlaps,
        }
    }

    pub(super) fn is_own(&self, attempt: &JudgedAttempt) -> bool {
        attempt.operation == self.record.head.id
    }

    /// Own, or inherited by adopting (T37).
    pub(super) fn concerns(&self, attempt: &JudgedAttempt) -> bool {
        self.is_own(attempt) || self.record.head.adopts.as_ref() == Some(&attempt.operation)
    }

    pub(super) fn open(&self) -> Vec<&JudgedAttempt> {
        self.attempts.iter().filter(|attempt| self.concerns(attempt) && attempt.closed.is_none()).collect()
    }

    pub(super) fn own(&self) -> impl Iterator<Item = &JudgedAttempt> {
        self.attempts.iter().filter(|attempt| self.is_own(attempt))
    }

    pub(super) fn strength_of(&self, evidence: &Evidence) -> Strength {
        let by_link = if evidence.linked_by == LinkedBy::NaturalKey { Strength::P2 } else { Strength::P3 };
        by_link.min(self.around.trust(&evidence.source).cap())
    }

    /// Whether the sender of every attempt is stated to send no more: ours, or adopted with that statement.
    pub(super) fn sender_stopped(&self) -> bool {
        self.record.head.mode == Mode::Guarded
    }

    pub(super) fn successes(&self) -> Vec<Success<'_>> {
        let mut all = Vec::new();
        for attempt in &self.attempts {
            // A refusal may name an object too: the one that is in the way (E28).
            let is_success = matches!(attempt.judgement.verdict, Verdict::Executed | Verdict::Unknown(Doubt::Likely));
            if let Some(receipt) = attempt.receipt.as_ref().filter(|_| is_success) {
                let at = attempt.ended_at.unwrap_or(attempt.dispatched_at);
                all.push(Success { receipt, strength: attempt.judgement.strength, at, held: self.is_own(attempt) });
            }
        }
        for operation in self.intent() {
            for evidence in operation.evidence() {
                if let Claim::Executed { receipt } = &evidence.claim {
                    let held = operation.head.id == self.record.head.id;
                    all.push(Success {
                        receipt,
                        strength: self.strength_of(evidence),
                        at: evidence.happened_at(),
                        held,
                    });
                }
            }
        }
        all
    }

    pub(super) fn collect_effects(&self) -> Vec<Effect> {
        let mut by_receipt: BTreeMap<&Receipt, Effect> = BTreeMap::new();
        let successes = self.successes();
        for success in successes.iter().filter(|success| success.strength >= Strength::P2) {
            let effect = by_receipt.entry(success.receipt).or_insert_with(|| Effect {
                receipt: success.receipt.clone(),
                strength: success.strength,
                at: success.at,
                is_surplus: false,
                is_held: false,
            });
            effect.strength = effect.strength.max(success.strength);
            effect.at = effect.at.min(success.at);
            effect.is_held |= success.held;
        }
        let mut effects: Vec<_> = by_receipt.into_values().collect();
        // F3: the primary is the earliest by provider time, ties by receipt bytes.
        effects.sort_by(|a, b| (a.at, &a.receipt).cmp(&(b.at, &b.receipt)));
        for surplus in effects.iter_mut().skip(1) {
            surplus.is_surplus = true;
        }
        effects
    }

    pub(super) fn find(&mut self, code: &str, severity: Severity, text: impl Into<String>) {
        self.findings.push(Finding { code: code.into(), severity, text: text.into() });
    }
}

/// Farther than any time that occurs.
const FOREVER: Timestamp = Timestamp::from_micros(i64::MAX);

fn rank(judgement: &Judgement) -> u8 {
    match judgement.verdict {
        Verdict::Executed => 4,
        Verdict::ExecutedNoEffect | Verdict::RefusedPermanent | Verdict::RefusedRetryable => 3,
        Verdict::NotSent => 2,
        Verdict::Unknown(_) => 1,
    }
}

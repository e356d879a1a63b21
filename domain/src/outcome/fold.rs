//! What is gathered before the fold speaks: attempts with their verdicts, and distinct effects.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use crate::attempt::{self, Attempt, AttemptRef, End, Report};
use crate::backoff::parse_retry_after;
use crate::contract::Contract;
use crate::evidence::{Claim, Evidence, LinkedBy, Strength, Trust};
use crate::name::{DestinationKey, OperationId, Receipt, SourceOperation, WorkspaceId};
use crate::operation::{Doubt, Fact, Finding, Mode, Record, Severity};
use crate::outcome::aliases::Aliases;
use crate::outcome::closing::closure_by_own_answer;
use crate::outcome::{Effect, JudgedAttempt, KeyUse, Sent, Surroundings};
use crate::policy::SafetyRule;
use crate::time::Timestamp;
use crate::tool::{Class, Tool};
use crate::verdict::{self, Judgement, Verdict};

/// The process that a restored record knows nothing about; proved dead once every process from before is.
pub const BEFORE_RESTORE: &str = "before-restore";

/// The contract in force for an operation: as declared for the tool, then as its stream declares it.
pub fn contract_in_force(record: &Record, tool: &Tool) -> Contract {
    let streams = record.proposals().filter_map(|proposal| proposal.contract.as_deref());
    streams.fold(tool.contract.clone(), Contract::or)
}

/// T35, 3.7.6: what a key promises by the strictest declaration since the first send. What an earlier one was silent
/// about was not known then, and is no promise; look-ups and signals follow the declaration of today.
pub(super) fn promises_since_first_send(today: Contract, earlier: &[Contract]) -> Contract {
    if earlier.is_empty() {
        return today;
    }
    let earlier: Vec<Contract> = earlier.iter().map(|version| version.clone().or(&today)).collect();
    let strictest = Contract::strictest(std::iter::once(&today).chain(&earlier));
    Contract {
        key_location: strictest.key_location,
        key_quoting: strictest.key_quoting,
        key_retention_s: strictest.key_retention_s,
        retention_starts: strictest.retention_starts,
        retention_rule: strictest.retention_rule,
        scope: strictest.scope,
        on_mismatch: strictest.on_mismatch,
        on_in_flight: strictest.on_in_flight,
        stores: strictest.stores,
        max_arrival_delay_s: strictest.max_arrival_delay_s,
        key_age_margin_s: strictest.key_age_margin_s,
        ..today
    }
}

impl Record {
    /// The key that a send of this guarded operation carries: derived; an adopting one keeps the original (4.1).
    pub fn destination_key(&self, relatives: &[Self]) -> Option<DestinationKey> {
        let adopted = self.head.adopts.as_ref().and_then(|id| relatives.iter().find(|other| other.head.id == *id));
        match (self.head.mode, adopted) {
            (Mode::Observed, _) => None,
            (Mode::Guarded, Some(original)) => original.destination_keys().first().map(|key| (*key).clone()),
            (Mode::Guarded, None) => {
                let destination = self.head.destination.as_ref();
                Some(DestinationKey::derive(&WorkspaceId::only(), &self.head.key, destination))
            }
        }
    }
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
    /// The key that a send of this operation carries.
    pub(super) key: Option<DestinationKey>,
    /// The intent's attempts, earliest first; this operation's own and its relatives'.
    pub(super) attempts: Vec<JudgedAttempt>,
    /// Which receipts name one effect.
    pub(super) aliases: Aliases,
    /// The intent's effects, the primary first.
    pub(super) effects: Vec<Effect>,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Fold<'a> {
    pub(super) fn new(record: &'a Record, around: &'a Surroundings, now: Timestamp) -> Self {
        let contract = promises_since_first_send(contract_in_force(record, &around.tool), &around.earlier_contracts);
        let class = around.tool.class;
        let mut fold = Self {
            record,
            around,
            now,
            contract,
            class,
            key: record.destination_key(&around.relatives),
            attempts: Vec::new(),
            aliases: Aliases::default(),
            effects: Vec::new(),
            findings: Vec::new(),
        };
        fold.attempts = fold.judge_attempts();
        fold.aliases = fold.read_aliases();
        fold.effects = fold.collect_effects();
        fold.close_by_replay();
        fold.close_by_protected_answer();
        fold.close_by_absence();
        fold.close_by_cancel();
        fold.credit_receipts();
        fold.close_key_reuse();
        fold
    }

    pub(super) fn keeps(&self, rule: SafetyRule) -> bool {
        self.around.policy.keeps(rule)
    }

    pub(super) fn intent(&self) -> impl Iterator<Item = &'a Record> {
        std::iter::once(self.record).chain(&self.around.relatives)
    }

    pub(super) fn judge_attempts(&self) -> Vec<JudgedAttempt> {
        let mut queues: Vec<(&'a Record, Queue<'a>)> = Vec::new();
        let mut sent = 0;
        for operation in self.intent() {
            let mut attempts = attempt::gather(operation.reports(), self.contract.client_deadline());
            // E1: what we claim is sent only after its dispatch is on record; a bare claim is no attempt.
            let fenced = operation.head.mode == Mode::Guarded;
            attempts.retain(|attempt| !(fenced && attempt.is_possible_send));
            sent += attempts.len();
            queues.push((operation, attempts.into_iter().peekable()));
        }
        let accepted = self.accepted_risks();
        let mut judged: Vec<JudgedAttempt> = Vec::with_capacity(sent);
        let mut open_until: Option<Timestamp> = None;
        let mut any_open = false;
        // An intent has few operations.
        let mut counts: Vec<(&OperationId, u32)> = Vec::new();
        while let Some((operation, attempt)) = next_sent(&mut queues) {
            let overlaps = open_until.is_some_and(|until| attempt.dispatched_at < until);
            let number = next_number(&mut counts, &operation.head.id);
            let mut next = self.judge_attempt(operation, &attempt, number, any_open, overlaps);
            next.is_accepted_risk = accepted.contains(&next.id);
            // Without a reported end an attempt may run for ever; only a closed one is known to be over.
            let over_at = if next.closed.is_some() { next.ended_at.unwrap_or(next.runs_until) } else { FOREVER };
            open_until = open_until.max(Some(over_at));
            any_open |= next.closed.is_none();
            judged.push(next);
        }
        let forgotten = self.intent().flat_map(|operation| self.forgotten_sends(operation));
        judged.extend(forgotten.map(|mut marker| {
            marker.is_accepted_risk = accepted.contains(&marker.id);
            marker
        }));
        judged
    }

    /// The attempts whose risk two people accepted for this operation (T29, T43).
    fn accepted_risks(&self) -> BTreeSet<AttemptRef> {
        let facts = self.intent().flat_map(|operation| operation.facts.acts());
        let named = facts.filter_map(|fact| match fact {
            Fact::RiskAccepted { attempts, permits, .. } if *permits == self.record.head.id => Some(attempts),
            _ => None,
        });
        named.flatten().cloned().collect()
    }

    fn judge_attempt(
        &self,
        operation: &'a Record,
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
        let is_running = self.is_running(operation, attempt);
        // Where sources disagree about one send, proof outranks doubt and a receipt outranks a refusal.
        let best = attempt.ends.iter().map(|end| (judge_end(end), end)).max_by_key(|(judgement, _)| rank(judgement));
        let (judgement, end) = match best {
            Some((judgement, (_, end))) => (judgement, Some(*end)),
            None if attempt.dispatch.is_some() && !is_running => (Judgement::crashed(), None),
            None => (Judgement::without_end(is_running), None),
        };
        let closed = closure_by_own_answer(&judgement, end);
        let sent = attempt.dispatch.map(|dispatch| {
            Box::new(Sent {
                epoch: dispatch.epoch,
                incarnation: dispatch.incarnation.clone(),
                wire_hash: dispatch.wire_hash,
                scope: dispatch.scope.clone(),
            })
        });
        let reported_by = end.and_then(|end| end.reported_by.clone());
        let sender_ended = (attempt.ended_at().is_some() && reported_by.is_none())
            || sent.as_ref().is_some_and(|sent| operation.is_gone(&sent.incarnation));
        JudgedAttempt {
            id: attempt.id.clone(),
            operation: operation.head.id.clone(),
            number: attempt.number.unwrap_or(ordinal),
            owner: attempt.owner.cloned(),
            worker: attempt.worker.cloned(),
            dest_key: attempt.dest_key.cloned(),
            args_hash: attempt.args_hash.copied(),
            lease_s: attempt
                .lease_s
                .or_else(|| sent.as_ref().and_then(|sent| lease_left(operation, attempt, sent.epoch))),
            budget: attempt.budget,
            trust: if sent.is_some() { Trust::Verified } else { self.best_trust(attempt) },
            dispatched_at: attempt.dispatched_at,
            key_from: attempt.dispatched_at,
            ended_at: attempt.ended_at(),
            runs_until: attempt.runs_until,
            is_running,
            is_possible_send: attempt.is_possible_send,
            reported: end.map(|end| end.outcome),
            reported_by,
            http: end.and_then(|end| end.http),
            error: end.and_then(|end| end.error.clone()),
            receipt: end.and_then(|end| end.receipt.clone()),
            object: end.and_then(|end| end.object.clone()),
            replayed: end.is_some_and(|end| end.is_replayed(contract.replay_marker.as_deref())),
            retry_after: asked_to_wait(attempt, end),
            judgement,
            closed,
            overlaps,
            sent,
            is_restored: false,
            sender_ended,
            is_accepted_risk: false,
        }
    }

    /// A guarded send runs for as long as its lease does; an observed one until its deadline.
    fn is_running(&self, operation: &Record, attempt: &Attempt<'_>) -> bool {
        let Some(dispatch) = attempt.dispatch else { return attempt.is_running(self.now) };
        let lease = operation.live_lease(self.now);
        attempt.ends.is_empty() && lease.is_some_and(|lease| lease.claim.epoch == dispatch.epoch)
    }

    fn best_trust(&self, attempt: &Attempt<'_>) -> Trust {
        attempt.sources.iter().map(|source| self.around.trust(source)).max().unwrap_or_default()
    }

    /// T45: what a restored record may have forgotten is a possible send under the operation's own key.
    fn forgotten_sends(&self, operation: &'a Record) -> Vec<JudgedAttempt> {
        let markers = operation.facts.acts().filter_map(|fact| match fact {
            Fact::Restored { backup_at, at, epoch } => Some((*backup_at, *at, *epoch)),
            _ => None,
        });
        let approved_at = operation.approvals().map(|approval| approval.granted_at).min();
        let number = u32::try_from(operation.reports().count()).unwrap_or(u32::MAX - 1);
        let marker = |(backup_at, at, epoch): (Timestamp, Timestamp, u64)| JudgedAttempt {
            id: AttemptRef {
                operation: SourceOperation::from(operation.head.id.clone()),
                claim: Some(format!("restored-{epoch}")),
                number: None,
            },
            operation: operation.head.id.clone(),
            number: number + 1,
            owner: None,
            worker: None,
            dest_key: operation.destination_key(&self.around.relatives),
            args_hash: None,
            lease_s: None,
            budget: None,
            trust: Trust::Verified,
            dispatched_at: at,
            key_from: approved_at.unwrap_or(backup_at).min(at),
            ended_at: None,
            runs_until: at,
            is_running: false,
            is_possible_send: true,
            reported: None,
            reported_by: None,
            http: None,
            error: None,
            receipt: None,
            object: None,
            replayed: false,
            retry_after: None,
            judgement: Judgement::restored(),
            closed: None,
            overlaps: false,
            sent: None,
            is_restored: true,
            sender_ended: operation.is_gone_since(BEFORE_RESTORE, at),
            is_accepted_risk: false,
        };
        markers.map(marker).collect()
    }

    pub(super) fn is_own(&self, attempt: &JudgedAttempt) -> bool {
        attempt.operation == self.record.head.id
    }

    /// Own, or inherited by adopting (T37).
    pub(super) fn concerns(&self, attempt: &JudgedAttempt) -> bool {
        self.is_own(attempt) || self.record.head.adopts.as_ref() == Some(&attempt.operation)
    }

    /// Open attempts that make this operation uncertain (F14): its own, and those it adopted.
    pub(super) fn open(&self) -> Vec<&JudgedAttempt> {
        self.attempts.iter().filter(|attempt| self.concerns(attempt) && attempt.closed.is_none()).collect()
    }

    /// OPEN: of the whole intent, less those whose risk was accepted for this operation.
    pub(super) fn open_of_intent(&self) -> Vec<&JudgedAttempt> {
        self.attempts.iter().filter(|attempt| attempt.closed.is_none() && !attempt.is_accepted_risk).collect()
    }

    pub(super) fn own(&self) -> impl Iterator<Item = &JudgedAttempt> {
        self.attempts.iter().filter(|attempt| self.is_own(attempt))
    }

    pub(super) fn strength_of(&self, evidence: &Evidence) -> Strength {
        let by_link = match evidence.linked_by {
            LinkedBy::Key | LinkedBy::Receipt | LinkedBy::Metadata => Strength::P3,
            LinkedBy::NaturalKey => Strength::P2,
            LinkedBy::Manual => Strength::P0,
        };
        by_link.min(self.around.trust(&evidence.source).cap())
    }

    /// What `key_protects` is asked about for this operation.
    pub(super) fn key_use(&self) -> KeyUse<'_> {
        KeyUse {
            contract: &self.contract,
            class: self.class,
            sender_stopped: self.sender_stopped(),
            key: self.key.as_ref(),
            wire_hash: None,
            scope: self.around.scope.as_ref(),
            policy: self.around.policy,
        }
    }

    /// Whether the sender of every attempt is stated to send no more: ours, or adopted with that statement.
    pub(super) fn sender_stopped(&self) -> bool {
        self.record.head.mode == Mode::Guarded
    }

    pub(super) fn successes(&self) -> Vec<Success<'_>> {
        let mut all = Vec::new();
        let counts = |id: &OperationId| self.keeps(SafetyRule::CountPerIntent) || *id == self.record.head.id;
        for attempt in self.attempts.iter().filter(|attempt| counts(&attempt.operation)) {
            // A refusal may name an object too: the one that is in the way (E28).
            let is_success = matches!(attempt.judgement.verdict, Verdict::Executed | Verdict::Unknown(Doubt::Likely));
            if let Some(receipt) = attempt.receipt.as_ref().filter(|_| is_success) {
                let at = attempt.ended_at.unwrap_or(attempt.dispatched_at);
                all.push(Success { receipt, strength: attempt.judgement.strength, at, held: self.is_own(attempt) });
            }
        }
        for operation in self.intent().filter(|operation| counts(&operation.head.id)) {
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

    /// Only facts that are likely or better say what belongs together: a link hides an effect.
    fn read_aliases(&self) -> Aliases {
        let returned = self.attempts.iter().filter(|attempt| attempt.judgement.strength >= Strength::P2);
        let returned = returned.filter_map(|attempt| Some((attempt.receipt.as_ref()?, attempt.object.as_ref()?)));
        let evidence = self.intent().flat_map(Record::evidence);
        let evidence =
            evidence.filter(|evidence| evidence.object.is_some() && self.strength_of(evidence) >= Strength::P2);
        let found = evidence.filter_map(|evidence| match &evidence.claim {
            Claim::Executed { receipt } | Claim::Reversed { receipt } => Some((receipt, evidence.object.as_ref()?)),
            _ => None,
        });
        Aliases::of(self.contract.effect_identity.as_ref(), returned.chain(found))
    }

    pub(super) fn collect_effects(&self) -> Vec<Effect> {
        let mut by_receipt: BTreeMap<&Receipt, Effect> = BTreeMap::new();
        let successes = self.successes();
        for success in successes.iter().filter(|success| success.strength >= Strength::P2) {
            let name = self.aliases.effect_of(success.receipt);
            let effect = by_receipt.entry(name).or_insert_with(|| Effect {
                receipt: name.clone(),
                aliases: Vec::new(),
                strength: success.strength,
                at: success.at,
                is_surplus: false,
                is_held: false,
            });
            effect.strength = effect.strength.max(success.strength);
            effect.at = effect.at.min(success.at);
            effect.is_held |= success.held;
            if !effect.is_called(success.receipt) {
                effect.aliases.push(success.receipt.clone());
                effect.aliases.sort();
            }
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

/// The attempts of one operation, earliest first.
type Queue<'a> = Peekable<std::vec::IntoIter<Attempt<'a>>>;

/// The earliest attempt of all operations, taken off its queue. An intent has few operations.
fn next_sent<'a>(queues: &mut [(&'a Record, Queue<'a>)]) -> Option<(&'a Record, Attempt<'a>)> {
    let mut earliest: Option<(usize, (Timestamp, &'a AttemptRef))> = None;
    for (index, (_, queue)) in queues.iter_mut().enumerate() {
        let Some(key) = queue.peek().map(|attempt| (attempt.dispatched_at, attempt.id)) else { continue };
        if earliest.is_none_or(|(_, known)| key < known) {
            earliest = Some((index, key));
        }
    }
    let (operation, queue) = queues.get_mut(earliest?.0)?;
    Some((operation, queue.next()?))
}

fn next_number<'a>(counts: &mut Vec<(&'a OperationId, u32)>, id: &'a OperationId) -> u32 {
    if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == id) {
        *count += 1;
        return *count;
    }
    counts.push((id, 1));
    1
}

/// Farther than any time that occurs.
pub(super) const FOREVER: Timestamp = Timestamp::from_micros(i64::MAX);

/// A `Retry-After` that cannot be read asks for nothing.
/// How long the lease of a guarded send still ran when it was dispatched, in seconds.
fn lease_left(operation: &Record, attempt: &Attempt<'_>, epoch: u64) -> Option<u64> {
    let claim = operation.claims().find(|claim| claim.epoch == epoch)?;
    Some(operation.lease_end(claim).since(attempt.dispatched_at).as_secs())
}

fn asked_to_wait(attempt: &Attempt<'_>, end: Option<&End>) -> Option<Timestamp> {
    parse_retry_after(end?.retry_after()?, attempt.ended_at()?).ok()
}

fn rank(judgement: &Judgement) -> u8 {
    match judgement.verdict {
        Verdict::Executed => 4,
        Verdict::ExecutedNoEffect | Verdict::RefusedPermanent | Verdict::RefusedRetryable => 3,
        Verdict::NotSent => 2,
        // A receipt that is only likely tells more than a broken connection.
        Verdict::Unknown(Doubt::Likely) => 1,
        Verdict::Unknown(_) => 0,
    }
}

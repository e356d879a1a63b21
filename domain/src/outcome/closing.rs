//! What closes an attempt (semantics 3.5, K1–K7). Closers are evaluated over the whole set of facts,
//! never in order of arrival; an attempt keeps the first that applies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::attempt::End;
use crate::contract::{Consistency, LookUpBy, OnMismatch};
use crate::evidence::{Claim, Strength};
use crate::name::{DestinationKey, OperationId, Receipt};
use crate::operation::{Doubt, Mark, Mode, Record, Severity};
use crate::outcome::fold::{FOREVER, Fold};
use crate::outcome::key::{KeyUse, key_protects};
use crate::outcome::{Closure, Ending, JudgedAttempt};
use crate::policy::SafetyRule;
use crate::time::Timestamp;
use crate::verdict::{Judgement, Verdict};

/// K1: an attempt's own answer closes that attempt only.
pub(super) fn closure_by_own_answer(judgement: &Judgement, end: Option<&End>) -> Option<Closure> {
    let ending = match judgement.verdict {
        Verdict::Executed => Ending::Positive,
        Verdict::NotSent | Verdict::RefusedRetryable => Ending::NegativeRetryable,
        Verdict::RefusedPermanent => Ending::NegativePermanent,
        Verdict::ExecutedNoEffect => Ending::NegativeBusiness,
        Verdict::Unknown(_) => return None,
    };
    let receipt = end.and_then(|end| end.receipt.clone()).filter(|_| ending == Ending::Positive);
    Some(Closure { rule: "K1".into(), ending, receipt })
}

/// 401, 403, 429 and what was never sent are answered before the key layer: they say nothing about other sends (K3).
fn is_given_before_the_key(probe: &JudgedAttempt) -> bool {
    matches!(probe.http, Some(401 | 403 | 429)) || probe.judgement.verdict == Verdict::NotSent
}

impl<'a> Fold<'a> {
    /// K2: a marked stored answer is the first execution's, for every attempt under its key.
    pub(super) fn close_by_replay(&mut self) {
        let replays: Vec<_> = self
            .attempts
            .iter()
            .filter(|attempt| attempt.replayed && attempt.closed.is_some() && attempt.dest_key.is_some())
            .filter_map(|attempt| Some((attempt.dest_key.clone(), attempt.closed.clone()?)))
            .collect();
        for (key, closure) in replays {
            self.close_where("K2", &closure, |attempt| attempt.dest_key == key);
        }
    }

    /// K3 and K4: what a protected repeat was told holds for the attempts before it under the same key.
    pub(super) fn close_by_protected_answer(&mut self) {
        if self.attempts.iter().all(|attempt| attempt.closed.is_none()) {
            return;
        }
        let use_of = KeyUse { key: None, scope: None, ..self.key_use() };
        let mut told: Vec<(&'static str, DestinationKey, Timestamp, Closure)> = Vec::new();
        let mut open_before: BTreeMap<&DestinationKey, Vec<&JudgedAttempt>> = BTreeMap::new();
        for probe in &self.attempts {
            let Some(key) = &probe.dest_key else { continue };
            let Some(closure) = &probe.closed else {
                open_before.entry(key).or_default().push(probe);
                continue;
            };
            let open = open_before.get(key).map_or(&[][..], Vec::as_slice);
            // Attempts come in the order of their sending.
            let earlier = &open[..open.partition_point(|other| other.dispatched_at < probe.dispatched_at)];
            if earlier.is_empty() {
                continue;
            }
            let rule = if closure.ending == Ending::Positive { "K4" } else { "K3" };
            let covers = if rule == "K3" && !self.keeps(SafetyRule::DeclineNeedsStores) {
                !is_given_before_the_key(probe)
            } else {
                !is_given_before_the_key(probe) && key_protects(use_of, earlier, probe.dispatched_at).is_ok()
            };
            if covers || (rule == "K3" && !self.keeps(SafetyRule::RefusalClosesOnlyItself)) {
                told.push((rule, key.clone(), probe.dispatched_at, closure.clone()));
            }
        }
        for (rule, key, before, closure) in told {
            self.close_where(rule, &closure, |a| a.dest_key.as_ref() == Some(&key) && a.dispatched_at < before);
        }
    }

    /// K6: a strong look-up that was sent late enough and found nothing.
    pub(super) fn close_by_absence(&mut self) {
        let Some(lookup) = self.contract.lookup else { return };
        let is_strong =
            lookup.consistency == Some(Consistency::Strong) && lookup.complete && lookup.by != LookUpBy::NaturalKey;
        // An unknown D makes absence a hint, never proof (semantics 4.0); for our own sends the default is ours.
        if !is_strong || (self.record.head.mode == Mode::Observed && self.contract.max_arrival_delay_s.is_none()) {
            return;
        }
        let Some(sent_at) = self.latest_absence() else { return };
        let covered = |attempt: &JudgedAttempt| attempt.closed.is_none() && attempt.dispatched_at < sent_at;
        if self.attempts.iter().filter(|attempt| covered(attempt)).all(|attempt| self.admits_absence(attempt, sent_at))
        {
            let closure = Closure { rule: "K6".into(), ending: Ending::NegativeRetryable, receipt: None };
            self.close_where("K6", &closure, covered);
        }
    }

    /// When the last look-up was sent that found nothing and whose source is believed.
    fn latest_absence(&self) -> Option<Timestamp> {
        let evidence = self.intent().flat_map(Record::evidence);
        evidence
            .filter(|evidence| evidence.claim == Claim::Absent && self.strength_of(evidence) >= Strength::P2)
            .filter_map(
                |evidence| {
                    if self.keeps(SafetyRule::AbsenceBySendTime) { evidence.sent_at } else { Some(self.now) }
                },
            )
            .max()
    }

    /// Whether a look-up or cancel sent at that time speaks about this attempt: settle has passed and its sender is
    /// known to have stopped (K6, K7).
    fn admits_absence(&self, attempt: &JudgedAttempt, sent_at: Timestamp) -> bool {
        let settled_at = match &attempt.sent {
            // A guarded send names its own deadline.
            Some(_) => attempt.runs_until.plus(self.contract.arrival_delay()),
            None => attempt.dispatched_at.plus(self.contract.settle()),
        };
        (attempt.sender_ended || !self.keeps(SafetyRule::SenderEndProved))
            && (sent_at > settled_at || !self.keeps(SafetyRule::SettleWindow))
    }

    /// K7: a cancel by key. A commutative one proves that nothing will stand; one that may have found nothing needs
    /// the time and sender conditions of K6, and a second check that was sent later and agrees.
    pub(super) fn close_by_cancel(&mut self) {
        let Some(declared) = self.contract.cancel_by_key else { return };
        let mut cancels: Vec<(DestinationKey, Timestamp, bool)> = Vec::new();
        for evidence in self.intent().flat_map(Record::evidence) {
            let (Claim::CancelledByKey { found }, Some(key)) = (&evidence.claim, &evidence.key) else { continue };
            if self.strength_of(evidence) >= Strength::P2 {
                cancels.push((key.clone(), evidence.sent_at.unwrap_or(evidence.at), *found));
            }
        }
        cancels.sort();
        let absent_at = self.latest_absence();
        let mut closing: Vec<(DestinationKey, Timestamp)> = Vec::new();
        for (key, sent_at, _) in &cancels {
            if declared.commutative {
                closing.push((key.clone(), FOREVER));
                continue;
            }
            let again = cancels.iter().any(|(other, at, _)| other == key && at > sent_at);
            let agreed = again || absent_at.is_some_and(|at| at > *sent_at);
            let covered = |a: &&JudgedAttempt| {
                a.closed.is_none() && a.dest_key.as_ref() == Some(key) && a.dispatched_at < *sent_at
            };
            let in_time = self.attempts.iter().filter(covered).all(|attempt| self.admits_absence(attempt, *sent_at));
            if declared.noop_on_absent && ((agreed && in_time) || !self.keeps(SafetyRule::NoopCancelWaits)) {
                closing.push((key.clone(), *sent_at));
            }
        }
        for (key, before) in closing {
            let closure = Closure { rule: "K7".into(), ending: Ending::NegativeRetryable, receipt: None };
            self.close_where("K7", &closure, |a| a.dest_key.as_ref() == Some(&key) && a.dispatched_at < before);
        }
    }

    /// K4's credit: receipts that no attempt returned close the earliest open attempt under their key.
    pub(super) fn credit_receipts(&mut self) {
        let in_order = self.uncredited_receipts();
        if in_order.is_empty() {
            return;
        }
        let own_keys: BTreeMap<&OperationId, &str> =
            self.intent().map(|record| (&record.head.id, record.head.key.as_str())).collect();
        let mut open_under: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        for (index, attempt) in self.attempts.iter().enumerate().filter(|(_, attempt)| attempt.closed.is_none()) {
            // An attempt without a key counts as sent under the operation's own, for this link only.
            let sent = attempt.dest_key.as_ref().map(DestinationKey::as_str);
            let key = sent.or_else(|| own_keys.get(&attempt.operation).copied()).unwrap_or_default();
            open_under.entry(key.to_owned()).or_default().push_back(index);
        }
        for (_, receipt, key) in in_order {
            if let Some(earliest) = open_under.get_mut(key.as_str()).and_then(VecDeque::pop_front) {
                self.attempts[earliest].closed =
                    Some(Closure { rule: "K4".into(), ending: Ending::Positive, receipt: Some(receipt) });
            }
        }
    }

    /// Receipts by key that no attempt returned, by the destination's time, ties by their bytes.
    fn uncredited_receipts(&self) -> Vec<(Timestamp, Receipt, DestinationKey)> {
        let returned = self.attempts.iter().filter_map(|attempt| attempt.receipt.as_ref());
        let returned: BTreeSet<&Receipt> = returned.map(|receipt| self.aliases.effect_of(receipt)).collect();
        let mut orphans: BTreeMap<&Receipt, (Timestamp, &DestinationKey)> = BTreeMap::new();
        for evidence in self.intent().flat_map(Record::evidence) {
            let (Claim::Executed { receipt }, Some(key)) = (&evidence.claim, &evidence.key) else { continue };
            let receipt = self.aliases.effect_of(receipt);
            if self.strength_of(evidence) == Strength::P3 && !returned.contains(receipt) {
                let first = (evidence.happened_at(), key);
                orphans.entry(receipt).and_modify(|known| *known = first.min(*known)).or_insert(first);
            }
        }
        let mut in_order: Vec<_> =
            orphans.into_iter().map(|(receipt, (at, key))| (at, receipt.clone(), key.clone())).collect();
        in_order.sort();
        in_order
    }

    /// K5: a mismatch whose key belongs to another intent, all of whose attempts are closed.
    pub(super) fn close_key_reuse(&mut self) {
        if self.contract.on_mismatch != Some(OnMismatch::Error) {
            return;
        }
        let open: Vec<usize> =
            (0..self.attempts.len()).filter(|&index| self.attempts[index].closed.is_none()).collect();
        let [only] = open[..] else { return };
        let attempt = &self.attempts[only];
        if attempt.judgement.verdict != Verdict::Unknown(Doubt::KeyMismatch) {
            return;
        }
        let Some(owner) = self.owner_of_key(attempt) else { return };
        let text = format!(
            "Key reuse: {} was sent earlier by operation {} ({}), to another end.",
            attempt.dest_key.as_ref().map_or("the key", |key| key.as_str()),
            owner.head.key,
            owner.head.tool.as_ref().map_or("unknown tool", |tool| tool.as_str()),
        );
        self.attempts[only].closed =
            Some(Closure { rule: "K5".into(), ending: Ending::NegativePermanent, receipt: None });
        self.find("key_reuse", Severity::Integrity, text);
    }

    /// The operation of another intent that sent under this attempt's key earlier and has nothing open.
    fn owner_of_key(&self, attempt: &JudgedAttempt) -> Option<&'a Record> {
        let key = attempt.dest_key.as_ref()?;
        self.around.sharers.iter().find(|sharer| {
            let sent_earlier = sharer
                .reports()
                .any(|report| report.dest_key.as_ref() == Some(key) && report.at < attempt.dispatched_at);
            let nothing_open = sharer.row.as_ref().is_some_and(|row| {
                row.attempts > 0 && row.tally.iter().all(|notch| !matches!(notch.mark, Mark::Unknown | Mark::Running))
            });
            sent_earlier && nothing_open
        })
    }

    fn close_where(&mut self, rule: &'static str, closure: &Closure, which: impl Fn(&JudgedAttempt) -> bool) {
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.closed.is_none()) {
            if which(attempt) {
                attempt.closed = Some(Closure { rule: rule.into(), ..closure.clone() });
            }
        }
    }
}

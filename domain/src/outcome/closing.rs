//! What closes an attempt (semantics 3.5, K1–K6). Closers are evaluated over the whole set of facts,
//! never in order of arrival; an attempt keeps the first that applies.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempt::End;
use crate::contract::{Consistency, LookUpBy, OnMismatch};
use crate::evidence::{Claim, Strength};
use crate::name::{DestinationKey, OperationId, Receipt};
use crate::operation::{Doubt, Mark, Record, Severity};
use crate::outcome::fold::Fold;
use crate::outcome::key::{KeyUse, key_protects};
use crate::outcome::{Closure, Ending, JudgedAttempt};
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
        let use_of = KeyUse { contract: &self.contract, class: self.class, sender_stopped: self.sender_stopped() };
        let mut told: Vec<(&'static str, DestinationKey, Timestamp, Closure)> = Vec::new();
        for probe in &self.attempts {
            let (Some(key), Some(closure)) = (&probe.dest_key, &probe.closed) else { continue };
            let earlier: Vec<_> = self
                .attempts
                .iter()
                .filter(|other| other.closed.is_none() && other.dispatched_at < probe.dispatched_at)
                .filter(|other| other.dest_key.as_ref() == Some(key))
                .collect();
            let given_before_the_key =
                matches!(probe.http, Some(401 | 403 | 429)) || probe.judgement.verdict == Verdict::NotSent;
            if earlier.is_empty()
                || given_before_the_key
                || key_protects(use_of, &earlier, probe.dispatched_at).is_err()
            {
                continue;
            }
            let rule = if closure.ending == Ending::Positive { "K4" } else { "K3" };
            told.push((rule, key.clone(), probe.dispatched_at, closure.clone()));
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
        // An unknown D makes absence a hint, never proof (semantics 4.0).
        if !is_strong || self.contract.max_arrival_delay_s.is_none() {
            return;
        }
        let sent_at = self
            .record
            .evidence()
            .filter(|evidence| evidence.claim == Claim::Absent && self.strength_of(evidence) >= Strength::P2)
            .filter_map(|evidence| evidence.sent_at)
            .max();
        let Some(sent_at) = sent_at else { return };
        let settle = self.contract.settle();
        let covered = |attempt: &JudgedAttempt| attempt.closed.is_none() && attempt.dispatched_at < sent_at;
        let admits = |attempt: &JudgedAttempt| {
            let end_is_the_senders = attempt.ended_at.is_some() && attempt.reported_by.is_none();
            end_is_the_senders && sent_at > attempt.dispatched_at.plus(settle)
        };
        if self.attempts.iter().filter(|attempt| covered(attempt)).all(admits) {
            let closure = Closure { rule: "K6".into(), ending: Ending::NegativeRetryable, receipt: None };
            self.close_where("K6", &closure, covered);
        }
    }

    /// K4's credit: receipts that no attempt returned close the earliest open attempt under their key.
    pub(super) fn credit_receipts(&mut self) {
        let returned: BTreeSet<&Receipt> =
            self.attempts.iter().filter_map(|attempt| attempt.receipt.as_ref()).collect();
        let mut orphans: BTreeMap<&Receipt, (Timestamp, &DestinationKey)> = BTreeMap::new();
        for evidence in self.intent().flat_map(Record::evidence) {
            let (Claim::Executed { receipt }, Some(key)) = (&evidence.claim, &evidence.key) else { continue };
            if self.strength_of(evidence) == Strength::P3 && !returned.contains(receipt) {
                let first = (evidence.happened_at(), key);
                orphans.entry(receipt).and_modify(|known| *known = first.min(*known)).or_insert(first);
            }
        }
        let mut in_order: Vec<_> =
            orphans.into_iter().map(|(receipt, (at, key))| (at, receipt.clone(), key.clone())).collect();
        in_order.sort();
        let keys: BTreeMap<&OperationId, &str> =
            self.intent().map(|record| (&record.head.id, record.head.key.as_str())).collect();
        for (_, receipt, key) in in_order {
            // An attempt without a key counts as sent under the operation's own, for this link only.
            let is_under_key = |attempt: &JudgedAttempt| match &attempt.dest_key {
                Some(sent) => *sent == key,
                None => keys.get(&attempt.operation).is_some_and(|own| *own == key.as_str()),
            };
            if let Some(open) = self.attempts.iter_mut().find(|a| a.closed.is_none() && is_under_key(a)) {
                open.closed = Some(Closure { rule: "K4".into(), ending: Ending::Positive, receipt: Some(receipt) });
            }
        }
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

    fn close_where(&mut self, rule: &str, closure: &Closure, which: impl Fn(&JudgedAttempt) -> bool) {
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.closed.is_none()) {
            if which(attempt) {
                attempt.closed = Some(Closure { rule: rule.into(), ..closure.clone() });
            }
        }
    }
}

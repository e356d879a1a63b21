//! What an auditor should see, beside the state.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempt::{Circumstance, ReportKind};
use crate::counting::in_ranges;
use crate::evidence::{Claim, Evidence, Strength};
use crate::name::Receipt;
use crate::operation::{Fact, Mode, Severity, State};
use crate::outcome::fold::Fold;

impl Fold<'_> {
    /// Notes every finding that the facts support.
    pub(super) fn note_findings(&mut self, state: State, beneath_lease: Option<State>) {
        if let Some(beneath) = beneath_lease {
            let text =
                format!("While a lease is live the facts already say {beneath}; it takes effect when the lease ends.");
            self.find("takes_effect_after_lease", Severity::Notice, text);
        }
        self.note_questions();
        self.note_surplus_effects();
        self.note_keys();
        self.note_overlaps();
        self.note_claims();
        self.note_ends();
        self.note_others_objects();
        self.note_proposals();
        self.note_copies(state);
        self.note_stall(state);
        self.note_future_times();
    }

    fn note_surplus_effects(&mut self) {
        let proved: Vec<_> = self.effects.iter().filter(|effect| effect.strength == Strength::P3).collect();
        let sent = self.attempts.len();
        let (count, held) = (proved.len(), proved.iter().any(|effect| effect.is_held));
        let receipts = proved.iter().map(|effect| effect.names()).collect::<Vec<_>>().join(", ");
        if count >= 2 {
            self.find(
                "effects_exceed_intent",
                Severity::Integrity,
                format!("{count} effects for 1 intent: {receipts}."),
            );
        }
        if held && sent == 0 {
            self.find(
                "effect_without_send",
                Severity::Audit,
                "The effect is there, but its send is not in the records.",
            );
        } else if count > sent {
            let text = format!("An effect without a send on record: attempts {sent} < effects {count}.");
            self.find("effect_without_send", Severity::Audit, text);
        }
    }

    fn note_keys(&mut self) {
        let mut keys: Vec<&str> = Vec::new();
        for key in self.own().filter_map(|attempt| attempt.dest_key.as_ref()) {
            if !keys.contains(&key.as_str()) {
                keys.push(key.as_str());
            }
        }
        if keys.len() > 1 {
            let text = format!("Key changed inside one operation: {}. Each key can own one effect.", keys.join(" → "));
            self.find("key_changed", Severity::Integrity, text);
        }
        if !self.record.head.key_given {
            self.find(
                "without_key",
                Severity::Audit,
                "A write without an operation key: a repeat cannot be recognised.",
            );
        }
    }

    fn note_overlaps(&mut self) {
        let overlapping: Vec<_> = self.own().filter(|attempt| attempt.overlaps).map(|attempt| attempt.number).collect();
        if !overlapping.is_empty() {
            let text = format!(
                "Overlapping attempts: nothing showed that the earlier ones had stopped when {} began.",
                in_ranges(overlapping)
            );
            self.find("overlapping_attempts", Severity::Notice, text);
        }
    }

    fn note_claims(&mut self) {
        let refused: BTreeSet<&str> = self.record.facts.acts().filter_map(refused_claim).collect();
        let mut found = Vec::new();
        for attempt in self.own() {
            let claim = attempt.id.claim.as_deref();
            if claim.is_some_and(|claim| refused.contains(claim)) && attempt.ended_at.is_some() {
                let text =
                    format!("A result from a non-holder: claim {} was refused and yet reported.", claim.unwrap_or("?"));
                found.push(("result_from_non_holder", text));
            }
            let took = attempt.ended_at.map(|at| at.since(attempt.dispatched_at));
            if let Some((lease_s, took)) = attempt.lease_s.zip(took).filter(|(lease_s, took)| took.as_secs() > *lease_s)
            {
                let text = format!("Lease shorter than the work: {lease_s} s against {} s.", took.as_secs());
                found.push(("lease_shorter_than_work", text));
            }
        }
        for (code, text) in found {
            self.find(code, Severity::Audit, text);
        }
    }

    /// E15 and 3.4: what an end shows beside its verdict.
    fn note_ends(&mut self) {
        let mut found = Vec::new();
        let mut telling = Vec::new();
        for report in self.record.reports() {
            if let ReportKind::Ended(end) = &report.kind
                && (end.receipt_fault.is_some() || end.is_any_in_play())
            {
                telling.push((&report.attempt, end));
            }
        }
        let judged: BTreeMap<_, _> = match telling.as_slice() {
            [] => BTreeMap::new(),
            _ => self.attempts.iter().map(|attempt| (&attempt.id, attempt)).collect(),
        };
        for (id, end) in telling {
            let Some(attempt) = judged.get(id) else { continue };
            let number = attempt.number;
            if let Some(fault) = end.receipt_fault {
                let what = fault.phrase();
                found.push(if attempt.judgement.rule == "E28" {
                    let text =
                        format!("Attempt {number}: an object with this natural key exists and is not ours: {what}.");
                    ("natural_key_collision", Severity::Integrity, text)
                } else {
                    let text = format!("Attempt {number} returned a receipt that fails validation: {what}.");
                    ("receipt_invalid", Severity::Integrity, text)
                });
            }
            for circumstance in Circumstance::ALL.iter().copied().filter(|one| end.is_in_play(*one)) {
                let (severity, what) = match circumstance {
                    Circumstance::Intermediary => continue,
                    Circumstance::HiddenRetry => (Severity::Audit, "a layer below sent again by itself"),
                    Circumstance::EarlyData => (Severity::Audit, "a write went out before the handshake was done"),
                    Circumstance::Hedging => (Severity::Audit, "several copies of a write were in flight by design"),
                    Circumstance::Failover => {
                        (Severity::Audit, "it went to another account, region or endpoint, where its key is a new one")
                    }
                    Circumstance::ModeMix => (Severity::Integrity, "a test system and the live one were mixed up"),
                };
                found.push((circumstance.name(), severity, format!("Attempt {number}: {what}.")));
            }
        }
        for (code, severity, text) in found {
            self.find(code, severity, text);
        }
    }

    /// 7.18: an object under our key that is not ours.
    fn note_others_objects(&mut self) {
        let found: BTreeSet<_> = self.record.evidence().filter_map(not_ours).collect();
        for (receipt, what) in found {
            let text = format!("{receipt} carries our key and is not ours: {what}. It counts as no effect.");
            self.find("object_not_ours", Severity::Integrity, text);
        }
    }

    fn note_proposals(&mut self) {
        let conflicts = self.record.facts.acts().filter(|fact| matches!(fact, Fact::Conflict { .. })).count();
        if conflicts > 0 {
            let noun = if conflicts == 1 { "proposal" } else { "proposals" };
            let text = format!(
                "{conflicts} conflicting {noun} under the same key with other arguments; nothing was made of it."
            );
            self.find("conflicting_proposal", Severity::Audit, text);
        }
        let hashes: BTreeSet<_> =
            self.record.proposals().filter_map(|p| p.arguments.as_ref()).map(|arguments| arguments.args_hash).collect();
        if hashes.len() > 1 {
            let text = "Proposed again with other volatile fields; the first stored bytes stay.";
            self.find("volatile_fields_differ", Severity::Notice, text);
        }
        let authorized = self.record.facts.acts().find_map(|fact| match fact {
            Fact::AuthorizedElsewhere { args_hash, .. } => *args_hash,
            _ => None,
        });
        let differs = |sent: crate::fingerprint::Hash| authorized.is_some_and(|covered| covered != sent);
        if self.own().filter_map(|attempt| attempt.args_hash).any(differs) {
            let text = "Sent arguments differ from the authorized arguments.";
            self.find("sent_arguments_differ", Severity::Integrity, text);
        }
    }

    /// 4.4.3 and 4.8: what a person has to answer before anything is sent.
    fn note_questions(&mut self) {
        if let Some(other) = self.record.unanswered_question() {
            let text = format!("Same intent? Operation {other} has equal intent fields under another key.");
            self.find("same_intent_question", Severity::Audit, text);
        }
        let restored = self.record.facts.acts().find_map(|fact| match fact {
            Fact::Restored { backup_at, .. } => Some(*backup_at),
            _ => None,
        });
        if let Some(backup_at) = restored {
            let text = format!("Restored from a copy of {backup_at}: sends after it are not on record.");
            self.find("restored", Severity::Audit, text);
        }
    }

    fn note_copies(&mut self, state: State) {
        if !matches!(state, State::Succeeded(_)) {
            return;
        }
        let numbers: Vec<_> = self.unprotected_copies().iter().map(|attempt| attempt.number).collect();
        if !numbers.is_empty() {
            let text = format!(
                "Watch: a second copy is possible; attempt {} is open and no key covers it.",
                in_ranges(numbers)
            );
            self.find("second_copy_possible", Severity::Audit, text);
        }
    }

    fn note_stall(&mut self, state: State) {
        let waiting = matches!(state, State::Proposed | State::Authorized);
        let deadline = self.record.deadline().filter(|deadline| waiting && self.now >= *deadline);
        if let Some(deadline) = deadline.filter(|_| self.record.head.mode == Mode::Observed) {
            // No age: the row is stored, and would be out of date a second later.
            let text = format!("Nothing will advance this: its deadline was {deadline} and no claim is on record.");
            self.find("stalled", Severity::Audit, text);
        }
    }

    fn note_future_times(&mut self) {
        // A minute of difference between clocks is ordinary.
        let limit = self.now.plus(std::time::Duration::from_mins(1));
        if let Some(fact) = self.record.facts.iter().find(|fact| fact.at() > limit) {
            let text = format!("A line carries a time in the future ({}); it is kept as told.", fact.at());
            self.find("future_time", Severity::Notice, text);
        }
    }
}

fn not_ours(evidence: &Evidence) -> Option<(&Receipt, &'static str)> {
    match &evidence.claim {
        Claim::NotOurs { receipt, fault } => Some((receipt, fault.phrase())),
        _ => None,
    }
}

fn refused_claim(fact: &Fact) -> Option<&str> {
    match fact {
        Fact::ClaimRefused { claim, .. } => Some(claim),
        _ => None,
    }
}

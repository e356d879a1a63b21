//! The steps of the fold (semantics 3.6, F2–F21): the first that matches names the state.
//!
//! F1 (a live lease) and F13 (item operations) have no facts yet that could make them speak.

use std::time::Duration;

use crate::evidence::{Claim, Strength};
use crate::name::Receipt;
use crate::operation::{
    Contradiction, Doubt, Fact, Failure, Mode, Record, Resolution, ResolutionKind, State, SuccessBasis,
};
use crate::outcome::fold::Fold;
use crate::outcome::key::{KeyUse, key_protects};
use crate::outcome::{Closure, Ending, JudgedAttempt, Outcome};
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// A step's answer: its rule, the state, and since when.
type Step = (&'static str, State, Timestamp);

impl Fold<'_> {
    /// Lets the steps speak and puts the outcome together.
    pub(super) fn outcome(mut self) -> Outcome {
        let (fold_rule, state, since) = self.first_step();
        self.note_findings(state);
        let open = self.open();
        let key_use = KeyUse { contract: &self.contract, class: self.class, sender_stopped: self.sender_stopped() };
        let protects = key_protects(key_use, &open, self.now);
        let watch_until = self.watch_until(state, since);
        let next_change_at = self.next_change_at(state, watch_until);
        self.findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.text.cmp(&b.text)));
        let own_id = &self.record.head.id;
        let (attempts, others): (Vec<_>, Vec<_>) =
            self.attempts.into_iter().partition(|attempt| attempt.operation == *own_id);
        let adopts = self.record.head.adopts.as_ref();
        Outcome {
            state,
            fold_rule: fold_rule.into(),
            since,
            attempts,
            inherited: others
                .into_iter()
                .filter(|attempt| attempt.closed.is_none() && adopts == Some(&attempt.operation))
                .collect(),
            effects: self.effects,
            findings: self.findings,
            watch_until,
            key_protects: protects.is_ok(),
            key_protects_not: protects.err(),
            contract: self.contract,
            next_change_at,
        }
    }

    fn first_step(&self) -> Step {
        self.picked()
            .or_else(|| self.duplicate())
            .or_else(|| self.against_a_failure())
            .or_else(|| self.reversed())
            .or_else(|| self.proof_broken())
            .or_else(|| self.succeeded())
            .or_else(|| self.attested_success())
            .or_else(|| self.attested_failure())
            .or_else(|| self.uncertain())
            .or_else(|| self.executing())
            .or_else(|| self.failed())
            .unwrap_or_else(|| self.before_any_attempt())
    }

    fn resolution(&self, kinds: &[ResolutionKind]) -> Option<&Resolution> {
        self.record.resolution().filter(|resolution| kinds.contains(&resolution.kind))
    }

    /// F2: a pick stands until a fact outside what it acknowledged disagrees.
    fn picked(&self) -> Option<Step> {
        let pick = self.resolution(&[ResolutionKind::PickSucceeded, ResolutionKind::PickFailed])?;
        let succeeded = pick.kind == ResolutionKind::PickSucceeded;
        let new_effect = self.effects.iter().any(|effect| !is_acknowledged(pick, &effect.receipt));
        let new_reversal = succeeded && self.unacknowledged_reversals(pick).next().is_some();
        if new_effect || new_reversal {
            return None;
        }
        let cited_is_proved = pick.receipt.as_ref().is_some_and(|cited| self.is_proved(cited));
        let state = match (succeeded, cited_is_proved) {
            (true, true) => State::Succeeded(SuccessBasis::Receipt),
            (true, false) => State::Succeeded(SuccessBasis::Attested),
            (false, _) => State::Failed(Failure::Attested),
        };
        Some(("F2", state, pick.at))
    }

    fn is_proved(&self, receipt: &Receipt) -> bool {
        self.effects.iter().any(|effect| effect.receipt == *receipt && effect.strength == Strength::P3)
    }

    fn holds_success(&self) -> bool {
        self.effects.iter().any(|effect| effect.is_held)
    }

    /// F3: two effects of one intent, and this operation holds one of them.
    fn duplicate(&self) -> Option<Step> {
        let second = self.effects.get(1)?;
        if !self.holds_success() {
            return None;
        }
        let proved = self.effects.iter().filter(|effect| effect.strength == Strength::P3).count();
        let kind = if proved >= 2 { Contradiction::Duplicate } else { Contradiction::DuplicateLikely };
        Some(("F3", State::Contradicted(kind), second.at))
    }

    /// F4: a person said it failed, and success came to light that they had not seen.
    fn against_a_failure(&self) -> Option<Step> {
        let said = self.resolution(&[ResolutionKind::Failed, ResolutionKind::PickFailed])?;
        let unseen = self.effects.iter().find(|effect| effect.is_held && !is_acknowledged(said, &effect.receipt))?;
        Some(("F4", State::Contradicted(Contradiction::Attestation), unseen.at.max(said.at)))
    }

    /// F5: the source of an object that this operation holds says it failed afterwards.
    fn reversed(&self) -> Option<Step> {
        let said = self.record.evidence().find(|evidence| match &evidence.claim {
            Claim::Reversed { receipt } => {
                self.strength_of(evidence) >= Strength::P2
                    && self.effects.iter().any(|e| e.is_held && e.receipt == *receipt && e.at <= evidence.happened_at())
            }
            _ => false,
        })?;
        Some(("F5", State::Contradicted(Contradiction::Reversed), said.at))
    }

    /// F6 and F7: success that no attempt on record can have made.
    fn proof_broken(&self) -> Option<Step> {
        let held = self.effects.iter().find(|effect| effect.is_held)?;
        if self.own().next().is_none() {
            let guarded = self.record.head.mode == Mode::Guarded;
            return guarded.then_some(("F7", State::Contradicted(Contradiction::EffectWithoutAttempt), held.at));
        }
        let all_negative = self.own().all(|attempt| is_negative(attempt.closed.as_ref()));
        all_negative.then_some(("F6", State::Contradicted(Contradiction::ProofBroken), held.at))
    }

    /// F8: exactly one proved effect, and this operation holds it.
    fn succeeded(&self) -> Option<Step> {
        let mut proved = self.effects.iter().filter(|effect| effect.strength == Strength::P3);
        let only = proved.next().filter(|effect| effect.is_held)?;
        proved.next().is_none().then_some(("F8", State::Succeeded(SuccessBasis::Receipt), only.at))
    }

    /// F9 and F10: a person said it succeeded.
    fn attested_success(&self) -> Option<Step> {
        let said = self.resolution(&[ResolutionKind::Succeeded, ResolutionKind::PickSucceeded])?;
        let own: Vec<_> = self.own().collect();
        let all_negative = !own.is_empty() && own.iter().all(|attempt| is_negative(attempt.closed.as_ref()));
        let against = all_negative || self.unacknowledged_reversals(said).next().is_some();
        if against {
            return Some(("F9", State::Contradicted(Contradiction::Attestation), self.last_end().max(said.at)));
        }
        Some(("F10", State::Succeeded(SuccessBasis::Attested), said.at))
    }

    fn unacknowledged_reversals(&self, said: &Resolution) -> impl Iterator<Item = Timestamp> {
        self.record.evidence().filter_map(move |evidence| {
            let is_new = !said.acknowledged.contains(&evidence.id);
            let is_reversal = matches!(evidence.claim, Claim::Reversed { .. });
            (is_new && is_reversal && self.strength_of(evidence) >= Strength::P2).then_some(evidence.at)
        })
    }

    /// F11 and F12: a person said it failed.
    fn attested_failure(&self) -> Option<Step> {
        let said = self.resolution(&[ResolutionKind::Failed, ResolutionKind::PickFailed])?;
        let concerned: Vec<_> = self.attempts.iter().filter(|attempt| self.concerns(attempt)).collect();
        let proved = !concerned.is_empty() && concerned.iter().all(|attempt| is_negative(attempt.closed.as_ref()));
        if proved {
            return Some(("F11", State::Failed(Failure::AttestedThenProved), self.last_end().max(said.at)));
        }
        Some(("F12", State::Failed(Failure::Attested), said.at))
    }

    /// F14: an attempt is open. An observed operation's own running attempts are left to F15.
    fn uncertain(&self) -> Option<Step> {
        let observed = self.record.head.mode == Mode::Observed;
        let open: Vec<_> = self
            .open()
            .into_iter()
            .filter(|attempt| !(observed && self.is_own(attempt) && attempt.is_running))
            .collect();
        let since = open.iter().map(|attempt| attempt.ended_at.unwrap_or(attempt.runs_until)).min()?;
        let by_attempts = open.iter().filter_map(|attempt| match attempt.judgement.verdict {
            Verdict::Unknown(doubt) => Some(doubt),
            _ => None,
        });
        let likely = self.holds_success().then_some(Doubt::Likely);
        let doubt = by_attempts.chain(likely).min().unwrap_or(Doubt::Lost);
        Some(("F14", State::Uncertain(doubt), since))
    }

    /// F15: observed, and an attempt is running.
    fn executing(&self) -> Option<Step> {
        let running = self.own().find(|attempt| attempt.is_running)?;
        Some(("F15", State::Executing, running.dispatched_at))
    }

    /// F17–F19: at least one own attempt, all closed negative.
    fn failed(&self) -> Option<Step> {
        let own: Vec<_> = self.own().collect();
        if own.is_empty() || !own.iter().all(|attempt| is_negative(attempt.closed.as_ref())) {
            return None;
        }
        let ended = |ending| own.iter().any(|attempt| attempt.closed.as_ref().is_some_and(|c| c.ending == ending));
        let (rule, failure) = if ended(Ending::NegativeBusiness) {
            ("F17", Failure::Business)
        } else if ended(Ending::NegativePermanent) {
            ("F18", Failure::Permanent)
        } else if budget_is_spent(&own) {
            ("F19", Failure::Budget)
        } else {
            ("F19", Failure::Observed)
        };
        Some((rule, State::Failed(failure), self.last_end()))
    }

    fn last_end(&self) -> Timestamp {
        let ends = self.attempts.iter().filter(|attempt| self.concerns(attempt)).filter_map(|attempt| attempt.ended_at);
        ends.max().unwrap_or(self.record.head.recorded_at)
    }

    /// F21: nothing was ever sent.
    fn before_any_attempt(&self) -> Step {
        let authorized = self.record.facts.iter().find_map(|fact| match fact {
            Fact::AuthorizedElsewhere { at, .. } => Some(*at),
            _ => None,
        });
        match authorized {
            Some(at) if self.record.head.mode == Mode::Observed => ("F21", State::Authorized, at),
            _ => {
                let first = self.record.proposals().map(|proposal| proposal.at).min();
                ("F21", State::Proposed, first.unwrap_or(self.record.head.recorded_at))
            }
        }
    }

    /// F8 and F12: until when a further copy, or proof against a statement, is awaited.
    fn watch_until(&self, state: State, since: Timestamp) -> Option<Timestamp> {
        let watched = match state {
            State::Succeeded(SuccessBasis::Receipt) => !self.unprotected_copies().is_empty(),
            State::Failed(Failure::Attested) => true,
            _ => false,
        };
        watched.then(|| since.plus(self.contract.watch()))
    }

    /// Open attempts that no key covers together with the one that earned the receipt (F8).
    pub(super) fn unprotected_copies(&self) -> Vec<&JudgedAttempt> {
        let earner = self.attempts.iter().find(|a| a.closed.as_ref().is_some_and(|c| c.ending == Ending::Positive));
        let open: Vec<_> = self.open();
        if open.is_empty() {
            return open;
        }
        let together: Vec<_> = open.iter().copied().chain(earner).collect();
        let key_use = KeyUse { contract: &self.contract, class: self.class, sender_stopped: self.sender_stopped() };
        if key_protects(key_use, &together, self.now).is_ok() { Vec::new() } else { open }
    }

    /// The earliest future time at which the answer may differ though nothing is recorded.
    fn next_change_at(&self, state: State, watch_until: Option<Timestamp>) -> Option<Timestamp> {
        let mut times: Vec<Timestamp> = watch_until.into_iter().collect();
        times.extend(self.attempts.iter().filter(|attempt| attempt.is_running).map(|attempt| attempt.runs_until));
        if !state.is_final() {
            times.extend(self.record.proposals().filter_map(|proposal| proposal.deadline));
        }
        if matches!(state, State::Uncertain(_)) {
            let open = self.open();
            let last_sent = open.iter().map(|attempt| attempt.dispatched_at).max();
            let first_sent = open.iter().map(|attempt| attempt.dispatched_at).min();
            times.extend(last_sent.map(|at| at.plus(self.contract.settle())));
            times.extend(last_sent.map(|at| at.plus(self.contract.watch())));
            times.extend(first_sent.zip(self.contract.key_window()).map(|(at, window)| just_after(at.plus(window))));
        }
        times.into_iter().filter(|time| *time > self.now).min()
    }
}

fn just_after(at: Timestamp) -> Timestamp {
    at.plus(Duration::from_micros(1))
}

fn budget_is_spent(own: &[&JudgedAttempt]) -> bool {
    own.iter().filter_map(|attempt| attempt.budget).max().is_some_and(|allowed| own.len() >= allowed as usize)
}

fn is_negative(closed: Option<&Closure>) -> bool {
    closed.is_some_and(|closure| closure.ending != Ending::Positive)
}

fn is_acknowledged(resolution: &Resolution, receipt: &Receipt) -> bool {
    resolution.acknowledged_receipts.contains(receipt) || resolution.receipt.as_ref() == Some(receipt)
}

impl Record {
    /// When its proposal must be done, the earliest told.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.proposals().filter_map(|proposal| proposal.deadline).min()
    }
}

//! The steps of the fold (semantics 3.6, F1–F21): the first that matches names the state. F21 matches always.

use std::time::Duration;

use crate::approval::Lack;
use crate::evidence::{Claim, Strength};
use crate::name::Receipt;
use crate::operation::{
    Contradiction, Doubt, Fact, Failure, Mode, NothingOpen, Record, Resolution, ResolutionKind, State, Stop,
    SuccessBasis,
};
use crate::outcome::due::due_after;
use crate::outcome::fold::Fold;
use crate::outcome::key::{KeyUse, key_protects};
use crate::outcome::life::Life;
use crate::outcome::{Closure, Effect, Ending, JudgedAttempt, Outcome, Sent};
use crate::policy::SafetyRule;
use crate::time::Timestamp;
use crate::verdict::Verdict;

/// A step's answer: its rule, the state, and since when.
type Step = (&'static str, State, Timestamp);

impl Fold<'_> {
    /// Lets the steps speak and puts the outcome together.
    pub(super) fn outcome(mut self) -> Outcome {
        let life = Life::of(self.record, &self.contract, self.own().filter(|attempt| attempt.sent.is_some()).count());
        let beneath = self.step_beneath_lease(&life);
        let under_lease = self.under_lease();
        let (fold_rule, state, since) = under_lease.unwrap_or(beneath);
        let beneath_lease = under_lease.map(|_| beneath.1).filter(|state| tells_more(*state));
        self.note_findings(state, beneath_lease);
        let (protection, open, scope_changed) = self.what_is_open();
        let watch_until = self.watch_until(state, since);
        let lease_until = self.record.live_lease(self.now).map(|lease| lease.until);
        let key_protects_until = protection.as_ref().ok().and_then(|protection| protection.until);
        let last_sent = self.own().filter(|attempt| attempt.sent.is_some()).last();
        let due = last_sent.map(|last| due_after(last, &self.contract, life.deadline));
        let next_change_at =
            self.next_change_at(state, &life, [watch_until, lease_until, key_protects_until.map(just_after)]);
        self.findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.text.cmp(&b.text)));
        let own_id = &self.record.head.id;
        // Most intents are one operation: its attempts stay where they are.
        let (attempts, others): (Vec<_>, Vec<_>) = if self.around.relatives.is_empty() {
            (self.attempts, Vec::new())
        } else {
            self.attempts.into_iter().partition(|attempt| attempt.operation == *own_id)
        };
        let adopts = self.record.head.adopts.as_ref();
        let is_guarded = self.record.head.mode == Mode::Guarded;
        Outcome {
            state,
            fold_rule: fold_rule.into(),
            since,
            attempts,
            inherited: others
                .into_iter()
                .filter(|attempt| attempt.closed.is_none() && adopts == Some(&attempt.operation))
                .collect(),
            open,
            scope_changed,
            lease_until,
            beneath_lease,
            attempts_left: is_guarded.then(|| life.attempts_left()),
            deadline: is_guarded.then_some(life.deadline),
            due,
            effects: self.effects,
            findings: self.findings,
            watch_until,
            key_protects: protection.is_ok(),
            key_protects_not: protection.err(),
            contract: self.contract,
            key_protects_until,
            next_change_at,
        }
    }

    /// OPEN, whether the key protects a repeat beside it, and whether it lies in another scope.
    fn what_is_open(&self) -> (Result<crate::outcome::Protection, String>, Vec<crate::attempt::AttemptRef>, bool) {
        let open = self.open_of_intent();
        let protection = key_protects(self.key_use(), &open, self.now);
        let is_elsewhere =
            |sent: &Sent| self.around.scope.is_some() && sent.scope.is_some() && sent.scope != self.around.scope;
        let scope_changed = self.keeps(SafetyRule::ScopeInKey)
            && open.iter().any(|attempt| attempt.sent.as_deref().is_some_and(is_elsewhere));
        (protection, open.iter().map(|attempt| attempt.id.clone()).collect(), scope_changed)
    }

    /// F1: a live lease. What the rest says is a finding, and takes effect when the lease ends.
    fn under_lease(&self) -> Option<Step> {
        let lease = self.record.live_lease(self.now).filter(|_| self.record.head.mode == Mode::Guarded)?;
        let under =
            self.own().find(|attempt| attempt.sent.as_ref().is_some_and(|sent| sent.epoch == lease.claim.epoch));
        Some(match under {
            Some(attempt) => ("F1", State::Executing, attempt.dispatched_at),
            None => ("F1", State::Claimed, lease.claim.at),
        })
    }

    fn step_beneath_lease(&self, life: &Life) -> Step {
        self.picked()
            .or_else(|| self.duplicate())
            .or_else(|| self.against_a_failure())
            .or_else(|| self.reversed())
            .or_else(|| self.proof_broken())
            .or_else(|| self.succeeded())
            .or_else(|| self.attested_success())
            .or_else(|| self.attested_failure())
            .or_else(|| self.of_items())
            .or_else(|| self.uncertain())
            .or_else(|| self.executing())
            .or_else(|| self.stopped())
            .or_else(|| self.failed(life))
            .unwrap_or_else(|| self.before_any_attempt())
    }

    fn resolution(&self, kinds: &[ResolutionKind]) -> Option<&Resolution> {
        self.record.resolution().filter(|resolution| kinds.contains(&resolution.kind))
    }

    /// F2: a pick stands until a fact outside what it acknowledged disagrees.
    fn picked(&self) -> Option<Step> {
        let pick = self.resolution(&[ResolutionKind::PickSucceeded, ResolutionKind::PickFailed])?;
        let succeeded = pick.kind == ResolutionKind::PickSucceeded;
        let new_effect = self.effects.iter().any(|effect| !is_acknowledged(pick, effect));
        let new_reversal = succeeded && self.unacknowledged_reversals(pick).next().is_some();
        if new_effect || new_reversal {
            return None;
        }
        let cited_is_proved = pick.receipt.as_ref().is_some_and(|cited| self.is_proved(cited));
        let state = match (succeeded, cited_is_proved) {
            (true, true) => State::Succeeded(SuccessBasis::Receipt),
            (true, false) => State::Succeeded(SuccessBasis::Attested),
            (false, _) if self.keeps(SafetyRule::PickIsNotProof) => State::Failed(Failure::Attested),
            (false, _) => State::Failed(Failure::Permanent),
        };
        Some(("F2", state, pick.at))
    }

    fn is_proved(&self, receipt: &Receipt) -> bool {
        self.effects.iter().any(|effect| effect.is_called(receipt) && effect.strength == Strength::P3)
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
        let unseen = self.effects.iter().find(|effect| effect.is_held && !is_acknowledged(said, effect))?;
        Some(("F4", State::Contradicted(Contradiction::Attestation), unseen.at.max(said.at)))
    }

    /// F5: the source of an object that this operation holds says it failed afterwards.
    fn reversed(&self) -> Option<Step> {
        let undone_by_us = self.around.children.iter().any(|child| {
            child.row.as_ref().is_some_and(|row| row.attempts > 0 && !matches!(row.state, State::Failed(_)))
        });
        if undone_by_us {
            return None;
        }
        let said = self.record.evidence().find(|evidence| match &evidence.claim {
            Claim::Reversed { receipt } => {
                self.strength_of(evidence) >= Strength::P2
                    && self.effects.iter().any(|e| e.is_held && e.is_called(receipt) && e.at <= evidence.happened_at())
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
        if !self.keeps(SafetyRule::SuccessNeedsEvidence) {
            let looks_done = |a: &&JudgedAttempt| a.judgement.verdict == Verdict::Unknown(Doubt::NoReceipt);
            if let Some(attempt) = self.own().find(looks_done) {
                return Some(("F8", State::Succeeded(SuccessBasis::Receipt), attempt.dispatched_at));
            }
        }
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
        let failure = if self.keeps(SafetyRule::FailedMarkIsNotProof) { Failure::Attested } else { Failure::Permanent };
        Some(("F12", State::Failed(failure), said.at))
    }

    /// F13: the parent of item operations is what its items come to.
    fn of_items(&self) -> Option<Step> {
        let states: Option<Vec<State>> =
            self.around.items.iter().map(|item| item.row.as_ref().map(|row| row.state)).collect();
        let states = states.filter(|states| !states.is_empty())?;
        let since = self.around.items.iter().filter_map(|item| item.row.as_ref().map(|row| row.since)).max();
        let since = since.unwrap_or(self.record.head.recorded_at);
        Some(("F13", state_of_items(&states), since))
    }

    /// The open attempts that concern this operation. With every rule in force none is forgotten.
    fn remembered_open(&self) -> Vec<&JudgedAttempt> {
        if !self.keeps(SafetyRule::ReturnToClaimedFrom) && self.was_claimed_from_doubt() {
            return Vec::new();
        }
        // Asked once, not for each attempt.
        let last = (!self.keeps(SafetyRule::AggregateOverAttempts)).then(|| self.own().last()).flatten();
        let forgets = |attempt: &JudgedAttempt| {
            last.is_some_and(|last| last.id != attempt.id)
                || (attempt.sent.is_some() && attempt.ended_at.is_none() && !self.keeps(SafetyRule::SweepToUncertain))
        };
        self.open().into_iter().filter(|attempt| !forgets(attempt)).collect()
    }

    /// F14: an attempt is open. An observed operation's own running attempts are left to F15.
    fn uncertain(&self) -> Option<Step> {
        let observed = self.record.head.mode == Mode::Observed;
        let open = self.remembered_open().into_iter();
        let open: Vec<_> = open.filter(|attempt| !(observed && self.is_own(attempt) && attempt.is_running)).collect();
        let since = open.iter().map(|attempt| attempt.ended_at.unwrap_or(attempt.runs_until)).min()?;
        let by_attempts = open.iter().filter_map(|attempt| match attempt.judgement.verdict {
            Verdict::Unknown(doubt) => Some(doubt),
            _ => None,
        });
        let likely = self.holds_success().then_some(Doubt::Likely);
        let doubt = by_attempts.chain(likely).min().unwrap_or(Doubt::Lost);
        Some(("F14", State::Uncertain(doubt), since))
    }

    /// Whether a claim was taken from uncertain and ended with nothing sent (T9).
    fn was_claimed_from_doubt(&self) -> bool {
        self.record.claims().any(|claim| {
            let sent = self.own().any(|attempt| attempt.sent.as_ref().is_some_and(|sent| sent.epoch == claim.epoch));
            matches!(claim.from, State::Uncertain(_)) && !sent
        })
    }

    /// F15: observed, and an attempt is running.
    fn executing(&self) -> Option<Step> {
        let running = self.own().find(|attempt| attempt.is_running)?;
        Some(("F15", State::Executing, running.dispatched_at))
    }

    /// F16: stopped by a person, or taken over, with nothing open.
    fn stopped(&self) -> Option<Step> {
        let (how, at) = self.record.stop()?;
        let state = match how {
            Stop::Denied => State::Denied,
            Stop::Cancelled => State::Cancelled,
            Stop::Superseded => State::Superseded,
        };
        Some(("F16", state, at))
    }

    /// F17–F20: nothing is open. Every own attempt closed negative, or time or attempts are used up.
    fn failed(&self, life: &Life) -> Option<Step> {
        let own: Vec<_> = self.own().collect();
        let is_positive =
            |attempt: &&JudgedAttempt| attempt.closed.as_ref().is_some_and(|by| by.ending == Ending::Positive);
        let nothing_open = NothingOpen::among(self.remembered_open());
        let all_negative = nothing_open.filter(|_| !own.is_empty() && !own.iter().any(is_positive));
        let ended = |ending| own.iter().any(|attempt| attempt.closed.as_ref().is_some_and(|c| c.ending == ending));
        if all_negative.is_some() && ended(Ending::NegativeBusiness) {
            return Some(("F17", State::Failed(Failure::Business), self.last_end()));
        }
        if all_negative.is_some() && ended(Ending::NegativePermanent) {
            return Some(("F18", State::Failed(Failure::Permanent), self.last_end()));
        }
        match self.record.head.mode {
            Mode::Guarded => self.exhausted(life).or_else(|| all_negative.map(|witness| self.waiting(witness))),
            Mode::Observed if all_negative.is_some() => {
                let failure = if budget_is_spent(&own) { Failure::Budget } else { Failure::Observed };
                Some(("F19", State::Failed(failure), self.last_end()))
            }
            Mode::Observed => None,
        }
    }

    /// F19, guarded: its deadline passed, sent or never sent; or its attempts are used up.
    fn exhausted(&self, life: &Life) -> Option<Step> {
        if self.now >= life.deadline {
            return Some(("F19", State::Failed(Failure::Deadline), life.deadline));
        }
        (life.attempts_left() == 0).then(|| ("F19", State::Failed(Failure::Budget), self.last_end()))
    }

    /// F20: everything was refused and may be tried again, if an approval is live.
    fn waiting(&self, witness: NothingOpen) -> Step {
        match self.record.live_approval(&self.around.tool, self.now) {
            Ok(_) => ("F20", State::RetryWait(witness), self.last_end()),
            Err(Lack::Expired(at)) => ("F20", State::ApprovalExpired, at.max(self.last_end())),
            Err(_) => ("F20", State::ApprovalExpired, self.last_end()),
        }
    }

    fn last_end(&self) -> Timestamp {
        let ends = self.attempts.iter().filter(|attempt| self.concerns(attempt)).filter_map(|attempt| attempt.ended_at);
        ends.max().unwrap_or(self.record.head.recorded_at)
    }

    /// F21: everything else; nothing was ever sent.
    fn before_any_attempt(&self) -> Step {
        let first = self.record.proposals().map(|proposal| proposal.at).min();
        let proposed_at = first.unwrap_or(self.record.head.recorded_at);
        if self.record.head.mode == Mode::Observed {
            let authorized = self.record.facts.acts().find_map(|fact| match fact {
                Fact::AuthorizedElsewhere { at, .. } => Some(*at),
                _ => None,
            });
            return authorized.map_or(("F21", State::Proposed, proposed_at), |at| ("F21", State::Authorized, at));
        }
        match self.record.live_approval(&self.around.tool, self.now) {
            Ok(approval) => ("F21", State::Authorized, approval.granted_at),
            Err(Lack::Expired(at)) => ("F21", State::ApprovalExpired, at),
            Err(Lack::Never | Lack::Revoked | Lack::CoversOther) => ("F21", State::Proposed, proposed_at),
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
        let open = self.open_of_intent();
        if open.is_empty() {
            return open;
        }
        let together: Vec<_> = open.iter().copied().chain(earner).collect();
        let key_use = KeyUse { key: None, scope: None, ..self.key_use() };
        if key_protects(key_use, &together, self.now).is_ok() { Vec::new() } else { open }
    }

    /// The earliest future time at which the answer may differ though nothing is recorded.
    fn next_change_at(&self, state: State, life: &Life, known: [Option<Timestamp>; 3]) -> Option<Timestamp> {
        let mut times: Vec<Timestamp> = known.into_iter().flatten().collect();
        times.extend(self.attempts.iter().filter(|attempt| attempt.is_running).map(|attempt| attempt.runs_until));
        if !state.is_final() {
            times.extend(self.record.proposals().filter_map(|proposal| proposal.deadline));
        }
        if self.record.head.mode == Mode::Guarded && !state.is_final() {
            times.push(life.deadline);
            times.extend(self.record.live_approval(&self.around.tool, self.now).ok().map(|live| live.expires_at));
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

/// Whether a state beneath a live lease is worth a finding: something has already happened.
const fn tells_more(state: State) -> bool {
    matches!(
        state,
        State::Succeeded(_)
            | State::Failed(_)
            | State::Contradicted(_)
            | State::Denied
            | State::Cancelled
            | State::Superseded
    )
}

/// F13. A contradicted item is not terminal; what was never carried out counts as failed.
fn state_of_items(states: &[State]) -> State {
    if !states.iter().all(|state| state.is_final()) {
        return State::Uncertain(Doubt::Partial);
    }
    let succeeded = states.iter().filter(|state| matches!(state, State::Succeeded(_))).count();
    if succeeded == states.len() {
        let attested = states.contains(&State::Succeeded(SuccessBasis::Attested));
        return State::Succeeded(if attested { SuccessBasis::Attested } else { SuccessBasis::Receipt });
    }
    if succeeded > 0 {
        return State::Succeeded(SuccessBasis::Partial);
    }
    State::Failed(if states.contains(&State::Failed(Failure::Attested)) {
        Failure::Attested
    } else if states.contains(&State::Failed(Failure::Business)) {
        Failure::Business
    } else {
        Failure::Permanent
    })
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

fn is_acknowledged(resolution: &Resolution, effect: &Effect) -> bool {
    resolution.acknowledged_receipts.iter().chain(&resolution.receipt).any(|seen| effect.is_called(seen))
}

impl Record {
    /// When its proposal must be done, the earliest told.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.proposals().filter_map(|proposal| proposal.deadline).min()
    }
}

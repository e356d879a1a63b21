//! The words of a ruling: why each verdict, what it stands on, what is known. Spans are told, times are
//! not: zones belong to whoever prints.

use crate::action::Action;
use crate::counting::in_ranges;
use crate::decision::{ActionRuling, GroundFact, LookUpKind, Ruling, Situation, Verdict};
use crate::evidence::{Claim, Strength};
use crate::operation::{Contradiction, Record, State};
use crate::outcome::{Effect, JudgedAttempt, Outcome};
use crate::time::{Timestamp, span_in_words};

/// Fills in reasons, grounds and what is known.
pub(super) fn explain(ruling: &mut Ruling, s: &Situation, record: &Record, outcome: &Outcome, now: Timestamp) {
    let why = ruling.why.clone();
    for action in &mut ruling.actions {
        action.reason = reason(action, s, outcome, &why);
    }
    ruling.facts = grounds(record, outcome);
    ruling.known = known(s, record, outcome, now);
}

fn reason(ruling: &ActionRuling, s: &Situation, outcome: &Outcome, why: &str) -> String {
    if ruling.overlays.iter().any(|overlay| overlay == "O11") {
        return "Asks for a person; a program may not do it.".into();
    }
    if ruling.verdict >= Verdict::Forbidden {
        return forbidden_reason(ruling, s, outcome, why);
    }
    let needs_two = ruling.verdict == Verdict::Dual;
    match ruling.action {
        Action::LookUp => "A read: it changes nothing and may settle the question.".into(),
        Action::RerunSameKey if s.any_open => {
            "May execute now: the key returns the first result if there is one, and executes otherwise.".into()
        }
        Action::RerunSameKey => "Sends again under the same key; nothing is open.".into(),
        Action::RerunNew if s.any_open => "An accepted risk: the first send may still have happened.".into(),
        Action::RerunNew => "A new operation under a new key, with its own approval.".into(),
        Action::Adopt => "Makes a guarded operation of the same intent; the other system must send no more.".into(),
        Action::MarkSucceeded if needs_two => {
            "With the receipt, from the destination’s own pages. Your word, and a second person’s, stands for proof."
                .into()
        }
        Action::MarkSucceeded => {
            "With the receipt, from the destination’s own pages. Your word stands for proof.".into()
        }
        Action::MarkFailed => "Nothing proves that it did not happen; success seen later will contradict you.".into(),
        Action::ChangeArguments => "Proposes other arguments, which need their own approval.".into(),
        Action::Approve | Action::Renew => "Authorises one effect with exactly these arguments.".into(),
        Action::Deny => "Refuses the proposal; nothing was sent.".into(),
        Action::Revoke => "Takes the approval back; what is open stays open.".into(),
        Action::Cancel => "Stops it; nothing is open.".into(),
        Action::GrantAttempts => "Allows further attempts, below the hard cap.".into(),
        Action::AttachEvidence => {
            "Adds what you found elsewhere; it counts as a hint until a look-up confirms it.".into()
        }
        Action::PickVerdict => "Cites the evidence and settles which way; only new evidence reopens it.".into(),
        Action::Compensate if s.is_uncertain() => "Cancels by key, whether or not the first send arrived.".into(),
        Action::Compensate => "A new guarded operation that undoes exactly one effect.".into(),
        Action::Waive => "Records that the surplus effect is left standing.".into(),
        Action::Escalate => "Calls the owner; changes nothing else.".into(),
        Action::Assign => "Gives it an owner; changes nothing else.".into(),
        Action::Comment => "Leaves a remark on the record.".into(),
        Action::DismissFinding => "Puts a finding away; the facts stay.".into(),
    }
}

fn forbidden_reason(ruling: &ActionRuling, s: &Situation, outcome: &Outcome, why: &str) -> String {
    let by = |overlay: &str| ruling.overlays.iter().any(|one| one == overlay);
    match ruling.action {
        Action::LookUp => "No look-up is declared for this tool.".into(),
        Action::RerunSameKey | Action::RerunNew if by("O2") || !s.is_guarded() => {
            "Observed: Tallystick never sends it. Adopt it first.".into()
        }
        Action::RerunSameKey | Action::RerunNew if by("O9a") => {
            "Another operation of the same intent is newer or has succeeded; act on that one.".into()
        }
        Action::RerunSameKey if s.is_uncertain() => match &outcome.key_protects_not {
            Some(not) => format!("The key does not protect a repeat: {not}."),
            None => why.into(),
        },
        Action::RerunNew if s.is_uncertain() => "The first send may have happened; a new key would do it again.".into(),
        Action::Adopt => adopt_reason(s),
        Action::Compensate if by("T30") => {
            "A later step builds on it: undo that one first, or prove that it never ran.".into()
        }
        Action::Compensate if by("O10") => "No way to undo it is declared.".into(),
        Action::Compensate if !s.success_evidence => "Nothing known to undo yet.".into(),
        Action::MarkSucceeded if matches!(s.state, State::Succeeded(_)) => "It has succeeded already.".into(),
        Action::MarkFailed if matches!(s.state, State::Succeeded(_)) => "It has succeeded, by evidence.".into(),
        Action::Approve | Action::Renew if s.actor_proposed => "You proposed it; somebody else approves.".into(),
        Action::Approve | Action::Renew if s.question_open && s.is_guarded() => {
            "First somebody answers whether it is the same intent as another operation.".into()
        }
        Action::Approve | Action::Deny | Action::Renew if !s.is_guarded() => {
            "Observed: approvals were given elsewhere; these are history.".into()
        }
        Action::ChangeArguments if !s.is_guarded() => "Observed: adopt it first.".into(),
        Action::Cancel if !s.is_guarded() => "Observed: the other system decides; adopt it first.".into(),
        Action::Cancel => "Only what has nothing open and is not done can be stopped.".into(),
        Action::GrantAttempts => "Attempts and time are not used up.".into(),
        Action::Revoke => "There is no live approval of ours.".into(),
        Action::PickVerdict => "Nothing is contradicted.".into(),
        Action::Waive => "There is no surplus effect and no stuck compensation.".into(),
        _ => why.into(),
    }
}

fn adopt_reason(s: &Situation) -> String {
    if s.is_guarded() {
        "It is guarded already.".into()
    } else if s.guarded_at_work {
        "A guarded operation of this intent is at work; act on that one.".into()
    } else if s.success_evidence || s.success_elsewhere {
        "The intent has its effect already.".into()
    } else if matches!(s.state, State::Executing) {
        "It is still running at the other system.".into()
    } else if !s.executable {
        "Its tool is not declared executable, so nothing could be sent.".into()
    } else {
        "Its state does not allow it.".into()
    }
}

fn grounds(record: &Record, outcome: &Outcome) -> Vec<GroundFact> {
    let attempts = outcome.attempts.iter().chain(&outcome.inherited).map(|attempt| GroundFact {
        text: format!("Attempt {}: {}", attempt.number, attempt.judgement.text),
        strength: attempt.judgement.strength,
        at: attempt.ended_at.unwrap_or(attempt.dispatched_at),
    });
    let effects = outcome.effects.iter().map(|effect| GroundFact {
        text: format!("Receipt {}{}", effect.names(), if effect.is_surplus { " (surplus)" } else { "" }),
        strength: effect.strength,
        at: effect.at,
    });
    let statement = record.resolution().map(|resolution| GroundFact {
        text: format!(
            "{} said {}",
            resolution.actors.iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(" and "),
            resolution.kind.name()
        ),
        strength: Strength::P0,
        at: resolution.at,
    });
    let mut all: Vec<_> = attempts.chain(effects).chain(statement).collect();
    all.sort_by_key(|fact| std::cmp::Reverse(fact.at));
    all
}

fn known(s: &Situation, record: &Record, outcome: &Outcome, now: Timestamp) -> Vec<String> {
    let mut known = Vec::new();
    known.extend(sends_in_words(&outcome.attempts, now));
    known.extend(outcome.inherited.first().map(|first| {
        format!(
            "Inherited {} open by adopting; the first was sent {} ago.",
            count(outcome.inherited.len(), "attempt"),
            span_in_words(now.since(first.dispatched_at))
        )
    }));
    known.extend(look_ups_in_words(s, record, now));
    match outcome.effects.as_slice() {
        [] => {}
        [one] => known.push(format!("The destination shows one effect: {}.", one.names())),
        several => {
            let names: Vec<_> = several.iter().map(Effect::names).collect();
            known.push(format!(
                "The destination shows {} effects: {}. One was intended.",
                several.len(),
                names.join(", ")
            ));
        }
    }
    if let Some(resolution) = record.resolution() {
        let who: Vec<_> = resolution.actors.iter().map(|actor| actor.name.as_str()).collect();
        let said = resolution.kind.name().replace('_', " ");
        known.push(format!(
            "{} said “{said}” {} ago: {}",
            who.join(" and "),
            span_in_words(now.since(resolution.at)),
            resolution.reason
        ));
    }
    if let State::Contradicted(Contradiction::Attestation) = s.state {
        known.push("Evidence that came later disagrees with that statement.".into());
    }
    known.extend(budget_in_words(outcome));
    if known.is_empty() {
        known.push("Nothing was sent, as far as the records go.".into());
    }
    known
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn sends_in_words(attempts: &[JudgedAttempt], now: Timestamp) -> Vec<String> {
    let Some(first) = attempts.first() else { return Vec::new() };
    let ago = |at| span_in_words(now.since(at));
    let mut sentences = vec![match attempts.len() {
        1 if first.is_possible_send => format!("Claimed {} ago; it may have been sent.", ago(first.dispatched_at)),
        1 => format!("Sent once, {} ago: {}.", ago(first.dispatched_at), first.judgement.text),
        sends => format!("Sent {sends} times, first {} ago.", ago(first.dispatched_at)),
    }];
    if let Some(last) = attempts.last().filter(|_| attempts.len() > 1) {
        let open = attempts.iter().filter(|attempt| attempt.closed.is_none()).count();
        sentences.push(format!("Attempt {}, {} ago: {}.", last.number, ago(last.dispatched_at), last.judgement.text));
        if open > 0 {
            sentences.push(format!(
                "{} of them may still have happened.",
                if open == attempts.len() { "All".into() } else { open.to_string() }
            ));
        }
    }
    sentences
}

fn look_ups_in_words(s: &Situation, record: &Record, now: Timestamp) -> Option<String> {
    let absent: Vec<_> = record.evidence().filter(|evidence| evidence.claim == Claim::Absent).collect();
    let first = absent.iter().filter_map(|evidence| evidence.sent_at).min()?;
    let meaning = match s.look_up {
        LookUpKind::Strong if s.absent_after_settle => "after the settle window",
        LookUpKind::Strong => "too early to mean anything",
        LookUpKind::Weak | LookUpKind::None => "a hint, not proof",
    };
    Some(format!(
        "Looked up {}, first {} ago: absent, {meaning}.",
        count(absent.len(), "time"),
        span_in_words(now.since(first))
    ))
}

fn budget_in_words(outcome: &Outcome) -> Option<String> {
    let allowed = outcome.attempts.iter().filter_map(|attempt| attempt.budget).max()?;
    let used = outcome.attempts.len();
    let open = in_ranges(outcome.attempts.iter().filter(|attempt| attempt.closed.is_none()).map(|a| a.number));
    if used < allowed as usize {
        return None;
    }
    let waiting = if open.is_empty() { String::new() } else { format!(", waiting for attempt {open}") };
    Some(format!("Budget spent: {used} of {allowed}{waiting}."))
}

#[cfg(test)]
mod tests;

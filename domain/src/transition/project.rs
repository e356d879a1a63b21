//! What an operation's row shows, and how urgently it waits for a person.

use crate::decision::Ruling;
use crate::evidence::{Claim, Strength};
use crate::look_up::next_look_up;
use crate::name::{PrincipalId, Receipt};
use crate::operation::{
    Attention, Chip, Doubt, Fact, Finding, Impact, KeyWindow, Mark, Mode, Notch, Projection, Reason, Record, Severity,
    State, SuccessBasis,
};
use crate::outcome::{Ending, JudgedAttempt, Outcome, Surroundings};
use crate::time::{Timestamp, span_in_words};
use crate::transition::permit::claimable_at;
use crate::verdict::Verdict;

/// The most notches a row keeps; the newest.
const TALLY_LIMIT: usize = 60;
/// The most characters of an error that are kept for comparing.
const CAUSE_LIMIT: usize = 80;
/// The row of a success whose undo does not get on.
const STUCK_UNDO: &str = "28a";

/// The row of a record whose facts give this outcome and ruling.
pub(super) fn project(
    record: &Record,
    around: &Surroundings,
    outcome: &Outcome,
    ruling: &Ruling,
    now: Timestamp,
) -> Projection {
    let attempts: Vec<&JudgedAttempt> = outcome.attempts.iter().chain(&outcome.inherited).collect();
    let impact = record.impact().cloned();
    let key_window = key_window(&attempts, outcome);
    let proved = outcome.effects.iter().filter(|effect| effect.strength == Strength::P3).count();
    let first = record.arguments();
    Projection {
        state: outcome.state,
        since: outcome.since,
        attention: attention(record, around, outcome, ruling, (key_window, impact.as_ref()), now),
        next_change_at: outcome.next_change_at,
        attempts: count(outcome.attempts.len()),
        attempts_allowed: outcome.attempts.iter().filter_map(|attempt| attempt.budget).max(),
        effects: count(proved),
        effects_likely: count(outcome.effects.len() - proved),
        receipt: standing_receipt(record, outcome),
        class: around.tool.class,
        tally: tally(&attempts),
        chips: chips(record, outcome),
        key_window,
        impact,
        row: ruling.row.clone(),
        recommended: ruling.recommended,
        assignee: assignee(record),
        findings: findings(around, outcome),
        first_dispatched_at: outcome.attempts.iter().map(|attempt| attempt.dispatched_at).min(),
        last_fact_at: record.facts.iter().map(Fact::at).max().unwrap_or(record.head.recorded_at),
        identity_hash: first.map(|arguments| arguments.identity_hash),
        args_hash: first.map(|arguments| arguments.args_hash),
        claim_at: claimable_at(record, around, outcome, now),
        look_up_at: next_look_up(record, around, outcome),
        cause: cause(outcome),
    }
}

/// By which operations that failed in the same way are told to be alike. It names nothing of one operation alone: the
/// error is the destination's code or the source's word, cut short.
fn cause(outcome: &Outcome) -> Option<String> {
    let newest = |is_open: bool| {
        outcome
            .attempts
            .iter()
            .filter(|attempt| !is_open || attempt.closed.is_none())
            .max_by_key(|one| one.dispatched_at)
    };
    let attempt = newest(true).or_else(|| newest(false))?;
    let said = match (&attempt.error, attempt.http, attempt.reported) {
        (Some(error), _, _) => error.chars().take(CAUSE_LIMIT).collect(),
        (None, Some(status), _) => format!("HTTP {status}"),
        (None, None, Some(reported)) => reported.name().replace('_', " "),
        (None, None, None) => return Some(attempt.judgement.rule.to_string()),
    };
    Some(format!("{} {said}", attempt.judgement.rule))
}

/// What was found, and why an approved step is not sent yet: nobody should wonder.
fn findings(around: &Surroundings, outcome: &Outcome) -> Vec<Finding> {
    let mut findings = outcome.findings.clone();
    let begins = matches!(outcome.state, State::Proposed | State::Authorized | State::RetryWait(_));
    findings.extend(around.steps.wait.iter().filter(|_| begins).map(|wait| Finding {
        code: "waits_for_step".into(),
        severity: Severity::Notice,
        text: wait.words(),
    }));
    findings
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn standing_receipt(record: &Record, outcome: &Outcome) -> Option<Receipt> {
    let cited = record.resolution().and_then(|resolution| resolution.receipt.clone());
    match outcome.state {
        State::Succeeded(SuccessBasis::Receipt | SuccessBasis::Partial) => {
            let proved = |receipt: &Receipt| outcome.effects.iter().any(|effect| effect.is_called(receipt));
            cited.filter(proved).or_else(|| outcome.effects.first().map(|effect| effect.receipt.clone()))
        }
        State::Succeeded(SuccessBasis::Attested) => cited,
        State::Contradicted(_) => outcome.effects.first().map(|effect| effect.receipt.clone()),
        _ => None,
    }
}

fn assignee(record: &Record) -> Option<PrincipalId> {
    let last = record.facts.acts().rev().find_map(|fact| match fact {
        Fact::Assigned { to, .. } => Some(to.clone()),
        _ => None,
    });
    last.flatten()
}

fn tally(attempts: &[&JudgedAttempt]) -> Vec<Notch> {
    let newest = attempts.iter().skip(attempts.len().saturating_sub(TALLY_LIMIT));
    newest
        .map(|attempt| Notch { layer: attempt.owner.as_ref().map(|o| o.as_str().into()), mark: mark(attempt) })
        .collect()
}

/// How an attempt is drawn.
pub fn mark(attempt: &JudgedAttempt) -> Mark {
    match (&attempt.closed, attempt.judgement.verdict) {
        (Some(closure), _) if closure.ending == Ending::Positive => Mark::Confirmed,
        (Some(_), Verdict::NotSent) => Mark::NotSent,
        (Some(_), _) => Mark::Refused,
        (None, _) if attempt.is_running => Mark::Running,
        (None, _) => Mark::Unknown,
    }
}

/// Semantics 4.4.1: from the first send under the key, by the strictest promise in force.
fn key_window(attempts: &[&JudgedAttempt], outcome: &Outcome) -> KeyWindow {
    let keyed = attempts.iter().filter(|attempt| attempt.dest_key.is_some());
    let Some(from) = keyed.map(|attempt| attempt.dispatched_at).min() else { return KeyWindow::NoKey };
    match outcome.contract.key_window() {
        None => KeyWindow::Unknown,
        Some(window) => KeyWindow::Until { from, until: from.plus(window) },
    }
}

fn chips(record: &Record, outcome: &Outcome) -> Vec<Chip> {
    let chip = |text: String, strength| Chip { text, strength };
    let mut chips: Vec<Chip> = outcome
        .effects
        .iter()
        .take(3)
        .map(|effect| chip(format!("receipt {}", effect.names()), effect.strength))
        .collect();
    if outcome.effects.len() > 3 {
        chips.push(chip(format!("{} more receipts", outcome.effects.len() - 3), Strength::P2));
    }
    chips.extend(
        record.resolution().map(|said| chip(format!("stated: {}", said.kind.name().replace('_', " ")), Strength::P0)),
    );
    let absent: Vec<Timestamp> = record
        .evidence()
        .filter(|evidence| evidence.claim == Claim::Absent)
        .filter_map(|evidence| evidence.sent_at)
        .collect();
    if let (Some(first), Some(last)) = (absent.iter().min(), absent.iter().max()) {
        let over =
            if absent.len() > 1 { format!(" over {}", span_in_words(last.since(*first))) } else { String::new() };
        chips.push(chip(format!("absent ×{}{over}", absent.len()), Strength::Hint));
    }
    let unavailable = record.evidence().filter(|evidence| evidence.claim == Claim::Unavailable).count();
    if unavailable > 0 {
        chips.push(chip(format!("look-up unavailable ×{unavailable}"), Strength::Hint));
    }
    if chips.is_empty() {
        // What the last open attempt said is better than nothing.
        let open = outcome.attempts.iter().rev().find(|attempt| attempt.closed.is_none() && attempt.ended_at.is_some());
        chips.extend(open.map(|attempt| chip(attempt.judgement.text.to_string(), attempt.judgement.strength)));
    }
    chips
}

fn attention(
    record: &Record,
    around: &Surroundings,
    outcome: &Outcome,
    ruling: &Ruling,
    (key_window, impact): (KeyWindow, Option<&Impact>),
    now: Timestamp,
) -> Option<Attention> {
    let expired = matches!(key_window, KeyWindow::Until { until, .. } if now > until);
    let reason = reason(record, around, outcome, expired, ruling.row == STUCK_UNDO)?;
    // Only an open attempt has a safe option to lose.
    let safe_until = match (outcome.state, key_window) {
        (State::Uncertain(_), KeyWindow::Until { until, .. }) if until > now => Some(until),
        _ => None,
    };
    Some(Attention { reason, rank: attention_rank(reason, safe_until, impact, outcome.since) })
}

fn reason(record: &Record, around: &Surroundings, outcome: &Outcome, expired: bool, stuck: bool) -> Option<Reason> {
    if record.awaited_act().is_some() {
        return Some(Reason::AwaitsSecondPerson);
    }
    // Once adopted, the guarded operation is the one that people work on.
    let adopted = around.relatives.iter().any(|other| {
        other.head.adopts.as_ref() == Some(&record.head.id) && other.row.as_ref().is_none_or(|r| !r.state.is_final())
    });
    if adopted && record.head.mode == Mode::Observed && !matches!(outcome.state, State::Contradicted(_)) {
        return None;
    }
    match outcome.state {
        State::Contradicted(_) => Some(Reason::Contradicted),
        State::ApprovalExpired => Some(Reason::ApprovalExpired),
        State::Uncertain(doubt) => Some(doubt_reason(doubt, expired)),
        State::Proposed | State::Authorized if outcome.findings.iter().any(|finding| finding.code == "stalled") => {
            Some(Reason::Stalled)
        }
        State::Proposed if record.head.mode == Mode::Guarded => Some(Reason::AwaitsApproval),
        // T32: its owner is paged where the undo is asked about, not only where it failed.
        State::Succeeded(_) if stuck => Some(Reason::CompensationStuck),
        _ => None,
    }
}

fn doubt_reason(doubt: Doubt, key_expired: bool) -> Reason {
    match doubt {
        Doubt::KeyMismatch => Reason::KeyMismatch,
        Doubt::Accepted => Reason::Accepted,
        Doubt::InFlight => Reason::InFlight,
        Doubt::NoReceipt | Doubt::Likely => Reason::NoReceipt,
        Doubt::UndeclaredStatus => Reason::UndeclaredStatus,
        Doubt::Timeout | Doubt::Crashed | Doubt::Lost | Doubt::Restored | Doubt::Reset | Doubt::ServerError
            if key_expired =>
        {
            Reason::KeyExpired
        }
        Doubt::Timeout => Reason::TimedOut,
        Doubt::Crashed | Doubt::Lost | Doubt::Restored => Reason::Crashed,
        Doubt::Reset => Reason::Reset,
        Doubt::ServerError | Doubt::ReplayedError | Doubt::Partial => Reason::ServerError,
    }
}

/// One number for the queue's order: first what loses its safe option soonest, then what has the highest
/// impact, then what waits longest; proposals that merely await an approval come last.
fn attention_rank(reason: Reason, safe_until: Option<Timestamp>, impact: Option<&Impact>, since: Timestamp) -> i64 {
    /// More milliseconds than any time of this era has since 1970.
    const TIER: i64 = 1 << 42;
    let millis = |at: Timestamp| (at.as_micros() / 1_000).clamp(0, TIER - 1);
    if let Some(until) = safe_until {
        return millis(until);
    }
    let amount = impact.and_then(|impact| impact.amount_minor.or(impact.people)).unwrap_or(0).max(0);
    // Impact counts by its order of magnitude, so that cents do not outrank age.
    let magnitude = i64::from(64 - amount.leading_zeros());
    let last = if reason == Reason::AwaitsApproval { 65 } else { 0 };
    TIER * (1 + (64 - magnitude) + last) + millis(since)
}

#[cfg(test)]
mod tests;

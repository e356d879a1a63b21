//! When an operation is looked up next (4.9): at once when its outcome became uncertain, then after settle, spread over
//! the declared span; whenever a person asks.

use std::time::Duration;

use crate::fingerprint::Hash;
use crate::operation::{Fact, Failure, Mode, Record, State};
use crate::outcome::{Outcome, Surroundings};
use crate::time::Timestamp;

/// When the next look-up is due; none where there is nothing to find out, or the automatic ones are used up: then people
/// decide (T23).
pub fn next_look_up(record: &Record, around: &Surroundings, outcome: &Outcome) -> Option<Timestamp> {
    around.tool.look_up.as_ref()?;
    let made = || record.evidence().filter_map(|evidence| evidence.sent_at);
    let last = made().max();
    let ordered = record.facts.acts().rev().find_map(|fact| match fact {
        Fact::LookUpOrdered { at, .. } => Some(*at),
        _ => None,
    });
    if let Some(at) = ordered.filter(|at| last.is_none_or(|last| last < *at)) {
        return Some(at);
    }
    let is_in_doubt = matches!(outcome.state, State::Uncertain(_) | State::Failed(Failure::Attested));
    if record.head.mode == Mode::Observed || !is_in_doubt || outcome.lease_until.is_some() {
        return None;
    }
    let open = || outcome.attempts.iter().chain(&outcome.inherited).filter(|attempt| attempt.closed.is_none());
    let since = open().map(|attempt| attempt.ended_at.unwrap_or(attempt.runs_until)).max()?;
    // Several objects in one answer are several facts of one look-up.
    let mut sent: Vec<Timestamp> = made().filter(|at| *at >= since).collect();
    sent.sort_unstable();
    sent.dedup();
    let contract = &outcome.contract;
    let (number, count) = (u32::try_from(sent.len()).unwrap_or(u32::MAX), contract.look_ups());
    if number >= count {
        return None;
    }
    // Absence begins to mean something here; what is sent before can only find.
    let settled = open().map(|attempt| attempt.runs_until.plus(contract.arrival_delay())).max()?;
    let due = since.plus(share(contract.look_ups_over(), number, count));
    let apart = contract.look_ups_over() / count.max(1) / 10;
    let due = match sent.last() {
        None => due,
        // Those that are overdue (nobody could look for a while) do not follow one another at once: that would use them up
        // within the same moment of the destination's life.
        Some(last) => due.max(settled.plus(Duration::from_millis(1))).max(last.plus(apart)),
    };
    Some(due.plus(jitter(record, number, apart)))
}

/// The first ones close together, the later ones further apart: the square of the number.
fn share(span: Duration, number: u32, count: u32) -> Duration {
    let last = count.saturating_sub(1).max(1);
    let whole = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let square = |number: u32| u64::from(number) * u64::from(number);
    Duration::from_millis(whole.saturating_mul(square(number)) / square(last))
}

/// Drawn from the operation's id, so that every process and every replay finds the same time. The first look-up does not
/// wait for it.
fn jitter(record: &Record, number: u32, most: Duration) -> Duration {
    if number == 0 {
        return Duration::ZERO;
    }
    let hash = Hash::of_parts(&[record.head.id.as_str().as_bytes(), &number.to_be_bytes()]);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX).max(1);
    Duration::from_millis(u64::from_be_bytes(first) % most)
}

#[cfg(test)]
mod tests;

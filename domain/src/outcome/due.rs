//! When a guarded operation is sent again by itself (semantics 1.5): back-off, `Retry-After` honoured whole, or a person.

use serde::{Deserialize, Serialize};

use crate::backoff::{LastAttempt, Queued, Wait, full_jitter, next_send};
use crate::budget::BackoffNumbers;
use crate::contract::Contract;
use crate::fingerprint::Hash;
use crate::outcome::JudgedAttempt;
use crate::time::Timestamp;

/// When the next send is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// Before this nothing is sent by itself.
    pub not_before: Timestamp,
    /// Before this nothing is sent at all: the destination asked for it.
    pub asked: Option<Timestamp>,
    /// Why a person decides instead of a timer.
    pub queued: Option<Queued>,
}

/// When the send after this one is due. The jitter is drawn from the attempt's own name, so that every process and
/// every replay finds the same time.
pub(super) fn due_after(last: &JudgedAttempt, contract: &Contract, deadline: Timestamp) -> Due {
    let cap_s = u32::try_from(contract.retry_after_cap().as_secs()).unwrap_or(u32::MAX);
    let numbers = BackoffNumbers { retry_after_cap_s: cap_s, ..BackoffNumbers::default() };
    let ended_at = last.ended_at.unwrap_or(last.runs_until);
    let random = random_of(last);
    let judged = LastAttempt { verdict: last.judgement.verdict, number: last.number, retry_after: last.retry_after };
    let backed_off = ended_at.plus(full_jitter(&numbers, last.number, random));
    let waits_for = last.retry_after.map_or(backed_off, |asked| asked.max(backed_off));
    let (not_before, queued) = match next_send(&judged, &numbers, deadline, random, ended_at) {
        Wait::Until { at } => (at, None),
        // A probe under the same key waits as long; whether it may be made, others decide (T17).
        Wait::Queue { why: Queued::NotRetryable, .. } => (waits_for, None),
        Wait::Queue { why, not_before } => (not_before.unwrap_or(waits_for), Some(why)),
    };
    Due { not_before, asked: last.retry_after, queued }
}

fn random_of(attempt: &JudgedAttempt) -> u64 {
    let hash = Hash::of(attempt.id.to_string().as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_be_bytes(first)
}

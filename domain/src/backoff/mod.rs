//! When an operation may be sent again: full jitter, and the destination's `Retry-After` (semantics 1.3 W3, 1.5, T13).
//!
//! A `Retry-After` is honoured whole or not at all: what is too long to wait for goes to the queue with its time.
//! Other headers of that kind, such as `x-amz-retry-after`, belong to the clients that know them.

mod retry_after;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::PROOFS;

pub use retry_after::{RetryAfterError, parse_retry_after};

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::BackoffNumbers;
use crate::time::{Timestamp, span_in_words};
use crate::verdict::Verdict;

/// The attempt that just ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastAttempt {
    /// What its answer proved.
    pub verdict: Verdict,
    /// Its number, from 1.
    pub number: u32,
    /// The time before which the destination does not want to be asked.
    pub retry_after: Option<Timestamp>,
}

/// What follows an attempt that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wait", rename_all = "snake_case")]
pub enum Wait {
    /// It may be sent again, then or later.
    Until {
        /// The permit's `not_before`.
        at: Timestamp,
    },
    /// A person decides; nothing is sent by itself.
    Queue {
        /// Why.
        why: Queued,
        /// The time that was to be waited for, whole.
        not_before: Option<Timestamp>,
    },
}

/// Why a person decides instead of a timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "queued", rename_all = "snake_case")]
pub enum Queued {
    /// Its verdict is not one after which a repeat is harmless by itself.
    NotRetryable,
    /// The destination asks for a longer wait than the tool allows.
    BeyondCap {
        /// How long it asks for.
        asked: Duration,
        /// How long is waited at most.
        cap: Duration,
    },
    /// The operation's deadline comes first.
    BeyondDeadline {
        /// When it is.
        deadline_at: Timestamp,
    },
}

impl Queued {
    /// In words, for the queue.
    pub fn words(&self) -> String {
        match self {
            Self::NotRetryable => "its answer is not one that is retried by itself".into(),
            Self::BeyondCap { asked, cap } => {
                let words = |span: Duration| format!("{} s ({})", span.as_secs(), span_in_words(span));
                let (asked, cap) = (words(*asked), words(*cap));
                format!("the destination asks to wait {asked}, longer than the {cap} that are waited for")
            }
            Self::BeyondDeadline { deadline_at } => {
                format!("the wait reaches the deadline {deadline_at}")
            }
        }
    }
}

/// A random wait of zero to base × 2^(n−1), at most the cap, after attempt number `n`. `random` is any 64 random bits.
pub fn full_jitter(numbers: &BackoffNumbers, attempt: u32, random: u64) -> Duration {
    let doublings = attempt.saturating_sub(1).min(63);
    let longest_us = (u128::from(numbers.base_ms) << doublings).min(u128::from(numbers.cap_ms)) * 1_000;
    let wait_us = (longest_us * u128::from(random)) >> 64;
    Duration::from_micros(u64::try_from(wait_us).unwrap_or(u64::MAX))
}

/// Decides when to send again: the later of the back-off and the destination's wish, or the queue.
pub fn next_send(
    last: &LastAttempt,
    numbers: &BackoffNumbers,
    deadline_at: Timestamp,
    random: u64,
    now: Timestamp,
) -> Wait {
    if !matches!(last.verdict, Verdict::NotSent | Verdict::RefusedRetryable) {
        return Wait::Queue { why: Queued::NotRetryable, not_before: last.retry_after };
    }
    let backed_off = now.plus(full_jitter(numbers, last.number, random));
    let at = last.retry_after.map_or(backed_off, |asked| asked.max(backed_off));
    let asked = last.retry_after.map_or(Duration::ZERO, |asked| asked.since(now));
    let cap = numbers.retry_after_cap();
    if asked > cap {
        return Wait::Queue { why: Queued::BeyondCap { asked, cap }, not_before: Some(at) };
    }
    if at >= deadline_at {
        return Wait::Queue { why: Queued::BeyondDeadline { deadline_at }, not_before: Some(at) };
    }
    Wait::Until { at }
}

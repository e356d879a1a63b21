//! How long a guarded operation may go on: its deadline and its attempts, with what people granted (semantics 4.9, T40).

use crate::contract::Contract;
use crate::operation::{Fact, Record};
use crate::outcome::Outcome;
use crate::time::Timestamp;

/// What is left to a guarded operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    /// Sends on record.
    pub(crate) used: u32,
    /// Sends allowed, grants included.
    pub(crate) allowed: u32,
    /// The same without the cap.
    granted: u32,
    cap: u32,
    /// When its time is up.
    pub(crate) deadline: Timestamp,
}

impl Life {
    pub(crate) fn of(record: &Record, contract: &Contract, sent: usize) -> Self {
        let told = record.deadline();
        let mut deadline = told.unwrap_or_else(|| record.head.recorded_at.plus(contract.operation_deadline()));
        let mut allowed = contract.attempts_per_episode();
        for fact in record.facts.acts() {
            if let Fact::Granted { attempts, deadline: later, .. } = fact {
                allowed = allowed.saturating_add(*attempts);
                deadline = deadline.max(later.unwrap_or(deadline));
            }
        }
        let cap = contract.attempts_cap();
        let used = u32::try_from(sent).unwrap_or(u32::MAX);
        Self { used, allowed: allowed.min(cap), granted: allowed, cap, deadline }
    }

    /// Whether so many more would exceed the hard cap.
    pub(crate) const fn exceeds_cap(&self, more: u32) -> bool {
        self.granted.saturating_add(more) > self.cap
    }

    pub(crate) const fn attempts_left(&self) -> u32 {
        self.allowed.saturating_sub(self.used)
    }
}

/// Whether a grant of so many attempts would go over the hard cap (4.4.4).
pub(crate) fn grant_exceeds_cap(record: &Record, outcome: &Outcome, more: u32) -> bool {
    Life::of(record, &outcome.contract, 0).exceeds_cap(more)
}

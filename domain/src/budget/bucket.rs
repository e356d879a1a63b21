//! A bucket of tokens (N1, N2). Time does not fill it: what comes in is what successes bring back.

use serde::{Deserialize, Serialize};

use super::{BucketNumbers, Exhausted, SendKind, Settled, Spent, Token};

/// The tokens of one destination: never negative, never above capacity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Bucket {
    numbers: BucketNumbers,
    tokens: u32,
}

#[derive(Deserialize)]
struct Stored {
    numbers: BucketNumbers,
    tokens: u32,
}

impl From<Stored> for Bucket {
    fn from(stored: Stored) -> Self {
        Self::holding(stored.tokens, stored.numbers)
    }
}

impl Bucket {
    /// A full bucket.
    pub fn full(numbers: BucketNumbers) -> Self {
        Self::holding(numbers.capacity, numbers)
    }

    /// A bucket with so many tokens, or as many as it can hold.
    pub fn holding(tokens: u32, numbers: BucketNumbers) -> Self {
        Self { numbers, tokens: tokens.min(numbers.capacity) }
    }

    /// The same tokens under other numbers.
    #[must_use]
    pub fn renumbered(&self, numbers: BucketNumbers) -> Self {
        Self::holding(self.tokens, numbers)
    }

    /// How many tokens are left.
    pub const fn tokens(&self) -> u32 {
        self.tokens
    }

    /// The numbers in force.
    pub const fn numbers(&self) -> &BucketNumbers {
        &self.numbers
    }

    /// What a send of this kind costs.
    pub const fn cost(&self, kind: SendKind) -> u32 {
        match kind {
            SendKind::First => 0,
            SendKind::Retry => self.numbers.retry_cost,
            SendKind::RetryAfterThrottling => self.numbers.throttled_cost,
        }
    }

    pub(super) fn spend(&mut self, kind: SendKind) -> Result<Token, Exhausted> {
        let cost = self.cost(kind);
        let Some(left) = self.tokens.checked_sub(cost) else {
            return Err(Exhausted::Bucket { held: self.tokens, capacity: self.numbers.capacity, cost });
        };
        self.tokens = left;
        Ok(Token(Spent::Bucket { cost, is_first: kind.is_first() }))
    }

    pub(super) fn take_back(&mut self, cost: u32, is_first: bool, settled: Settled) {
        let returned = match settled {
            Settled::Succeeded if is_first => self.numbers.first_success,
            Settled::Succeeded | Settled::NotSent => cost,
            Settled::Kept => 0,
        };
        self.tokens = self.tokens.saturating_add(returned).min(self.numbers.capacity);
    }
}

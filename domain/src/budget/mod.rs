//! Retry budgets: how many further sends a destination bears (semantics 1.5, N1, N2, N8). How many an operation gets is
//! part of its outcome.
//!
//! Each destination has one budget, kept where all workers share it. A [`Token`] is spent in the write that dispatches
//! an attempt and nowhere else, stored beside the attempt, and taken out again in the write of its outcome.

mod bucket;
mod numbers;
mod ratio;
mod shortage;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::PROOFS;

pub use bucket::Bucket;
pub use numbers::{BackoffNumbers, BucketNumbers, NumberError, RatioNumbers, RetryNumbers};
pub use ratio::Ratio;
pub use shortage::Shortage;

use serde::{Deserialize, Serialize};

use crate::operation::named;
use crate::time::Timestamp;
use crate::verdict::Verdict;

named! {
    /// How a destination limits retries.
    BudgetKind {
        /// Tokens that retries take and successes bring back.
        Bucket = "bucket",
        /// A share of the first tries.
        Ratio = "ratio",
    }
}

named! {
    /// What a send is to the budget.
    SendKind {
        /// The operation's first.
        First = "first",
        /// A further one, after anything but throttling.
        Retry = "retry",
        /// A further one, after throttling.
        RetryAfterThrottling = "retry_after_throttling",
    }
}

impl SendKind {
    /// Whether it is the operation's first send.
    pub const fn is_first(self) -> bool {
        matches!(self, Self::First)
    }
}

named! {
    /// What the outcome of a send means for the token that it cost.
    Settled {
        /// It never left (N1: the token comes back; the attempt still counts as an attempt).
        NotSent = "not_sent",
        /// It succeeded.
        Succeeded = "succeeded",
        /// Anything else: the token is gone.
        Kept = "kept",
    }
}

impl From<Verdict> for Settled {
    fn from(verdict: Verdict) -> Self {
        if verdict == Verdict::NotSent {
            Self::NotSent
        } else if verdict == Verdict::Executed {
            Self::Succeeded
        } else {
            Self::Kept
        }
    }
}

/// What one send cost. It cannot be copied, and giving it back consumes it: a token comes back at most once.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use = "a token belongs beside its attempt, so that the outcome can give it back"]
pub struct Token(Spent);

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Spent {
    Bucket { cost: u32, is_first: bool },
    Ratio { at: Timestamp, is_first: bool },
}

impl Token {
    /// How many tokens of a bucket it stands for.
    pub const fn cost(&self) -> u32 {
        match self.0 {
            Spent::Bucket { cost, .. } => cost,
            Spent::Ratio { .. } => 0,
        }
    }
}

/// Why a retry is not sent now. Nothing was spent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "exhausted", rename_all = "snake_case")]
pub enum Exhausted {
    /// Too few tokens.
    #[error(
        "the destination's retry budget holds {held} of {capacity} tokens and this retry costs {cost}; successes fill it again"
    )]
    Bucket {
        /// How many there are.
        held: u32,
        /// How many there could be.
        capacity: u32,
        /// How many it takes.
        cost: u32,
    },
    /// Too many retries for so few first tries.
    #[error("{retries} retries within {window_s} s are on record and {allowed} are allowed")]
    Ratio {
        /// How many retries count now.
        retries: u32,
        /// How many may.
        allowed: u32,
        /// The window.
        window_s: u32,
        /// When the oldest of them stop counting.
        free_at: Option<Timestamp>,
    },
}

/// The budget of one destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Budget {
    /// Tokens.
    Bucket(Bucket),
    /// A share of the first tries.
    Ratio(Ratio),
}

impl Budget {
    /// An untouched budget of this kind.
    pub fn new(kind: BudgetKind, numbers: &RetryNumbers) -> Self {
        match kind {
            BudgetKind::Bucket => Self::Bucket(Bucket::full(numbers.bucket)),
            BudgetKind::Ratio => Self::Ratio(Ratio::unused(numbers.ratio)),
        }
    }

    /// Which kind it is.
    pub const fn kind(&self) -> BudgetKind {
        match self {
            Self::Bucket(_) => BudgetKind::Bucket,
            Self::Ratio(_) => BudgetKind::Ratio,
        }
    }

    /// Pays for one send. For the write that inserts the attempt's row, and for no other.
    pub fn spend(&mut self, kind: SendKind, now: Timestamp) -> Result<Token, Exhausted> {
        match self {
            Self::Bucket(bucket) => bucket.spend(kind),
            Self::Ratio(ratio) => ratio.spend(kind, now),
        }
    }

    /// Takes a token back in the write of the attempt's outcome. A token of the other kind, from before the
    /// destination changed its kind, is worth nothing.
    pub fn give_back(&mut self, token: Token, settled: Settled) {
        match (self, token.0) {
            (Self::Bucket(bucket), Spent::Bucket { cost, is_first }) => bucket.take_back(cost, is_first, settled),
            (Self::Ratio(ratio), Spent::Ratio { at, is_first }) => ratio.take_back(at, is_first, settled),
            (Self::Bucket(_), Spent::Ratio { .. }) | (Self::Ratio(_), Spent::Bucket { .. }) => {}
        }
    }
}

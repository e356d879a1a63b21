//! The numbers of retrying, in one place: each has a default (semantics 1.5, 4.9) and may be overridden per tool
//! or destination.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Every number of retrying.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryNumbers {
    /// Of a destination with a bucket.
    pub bucket: BucketNumbers,
    /// Of a destination with a ratio.
    pub ratio: RatioNumbers,
    /// Of the wait before a retry.
    pub backoff: BackoffNumbers,
}

/// The bucket (N1, with the costs of N2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BucketNumbers {
    /// How many tokens it holds at most, and at first.
    pub capacity: u32,
    /// What a retry costs, timeouts included.
    pub retry_cost: u32,
    /// What a retry after throttling costs.
    pub throttled_cost: u32,
    /// What a first try that succeeds puts in.
    pub first_success: u32,
}

impl Default for BucketNumbers {
    fn default() -> Self {
        Self { capacity: 500, retry_cost: 14, throttled_cost: 5, first_success: 1 }
    }
}

/// The ratio (N8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RatioNumbers {
    /// How far back sends are counted, in seconds: 1 to 60.
    pub window_s: u32,
    /// Retries a second that are always allowed.
    pub min_per_s: u32,
    /// Retries allowed as a share of first tries, in per cent.
    pub percent: u32,
}

impl Default for RatioNumbers {
    fn default() -> Self {
        Self { window_s: 10, min_per_s: 10, percent: 20 }
    }
}

/// How long to wait before a retry (1.5, 4.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BackoffNumbers {
    /// The longest wait after the first attempt, in milliseconds; it doubles with each further one.
    pub base_ms: u32,
    /// What it never exceeds, in milliseconds.
    pub cap_ms: u32,
    /// The longest `Retry-After` that is waited for; a longer one goes to the queue, whole. In seconds.
    pub retry_after_cap_s: u32,
}

impl Default for BackoffNumbers {
    fn default() -> Self {
        Self { base_ms: 1_000, cap_ms: 30_000, retry_after_cap_s: 3_600 }
    }
}

impl BackoffNumbers {
    /// The longest `Retry-After` that is waited for.
    pub fn retry_after_cap(&self) -> Duration {
        Duration::from_secs(self.retry_after_cap_s.into())
    }
}

/// Why a number cannot be what it was set to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{field} is {value}; it must be {must}")]
pub struct NumberError {
    /// Which number.
    pub field: String,
    /// What it was set to.
    pub value: u64,
    /// What it must be.
    pub must: String,
}

impl RetryNumbers {
    /// Accepts overrides under which every rule still means something.
    pub fn check(self) -> Result<Self, NumberError> {
        let Self { bucket, ratio, backoff } = self;
        let dearest = bucket.retry_cost.max(bucket.throttled_cost);
        let rules = [
            ("bucket.retry_cost", bucket.retry_cost, bucket.retry_cost > 0, "at least 1"),
            ("bucket.throttled_cost", bucket.throttled_cost, bucket.throttled_cost > 0, "at least 1"),
            ("bucket.capacity", bucket.capacity, bucket.capacity >= dearest, "at least the dearest retry"),
            ("ratio.window_s", ratio.window_s, (1..=60).contains(&ratio.window_s), "1 to 60"),
            ("ratio.percent", ratio.percent, ratio.percent <= 100, "at most 100"),
            ("backoff.base_ms", backoff.base_ms, backoff.base_ms > 0, "at least 1"),
            ("backoff.cap_ms", backoff.cap_ms, backoff.cap_ms >= backoff.base_ms, "no less than the base"),
        ];
        match rules.into_iter().find(|(_, _, is_kept, _)| !is_kept) {
            None => Ok(self),
            Some((field, value, _, must)) => {
                Err(NumberError { field: field.into(), value: value.into(), must: must.into() })
            }
        }
    }
}

//! Times in which a budget paid for no retry: noted in the write that spends or gives back, so that a page can tell when a
//! budget was last empty, and for how long.

use super::{Budget, SendKind};
use crate::time::Timestamp;

/// A time in which a budget paid for no retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// When it began.
    pub since: Timestamp,
    /// When it ended, or will end by time alone; none while only a success ends it.
    pub until: Option<Timestamp>,
}

impl Shortage {
    /// Whether it has ended.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

impl Budget {
    /// Whether a retry can be paid now.
    pub fn pays_retry(&self, now: Timestamp) -> bool {
        match self {
            Self::Bucket(bucket) => bucket.tokens() >= bucket.cost(SendKind::Retry),
            Self::Ratio(ratio) => ratio.retries(now) < ratio.allowed(now),
        }
    }

    /// The last shortage, after this budget came to be as it is; `last` is the one that was known before.
    pub fn shortage(&self, last: Option<Shortage>, now: Timestamp) -> Option<Shortage> {
        let running = last.filter(|last| !last.is_over(now));
        match (self.pays_retry(now), running) {
            (false, running) => {
                let since = running.map_or(now, |running| running.since);
                Some(Shortage { since, until: self.pays_again_at(now) })
            }
            (true, Some(running)) => Some(Shortage { until: Some(now), ..running }),
            (true, None) => last,
        }
    }

    /// When time alone makes it pay again. Time fills no bucket.
    fn pays_again_at(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Bucket(_) => None,
            Self::Ratio(ratio) => ratio.pays_again_at(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::budget::{Bucket, BucketNumbers, Ratio, RatioNumbers, Settled};

    fn second(second: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(second))
    }

    #[test]
    fn a_bucket_is_short_from_the_spend_that_leaves_too_little_until_a_success() {
        let mut budget = Budget::Bucket(Bucket::holding(30, BucketNumbers::default()));
        let mut last = None;
        let mut spend = |budget: &mut Budget, at: u64| {
            let token = budget.spend(SendKind::Retry, second(at)).unwrap();
            last = budget.shortage(last, second(at));
            (token, last)
        };
        assert_eq!(spend(&mut budget, 10).1, None, "16 of 30 are left, and a retry takes 14");
        let (token, short) = spend(&mut budget, 20);
        assert_eq!(short, Some(Shortage { since: second(20), until: None }));
        assert!(!short.unwrap().is_over(second(1_000_000)), "time fills no bucket");
        budget.give_back(token, Settled::Succeeded);
        let over = budget.shortage(short, second(80));
        assert_eq!(over, Some(Shortage { since: second(20), until: Some(second(80)) }));
        assert_eq!(budget.shortage(over, second(90)), over, "it stays the last one");
        let _token = budget.spend(SendKind::Retry, second(95)).unwrap();
        assert_eq!(budget.shortage(over, second(95)), Some(Shortage { since: second(95), until: None }));
    }

    #[test]
    fn a_ratio_knows_when_time_ends_its_shortage() {
        let numbers = RatioNumbers { window_s: 10, min_per_s: 1, percent: 0 };
        let mut budget = Budget::Ratio(Ratio::unused(numbers));
        let mut last = None;
        for at in 0..10 {
            let _token = budget.spend(SendKind::Retry, second(at)).unwrap();
            last = budget.shortage(last, second(at));
            assert_eq!(last.is_some(), at == 9, "{at}");
        }
        let short = last.unwrap();
        assert_eq!(short.since, second(9));
        let until = short.until.unwrap();
        let just_before = Timestamp::from_micros(until.as_micros() - 1);
        assert!(budget.pays_retry(until) && !budget.pays_retry(just_before), "{until}");
        assert!(short.is_over(until) && !short.is_over(just_before));
        // A retry that never left ends it before.
        let mut other = budget.clone();
        other.give_back(
            Budget::Ratio(Ratio::unused(numbers)).spend(SendKind::Retry, second(5)).unwrap(),
            Settled::NotSent,
        );
        assert_eq!(other.shortage(last, second(9)), Some(Shortage { since: second(9), until: Some(second(9)) }));
        // Nothing is ever allowed: no time ends it.
        let never = Budget::Ratio(Ratio::unused(RatioNumbers { min_per_s: 0, ..numbers }));
        assert_eq!(never.shortage(None, second(1)), Some(Shortage { since: second(1), until: None }));
    }
}

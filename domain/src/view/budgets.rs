//! The budgets page: what each destination still bears, whether it is paused, and who took work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Lens, Moment};
use crate::budget::{Budget, SendKind};
use crate::lease::Scope;
use crate::time::Timestamp;

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetsView {
    /// Every destination that a process was configured with.
    pub destinations: Vec<DestinationView>,
    /// Processes that took work, the last that spoke first.
    pub executors: Vec<ExecutorView>,
    /// The restore because of which nothing is sent.
    pub held: Option<HeldView>,
    /// Whether the reader may pause, resume and acknowledge.
    pub may_administer: bool,
}

/// One destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestinationView {
    /// Its name in configuration.
    pub name: String,
    /// In what keys are unique there: `account acct_1 · region eu`.
    pub scope: String,
    /// Whether nothing is sent to it.
    pub is_paused: bool,
    /// What retries it bears.
    pub budget: Option<BudgetView>,
    /// The tools that act on it.
    pub tools: Vec<String>,
}

/// What retries a destination bears.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    /// `486 of 500 tokens left`.
    pub left: String,
    /// How much of it is left, in per cent.
    pub percent: u32,
    /// What a retry costs and what brings it back.
    pub rule: String,
    /// Whether the next retry has to wait.
    pub is_exhausted: bool,
}

/// A process that took work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorView {
    /// Its name.
    pub name: String,
    /// Which process it is.
    pub incarnation: String,
    /// When it last spoke.
    pub seen_at: Moment,
    /// How long ago that was.
    pub age: String,
    /// How its own clock stood to the record's.
    pub clock: String,
}

/// A restore that nobody acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldView {
    /// The time of the copy.
    pub backup_at: Moment,
    /// When it was declared.
    pub declared_at: Moment,
}

/// What a budget says at `now`.
pub fn budget_view(budget: &Budget, now: Timestamp) -> BudgetView {
    match budget {
        Budget::Bucket(bucket) => {
            let (tokens, numbers) = (bucket.tokens(), bucket.numbers());
            BudgetView {
                left: format!("{tokens} of {} tokens left", numbers.capacity),
                percent: share(tokens, numbers.capacity),
                rule: format!(
                    "a retry takes {}, one after throttling {}; a first try that succeeds brings {}",
                    numbers.retry_cost, numbers.throttled_cost, numbers.first_success
                ),
                is_exhausted: tokens < bucket.cost(SendKind::Retry),
            }
        }
        Budget::Ratio(ratio) => {
            let (used, allowed, numbers) = (ratio.retries(now), ratio.allowed(now), ratio.numbers());
            let left = allowed.saturating_sub(used);
            BudgetView {
                left: format!("{left} of {allowed} retries left in the {} s until now", numbers.window_s),
                percent: share(left, allowed),
                rule: format!(
                    "{} % of the first tries of {} s, and {} a second at any rate",
                    numbers.percent, numbers.window_s, numbers.min_per_s
                ),
                is_exhausted: left == 0,
            }
        }
    }
}

/// A part of a whole in per cent; nothing of nothing is nothing.
fn share(part: u32, whole: u32) -> u32 {
    u32::try_from(u64::from(part) * 100 / u64::from(whole.max(1))).unwrap_or(100)
}

/// In what keys are unique at a destination.
pub fn scope_in_words(scope: &Scope) -> String {
    let Scope { account, region, endpoint, credential } = scope;
    let parts = [("account", account), ("region", region), ("endpoint", endpoint), ("credential", credential)];
    let told: Vec<_> = parts.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?))).collect();
    if told.is_empty() { "keys are unique in all of it".into() } else { told.join(" · ") }
}

/// A process that took work; `ahead_micros` is how far its own clock was ahead.
pub fn executor_view(
    name: &str,
    incarnation: &str,
    seen_at: Timestamp,
    ahead_micros: Option<i64>,
    lens: &Lens<'_>,
) -> ExecutorView {
    ExecutorView {
        name: name.into(),
        incarnation: incarnation.into(),
        seen_at: lens.moment(seen_at),
        age: lens.age(seen_at),
        clock: clock_in_words(ahead_micros),
    }
}

fn clock_in_words(ahead_micros: Option<i64>) -> String {
    let Some(ahead_micros) = ahead_micros else { return "the record's own".into() };
    let tenths = (ahead_micros / 100_000).unsigned_abs();
    let span = format!("{}.{} s", tenths / 10, tenths % 10);
    match (tenths, ahead_micros > 0) {
        (0, _) => "agrees within 0.1 s".into(),
        (_, true) => format!("{span} ahead"),
        (_, false) => format!("{span} behind"),
    }
}

/// The tools of each destination.
pub fn tools_by_destination<'a>(
    tools: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> BTreeMap<String, Vec<String>> {
    let mut by_destination: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (tool, destination) in tools {
        if let Some(destination) = destination {
            by_destination.entry(destination.into()).or_default().push(tool.into());
        }
    }
    by_destination
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Bucket, BucketNumbers, BudgetKind, RetryNumbers};

    fn now() -> Timestamp {
        Timestamp::parse_rfc3339("2026-10-06T09:00:00Z").unwrap()
    }

    #[test]
    fn a_bucket_tells_its_tokens_their_share_and_whether_a_retry_can_be_paid() {
        for (tokens, left, percent, is_exhausted) in [
            (500, "500 of 500 tokens left", 100, false),
            (14, "14 of 500 tokens left", 2, false),
            (13, "13 of 500 tokens left", 2, true),
        ] {
            let view = budget_view(&Budget::Bucket(Bucket::holding(tokens, BucketNumbers::default())), now());
            assert_eq!((view.left.as_str(), view.percent, view.is_exhausted), (left, percent, is_exhausted));
            assert_eq!(view.rule, "a retry takes 14, one after throttling 5; a first try that succeeds brings 1");
        }
    }

    #[test]
    fn a_ratio_tells_what_is_left_of_its_window() {
        let mut budget = Budget::new(BudgetKind::Ratio, &RetryNumbers::default());
        let _spent = [budget.spend(SendKind::First, now()).unwrap(), budget.spend(SendKind::Retry, now()).unwrap()];
        let view = budget_view(&budget, now());
        assert_eq!(view.left, "99 of 100 retries left in the 10 s until now");
        assert_eq!((view.percent, view.is_exhausted), (99, false));
        assert_eq!(view.rule, "20 % of the first tries of 10 s, and 10 a second at any rate");
    }

    #[test]
    fn a_clock_is_told_with_its_direction() {
        let cases = [
            (None, "the record's own"),
            (Some(-99_999), "agrees within 0.1 s"),
            (Some(4_000_000), "4.0 s ahead"),
            (Some(-240_050_000), "240.0 s behind"),
        ];
        for (micros, words) in cases {
            assert_eq!(clock_in_words(micros), words);
        }
    }

    #[test]
    fn a_scope_names_only_what_is_known() {
        assert_eq!(scope_in_words(&Scope::default()), "keys are unique in all of it");
        let scope = Scope { account: Some("acct_1".into()), region: Some("eu".into()), ..Scope::default() };
        assert_eq!(scope_in_words(&scope), "account acct_1 · region eu");
    }

    #[test]
    fn tools_are_under_the_destination_that_they_name() {
        let by_destination = tools_by_destination([("a", Some("psp")), ("b", None), ("c", Some("psp"))]);
        assert_eq!(by_destination, [("psp".to_owned(), vec!["a".to_owned(), "c".to_owned()])].into());
    }
}

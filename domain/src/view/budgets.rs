//! The budgets page: what each destination still bears and what that kept from being sent, how many retries there are for
//! each first attempt, what limits each tool, and who took work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::operation::class_words;
use super::outcomes::{
    StandingView, Window, counted_href, further, height, is_loud, most_further_first, number, share,
};
use super::tools::{LimitView, limits};
use super::{Lens, Moment};
use crate::budget::{Budget, Shortage};
use crate::lease::Scope;
use crate::name::DestinationName;
use crate::sums::Sum;
use crate::time::{Timestamp, span_in_words};
use crate::tool::Tool;

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetsView {
    /// Every destination that a process was configured with.
    pub destinations: Vec<DestinationView>,
    /// Retries beside first attempts, by destination, in a window.
    pub retries: RetriesView,
    /// What limits each tool, by class, the most dangerous first.
    pub limits: Vec<ToolLimits>,
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
    /// When the budget was last empty.
    pub shortage: ShortageView,
    /// How many retries wait for it now; nothing while it pays them.
    pub waiting: Option<String>,
    /// How many dispatches it refused in the window, and the newest of all.
    pub refused: RefusedView,
}

/// When a budget last paid for no retry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortageView {
    /// `for 4 min, 2 h ago`
    pub words: String,
    /// When it began.
    pub since: Option<Moment>,
    /// Whether it is so now.
    pub is_now: bool,
}

/// Dispatches that a budget refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedView {
    /// How many in the window.
    pub count: String,
    /// The newest, whenever that was.
    pub newest: Vec<RefusedLine>,
}

/// A dispatch that a budget refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedLine {
    /// The operation's page.
    pub href: String,
    /// Its key.
    pub key: String,
    /// When.
    pub at: Moment,
    /// Why.
    pub why: String,
}

/// Retries beside first attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetriesView {
    /// The window that is shown.
    pub window: Window,
    /// Its ends in the workspace's zone.
    pub span: String,
    /// The zone whose days and hours these are.
    pub zone: String,
    /// What the sums lack, if anything.
    pub standing: StandingView,
    /// By destination, the most retries first.
    pub rows: Vec<RetriesLine>,
    /// How many destinations are left out.
    pub left_out: usize,
}

/// The retries of one destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetriesLine {
    /// Its name.
    pub name: Option<String>,
    /// The operations that it counts.
    pub href: String,
    /// First attempts: one an operation.
    pub firsts: String,
    /// All further attempts of the same operations.
    pub retries: String,
    /// Retries for each first attempt, in per cent.
    pub share: String,
    /// Whether they pile up.
    pub is_loud: bool,
    /// How long the bar of the first attempts is, in thousandths of the longest row.
    pub solid: u32,
    /// How long the bar of the retries is.
    pub hatched: u32,
}

/// What limits one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLimits {
    /// Its name.
    pub tool: String,
    /// Its class in words.
    pub class: String,
    /// Its destination.
    pub destination: Option<String>,
    /// The limits, the same ones for every tool.
    pub limits: Vec<LimitView>,
}

/// What retries a destination bears.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    /// `486 of 500 tokens left`.
    pub left: String,
    /// How much of it is left, in per cent.
    pub percent: u32,
    /// What a retry costs.
    pub costs: String,
    /// What fills it again.
    pub refill: String,
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
    let is_exhausted = !budget.pays_retry(now);
    match budget {
        Budget::Bucket(bucket) => {
            let (tokens, numbers) = (bucket.tokens(), bucket.numbers());
            BudgetView {
                left: format!("{tokens} of {} tokens left", numbers.capacity),
                percent: percent(tokens, numbers.capacity),
                costs: format!(
                    "a retry takes {}, after a timeout too; one after throttling {}; a first try nothing",
                    numbers.retry_cost, numbers.throttled_cost
                ),
                refill: format!(
                    "a first try that succeeds brings {}; a retry that succeeds or never left brings back what it took; time brings nothing",
                    numbers.first_success
                ),
                is_exhausted,
            }
        }
        Budget::Ratio(ratio) => {
            let (used, allowed, numbers) = (ratio.retries(now), ratio.allowed(now), ratio.numbers());
            let left = allowed.saturating_sub(used);
            BudgetView {
                left: format!("{left} of {allowed} retries left in the {} s until now", numbers.window_s),
                percent: percent(left, allowed),
                costs: "each retry counts once, after a timeout or throttling too; a first try nothing".into(),
                refill: format!(
                    "a retry stops counting after {} s, or when it never left; allowed are {} % of the first tries of that time, and {} a second at any rate",
                    numbers.window_s, numbers.percent, numbers.min_per_s
                ),
                is_exhausted,
            }
        }
    }
}

/// When a budget was last empty. Nothing is known of the time before that was kept.
pub fn shortage_view(last: Option<Shortage>, lens: &Lens<'_>) -> ShortageView {
    let Some(last) = last else {
        return ShortageView { words: "never since this is kept".into(), since: None, is_now: false };
    };
    let since = Some(lens.moment(last.since));
    let (words, is_now) = match last.until {
        Some(until) if until <= lens.now => {
            let span = match until.since(last.since) {
                short if short.as_secs() == 0 => "for less than a second".to_owned(),
                long => format!("for {}", span_in_words(long)),
            };
            (format!("{span}, until {} ago", lens.age(until)), false)
        }
        Some(until) => {
            (format!("now, for {}; time ends it at {}", lens.age(last.since), lens.moment(until).short), true)
        }
        None => (format!("now, for {}; only successes end it", lens.age(last.since)), true),
    };
    ShortageView { words, since, is_now }
}

/// Retries beside first attempts, the most retries first.
pub fn retries_lines(sums: &[(String, Sum)], (since, until): (Timestamp, Timestamp)) -> (Vec<RetriesLine>, usize) {
    let (sorted, left_out) = most_further_first(sums);
    let longest = sorted.iter().map(|(_, sum)| sum.attempts.max(sum.operations)).max().unwrap_or(0);
    let line = |(name, sum): &(String, Sum)| RetriesLine {
        name: Some(name.clone()).filter(|name| !name.is_empty()),
        href: counted_href(since, until, Some(("destination", name))),
        firsts: number(sum.operations),
        retries: number(further(sum)),
        share: share(further(sum), sum.operations),
        is_loud: is_loud(sum),
        solid: height(sum.operations, longest),
        hatched: height(further(sum), longest),
    };
    (sorted.into_iter().map(line).collect(), left_out)
}

/// What limits each tool, by class, the most dangerous first.
pub fn tool_limits(tools: &[Tool]) -> Vec<ToolLimits> {
    let mut sorted: Vec<&Tool> = tools.iter().collect();
    sorted.sort_by_key(|tool| (std::cmp::Reverse(tool.class), &tool.name));
    let line = |tool: &Tool| ToolLimits {
        tool: tool.name.to_string(),
        class: class_words(tool.class).into(),
        destination: tool.destination.as_ref().map(DestinationName::to_string),
        limits: limits(&tool.contract),
    };
    sorted.into_iter().map(line).collect()
}

/// A part of a whole in per cent; nothing of nothing is nothing.
fn percent(part: u32, whole: u32) -> u32 {
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
    use super::super::tests::{at, lens};
    use super::*;
    use crate::budget::{Bucket, BucketNumbers, BudgetKind, RetryNumbers, SendKind};
    use crate::name::ToolName;
    use crate::tool::Class;

    fn now() -> Timestamp {
        at("2026-10-06T09:00:00Z")
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
            assert!(
                view.costs.starts_with("a retry takes 14, after a timeout too; one after throttling 5;"),
                "{view:?}"
            );
            assert!(view.refill.starts_with("a first try that succeeds brings 1;"), "{view:?}");
        }
    }

    #[test]
    fn a_ratio_tells_what_is_left_of_its_window() {
        let mut budget = Budget::new(BudgetKind::Ratio, &RetryNumbers::default());
        let _spent = [budget.spend(SendKind::First, now()).unwrap(), budget.spend(SendKind::Retry, now()).unwrap()];
        let view = budget_view(&budget, now());
        assert_eq!(view.left, "99 of 100 retries left in the 10 s until now");
        assert_eq!((view.percent, view.is_exhausted), (99, false));
        assert!(view.refill.ends_with("20 % of the first tries of that time, and 10 a second at any rate"), "{view:?}");
    }

    #[test]
    fn when_a_budget_was_last_empty_is_told_with_its_length() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        let shortage = |since: &str, until: Option<&str>| Some(Shortage { since: at(since), until: until.map(at) });
        let table = [
            (None, "never since this is kept", false),
            (shortage("2026-10-06T06:00:00Z", Some("2026-10-06T06:04:30Z")), "for 4 min, until 2 h 55 min ago", false),
            (shortage("2026-10-06T08:59:50Z", Some("2026-10-06T09:00:00Z")), "for 10 s, until 0 s ago", false),
            (
                shortage("2026-10-06T08:59:50Z", Some("2026-10-06T09:00:03Z")),
                "now, for 10 s; time ends it at 09:00:03",
                true,
            ),
            (shortage("2026-10-06T08:00:00Z", None), "now, for 1 h; only successes end it", true),
        ];
        for (last, words, is_now) in table {
            let view = shortage_view(last, &lens);
            assert_eq!((view.words.as_str(), view.is_now), (words, is_now), "{last:?}");
        }
    }

    #[test]
    fn retries_are_a_share_of_first_attempts_on_one_scale() {
        let sum = |operations, attempts| Sum { operations, attempts, ..Sum::default() };
        let sums =
            [("bank".to_owned(), sum(100, 120)), (String::new(), sum(10, 200)), ("mail".to_owned(), sum(50, 50))];
        let window = (at("2026-10-05T00:00:00Z"), at("2026-10-06T00:00:00Z"));
        let (lines, left_out) = retries_lines(&sums, window);
        let told: Vec<_> = lines
            .iter()
            .map(|one| {
                (one.name.as_deref(), one.firsts.as_str(), one.retries.as_str(), one.share.as_str(), one.is_loud)
            })
            .collect();
        assert_eq!(
            told,
            [
                (None, "10", "190", "1900 %", true),
                (Some("bank"), "100", "20", "20 %", false),
                (Some("mail"), "50", "0", "0 %", false),
            ]
        );
        assert_eq!((lines[0].solid, lines[0].hatched, lines[1].solid, left_out), (50, 950, 500, 0));
        assert!(lines[1].href.ends_with("&destination=bank"), "{}", lines[1].href);
    }

    #[test]
    fn limits_are_told_by_class_the_most_dangerous_first() {
        let named = |name: &str, class| Tool { class, ..Tool::undeclared(ToolName::parse(name).unwrap()) };
        let tools = [named("b", Class::Read), named("a", Class::Irreversible), named("c", Class::Irreversible)];
        let told: Vec<_> = tool_limits(&tools).into_iter().map(|one| (one.class, one.tool)).collect();
        let expected = [("irreversible", "a"), ("irreversible", "c"), ("read only", "b")];
        assert_eq!(told, expected.map(|(class, tool)| (class.to_owned(), tool.to_owned())));
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

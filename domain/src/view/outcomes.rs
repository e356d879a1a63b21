//! The outcomes page: attempts beside logical outcomes, every figure with what it is a share of (I26).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Lens, Moment, encoded, with_separators};
use crate::operation::{Mark, State, named};
use crate::query::{QueryError, UNTOLD};
use crate::sums::{Repeat, Sum, Times, Took};
use crate::time::{Timestamp, span_in_words};

/// From this ratio on attempts pile up; the page says so.
const LOUD_PERCENT: i64 = 150;
/// How many names a table shows.
const NAMES_SHOWN: usize = 50;
/// How many lines a scale has at the most, that of nothing aside.
const TICKS: i64 = 5;

named! {
    /// How far back the page looks.
    Window {
        /// 24 hours, by hours.
        Day = "24h",
        /// Seven days.
        Week = "7d",
        /// Thirty days.
        Month = "30d",
    }
}

impl Window {
    /// How many bars it has.
    pub const fn bars(self) -> u32 {
        match self {
            Self::Day => 24,
            Self::Week => 7,
            Self::Month => 30,
        }
    }

    /// Whether a bar is an hour; otherwise it is a day.
    pub const fn is_by_hour(self) -> bool {
        matches!(self, Self::Day)
    }

    /// What its link says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Day => "24 hours",
            Self::Week => "7 days",
            Self::Month => "30 days",
        }
    }

    /// The one that an address asks for; a week where it asks for none.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, QueryError> {
        let Some((name, value)) = pairs.into_iter().find(|(name, value)| *name == "window" && !value.is_empty()) else {
            return Ok(Self::Week);
        };
        let known = Self::ALL.iter().map(|window| window.name()).collect::<Vec<_>>().join(", ");
        Self::parse(value).ok_or_else(|| QueryError {
            parameter: name.into(),
            value: value.into(),
            expected: format!("use one of {known}"),
        })
    }
}

/// What is known of an attempt after all evidence, in a word.
pub const fn mark_words(mark: Mark) -> &'static str {
    match mark {
        Mark::Running => "running",
        Mark::Unknown => "unknown",
        Mark::NotSent => "never left",
        Mark::Refused => "refused or declined",
        Mark::Confirmed => "confirmed",
    }
}

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomesView {
    /// The window that is shown.
    pub window: Window,
    /// Whether it ends now, in words, with its ends in the workspace's zone.
    pub span: String,
    /// The zone whose days and hours these are.
    pub zone: String,
    /// Which operations a bar counts.
    pub rule: String,
    /// `100 operations · 120 attempts`
    pub words: String,
    /// Whether anything was attempted in the window.
    pub is_empty: bool,
    /// What the sums lack, if anything.
    pub standing: StandingView,
    /// The figures above the chart.
    pub figures: Vec<FigureView>,
    /// The bars, the oldest first.
    pub bars: Vec<BarView>,
    /// The lines of the scale, the lowest first; the last is as high as the chart.
    pub ticks: Vec<TickView>,
    /// By tool, what piles up most first.
    pub tools: BreakdownView,
    /// By destination, what piles up most first.
    pub destinations: BreakdownView,
    /// By state.
    pub states: Vec<ShareView>,
    /// Attempts by layer.
    pub layers: Vec<ShareView>,
    /// Attempts by what is known of them.
    pub marks: Vec<ShareView>,
    /// When it was read.
    pub as_of: Moment,
    /// The newest change when it was read.
    pub sequence: String,
}

/// How far the sums have come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingView {
    /// In words.
    pub words: String,
    /// Whether what was recorded before is counted in part only.
    pub is_partial: bool,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureView {
    /// The figure: `1.24`.
    pub value: String,
    /// What it is: `attempts per operation`.
    pub name: String,
    /// Of what it is computed: `6,204 attempts of 5,012 operations`.
    pub of: String,
    /// Whether a person should look.
    pub is_loud: bool,
    /// The operations that it is about.
    pub href: Option<String>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarView {
    /// Under the bar: `26`, `18:00`.
    pub label: String,
    /// In the table: `26 Nov`.
    pub name: String,
    /// That it is longer or shorter than its like, or not over yet.
    pub note: Option<String>,
    /// Operations.
    pub operations: String,
    /// Attempts.
    pub attempts: String,
    /// `1.24`, or a dash.
    pub ratio: String,
    /// Whether attempts piled up.
    pub is_loud: bool,
    /// How high the operations stand, in thousandths of the chart.
    pub solid: u32,
    /// How high the further attempts stand on them.
    pub hatched: u32,
    /// The operations that it counts.
    pub href: Option<String>,
}

/// A line of the scale.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickView {
    /// `250`
    pub label: String,
    /// How high it is, in thousandths of the chart.
    pub height: u32,
}

/// A table by names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BreakdownView {
    /// Its rows.
    pub rows: Vec<BreakdownLine>,
    /// How many names are left out.
    pub left_out: usize,
}

/// The figures of one tool or destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakdownLine {
    /// Its name.
    pub name: Option<String>,
    /// The operations that it counts.
    pub href: String,
    /// Operations.
    pub operations: String,
    /// Attempts.
    pub attempts: String,
    /// Attempts for each operation.
    pub ratio: String,
    /// Whether attempts piled up.
    pub is_loud: bool,
    /// Operations that are uncertain now, with their share.
    pub uncertain: String,
    /// Effects that are one too many.
    pub surplus: String,
    /// Median and p90 of the time until outcomes were known.
    pub times: Option<(String, String)>,
}

/// A share of a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareView {
    /// Of what it is the share.
    pub name: Option<String>,
    /// The operations that it counts, or of which it counts attempts.
    pub href: String,
    /// How many.
    pub count: String,
    /// In per cent of all.
    pub share: String,
    /// How wide its bar is, in per cent.
    pub percent: u32,
    /// Operations among which they are.
    pub operations: String,
}

/// `5,012`
pub fn number(count: i64) -> String {
    with_separators(&count.unsigned_abs().to_string(), count < 0)
}

/// `100 operations · 120 attempts`: two figures, wherever both appear.
pub fn both_in_words(operations: i64, attempts: i64) -> String {
    let noun = |count: i64, one: &str| {
        let s = if count == 1 { "" } else { "s" };
        format!("{} {one}{s}", number(count))
    };
    format!("{} · {}", noun(operations, "operation"), noun(attempts, "attempt"))
}

/// Attempts for each operation: `1.24`; a dash where there is none.
pub fn ratio(sum: &Sum) -> String {
    if sum.operations <= 0 {
        return "–".into();
    }
    let hundredths = (sum.attempts * 100 + sum.operations / 2) / sum.operations;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

pub(super) fn is_loud(sum: &Sum) -> bool {
    sum.operations > 0 && sum.attempts * 100 >= sum.operations * LOUD_PERCENT
}

/// A part of a whole: `0.94 %`. What is more than nothing is never shown as nothing.
pub fn share(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "–".into();
    }
    let hundredths = (part * 10_000 + whole / 2) / whole;
    match (part, hundredths) {
        (0, _) => "0 %".into(),
        (_, 0) => "< 0.01 %".into(),
        (_, hundredths) if hundredths >= 1_000 => format!("{} %", (hundredths + 50) / 100),
        (_, hundredths) => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

/// A span as a histogram knows it: `≈ 420 ms`, `≈ 4.5 s`, `≈ 2 h 40 min`.
fn about(span: Duration) -> String {
    let millis = span.as_millis();
    match millis {
        0..1_000 => format!("≈ {millis} ms"),
        1_000..10_000 => format!("≈ {}.{} s", millis / 1_000, millis / 100 % 10),
        _ => format!("≈ {}", span_in_words(span)),
    }
}

/// A list of operations: those counted between two times, with one more filter.
pub fn counted_href(since: Timestamp, until: Timestamp, filter: Option<(&str, &str)>) -> String {
    let window = format!("since={}&until={}", encoded(&since.to_string()), encoded(&until.to_string()));
    let filter =
        filter.map(|(name, value)| format!("&{name}={}", encoded(if value.is_empty() { UNTOLD } else { value })));
    format!("/operations?{window}{}", filter.unwrap_or_default())
}

/// The scale of a chart whose highest bar is `most`: a step of 1, 2 or 5 times a power of ten, few enough lines, and the
/// value at the top.
fn scale(most: i64) -> (i64, i64) {
    let mut step = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = step * factor;
            if most <= step * TICKS {
                return (step, (most + step - 1) / step.max(1) * step);
            }
        }
        step *= 10;
    }
}

/// How high a value stands, in thousandths of the chart.
pub(super) fn height(value: i64, top: i64) -> u32 {
    u32::try_from(value.max(0) * 1_000 / top.max(1)).unwrap_or(0)
}

/// The lines of the scale for these bars, and the value at its top.
pub fn ticks(bars: &[Sum]) -> (Vec<TickView>, i64) {
    let (step, top) = scale(bars.iter().map(|bar| bar.attempts.max(bar.operations)).max().unwrap_or(0).max(1));
    let line = |value: i64| TickView { label: number(value), height: height(value, top) };
    ((0..=top / step).map(|index| line(index * step)).collect(), top)
}

/// One bar between two times.
pub fn bar(sum: &Sum, (since, until): (Timestamp, Timestamp), top: i64, window: Window, lens: &Lens<'_>) -> BarView {
    let (day, clock) = (lens.times.day(since), lens.times.clock(since));
    let hour_and_minute = clock.get(..5).unwrap_or(&clock).to_owned();
    let day_and_month = day.rsplit_once(' ').map_or(day.as_str(), |(day, _)| day).to_owned();
    let (label, name) = if window.is_by_hour() {
        (hour_and_minute.clone(), format!("{day_and_month} {hour_and_minute}"))
    } else {
        (day.split(' ').next().unwrap_or_default().to_owned(), day_and_month)
    };
    let seconds = until.since(since).as_secs();
    let length = (!window.is_by_hour() && seconds != 86_400)
        .then(|| format!("{} of the zone's clock", span_in_words(until.since(since))));
    let running = (since <= lens.now && lens.now < until).then(|| "so far".to_owned());
    let notes: Vec<String> = length.into_iter().chain(running).collect();
    let further = further(sum);
    BarView {
        label,
        name,
        note: (!notes.is_empty()).then(|| notes.join(", ")),
        operations: number(sum.operations),
        attempts: number(sum.attempts),
        ratio: ratio(sum),
        is_loud: is_loud(sum),
        solid: height(sum.operations, top),
        hatched: height(sum.operations + further, top).saturating_sub(height(sum.operations, top)),
        href: (sum.operations > 0).then(|| counted_href(since, until, None)),
    }
}

/// The figures of a window.
pub fn figures(
    sum: &Sum,
    contradicted: i64,
    repeats: impl Fn(Repeat) -> u64,
    times: &Times,
    (since, until): (Timestamp, Timestamp),
) -> Vec<FigureView> {
    let plain =
        |value: String, name: &str, of: String| FigureView { value, name: name.into(), of, is_loud: false, href: None };
    let link = |state: &str| Some(counted_href(since, until, Some(("state", state))));
    let operations = number(sum.operations);
    let (proposals, deliveries) = (repeats(Repeat::Proposal), repeats(Repeat::Delivery));
    let all_repeats = i64::try_from(proposals + deliveries).unwrap_or(i64::MAX);
    let resolved = i64::try_from(times.count()).unwrap_or(i64::MAX);
    let of_resolved = format!(
        "from the first attempt until the outcome was known; {} of {operations} operations; within {} %",
        number(resolved),
        Took::ERROR_PERCENT
    );
    let percentile = |percent| times.percentile(percent).map_or_else(|| "–".to_owned(), about);
    vec![
        FigureView {
            is_loud: is_loud(sum),
            ..plain(
                ratio(sum),
                "attempts per operation",
                format!("{} attempts ÷ {operations} operations", number(sum.attempts)),
            )
        },
        FigureView {
            is_loud: sum.uncertain > 0,
            href: link("uncertain").filter(|_| sum.uncertain > 0),
            ..plain(
                share(sum.uncertain, sum.operations),
                "uncertain now",
                format!("{} of {operations} operations", number(sum.uncertain)),
            )
        },
        plain(
            number(all_repeats),
            "duplicates suppressed",
            format!(
                "answered from the record when they came in this window: {} and {}; beside {operations} operations",
                told_again(proposals, "proposal"),
                told_again(deliveries, "delivery")
            ),
        ),
        FigureView {
            is_loud: sum.surplus > 0,
            href: link("contradicted").filter(|_| contradicted > 0),
            ..plain(
                number(sum.surplus),
                "surplus effects",
                format!(
                    "of {} confirmed effects, counted at the first operation of each intent; {} contradicted now",
                    number(sum.effects),
                    if contradicted == 1 {
                        "1 operation".into()
                    } else {
                        format!("{} operations", number(contradicted))
                    }
                ),
            )
        },
        plain(percentile(50), "median time to resolution", of_resolved.clone()),
        plain(percentile(90), "90 % resolved within", of_resolved),
    ]
}

fn told_again(count: u64, one: &str) -> String {
    let many = if one == "delivery" { "deliveries".to_owned() } else { format!("{one}s") };
    let words = if count == 1 { one.to_owned() } else { many };
    format!("{} {words}", number(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// What piles up most first, as much of it as a table shows, and how many are left out.
pub(super) fn most_further_first(sums: &[(String, Sum)]) -> (Vec<&(String, Sum)>, usize) {
    let mut sorted: Vec<&(String, Sum)> = sums.iter().filter(|(_, sum)| sum.operations > 0).collect();
    sorted.sort_by(|(one, a), (other, b)| (further(b), b.operations, one).cmp(&(further(a), a.operations, other)));
    let left_out = sorted.len().saturating_sub(NAMES_SHOWN);
    sorted.truncate(NAMES_SHOWN);
    (sorted, left_out)
}

/// Attempts that are not the first of their operation.
pub(super) const fn further(sum: &Sum) -> i64 {
    let further = sum.attempts - sum.operations;
    if further > 0 { further } else { 0 }
}

/// A table by tool or destination: what piles up most first. `parameter` is its filter in the list of operations.
pub fn breakdown<'a>(
    sums: &'a [(String, Sum)],
    times: impl Fn(&str) -> Option<&'a Times>,
    parameter: &str,
    (since, until): (Timestamp, Timestamp),
) -> BreakdownView {
    let (sorted, left_out) = most_further_first(sums);
    let line = |(name, sum): &(String, Sum)| BreakdownLine {
        name: Some(name.clone()).filter(|name| !name.is_empty()),
        href: counted_href(since, until, Some((parameter, name))),
        operations: number(sum.operations),
        attempts: number(sum.attempts),
        ratio: ratio(sum),
        is_loud: is_loud(sum),
        uncertain: if sum.uncertain == 0 {
            "0".into()
        } else {
            format!("{} ({})", number(sum.uncertain), share(sum.uncertain, sum.operations))
        },
        surplus: number(sum.surplus),
        times: times(name).and_then(|times| Some((about(times.percentile(50)?), about(times.percentile(90)?)))),
    };
    BreakdownView { rows: sorted.into_iter().map(line).collect(), left_out }
}

/// Shares of operations by state, in the order of the states.
pub fn state_shares(sums: &[(String, Sum)], window: (Timestamp, Timestamp)) -> Vec<ShareView> {
    let whole = sums.iter().map(|(_, sum)| sum.operations).sum();
    let of = |word: &str| sums.iter().find(|(name, sum)| name == word && sum.operations > 0);
    let shares = State::WORDS.iter().filter_map(|word| of(word));
    shares
        .map(|(word, sum)| one_share(&word.replace('_', " "), ("state", word), sum.operations, whole, sum, window))
        .collect()
}

/// Shares of attempts by layer, the most first.
pub fn layer_shares(sums: &[(String, Sum)], window: (Timestamp, Timestamp)) -> Vec<ShareView> {
    let whole = sums.iter().map(|(_, sum)| sum.attempts).sum();
    let mut sorted: Vec<_> = sums.iter().filter(|(_, sum)| sum.attempts > 0).collect();
    sorted.sort_by(|(one, a), (other, b)| (b.attempts, one).cmp(&(a.attempts, other)));
    sorted.into_iter().map(|(name, sum)| one_share(name, ("layer", name), sum.attempts, whole, sum, window)).collect()
}

/// Shares of attempts by what is known of them, in the order of the marks.
pub fn mark_shares(sums: &[(Mark, Sum)], window: (Timestamp, Timestamp)) -> Vec<ShareView> {
    let whole = sums.iter().map(|(_, sum)| sum.attempts).sum();
    let of = |mark: Mark| sums.iter().find(|(one, sum)| *one == mark && sum.attempts > 0);
    let shares = Mark::ALL.iter().rev().filter_map(|mark| of(*mark));
    shares
        .map(|(mark, sum)| one_share(mark_words(*mark), ("mark", mark.name()), sum.attempts, whole, sum, window))
        .collect()
}

fn one_share(
    name: &str,
    filter: (&str, &str),
    count: i64,
    whole: i64,
    sum: &Sum,
    (since, until): (Timestamp, Timestamp),
) -> ShareView {
    ShareView {
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        href: counted_href(since, until, Some(filter)),
        count: number(count),
        share: share(count, whole),
        percent: height(count, whole) / 10,
        operations: number(sum.operations),
    }
}

/// The window's ends and whose hours or days they are.
pub fn span(window: Window, (since, until): (Timestamp, Timestamp), lens: &Lens<'_>) -> String {
    let parts = if window.is_by_hour() { "hours" } else { "days" };
    format!(
        "{} {parts}, the one that runs now included: from {} until {}",
        window.bars(),
        lens.times.full(since),
        lens.times.full(until)
    )
}

/// Which operations a bar counts.
pub fn rule(window: Window) -> String {
    let part = if window.is_by_hour() { "hour" } else { "day" };
    format!(
        "An operation counts in the {part} of its first attempt; its attempts count with it, whenever they were made."
    )
}

/// What the sums lack: nothing where everything is counted.
pub fn standing(changes: u32, moved_at: Timestamp, lens: &Lens<'_>) -> StandingView {
    let words = match changes {
        0 => format!("As of {}: everything on record is counted.", lens.moment(lens.now).short),
        1 => format!("As of {}; 1 change is not counted yet.", lens.moment(moved_at).short),
        2..1_000 => format!("As of {}; {changes} changes are not counted yet.", lens.moment(moved_at).short),
        _ => format!("As of {}; 1,000 changes or more are not counted yet.", lens.moment(moved_at).short),
    };
    StandingView { words, is_partial: false }
}

/// That the sums are still being filled, or nobody has begun to.
pub fn partial(has_begun: bool) -> StandingView {
    let words = if has_begun {
        "In part: the record is still being counted from its beginning, oldest operations first. Figures below are too low until that is done."
    } else {
        "Nothing is counted yet: counting begins with the server's next round."
    };
    StandingView { words: words.into(), is_partial: true }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::{at, lens};
    use super::*;

    fn sum(operations: i64, attempts: i64) -> Sum {
        Sum { operations, attempts, ..Sum::default() }
    }

    #[test]
    fn operations_and_attempts_are_two_figures() {
        assert_eq!(both_in_words(100, 120), "100 operations · 120 attempts");
        assert_eq!(both_in_words(1, 5_012), "1 operation · 5,012 attempts");
        assert_eq!(ratio(&sum(5_012, 6_204)), "1.24");
        assert_eq!(ratio(&sum(0, 0)), "–");
    }

    #[test]
    fn a_share_is_never_nothing_where_there_is_something() {
        let told: Vec<_> =
            [(47, 5_012), (0, 5), (1, 1_000_000), (5, 5), (1, 8), (3, 0)].map(|(a, b)| share(a, b)).into();
        assert_eq!(told, ["0.94 %", "0 %", "< 0.01 %", "100 %", "13 %", "–"]);
    }

    #[test]
    fn a_scale_has_few_round_lines_and_holds_the_highest_bar() {
        for (most, step, top) in
            [(1, 1, 1), (5, 1, 5), (6, 2, 6), (990, 200, 1_000), (1_001, 500, 1_500), (12_345, 5_000, 15_000)]
        {
            assert_eq!(scale(most), (step, top), "{most}");
        }
        let (lines, top) = ticks(&[sum(3, 10), sum(7, 7)]);
        let lines: Vec<_> = lines.iter().map(|line| (line.label.as_str(), line.height)).collect();
        assert_eq!((lines, top), (vec![("0", 0), ("2", 200), ("4", 400), ("6", 600), ("8", 800), ("10", 1_000)], 10));
        assert_eq!(ticks(&[]).1, 1);
    }

    #[test]
    fn a_bar_stands_on_one_scale_and_leads_to_what_it_counts() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        let day = (at("2026-10-05T00:00:00Z"), at("2026-10-06T00:00:00Z"));
        let one = bar(&sum(400, 990), day, 1_000, Window::Week, &lens);
        assert_eq!((one.label.as_str(), one.name.as_str(), one.solid, one.hatched), ("5", "5 Oct", 400, 590));
        assert!(one.is_loud && one.note.is_none());
        assert_eq!(
            one.href.as_deref(),
            Some("/operations?since=2026-10-05T00%3A00%3A00Z&until=2026-10-06T00%3A00%3A00Z")
        );
        let short = (at("2026-10-06T00:00:00Z"), at("2026-10-06T23:00:00Z"));
        let today = bar(&sum(0, 0), short, 1_000, Window::Week, &lens);
        assert_eq!(today.note.as_deref(), Some("23 h of the zone's clock, so far"));
        assert_eq!((today.href, today.ratio.as_str()), (None, "–"));
        let hour = bar(&sum(1, 1), (at("2026-10-05T18:00:00Z"), at("2026-10-05T19:00:00Z")), 1, Window::Day, &lens);
        assert_eq!((hour.label.as_str(), hour.name.as_str()), ("18:00", "5 Oct 18:00"));
    }

    #[test]
    fn every_figure_names_what_it_is_computed_of() {
        let all = Sum { operations: 5_012, attempts: 6_204, uncertain: 47, effects: 4_893, surplus: 2 };
        let mut times = Times::default();
        times.add(Took::of(Duration::from_mins(11)), 4_000);
        let window = (at("2026-10-05T00:00:00Z"), at("2026-10-06T00:00:00Z"));
        let told = figures(&all, 2, |repeat| if repeat == Repeat::Proposal { 318 } else { 1 }, &times, window);
        let told: Vec<_> = told.iter().map(|one| (one.value.as_str(), one.of.as_str(), one.href.is_some())).collect();
        let took = "from the first attempt until the outcome was known; 4,000 of 5,012 operations; within 13 %";
        assert_eq!(
            told,
            [
                ("1.24", "6,204 attempts ÷ 5,012 operations", false),
                ("0.94 %", "47 of 5,012 operations", true),
                (
                    "319",
                    "answered from the record when they came in this window: 318 proposals and 1 delivery; beside 5,012 operations",
                    false
                ),
                (
                    "2",
                    "of 4,893 confirmed effects, counted at the first operation of each intent; 2 operations contradicted now",
                    true
                ),
                ("≈ 12 min", took, false),
                ("≈ 12 min", took, false),
            ]
        );
    }

    #[test]
    fn what_piles_up_most_comes_first_and_what_is_not_told_has_a_row() {
        let window = (at("2026-10-05T00:00:00Z"), at("2026-10-06T00:00:00Z"));
        let sums = [
            ("a".to_owned(), sum(10, 10)),
            (String::new(), sum(2, 9)),
            ("c".to_owned(), sum(10, 12)),
            ("d".to_owned(), sum(0, 0)),
        ];
        let table = breakdown(&sums, |_| None, "tool", window);
        let rows: Vec<_> =
            table.rows.iter().map(|row| (row.name.as_deref(), row.ratio.as_str(), row.is_loud)).collect();
        assert_eq!(rows, [(None, "4.50", true), (Some("c"), "1.20", false), (Some("a"), "1.00", false)]);
        assert!(table.rows[0].href.ends_with("&tool=-"));
        let many: Vec<_> = (0..53).map(|number| (format!("t{number}"), sum(1, 1))).collect();
        assert_eq!(breakdown(&many, |_| None, "tool", window).left_out, 3);
    }

    #[test]
    fn shares_add_up_to_what_they_are_shares_of() {
        let window = (at("2026-10-05T00:00:00Z"), at("2026-10-06T00:00:00Z"));
        let marks = mark_shares(&[(Mark::Unknown, sum(3, 5)), (Mark::Confirmed, sum(9, 15))], window);
        let told: Vec<_> = marks.iter().map(|one| (one.count.as_str(), one.share.as_str(), one.percent)).collect();
        assert_eq!(told, [("15", "75 %", 75), ("5", "25 %", 25)]);
        let states = state_shares(&[("uncertain".into(), sum(1, 4)), ("retry_wait".into(), sum(3, 3))], window);
        assert_eq!(states[1].name.as_deref(), Some("retry wait"));
        assert!(states[1].href.ends_with("&state=retry_wait"));
    }

    #[test]
    fn the_page_says_what_is_not_counted_yet() {
        let names = BTreeMap::new();
        let lens = lens(&names);
        let moved = at("2026-10-06T08:59:30Z");
        assert_eq!(standing(0, moved, &lens).words, "As of 09:00:00: everything on record is counted.");
        assert_eq!(standing(7, moved, &lens).words, "As of 08:59:30; 7 changes are not counted yet.");
        assert!(standing(1_000, moved, &lens).words.contains("1,000 changes or more"));
        assert!(partial(true).is_partial && partial(true) != partial(false));
    }

    #[test]
    fn a_window_is_read_from_the_address_and_a_wrong_one_is_an_error() {
        assert_eq!(Window::from_pairs([]), Ok(Window::Week));
        assert_eq!(Window::from_pairs([("window", "30d")]), Ok(Window::Month));
        assert!(Window::from_pairs([("window", "1y")]).unwrap_err().to_string().contains("24h, 7d, 30d"));
    }
}

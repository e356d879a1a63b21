//! Sums: what is counted of an operation, by which names, and in which quarter of an hour (I26).
//!
//! An operation counts in the quarter of its first attempt, and its attempts count with it, whenever they were made:
//! otherwise the ratio of a day would compare the attempts of one set of operations with another set.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::{DestinationName, ToolName};
use crate::operation::{Head, Mark, Projection, State, named};
use crate::time::Timestamp;

/// The spans for which sums are kept, in seconds, the longest first. Each divides the one before, so that a longer window
/// is put together from few of them; a quarter of an hour divides every offset that a zone has today.
pub const SPANS_S: [i64; 3] = [86_400, 3_600, 900];
/// Microseconds in a second.
const SECOND: i64 = 1_000_000;

named! {
    /// By what sums are kept.
    Dimension {
        /// All operations together.
        All = "all",
        /// The tool; nothing where none is told.
        Tool = "tool",
        /// The destination; nothing where none is told.
        Destination = "destination",
        /// The word of the operation's state now.
        State = "state",
        /// The layer that made an attempt; nothing where none is told. Counts attempts.
        Layer = "layer",
        /// What is known of an attempt. Counts attempts.
        Mark = "mark",
        /// What came again and made nothing anew: not by operation, but by when it came.
        Repeat = "repeat",
    }
}

named! {
    /// What came again and was answered from the record.
    Repeat {
        /// A proposal with the key and the arguments of an operation that is there.
        Proposal = "proposal",
        /// A delivery with an id that is there.
        Delivery = "delivery",
    }
}

/// Figures that are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sum {
    /// Operations with at least one attempt.
    pub operations: i64,
    /// Their attempts, possible sends included.
    pub attempts: i64,
    /// Those of the operations that are uncertain now.
    pub uncertain: i64,
    /// Effects: distinct receipts of strength P3, counted at the first operation of each intent.
    pub effects: i64,
    /// Those of the effects that are one too many: all but the first of an intent.
    pub surplus: i64,
}

impl Sum {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            attempts: self.attempts + other.attempts,
            uncertain: self.uncertain + other.uncertain,
            effects: self.effects + other.effects,
            surplus: self.surplus + other.surplus,
        }
    }

    /// What takes it away again.
    #[must_use]
    pub const fn negated(self) -> Self {
        Self {
            operations: -self.operations,
            attempts: -self.attempts,
            uncertain: -self.uncertain,
            effects: -self.effects,
            surplus: -self.surplus,
        }
    }

    /// Whether it changes nothing.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// What is counted of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Its first attempt: where it counts.
    pub first_at: Timestamp,
    /// Its tool; empty where none is told.
    pub tool: String,
    /// Its destination; empty where none is told.
    pub destination: String,
    /// The word of its state.
    pub state: String,
    /// Its attempts.
    pub attempts: u32,
    /// Effects of its intent, if it is the first of it.
    pub effects: u32,
    /// How long it took from the first attempt until its outcome was known; nothing while it is not.
    pub resolved_in: Option<Took>,
    /// Its attempts by layer; an empty name where none is told.
    pub by_layer: BTreeMap<String, u32>,
    /// Its attempts by what is known of them.
    pub by_mark: BTreeMap<Mark, u32>,
}

impl Counted {
    /// What of an operation counts; nothing before its first attempt. `made` is one layer and mark an own attempt.
    pub fn of<'a>(
        head: &Head,
        row: &Projection,
        made: impl IntoIterator<Item = (Option<&'a str>, Mark)>,
    ) -> Option<Self> {
        let first_at = row.first_dispatched_at?;
        let (mut by_layer, mut by_mark) = (BTreeMap::new(), BTreeMap::new());
        for (layer, mark) in made {
            *by_layer.entry(layer.unwrap_or_default().to_owned()).or_default() += 1;
            *by_mark.entry(mark).or_default() += 1;
        }
        let is_resolved = matches!(row.state, State::Succeeded(_) | State::Failed(_));
        // Every operation of an intent shows all effects of it; the intent has the id of its first operation.
        let is_first = head.intent_id.as_str() == head.id.as_str();
        Some(Self {
            first_at,
            tool: head.tool.as_ref().map_or_else(String::new, ToolName::to_string),
            destination: head.destination.as_ref().map_or_else(String::new, DestinationName::to_string),
            state: row.state.word().into(),
            attempts: row.attempts,
            effects: if is_first { row.effects } else { 0 },
            resolved_in: is_resolved.then(|| Took::of(row.since.since(first_at))),
            by_layer,
            by_mark,
        })
    }

    /// How many of the effects are one too many.
    pub const fn surplus(&self) -> u32 {
        self.effects.saturating_sub(1)
    }

    fn sum(&self) -> Sum {
        Sum {
            operations: 1,
            attempts: self.attempts.into(),
            uncertain: i64::from(self.state == "uncertain"),
            effects: self.effects.into(),
            surplus: self.surplus().into(),
        }
    }

    /// Under which names it counts, and with what.
    pub fn shares(&self) -> Vec<(Dimension, String, Sum)> {
        let sum = self.sum();
        let attempts = |count: u32| Sum { operations: 1, attempts: count.into(), ..Sum::default() };
        let mut shares = vec![
            (Dimension::All, String::new(), sum),
            (Dimension::Tool, self.tool.clone(), sum),
            (Dimension::Destination, self.destination.clone(), sum),
            (Dimension::State, self.state.clone(), sum),
        ];
        shares.extend(self.by_layer.iter().map(|(layer, count)| (Dimension::Layer, layer.clone(), attempts(*count))));
        shares.extend(self.by_mark.iter().map(|(mark, count)| (Dimension::Mark, mark.name().into(), attempts(*count))));
        shares
    }
}

/// The beginning of the span of so many seconds in which a time lies.
pub fn span_start(at: Timestamp, span_s: i64) -> Timestamp {
    let span = span_s * SECOND;
    Timestamp::from_micros(at.as_micros().div_euclid(span) * span)
}

/// A time `span_s` seconds later.
pub const fn span_end(start: Timestamp, span_s: i64) -> Timestamp {
    Timestamp::from_micros(start.as_micros() + span_s * SECOND)
}

/// A part of a window that consists of whole spans of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// How long the spans are, in seconds.
    pub span_s: i64,
    /// Where the first begins.
    pub since: Timestamp,
    /// Where the last ends.
    pub until: Timestamp,
}

/// A window cut into whole spans, as long as they can be: quarters, hours, days, hours, quarters. Always five pieces, some
/// of them empty, in the order of time. The window's ends are ends of quarters.
pub fn pieces(since: Timestamp, until: Timestamp) -> [Piece; 5] {
    let [day, hour, quarter] = SPANS_S;
    let up = |at: Timestamp, span_s: i64| {
        let start = span_start(at, span_s);
        if start == at { at } else { span_end(start, span_s) }
    };
    let until = until.max(since);
    let first_hour = up(since, hour).min(until);
    let last_hour = span_start(until, hour).max(first_hour);
    let first_day = up(first_hour, day).min(last_hour);
    let last_day = span_start(last_hour, day).max(first_day);
    let piece = |span_s, since, until| Piece { span_s, since, until };
    [
        piece(quarter, since, first_hour),
        piece(hour, first_hour, first_day),
        piece(day, first_day, last_day),
        piece(hour, last_day, last_hour),
        piece(quarter, last_hour, until),
    ]
}

/// A duration as a histogram keeps it: which of four equal parts of which power of two milliseconds. What is read back is
/// the middle of the part, and differs from the duration by less than [`Took::ERROR_PERCENT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Took(u32);

impl Took {
    /// How far what is read back may be from what was measured, in per cent of it.
    pub const ERROR_PERCENT: u32 = 13;
    /// Below so many milliseconds every one is told apart.
    const EXACT: u64 = 4;

    /// The part in which a duration lies.
    pub fn of(span: Duration) -> Self {
        let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        if millis < Self::EXACT {
            return Self(u32::try_from(millis).unwrap_or(0));
        }
        let power = millis.ilog2();
        let part = u32::try_from((millis >> (power - 2)) & 3).unwrap_or(0);
        Self(4 + (power - 2) * 4 + part)
    }

    /// Its number, from 0.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The one with this number.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The middle of it.
    pub fn middle(self) -> Duration {
        let Some(above) = self.0.checked_sub(4) else { return Duration::from_millis(self.0.into()) };
        let (octave, part) = ((above / 4).min(58), u64::from(above % 4));
        let micros = (u128::from(4 + part) << octave) * 1_000 + ((1_000_u128 << octave) / 2);
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

/// How many took how long.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    counts: BTreeMap<Took, u64>,
}

impl Times {
    /// Adds so many.
    pub fn add(&mut self, took: Took, count: u64) {
        *self.counts.entry(took).or_default() += count;
    }

    /// Adds all of another.
    pub fn add_all(&mut self, other: &Self) {
        other.counts.iter().for_each(|(took, count)| self.add(*took, *count));
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The duration within which this share of them lies (nearest rank); nothing of nothing.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = (self.count() * percent).div_ceil(100).max(1);
        let mut passed = 0;
        let found = self.counts.iter().find(|(_, count)| {
            passed += **count;
            passed >= rank
        });
        found.map(|(took, _)| took.middle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, keyed, timed_out};
    use crate::tool::Class;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_window_is_cut_into_few_whole_spans_without_gap_or_overlap() {
        // A month in Kathmandu: midnight there is 18:15 UTC.
        let (since, until) = (at("2026-09-06T18:15:00Z"), at("2026-10-06T18:15:00Z"));
        let cut = pieces(since, until);
        let told: Vec<_> = cut.iter().map(|piece| (piece.span_s, piece.until.since(piece.since).as_secs())).collect();
        assert_eq!(told, [(900, 2_700), (3_600, 18_000), (86_400, 29 * 86_400), (3_600, 64_800), (900, 900)]);
        for window in
            [(since, until), (since, since), (since, at("2026-09-06T18:45:00Z")), (since, at("2026-09-07T02:00:00Z"))]
        {
            let cut = pieces(window.0, window.1);
            assert_eq!((cut[0].since, cut[4].until), window);
            assert!(cut.windows(2).all(|two| two[0].until == two[1].since), "{cut:?}");
            for piece in cut {
                assert!(piece.since <= piece.until, "{cut:?}");
                for end in [piece.since, piece.until] {
                    assert!(piece.since == piece.until || span_start(end, piece.span_s) == end, "{cut:?}");
                }
            }
        }
    }

    #[test]
    fn a_time_before_1970_lies_in_the_span_that_begins_before_it() {
        assert_eq!(span_start(at("1969-12-31T23:50:00Z"), 900), at("1969-12-31T23:45:00Z"));
    }

    #[test]
    fn a_duration_is_read_back_within_the_error_that_the_page_tells() {
        let mut before = None;
        for millis in (0..5_000).chain((5_000..100_000_000).step_by(9_973)) {
            let took = Took::of(Duration::from_millis(millis));
            assert!(before.is_none_or(|before| before <= took), "{millis}");
            before = Some(took);
            let off = took.middle().abs_diff(Duration::from_millis(millis)).as_micros();
            assert!(off * 100 <= u128::from(millis) * 1_000 * u128::from(Took::ERROR_PERCENT), "{millis}: {off} µs");
            assert_eq!(Took::of(took.middle()), took, "the middle lies within");
            assert_eq!(Took::from_number(took.number()), took);
        }
        assert!(Took::of(Duration::MAX).middle() > Duration::from_hours(1_000_000));
    }

    #[test]
    fn median_and_p90_are_the_durations_of_nearest_rank() {
        let mut times = Times::default();
        assert_eq!(times.percentile(50), None);
        for (millis, count) in [(1, 5), (2, 4), (3, 1)] {
            times.add(Took::of(Duration::from_millis(millis)), count);
        }
        let of = |percent| times.percentile(percent).unwrap().as_millis();
        assert_eq!((of(50), of(51), of(90), of(91), of(100)), (1, 2, 2, 3, 3));
    }

    #[test]
    fn an_operation_counts_with_all_its_attempts_where_its_first_was_made_and_not_before() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        let count = |rig: &Rig| {
            let record = rig.record("op");
            let row = record.row.as_ref().unwrap();
            Counted::of(&record.head, row, row.tally.iter().map(|notch| (notch.layer.as_deref(), notch.mark)))
        };
        assert_eq!(count(&rig), None);
        rig.send_and_end("op", timed_out());
        let counted = count(&rig).unwrap();
        assert_eq!((counted.state.as_str(), counted.attempts, counted.resolved_in), ("uncertain", 1, None));
        assert_eq!(counted.by_mark, [(Mark::Unknown, 1)].into());
        rig.receipt("op", "in_1");
        let later = count(&rig).unwrap();
        assert_eq!(later.first_at, counted.first_at);
        assert!(later.resolved_in.is_some() && later.effects == 1 && later.surplus() == 0, "{later:?}");
        let all: Sum = later.shares().iter().find(|(by, ..)| *by == Dimension::All).unwrap().2;
        assert_eq!((all.operations, all.attempts, all.uncertain), (1, 1, 0));
        assert!(all.plus(all.negated()).is_zero());
    }
}

//! Attempts drawn in lanes, one a retry layer: length is duration, a gap is back-off, overlap is visible.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Lens;
use super::state::marks_in_words;
use crate::operation::Mark;
use crate::outcome::{Ending, JudgedAttempt};
use crate::time::{Timestamp, span_in_words};
use crate::verdict::Verdict;

/// The most bars that are drawn. Where there are more attempts, neighbours in a lane become one bar.
const BARS: usize = 90;
/// The most lanes; where there are more layers, the last lane is that of all others.
const LANES: usize = 6;
/// The drawing's width in its own units.
pub const WIDTH: u32 = 1_000;
/// A bar is never narrower, or a short send beside a long pause could not be seen.
const NARROWEST: u32 = 7;

/// The drawing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LanesView {
    /// Lane names with how many attempts each has, top to bottom.
    pub lanes: Vec<(String, usize)>,
    /// The bars.
    pub bars: Vec<Bar>,
    /// Where the axis starts and ends.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// How long it is, in words.
    pub span: String,
    /// What the bars stand for, where not each is one attempt.
    pub note: Option<String>,
}

/// The bar of one attempt, or of several that follow each other closely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// Which lane.
    pub lane: usize,
    /// Its left edge.
    pub x: u32,
    /// Its length.
    pub width: u32,
    /// How it is drawn.
    pub mark: Mark,
    /// Whether it stands for several attempts.
    pub is_several: bool,
    /// In words.
    pub title: String,
}

/// How an attempt's notch and bar are drawn.
pub fn mark_of(attempt: &JudgedAttempt) -> Mark {
    if attempt.is_running {
        return Mark::Running;
    }
    match (attempt.closed.as_ref().map(|closure| closure.ending), attempt.judgement.verdict) {
        (Some(Ending::Positive), _) => Mark::Confirmed,
        (Some(_), Verdict::NotSent) => Mark::NotSent,
        (Some(_), _) => Mark::Refused,
        (None, _) => Mark::Unknown,
    }
}

/// When an attempt ended for the drawing: its reported end, else when it stopped counting as running.
fn end_of(attempt: &JudgedAttempt, now: Timestamp) -> Timestamp {
    let end = attempt.ended_at.unwrap_or(if attempt.is_running { now } else { attempt.runs_until });
    end.max(attempt.dispatched_at)
}

/// Attempts of one lane that are drawn as one bar.
struct Stretch<'a> {
    lane: usize,
    from: u32,
    to: u32,
    attempts: Vec<&'a JudgedAttempt>,
}

/// The drawing of these attempts; nothing where there are none.
pub fn lanes(attempts: &[JudgedAttempt], lens: &Lens<'_>) -> Option<LanesView> {
    let mut drawn: Vec<&JudgedAttempt> = attempts.iter().collect();
    drawn.sort_by_key(|attempt| attempt.dispatched_at);
    let from = drawn.first()?.dispatched_at;
    let to = drawn.iter().map(|attempt| end_of(attempt, lens.now)).max()?;
    let names = lane_names(&drawn);
    let lane_of = |attempt: &JudgedAttempt| {
        names.iter().position(|name| *name == layer_of(attempt)).unwrap_or(names.len().saturating_sub(1))
    };
    let place = |attempt: &JudgedAttempt| {
        (scaled(attempt.dispatched_at, from, to), scaled(end_of(attempt, lens.now), from, to))
    };
    let places: Vec<_> = drawn.iter().map(|attempt| (lane_of(attempt), place(attempt), *attempt)).collect();
    let count = |lane: usize| places.iter().filter(|(other, ..)| *other == lane).count();
    let mut view = LanesView {
        lanes: names.iter().enumerate().map(|(lane, name)| ((*name).to_owned(), count(lane))).collect(),
        from: lens.moment(from).short,
        to: lens.moment(to).short,
        span: span_in_words(to.since(from)),
        ..LanesView::default()
    };
    let mut stretches = stretches(&places, None);
    let mut gap = NARROWEST;
    while stretches.len() > BARS {
        stretches = self::stretches(&places, Some(gap));
        view.note = Some(note(places.len(), stretches.len(), to.since(from) * gap / WIDTH));
        gap *= 2;
    }
    view.bars = stretches.iter().map(|stretch| bar(stretch, lens)).collect();
    Some(view)
}

fn layer_of(attempt: &JudgedAttempt) -> &str {
    attempt.owner.as_ref().map_or("unnamed layer", |layer| layer.as_str())
}

/// The layers in order of their first attempt; of very many the first, and a name for all others.
fn lane_names<'a>(attempts: &[&'a JudgedAttempt]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in attempts.iter().map(|attempt| layer_of(attempt)) {
        if !names.contains(&name) {
            if names.len() == LANES {
                names[LANES - 1] = "other layers";
                break;
            }
            names.push(name);
        }
    }
    names
}

/// One stretch an attempt; or, with a gap, one for those of a lane that lie no further apart than that.
fn stretches<'a>(places: &[(usize, (u32, u32), &'a JudgedAttempt)], gap: Option<u32>) -> Vec<Stretch<'a>> {
    let mut found: Vec<Stretch<'a>> = Vec::new();
    let mut newest: [Option<usize>; LANES] = [None; LANES];
    for &(lane, (from, to), attempt) in places {
        let before = newest[lane].zip(gap).filter(|(at, gap)| from <= found[*at].to + gap);
        if let Some((at, _)) = before {
            found[at].to = found[at].to.max(to);
            found[at].attempts.push(attempt);
        } else {
            newest[lane] = Some(found.len());
            found.push(Stretch { lane, from, to, attempts: vec![attempt] });
        }
    }
    found
}

fn note(attempts: usize, bars: usize, gap: Duration) -> String {
    format!(
        "{attempts} attempts in {bars} bars: those of one layer that are less than {} apart are one bar. It is drawn as \
         the first of these that is among them: unknown, running, confirmed, refused, not sent.",
        span_in_words(gap.max(Duration::from_secs(1)))
    )
}

/// What is not known comes first, then what was done.
const fn rank(mark: Mark) -> u8 {
    match mark {
        Mark::Unknown => 0,
        Mark::Running => 1,
        Mark::Confirmed => 2,
        Mark::Refused => 3,
        Mark::NotSent => 4,
    }
}

fn bar(stretch: &Stretch<'_>, lens: &Lens<'_>) -> Bar {
    let x = stretch.from.min(WIDTH - NARROWEST);
    let marks: Vec<Mark> = stretch.attempts.iter().map(|attempt| mark_of(attempt)).collect();
    Bar {
        lane: stretch.lane,
        x,
        width: stretch.to.saturating_sub(x).clamp(NARROWEST, WIDTH - x),
        mark: marks.iter().copied().min_by_key(|mark| rank(*mark)).unwrap_or(Mark::Unknown),
        is_several: marks.len() > 1,
        title: title(stretch, &marks, lens),
    }
}

fn title(stretch: &Stretch<'_>, marks: &[Mark], lens: &Lens<'_>) -> String {
    let start = |attempt: &JudgedAttempt| lens.moment(attempt.dispatched_at).short;
    match stretch.attempts.as_slice() {
        [attempt] => {
            let took = span_in_words(end_of(attempt, lens.now).since(attempt.dispatched_at));
            format!("Attempt {} from {}, {took}: {}", attempt.number, start(attempt), attempt.judgement.text)
        }
        [first, .., last] => format!(
            "{} attempts, {} to {}, from {} to {}: {}",
            marks.len(),
            first.number,
            last.number,
            start(first),
            start(last),
            marks_in_words(marks)
        ),
        [] => String::new(),
    }
}

fn scaled(at: Timestamp, from: Timestamp, to: Timestamp) -> u32 {
    let (part, whole) = (at.since(from).as_micros(), to.since(from).as_micros());
    let share = (part * u128::from(WIDTH)).checked_div(whole).unwrap_or(0);
    u32::try_from(share).unwrap_or(WIDTH).min(WIDTH)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::name::LayerName;
    use crate::outcome::Closure;
    use crate::view::tests::{at, lens};
    use crate::view::timeline::tests::attempt;

    #[test]
    fn bars_keep_their_order_and_stay_inside_the_drawing() {
        let names = BTreeMap::new();
        let mut second = attempt(2);
        second.dispatched_at = at("2026-10-05T10:00:00Z");
        second.ended_at = Some(at("2026-10-05T10:00:01Z"));
        let view = lanes(&[second, attempt(1)], &lens(&names)).unwrap();
        assert_eq!(view.lanes, [("tool".to_owned(), 2)]);
        assert!(view.bars[0].title.starts_with("Attempt 1") && view.bars[1].title.starts_with("Attempt 2"), "{view:?}");
        assert_eq!(view.note, None);
        assert!(view.bars.iter().all(|bar| bar.x + bar.width <= WIDTH && bar.width >= NARROWEST), "{view:?}");
        assert_eq!(view.span, "59 min");
        assert_eq!(lanes(&[], &lens(&names)), None);
    }

    /// Runs of sends with a pause of an hour between them, in as many layers.
    fn many(layers: u32, runs: u32, each: u32) -> Vec<JudgedAttempt> {
        let mut made = Vec::new();
        for run in 0..runs {
            for number in 0..each {
                let start = at("2026-10-05T00:00:00Z").plus(Duration::from_secs(u64::from(run * 3_600 + number * 10)));
                let mut one = attempt(run * each + number + 1);
                one.owner = LayerName::parse(format!("layer-{}", (run + number) % layers)).ok();
                (one.dispatched_at, one.ended_at) = (start, Some(start.plus(Duration::from_secs(5))));
                made.push(one);
            }
        }
        made
    }

    #[test]
    fn very_many_attempts_are_few_bars_that_hide_neither_doubt_nor_pause() {
        let names = BTreeMap::new();
        let mut attempts = many(3, 10, 50);
        for one in &mut attempts {
            one.judgement.verdict = Verdict::NotSent;
            one.closed = Some(Closure { rule: "K1".into(), ending: Ending::NegativeRetryable, receipt: None });
        }
        attempts[77].closed = None;
        let view = lanes(&attempts, &lens(&names)).unwrap();
        assert!(view.bars.len() <= BARS, "{}", view.bars.len());
        assert_eq!(view.lanes.iter().map(|(_, count)| count).sum::<usize>(), 500);
        let note = view.note.unwrap();
        assert!(note.starts_with(&format!("500 attempts in {} bars: ", view.bars.len())), "{note}");
        let in_doubt: Vec<&Bar> = view.bars.iter().filter(|bar| bar.mark == Mark::Unknown).collect();
        assert_eq!(in_doubt.len(), 1);
        assert!(in_doubt[0].is_several && in_doubt[0].title.contains("1 unknown"), "{in_doubt:?}");
        let first_lane: Vec<&Bar> = view.bars.iter().filter(|bar| bar.lane == 0).collect();
        assert_eq!(first_lane.len(), 10, "each pause is still a gap");
        for pair in first_lane.windows(2) {
            assert!(pair[0].x + pair[0].width < pair[1].x, "{pair:?}");
        }
    }

    #[test]
    fn there_are_no_more_lanes_than_can_be_read_and_none_is_left_out() {
        let names = BTreeMap::new();
        let view = lanes(&many(40, 1, 120), &lens(&names)).unwrap();
        assert_eq!((view.lanes.len(), view.lanes[LANES - 1].0.as_str()), (LANES, "other layers"));
        assert_eq!(view.lanes.iter().map(|(_, count)| count).sum::<usize>(), 120);
    }
}

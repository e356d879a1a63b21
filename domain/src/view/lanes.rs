//! Attempts drawn in lanes, one a retry layer: length is duration, a gap is back-off, overlap is visible.

use serde::{Deserialize, Serialize};

use super::Lens;
use crate::operation::Mark;
use crate::outcome::{Ending, JudgedAttempt};
use crate::time::{Timestamp, span_in_words};
use crate::verdict::Verdict;

/// The most attempts that are drawn; the newest ones.
const DRAWN_LIMIT: usize = 60;
/// The drawing's width in its own units.
pub const WIDTH: u32 = 1_000;
/// A bar is never narrower, or a short send beside a long pause could not be seen.
const NARROWEST: u32 = 7;

/// The drawing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LanesView {
    /// Lane names, top to bottom.
    pub lanes: Vec<String>,
    /// The bars.
    pub bars: Vec<Bar>,
    /// Where the axis starts and ends.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// How long it is, in words.
    pub span: String,
}

/// One attempt's bar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// Which lane.
    pub lane: u32,
    /// Its left edge.
    pub x: u32,
    /// Its length.
    pub width: u32,
    /// How it is drawn.
    pub mark: Mark,
    /// The attempt's number.
    pub number: u32,
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

/// The drawing of these attempts; nothing where there are none.
pub fn lanes(attempts: &[JudgedAttempt], lens: &Lens<'_>) -> Option<LanesView> {
    let mut drawn: Vec<&JudgedAttempt> = attempts.iter().collect();
    drawn.sort_by_key(|attempt| attempt.dispatched_at);
    let drawn = drawn.split_off(drawn.len().saturating_sub(DRAWN_LIMIT));
    let from = drawn.first()?.dispatched_at;
    let to = drawn.iter().map(|attempt| end_of(attempt, lens.now)).max()?;
    let mut view = LanesView {
        from: lens.moment(from).short,
        to: lens.moment(to).short,
        span: span_in_words(to.since(from)),
        ..LanesView::default()
    };
    for attempt in drawn {
        let layer = attempt.owner.as_ref().map_or("unnamed layer", |layer| layer.as_str());
        let lane = view.lanes.iter().position(|name| name == layer).unwrap_or_else(|| {
            view.lanes.push(layer.to_owned());
            view.lanes.len() - 1
        });
        view.bars.push(bar(attempt, lane, from, to, lens));
    }
    Some(view)
}

fn bar(attempt: &JudgedAttempt, lane: usize, from: Timestamp, to: Timestamp, lens: &Lens<'_>) -> Bar {
    let end = end_of(attempt, lens.now);
    let x = scaled(attempt.dispatched_at, from, to).min(WIDTH - NARROWEST);
    let width = scaled(end, from, to).saturating_sub(x).clamp(NARROWEST, WIDTH - x);
    let took = span_in_words(end.since(attempt.dispatched_at));
    let start = lens.moment(attempt.dispatched_at).short;
    Bar {
        lane: u32::try_from(lane).unwrap_or(0),
        x,
        width,
        mark: mark_of(attempt),
        number: attempt.number,
        title: format!("Attempt {} from {start}, {took}: {}", attempt.number, attempt.judgement.text),
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
    use crate::view::tests::{at, lens};
    use crate::view::timeline::tests::attempt;

    #[test]
    fn bars_keep_their_order_and_stay_inside_the_drawing() {
        let names = BTreeMap::new();
        let mut second = attempt(2);
        second.dispatched_at = at("2026-10-05T10:00:00Z");
        second.ended_at = Some(at("2026-10-05T10:00:01Z"));
        let view = lanes(&[second, attempt(1)], &lens(&names)).unwrap();
        assert_eq!(view.lanes, ["tool"]);
        assert_eq!(view.bars.iter().map(|bar| bar.number).collect::<Vec<_>>(), [1, 2]);
        assert!(view.bars.iter().all(|bar| bar.x + bar.width <= WIDTH && bar.width >= NARROWEST), "{view:?}");
        assert_eq!(view.span, "59 min");
        assert_eq!(lanes(&[], &lens(&names)), None);
    }
}

//! Attempts and outcomes in the pages' words: the workspace's zone says where days begin, the record has the sums.

use tallystick_domain::query::OperationQuery;
use tallystick_domain::sums::{Sum, Times};
use tallystick_domain::time::Timestamp;
use tallystick_domain::view::Lens;
use tallystick_domain::view::outcomes::{
    OutcomesView, StandingView, Window, bar, both_in_words, breakdown, figures, layer_shares, mark_shares, mark_words,
    partial, rule, span, standing, state_shares, ticks,
};
use tallystick_ledger::outcomes::Standing;

use super::reading::{bad_query, borrowed};
use super::{Reader, told};
use crate::api::{ApiError, Pairs};

impl Reader {
    /// Attempts beside outcomes, in the window that the address asks for.
    pub async fn outcomes(&self, pairs: &Pairs) -> Result<OutcomesView, ApiError> {
        let window = Window::from_pairs(borrowed(pairs)).map_err(|error| bad_query(&error))?;
        let now = self.ledger.now().await.map_err(told)?;
        let ends = self.zone.bar_ends(window, now);
        let whole = (ends.first().copied().unwrap_or(now), ends.last().copied().unwrap_or(now));
        let sums = self.ledger.outcomes(&self.actor, whole.0, whole.1).await.map_err(told)?;
        let names = std::collections::BTreeMap::new();
        let lens = self.lens(sums.now, &names);
        let between: Vec<(Timestamp, Timestamp)> = ends.windows(2).map(|two| (two[0], two[1])).collect();
        let bars: Vec<Sum> = between.iter().map(|ends| sum_between(&sums.quarters, *ends)).collect();
        let all = bars.iter().fold(Sum::default(), |all, sum| all.plus(*sum));
        let contradicted = sums.by_state.iter().find(|(word, _)| word == "contradicted");
        let mut times = Times::default();
        sums.times.values().for_each(|of_tool| times.add_all(of_tool));
        let (ticks, top) = ticks(&bars);
        Ok(OutcomesView {
            window,
            span: span(window, whole, &lens),
            zone: self.zone.name().into(),
            rule: rule(window),
            words: both_in_words(all.operations, all.attempts),
            is_empty: all.operations == 0 && sums.repeats.is_empty(),
            standing: standing_view(sums.standing, &lens),
            figures: figures(
                &all,
                contradicted.map_or(0, |(_, sum)| sum.operations),
                |repeat| sums.repeats.get(&repeat).copied().unwrap_or(0),
                &times,
                whole,
            ),
            bars: bars.iter().zip(between).map(|(sum, ends)| bar(sum, ends, top, window, &lens)).collect(),
            ticks,
            tools: breakdown(&sums.by_tool, |tool| sums.times.get(tool), "tool", whole),
            destinations: breakdown(&sums.by_destination, |_| None, "destination", whole),
            states: state_shares(&sums.by_state, whole),
            layers: layer_shares(&sums.by_layer, whole),
            marks: mark_shares(&sums.by_mark, whole),
            as_of: lens.moment(sums.now),
            sequence: sums.sequence.to_string(),
        })
    }
}

fn sum_between(quarters: &[(Timestamp, Sum)], (since, until): (Timestamp, Timestamp)) -> Sum {
    let within = quarters.iter().filter(|(start, _)| since <= *start && *start < until);
    within.fold(Sum::default(), |all, (_, sum)| all.plus(*sum))
}

/// How far the sums have come, in words.
pub(super) fn standing_view(stands: Standing, lens: &Lens<'_>) -> StandingView {
    match stands {
        Standing::NotBegun => partial(false),
        Standing::Filling => partial(true),
        Standing::Behind { changes, moved_at } => standing(changes, moved_at, lens),
    }
}

/// What a list of operations is narrowed to beyond its form's fields, in words.
pub(super) fn narrowed(query: &OperationQuery, lens: &Lens<'_>) -> Vec<String> {
    let ends = match (query.since, query.until) {
        (Some(since), Some(until)) => {
            Some(format!("first attempt from {} until {}", lens.times.full(since), lens.times.full(until)))
        }
        (Some(since), None) => Some(format!("first attempt from {} on", lens.times.full(since))),
        (None, Some(until)) => Some(format!("first attempt before {}", lens.times.full(until))),
        (None, None) => None,
    };
    let layer = query.layer.as_ref().map(|layer| match layer.as_str() {
        tallystick_domain::query::UNTOLD => "with an attempt of which no layer is told".to_owned(),
        layer => format!("with an attempt by {layer}"),
    });
    let mark = query.mark.map(|mark| format!("with an attempt that is {}", mark_words(mark)));
    ends.into_iter().chain(layer).chain(mark).collect()
}

//! `/outcomes`: attempts beside logical outcomes. The chart is drawn on the server from the table beside it; whoever cannot
//! see the chart reads the table, and every number leads to the operations that it counts.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use tallystick_domain::view::outcomes::{
    BarView, BreakdownLine, BreakdownView, FigureView, OutcomesView, ShareView, StandingView, TickView, Window,
};

use super::loading::{Asked, Coming, Place, shown};
use super::pairs_of;
use crate::api::outcomes::get_outcomes;
use crate::components::notice::{banner, empty};
use crate::components::tally::share_bar;

/// The chart in its own units; the page makes it as wide as there is room.
const WIDTH: u32 = 880;
const HEIGHT: u32 = 330;
/// Where the bars begin, and how high they may stand.
const LEFT: u32 = 48;
const TOP: u32 = 14;
const PLOT: u32 = 270;

/// Attempts and outcomes.
#[component]
pub fn OutcomesPage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_outcomes(asked.pairs)) },
        concerns: |change, _| change.topic == "outcomes",
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: OutcomesView) -> AnyView {
    let OutcomesView { window, span, zone, rule, words, is_empty, standing, figures, .. } = view;
    let content = if is_empty {
        empty(
            "Nothing was attempted in this window",
            "Choose a longer one. What was proposed and not sent is in the queue and in the list of operations.",
        )
    } else {
        view! {
            {figures_box(figures)}
            <div class="outcomes__main">
                {chart_box(window, &view.bars, &view.ticks)} {bars_table(window, view.bars)}
            </div>
            {breakdown_box("tools", "By tool", "Tool", view.tools, true)}
            {breakdown_box("destinations", "By destination", "Destination", view.destinations, false)}
            <div class="outcomes__shares">
                {shares_box("states", "Operations by state", "State now", ("Operations", None), view.states)}
                {shares_box("layers", "Attempts by layer", "Layer", ("Attempts", Some("In operations")), view.layers)}
                {shares_box(
                    "marks",
                    "Attempts by verdict, after all evidence",
                    "Verdict",
                    ("Attempts", Some("In operations")),
                    view.marks,
                )}
            </div>
        }
        .into_any()
    };
    view! {
        <section class="page outcomes" aria-labelledby="outcomes-title">
            <div class="head">
                <h1 id="outcomes-title">"Attempts and outcomes"</h1>
                <p class="head__note">{words}</p>
            </div>
            {windows("/outcomes", window)}
            <div class="outcomes__rule">
                <p>{format!("{} of {zone}, the workspace's zone. ", if window.is_by_hour() { "Hours" } else { "Days" })} {span} "."</p>
                <p>{rule}</p>
                {says_standing(&standing)}
            </div>
            {standing.is_partial.then(|| banner("bad", "These figures are not all there is".into(), standing.words))}
            {content}
        </section>
    }
    .into_any()
}

/// How far back a place looks: a link each window.
pub(super) fn windows(place: &str, chosen: Window) -> AnyView {
    let links = Window::ALL
        .iter()
        .map(|window| {
            view! {
                <li>
                    <a
                        class="filter"
                        href=format!("{place}?window={}", window.name())
                        aria-current=(*window == chosen).then_some("true")
                    >
                        {window.label()}
                    </a>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="filters" aria-label="How far back">{links}</ul> }.into_any()
}

fn says_standing(standing: &StandingView) -> Option<AnyView> {
    (!standing.is_partial).then(|| view! { <p>{standing.words.clone()}</p> }.into_any())
}

fn figures_box(figures: Vec<FigureView>) -> AnyView {
    let figures = figures
        .into_iter()
        .map(|one| {
            let value = match one.href {
                Some(href) => view! { <a href=href>{one.value}</a> }.into_any(),
                None => one.value.into_any(),
            };
            view! {
                <div class="figure" class:figure--loud=one.is_loud>
                    <dt>{one.name}</dt>
                    <dd class="figure__value">{value}</dd>
                    <dd class="figure__of">{one.of}</dd>
                </div>
            }
        })
        .collect_view();
    view! { <dl class="box figures">{figures}</dl> }.into_any()
}

fn chart_box(window: Window, bars: &[BarView], ticks: &[TickView]) -> AnyView {
    let title = if window.is_by_hour() { "Per hour" } else { "Per day" };
    view! {
        <section class="box outcomes__chart" aria-labelledby="chart-title">
            <h2 class="box__title" id="chart-title">
                {title}
            </h2>
            <p class="legend">
                <span class="legend__one">
                    <svg class="legend__sign" viewBox="0 0 12 12" aria-hidden="true">
                        <rect class="chart__solid" width="12" height="12" rx="2"></rect>
                    </svg>
                    "operations"
                </span>
                <span class="legend__one">
                    <svg class="legend__sign" viewBox="0 0 12 12" aria-hidden="true">
                        {hatch("legend-hatch")}
                        <rect class="chart__ground" width="12" height="12" rx="2"></rect>
                        <rect class="chart__hatched" width="12" height="12" rx="2" fill="url(#legend-hatch)"></rect>
                    </svg>
                    "further attempts of the same operations"
                </span>
                <span class="legend__one quiet">"under each bar: attempts per operation"</span>
            </p>
            <div class="outcomes__scroll">{chart(bars, ticks)}</div>
        </section>
    }
    .into_any()
}

/// The same numbers as the table beside it, so that it is hidden from those who listen. Its links are for a pointer.
fn chart(bars: &[BarView], ticks: &[TickView]) -> AnyView {
    let count = u32::try_from(bars.len()).unwrap_or(1).max(1);
    let room = WIDTH - LEFT - 8;
    let lines = ticks
        .iter()
        .map(|tick| {
            let y = TOP + PLOT - tick.height * PLOT / 1_000;
            view! {
                <line class="chart__line" x1=LEFT.to_string() x2=(WIDTH - 8).to_string() y1=y.to_string() y2=y.to_string()></line>
                <text class="chart__scale" x=(LEFT - 8).to_string() y=(y + 4).to_string() text-anchor="end">
                    {tick.label.clone()}
                </text>
            }
        })
        .collect_view();
    // Times of day are wider than a bar of many; the table has all of them.
    let every = if bars.iter().any(|bar| bar.label.contains(':')) { (count * 46).div_ceil(room).max(1) } else { 1 };
    let bars = bars
        .iter()
        .zip(0_u32..)
        .map(|(bar, index)| {
            let is_first = index == 0 && !bar.label.contains(':');
            let place = (LEFT + index * room / count, room / count);
            one_bar(bar, place, (is_first, index.is_multiple_of(every)))
        })
        .collect_view();
    view! {
        <svg class="chart" viewBox=format!("0 0 {WIDTH} {HEIGHT}") aria-hidden="true">
            <defs>{hatch("chart-hatch")}</defs>
            {lines}
            {bars}
        </svg>
    }
    .into_any()
}

/// The pattern of what is not certain, or further than the first.
pub(super) fn hatch(id: &'static str) -> AnyView {
    view! {
        <pattern id=id width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <line class="chart__hatch" x1="0" y1="0" x2="0" y2="6"></line>
        </pattern>
    }
    .into_any()
}

fn one_bar(bar: &BarView, (x, width): (u32, u32), (is_first, has_label): (bool, bool)) -> AnyView {
    let (middle, inner) = (x + width / 2, (width * 62 / 100).clamp(4, 44));
    let left = middle - inner / 2;
    // Something is never drawn as nothing.
    let drawn = |thousandths: u32, is_there: bool| (thousandths * PLOT / 1_000).max(if is_there { 2 } else { 0 });
    let solid = drawn(bar.solid, bar.href.is_some());
    let hatched = drawn(bar.hatched, bar.attempts != bar.operations && bar.href.is_some());
    let (solid_y, hatched_y) = (TOP + PLOT - solid, (TOP + PLOT - solid).saturating_sub(hatched));
    let title = format!(
        "{}: {} operations · {} attempts · {} attempts per operation{}",
        bar.name,
        bar.operations,
        bar.attempts,
        bar.ratio,
        bar.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"))
    );
    let stacked = view! {
        <title>{title}</title>
        <rect class="chart__hit" x=x.to_string() y=TOP.to_string() width=width.to_string() height=PLOT.to_string()></rect>
        <rect class="chart__solid" x=left.to_string() y=solid_y.to_string() width=inner.to_string() height=solid.to_string() rx="1.5"></rect>
        <rect class="chart__ground" x=left.to_string() y=hatched_y.to_string() width=inner.to_string() height=hatched.to_string()></rect>
        <rect
            class="chart__hatched"
            x=left.to_string()
            y=hatched_y.to_string()
            width=inner.to_string()
            height=hatched.to_string()
            fill="url(#chart-hatch)"
        ></rect>
    }
    .into_any();
    let stacked = match &bar.href {
        Some(href) => view! {
            <a href=href.clone() tabindex="-1">
                {stacked}
            </a>
        }
        .into_any(),
        None => stacked,
    };
    // The month where one begins, and at the first bar.
    let label = if is_first || bar.label == "1" { bar.name.clone() } else { bar.label.clone() };
    let label = has_label.then(|| {
        view! {
            <text class="chart__label" x=middle.to_string() y=(TOP + PLOT + 18).to_string() text-anchor="middle">
                {label}
            </text>
        }
    });
    view! {
        {stacked}
        {label}
        <text
            class="chart__ratio"
            class:chart__ratio--loud=bar.is_loud
            x=middle.to_string()
            y=(TOP + PLOT + 35).to_string()
            text-anchor="middle"
        >
            {bar.ratio.clone()}
        </text>
    }
    .into_any()
}

fn bars_table(window: Window, bars: Vec<BarView>) -> AnyView {
    let (head, caption) = if window.is_by_hour() {
        ("Hour", "Operations and attempts per hour, the newest first")
    } else {
        ("Day", "Operations and attempts per day, the newest first")
    };
    let rows = bars
        .into_iter()
        .rev()
        .map(|bar| {
            let name = match bar.href {
                Some(href) => view! { <a href=href>{bar.name}</a> }.into_any(),
                None => bar.name.into_any(),
            };
            view! {
                <tr>
                    <th scope="row">{name} {bar.note.map(|note| view! { <span class="quiet">{format!(" {note}")}</span> })}</th>
                    <td class="number">{bar.operations}</td>
                    <td class="number">{bar.attempts}</td>
                    <td class="number" class:loud=bar.is_loud>
                        {bar.ratio}
                    </td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="box outcomes__table" tabindex="0" role="region" aria-label="The numbers of the chart">
            <table class="plain">
                <caption class="box__title">{caption}</caption>
                <thead>
                    <tr>
                        <th scope="col">{head}</th>
                        <th scope="col" class="number">"Operations"</th>
                        <th scope="col" class="number">"Attempts"</th>
                        <th scope="col" class="number">"Ratio"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn breakdown_box(
    id: &'static str,
    title: &'static str,
    head: &'static str,
    table: BreakdownView,
    has_times: bool,
) -> AnyView {
    let left_out = table.left_out;
    let rows = table.rows.into_iter().map(|line| breakdown_row(line, has_times)).collect_view();
    let times = has_times.then(|| {
        view! {
            <th scope="col" class="number">"Median to resolution"</th>
            <th scope="col" class="number">"90 % within"</th>
        }
    });
    let part = (left_out > 0)
        .then(|| view! { <p class="quiet">{format!("{left_out} more are left out, those with the fewest further attempts.")}</p> });
    view! {
        <div class="box table-wrap" tabindex="0" role="region" aria-label=title>
            <table class="plain" id=id>
                <caption class="box__title">{title} ", most further attempts first"</caption>
                <thead>
                    <tr>
                        <th scope="col">{head}</th>
                        <th scope="col" class="number">"Operations"</th>
                        <th scope="col" class="number">"Attempts"</th>
                        <th scope="col" class="number">"Per operation"</th>
                        <th scope="col" class="number">"Uncertain now"</th>
                        <th scope="col" class="number">"Surplus effects"</th>
                        {times}
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
            {part}
        </div>
    }
    .into_any()
}

fn breakdown_row(line: BreakdownLine, has_times: bool) -> AnyView {
    let times = has_times.then(|| {
        let (median, p90) = line.times.unwrap_or_else(|| ("–".into(), "–".into()));
        view! {
            <td class="number">{median}</td>
            <td class="number">{p90}</td>
        }
    });
    view! {
        <tr>
            <th scope="row">{named(line.name, line.href)}</th>
            <td class="number">{line.operations}</td>
            <td class="number">{line.attempts}</td>
            <td class="number" class:loud=line.is_loud>
                {line.ratio}
            </td>
            <td class="number">{line.uncertain}</td>
            <td class="number">{line.surplus}</td>
            {times}
        </tr>
    }
    .into_any()
}

/// A name that leads to what is counted under it.
pub(super) fn named(name: Option<String>, href: String) -> AnyView {
    match name {
        Some(name) => view! {
            <a class="code" href=href>
                {name}
            </a>
        }
        .into_any(),
        None => view! { <a href=href>"not told"</a> }.into_any(),
    }
}

fn shares_box(
    id: &'static str,
    title: &'static str,
    head: &'static str,
    (counts, among): (&'static str, Option<&'static str>),
    shares: Vec<ShareView>,
) -> AnyView {
    let rows = shares
        .into_iter()
        .map(|one| {
            view! {
                <tr>
                    <th scope="row">{named(one.name, one.href)}</th>
                    <td class="number">{one.count}</td>
                    <td class="number">{one.share} " " {share_bar(one.percent)}</td>
                    {among.map(|_| view! { <td class="number">{one.operations}</td> })}
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="box table-wrap" tabindex="0" role="region" aria-label=title>
            <table class="plain" id=id>
                <caption class="box__title">{title}</caption>
                <thead>
                    <tr>
                        <th scope="col">{head}</th>
                        <th scope="col" class="number">{counts}</th>
                        <th scope="col" class="number">"Share of all"</th>
                        {among.map(|among| view! { <th scope="col" class="number">{among}</th> })}
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

//! Attempts drawn in lanes, one a retry layer. The same is told in words by the timeline below it.

use leptos::prelude::*;
use tallystick_domain::operation::Mark;
use tallystick_domain::view::lanes::{Bar, LanesView, WIDTH};

/// A lane's height in the drawing's own units.
const LANE: usize = 32;

/// The drawing.
pub fn lanes(view: LanesView) -> AnyView {
    let height = view.lanes.len() * LANE;
    let attempts: usize = view.lanes.iter().map(|(_, count)| count).sum();
    let spoken = format!("{attempts} attempts in {} lanes, from {} to {}.", view.lanes.len(), view.from, view.to);
    let name = |(name, count): (String, usize)| {
        view! {
            <span class="lanes__name">
                <span class="lanes__layer">{name}</span>
                <span class="quiet">{format!("×{count}")}</span>
            </span>
        }
    };
    let names = view.lanes.into_iter().map(name).collect_view();
    let note = view.note.map(|note| view! { <p class="lanes__note">{note}</p> });
    let lines = (1..=height / LANE)
        .map(|lane| {
            let y = (lane * LANE).to_string();
            view! { <line class="lanes__line" x1="0" x2=WIDTH.to_string() y1=y.clone() y2=y></line> }
        })
        .collect_view();
    let bars = view.bars.into_iter().map(bar).collect_view();
    view! {
        <div class="lanes">
            <div class="lanes__names" aria-hidden="true">
                {names}
            </div>
            <svg
                class="lanes__drawing"
                viewBox=format!("0 0 {WIDTH} {height}")
                preserveAspectRatio="none"
                height=height.to_string()
                role="img"
                aria-label=spoken
            >
                <defs>
                    <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                        <rect class="hatch__ground" width="6" height="6"></rect>
                        <rect class="hatch__line" width="2.5" height="6"></rect>
                    </pattern>
                </defs>
                {lines}
                {bars}
            </svg>
            <div class="lanes__axis" aria-hidden="true">
                <span>{view.from}</span>
                <span>{view.span}</span>
                <span>{view.to}</span>
            </div>
            {note}
        </div>
    }
    .into_any()
}

fn bar(bar: Bar) -> AnyView {
    // What stands for several attempts is higher than one.
    let (above, height) = if bar.is_several { (5, "22") } else { (9, "14") };
    let y = bar.lane * LANE + above;
    let fill = (bar.mark == Mark::Unknown).then_some("url(#hatch)");
    view! {
        <rect
            class=format!("lanes__bar lanes__bar--{}", bar.mark.name())
            x=bar.x.to_string()
            y=y.to_string()
            width=bar.width.to_string()
            height=height
            fill=fill
            vector-effect="non-scaling-stroke"
        >
            <title>{bar.title}</title>
        </rect>
    }
    .into_any()
}

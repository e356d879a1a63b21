//! The tally: one notch an attempt, grouped by layer. Hatched is unknown, hollow never left, red was refused, green is confirmed.

use leptos::prelude::*;
use tallystick_domain::operation::Mark;
use tallystick_domain::view::state::{TallyView, WindowView};

/// One notch.
pub fn notch(mark: Mark) -> AnyView {
    view! { <i class=format!("notch notch--{}", mark.name())></i> }.into_any()
}

/// The notches of an operation with what they add up to.
pub fn tally(tally: TallyView) -> AnyView {
    let groups = tally
        .groups
        .into_iter()
        .map(|group| {
            let notches = group.marks.into_iter().map(notch).collect_view();
            view! {
                <span class="tally__group" title=group.layer>
                    {notches}
                </span>
            }
        })
        .collect_view();
    let more = tally.more.map(|more| view! { <span class="tally__more">{more}</span> });
    view! {
        <span class="tally" class:tally--loud=tally.is_loud>
            <span class="tally__notches" role="img" aria-label=tally.spoken>
                {more}
                {groups}
            </span>
            <span class="tally__caption">{tally.caption}</span>
        </span>
    }
    .into_any()
}

/// How long the key still protects: words, and a bar of what is left.
pub fn key_window(window: WindowView) -> AnyView {
    let bar = window.percent.map(|percent| share_bar(u32::from(percent)));
    let until = window.until.map(|until| format!("until {until}"));
    view! {
        <span class="window" class:window--urgent=window.is_urgent title=until>
            <span class="window__text">{window.text}</span>
            {bar}
        </span>
    }
    .into_any()
}

/// A bar of what is left, in per cent. The words beside it say the same.
pub fn share_bar(percent: u32) -> AnyView {
    view! {
        <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="bar__whole" width="100" height="4" rx="2"></rect>
            <rect class="bar__left" width=percent.to_string() height="4" rx="2"></rect>
        </svg>
    }
    .into_any()
}

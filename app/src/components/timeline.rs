//! The timeline: what happened and what was learned, newest first.

use leptos::prelude::*;
use tallystick_domain::view::operation::EntryView;
use tallystick_domain::view::timeline::{Item, Repeats, Sign, TimelineView};

use super::badge::{state_badge, strength_badge};
use super::difference::difference;
use super::icon::icon;
use super::rules::rules_behind;
use super::tally::notch;
use super::time::time;

/// A page of it. `place` is the address of the page that passes so many of the newest entries over.
pub fn timeline(view: TimelineView, place: impl Fn(&str) -> String) -> AnyView {
    let link = |passed_over: Option<String>, name: &'static str| {
        passed_over.map(|count| view! { <a class="button" href=place(&count)>{name}</a> })
    };
    let (newer, older) = (link(view.newer, "Newer entries"), link(view.older, "Older entries"));
    let pages = (newer.is_some() || older.is_some())
        .then(|| view! { <nav class="timeline__pages" aria-label="Timeline">{newer} {older}</nav> });
    view! {
        <ol class="timeline">{view.items.into_iter().map(item).collect_view()}</ol>
        {pages}
    }
    .into_any()
}

fn sign_view(sign: Sign) -> AnyView {
    let name = match sign {
        Sign::Attempt(mark) => return notch(mark),
        Sign::Proposal => "proposal",
        Sign::Conflict => "conflict",
        Sign::Delivery => "delivery",
        Sign::LookUp => "search",
        Sign::Person => "person",
        Sign::History => "history",
        Sign::Undo => "undo",
    };
    icon(name).into_any()
}

fn item(item: Item) -> AnyView {
    let quote = item.quote.map(|words| view! { <blockquote class="timeline__quote">{words}</blockquote> });
    let strength = item.strength.map(strength_badge);
    let notes = (!item.notes.is_empty()).then(|| view! { <p class="timeline__notes">{item.notes.join(" · ")}</p> });
    let text = (!item.text.is_empty()).then(|| view! { <span class="timeline__text">{item.text}</span> });
    let differs = item.difference.map(difference);
    let repeats = item.repeats.map(repeats);
    view! {
        <li class="timeline__item">
            <span class="timeline__time">{time(item.at)}</span>
            <span class="timeline__sign" aria-hidden="true">
                {sign_view(item.sign)}
            </span>
            <div class="timeline__body">
                <p>
                    <strong>{item.title}</strong>
                    " "
                    {text}
                    " "
                    {strength}
                </p>
                {notes}
                {rules_behind(item.rules, "Why: rules")}
                {quote}
                {differs}
                {repeats}
            </div>
        </li>
    }
    .into_any()
}

/// Many of them stand here: each is as short as it can be.
fn repeats(view: Repeats) -> AnyView {
    let lines = view
        .lines
        .into_iter()
        .map(|one| view! { <li><time datetime=one.at.utc>{one.at.short}</time> " " {one.title}</li> })
        .collect_view();
    let more = view.more.map(|more| view! { <p>{more}</p> });
    view! {
        <details class="timeline__repeats">
            <summary>{view.label}</summary>
            <ul>{lines}</ul>
            {more}
        </details>
    }
    .into_any()
}

/// Journal entries: who changed what by which rules.
pub fn journal(entries: Vec<EntryView>) -> AnyView {
    let lines = entries
        .into_iter()
        .map(|entry| {
            let from = entry.from.map(|from| view! { {state_badge(from)} " → " });
            view! {
                <li class="journal__entry">
                    <span class="journal__version">{format!("v{}", entry.version)}</span>
                    {time(entry.at)}
                    <span>
                        <strong>{entry.by}</strong>
                        " "
                        {entry.command}
                    </span>
                    <span class="journal__states">{from} {state_badge(entry.to)}</span>
                    <span class="quiet">{entry.rules}</span>
                </li>
            }
        })
        .collect_view();
    view! { <ol class="journal">{lines}</ol> }.into_any()
}

//! Operations as rows of a table, for the queue and for the list of all.

use leptos::prelude::*;
use tallystick_domain::view::list::RowView;

use super::badge::{chip, state_badge};
use super::choosing::row_box;
use super::tally::{key_window, tally};
use super::time::time;

/// A row with where its links lead.
pub struct LinkedRow {
    /// What it shows.
    pub row: RowView,
    /// The operation's page.
    pub href: String,
    /// Where its decision is shown beside the list, in the queue.
    pub select_href: Option<String>,
    /// Whether its decision is shown.
    pub is_chosen: bool,
    /// Whether it has a box for acting on many, and whether that is checked to begin with.
    pub has_box: Option<bool>,
}

/// A heading by which the list can be ordered.
pub struct OrderLink {
    /// Where the list in that order is.
    pub href: String,
    /// `ascending` or `descending`, where it is in that order now.
    pub sorted: Option<&'static str>,
}

/// Headings by which a list can be ordered; those without a link are words alone.
#[derive(Default)]
pub struct Orders {
    /// What is at stake.
    pub stake: Option<OrderLink>,
    /// How long the key still protects: the order of urgency begins with it.
    pub window: Option<OrderLink>,
    /// How long it has been as it is.
    pub age: Option<OrderLink>,
}

fn heading(class: &'static str, text: &'static str, link: Option<OrderLink>) -> AnyView {
    let Some(OrderLink { href, sorted }) = link else {
        return view! { <th scope="col" class=class>{text}</th> }.into_any();
    };
    let sign = sorted.map(|sorted| if sorted == "ascending" { " ↑" } else { " ↓" });
    view! {
        <th scope="col" class=class aria-sort=sorted>
            <a class="rows__order" href=href>
                {text}
                <span aria-hidden="true">{sign}</span>
            </a>
        </th>
    }
    .into_any()
}

/// The table. `caption` names it for screen readers.
pub fn operation_table(caption: &'static str, rows: Vec<LinkedRow>, orders: Orders) -> AnyView {
    let Orders { stake, window, age } = orders;
    let boxes = rows.iter().any(|row| row.has_box.is_some());
    let boxes = boxes.then(|| view! { <th scope="col" class="rows__choose"><span class="unseen">"Chosen"</span></th> });
    let rows = rows.into_iter().map(row_view).collect_view();
    view! {
        <table class="rows rows--operations">
            <caption class="unseen">{caption}</caption>
            <thead>
                <tr>
                    {boxes}
                    <th scope="col" class="rows__state">"State"</th>
                    <th scope="col">"Operation"</th>
                    {heading("number rows__stake", "At stake", stake)}
                    <th scope="col" class="rows__evidence">"Attempts and evidence"</th>
                    {heading("rows__window", "Key protects", window)}
                    {heading("number rows__age", "Age", age)}
                    <th scope="col" class="rows__next">"First to do"</th>
                </tr>
            </thead>
            <tbody data-kept="">{rows}</tbody>
        </table>
    }
    .into_any()
}

fn row_view(linked: LinkedRow) -> AnyView {
    let LinkedRow { row, href, select_href, is_chosen, has_box } = linked;
    let chooses = has_box.map(|checked| view! { <td class="rows__choose">{row_box(&row.id, &row.key, checked)}</td> });
    let select = select_href.map(|href| {
        let label = format!("Show what may be done about {}", row.key);
        view! { <a class="rows__select" href=href data-noscroll="" aria-label=label aria-current=is_chosen.then_some("true")></a> }
    });
    let said = row.chips.iter().map(|chip| chip.text.as_str()).collect::<Vec<_>>().join(" · ");
    let chips = if row.chips.is_empty() {
        view! { <span class="quiet">"nothing yet"</span> }.into_any()
    } else {
        row.chips.into_iter().map(chip).collect_view().into_any()
    };
    let mut target = row.target;
    target.push_str(if row.is_observed { " · observed" } else { "" });
    target.push_str(if row.key_given { "" } else { " · came without a key" });
    let owner = row.assignee.map(|name| view! { <span class="rows__owner">{name}</span> });
    let finding = row.finding.map(|(text, count)| {
        let title = text.clone();
        view! {
            <span class="rows__finding" title=title>
                <span aria-hidden="true">"⚠ "</span>
                {if count == 1 { "1 finding".to_owned() } else { format!("{count} findings") }}
                <span class="unseen">": " {text}</span>
            </span>
        }
    });
    view! {
        <tr data-id=row.id.clone() class:rows__row--chosen=is_chosen>
            {chooses}
            <td class="rows__state">
                {select}
                {state_badge(row.badge)}
            </td>
            <th scope="row" class="rows__operation">
                <a class="rows__key" href=href title=row.key.clone()>
                    {elided(&row.key)}
                </a>
                <span class="rows__target">{target}</span>
            </th>
            <td class="number rows__stake">{row.stake.unwrap_or_else(|| "–".into())}</td>
            <td class="rows__evidence">
                <span class="rows__tally">{tally(row.tally)} {finding}</span>
                <span class="rows__chips" title=said>
                    {chips}
                </span>
            </td>
            <td class="rows__window">{key_window(row.window)}</td>
            <td class="number rows__age">
                {row.age} <span class="rows__since">"since " {time(row.since)}</span>
            </td>
            <td class="rows__next">
                {row.recommended}
                {owner}
            </td>
        </tr>
    }
    .into_any()
}

/// A key of which the middle gives way first: its end tells most.
fn elided(key: &str) -> AnyView {
    let length = key.chars().count();
    let split = key.char_indices().nth(length.saturating_sub(10)).map_or(0, |(at, _)| at);
    let (head, tail) = key.split_at(if length > 20 { split } else { key.len() });
    let tail = (!tail.is_empty()).then(|| view! { <span>{tail.to_owned()}</span> });
    view! {
        <span class="elided">
            <span class="elided__head">{head.to_owned()}</span>
            {tail}
        </span>
    }
    .into_any()
}

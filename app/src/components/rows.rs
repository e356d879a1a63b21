//! Operations as rows of a table, for the queue and for the list of all.

use leptos::prelude::*;
use tallystick_domain::view::list::RowView;

use super::badge::{chip, state_badge};
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
    /// Whether it no longer belongs into the list; it stays where it was until the list is read anew.
    pub is_gone: bool,
}

/// The table. `caption` names it for screen readers.
pub fn operation_table(caption: &'static str, rows: Vec<LinkedRow>) -> AnyView {
    let rows = rows.into_iter().map(row_view).collect_view();
    view! {
        <table class="rows">
            <caption class="unseen">{caption}</caption>
            <thead>
                <tr>
                    <th scope="col">"State"</th>
                    <th scope="col">"Operation"</th>
                    <th scope="col" class="number">"At stake"</th>
                    <th scope="col">"Attempts and evidence"</th>
                    <th scope="col">"Key protects for"</th>
                    <th scope="col" class="number">"Age"</th>
                    <th scope="col" class="rows__next">"First thing to do"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

fn row_view(linked: LinkedRow) -> AnyView {
    let LinkedRow { row, href, select_href, is_chosen, is_gone } = linked;
    let select = select_href.map(|href| {
        let label = format!("Show what may be done about {}", row.key);
        view! { <a class="rows__select" href=href aria-label=label aria-current=is_chosen.then_some("true")></a> }
    });
    let chips = if row.chips.is_empty() {
        view! { <span class="quiet">"nothing yet"</span> }.into_any()
    } else {
        row.chips.into_iter().map(chip).collect_view().into_any()
    };
    let no_key = (!row.key_given).then(|| view! { <span class="tag" title="No key came with it">"no key"</span> });
    let observed = row.is_observed.then(|| view! { <span class="tag" title="Somebody else sends it">"observed"</span> });
    let owner = row.assignee.map(|name| view! { <span class="rows__owner">{name}</span> });
    let finding = row.finding.map(|(text, count)| {
        let more = if count > 1 { format!(" (+{})", count - 1) } else { String::new() };
        view! { <span class="rows__finding">{text}{more}</span> }
    });
    view! {
        <tr class:rows__row--chosen=is_chosen class:rows__row--gone=is_gone>
            <td class="rows__state">
                {select}
                {state_badge(row.badge)}
                {is_gone.then(|| view! { <span class="quiet">"no longer waits here"</span> })}
            </td>
            <th scope="row" class="rows__operation">
                <a class="rows__key" href=href title=row.key.clone()>
                    {row.key.clone()}
                </a>
                <span class="rows__target">{row.target} " " {observed} " " {no_key}</span>
            </th>
            <td class="number rows__stake">{row.stake.unwrap_or_else(|| "–".into())}</td>
            <td class="rows__evidence">
                {tally(row.tally)}
                <span class="rows__chips">{chips}</span>
                {finding}
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

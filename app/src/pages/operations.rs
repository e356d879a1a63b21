//! `/operations`: every operation, newest first, or what a search finds, by key; filters and search stand in the address.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use tallystick_domain::operation::State;
use tallystick_domain::query::OperationQuery;
use tallystick_domain::view::counted;
use tallystick_domain::view::export::ROWS_LIMIT;
use tallystick_domain::view::list::OperationsView;
use tallystick_domain::view::outcomes::number;

use super::loading::{Asked, Coming, Place, shown};
use super::{address, pairs_of, value, with, without};
use crate::api::Pairs;
use crate::api::operation::get_operations;
use crate::components::choosing::{PARAMETER, boxes, choosing};
use crate::components::field::hidden;
use crate::components::notice::{empty, more, searched};
use crate::components::rows::{LinkedRow, Orders, operation_table};
use crate::components::saved_views::{said, saved_views};
use crate::morph::is_shown;

/// Filters that other pages link to and the form only keeps.
const COUNTED: [&str; 4] = ["since", "until", "layer", "mark"];

/// All operations.
#[component]
pub fn OperationsPage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_operations(asked.pairs)) },
        concerns: |change, _| change.topic == "operation" && is_shown(&change.id),
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: OperationsView, asked: &Pairs) -> AnyView {
    // What is chosen belongs to these rows and no others: it goes into no link but those that choose.
    let pairs = &without(asked, &[PARAMETER, "view", "not_saved"]);
    let boxes = boxes(view.choosing.as_ref());
    let here = address("/operations", pairs);
    let is_filtered = pairs.iter().any(|(name, value)| name != "limit" && !value.is_empty());
    let count = view.rows.len();
    let rows: Vec<LinkedRow> = view
        .rows
        .into_iter()
        .map(|row| LinkedRow {
            href: address(&format!("/operations/{}", row.id), &vec![("back".into(), here.clone())]),
            select_href: None,
            is_chosen: false,
            has_box: boxes,
            row,
        })
        .collect();
    let (order, caption) = match (value(pairs, "search"), view.narrowed.is_empty()) {
        (Some(_), _) => ("by key", "Operations, by key"),
        (None, true) => ("newest first", "Operations, newest first"),
        (None, false) => ("last first attempt first", "Operations, the last first attempt first"),
    };
    let list = match (rows.is_empty(), is_filtered) {
        (true, _) if view.is_partly_searched => empty(
            "No operation matches yet",
            "Only a part of the keys with this beginning was looked through. There are more: look on.",
        ),
        (true, true) => empty(
            "No operation matches",
            "The whole record was searched. Take a filter away, or look for the start of the key.",
        ),
        (true, false) => empty(
            "No operation is on record",
            "Import what already happened with `tallystick import FILE`, or let an agent propose with POST /api/v1/operations.",
        ),
        (false, _) => operation_table(caption, rows, Orders::default()),
    };
    let choosing = view
        .choosing
        .filter(|_| count > 0)
        .map(|view| choosing(&view, asked, |to| address("/operations", &with(pairs, PARAMETER, to)), count));
    let file = (count > 0).then(|| csv_link(pairs));
    let next = view.next.map(|after| address("/operations", &with(pairs, "after", &after)));
    let rest = match next {
        Some(next) if view.is_partly_searched => {
            let found = counted(count, "operation was found", "operations were found");
            searched(format!("{found} in the keys that were looked through; there are more keys."), next)
        }
        next => more(next, count),
    };
    view! {
        <section aria-labelledby="operations-title" class="page">
            <div class="head">
                <h1 id="operations-title">"Operations"</h1>
                <p class="head__note">{order}</p>
                {saved_views(view.views, "operations", "/operations", pairs)}
            </div>
            {said(asked)}
            {filters(pairs, view.tools, view.destinations, is_filtered)}
            {narrowed(pairs, &view.narrowed)}
            {choosing}
            {list}
            {rest}
            {file}
        </section>
    }
    .into_any()
}

/// The whole list as a file, from its first row on.
fn csv_link(pairs: &Pairs) -> AnyView {
    let asked = OperationQuery::from_pairs(pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let query = OperationQuery { after: None, limit: None, ..asked.unwrap_or_default() };
    let filters = query.to_pairs().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    view! {
        <p class="part part--after">
            <a rel="external" href=address("/operations.csv", &filters)>
                "This list as CSV"
            </a>
            {format!(": every page of it, the first {} operations at the most; times in UTC and in the workspace's zone.", number(ROWS_LIMIT.into()))}
        </p>
    }
    .into_any()
}

fn filters(pairs: &Pairs, tools: Vec<String>, destinations: Vec<String>, is_filtered: bool) -> AnyView {
    let states = State::WORDS.iter().map(|word| (*word).to_owned()).collect();
    let modes = vec!["guarded".to_owned(), "observed".to_owned()];
    let search = value(pairs, "search").unwrap_or_default();
    let clear = is_filtered.then(|| view! { <a class="button" href="/operations">"Clear"</a> });
    let without_key = value(pairs, "without_key").is_some();
    let kept: Vec<_> = COUNTED.into_iter().filter_map(|name| Some((name, value(pairs, name)?))).collect();
    view! {
        <form class="filter-form" method="get" action="/operations" role="search" aria-label="Filter operations">
            <label class="field">
                <span class="field__label">"Key, receipt or id"</span>
                <input type="search" name="search" value=search maxlength="255" autocomplete="off" />
            </label>
            {kept.into_iter().map(|(name, value)| hidden(name, value)).collect_view()}
            {choice("state", "State", states, value(pairs, "state").as_deref())}
            {choice("tool", "Tool", tools, value(pairs, "tool").as_deref())}
            {choice("destination", "Destination", destinations, value(pairs, "destination").as_deref())}
            {choice("mode", "Mode", modes, value(pairs, "mode").as_deref())}
            <label class="check">
                <input type="checkbox" name="without_key" value="true" checked=without_key />
                "without a key"
            </label>
            <button class="button">"Filter"</button>
            {clear}
        </form>
    }
    .into_any()
}

/// What the list is narrowed to beyond the form, and how to take that away.
fn narrowed(pairs: &Pairs, words: &[String]) -> Option<AnyView> {
    let all = address("/operations", &without(pairs, &[&COUNTED[..], &["after"]].concat()));
    (!words.is_empty()).then(|| {
        view! {
            <p class="narrowed">
                "Only what was sent and counted: " {words.join("; ")} ". Times are of the workspace's zone. "
                <a href=all>"Show all"</a>
            </p>
        }
        .into_any()
    })
}

fn choice(name: &'static str, label: &'static str, values: Vec<String>, chosen: Option<&str>) -> AnyView {
    let values: Vec<String> = match chosen {
        // A value that does not occur any more is still what the page shows.
        Some(chosen) if !values.iter().any(|value| value == chosen) => {
            values.into_iter().chain([chosen.to_owned()]).collect()
        }
        _ => values,
    };
    let options = values
        .into_iter()
        .map(|value| {
            let is_chosen = chosen == Some(value.as_str());
            let word = value.replace('_', " ");
            let word = if name == "state" { word } else { value.clone() };
            view! {
                <option value=value selected=is_chosen>
                    {word}
                </option>
            }
        })
        .collect_view();
    view! {
        <label class="field">
            <span class="field__label">{label}</span>
            <select name=name>
                <option value="">"any"</option>
                {options}
            </select>
        </label>
    }
    .into_any()
}

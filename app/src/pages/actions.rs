//! `/actions`: the audit log: what people asked, what came of it, and why.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use tallystick_domain::action::Action;
use tallystick_domain::view::action::{ActionLine, ActionsView, Standing};
use tallystick_domain::view::bulk::BulkLine;
use tallystick_domain::view::{counted, encoded};

use super::bulk::life_badge;
use super::loading::{Asked, Coming, Place, shown};
use super::{address, pairs_of, with, without};
use crate::api::Pairs;
use crate::api::action::get_actions;
use crate::components::badge::state_badge;
use crate::components::notice::{empty, more};
use crate::components::time::time;

/// The audit log.
#[component]
pub fn ActionsPage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_actions(asked.pairs)) },
        concerns: |change, _| change.topic == "action" || change.topic == "bulk",
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: ActionsView, pairs: &Pairs) -> AnyView {
    let count = view.rows.len();
    let limited = view.operation.as_ref().map(|(id, key)| {
        view! {
            <p class="part">
                "Only those on " <a class="code" href=format!("/operations/{id}")>{key.clone()}</a> ". "
                <a href=address("/actions", &without(pairs, &["operation", "after"]))>"Show all"</a>
            </p>
        }
    });
    let list = if view.rows.is_empty() && (view.kind.is_some() || view.operation.is_some()) {
        empty("No such action is on record", "All were looked through. Take the filter away to see the others.")
    } else if view.rows.is_empty() {
        empty("No action is on record", "What people ask for appears here with its reason, also when it is refused.")
    } else {
        table(view.rows)
    };
    let next = view.next.map(|after| address("/actions", &with(pairs, "after", &after)));
    view! {
        <section class="page" aria-labelledby="actions-title">
            <div class="head">
                <h1 id="actions-title">"Actions"</h1>
                <p class="head__note">"what people asked, newest first; refused ones too"</p>
            </div>
            {bulks(view.bulks)}
            {kinds(view.kind.as_deref(), pairs)}
            {limited}
            {list}
            {more(next, count)}
        </section>
    }
    .into_any()
}

/// The newest bulk actions: whoever must stop one finds it here.
fn bulks(bulks: Vec<BulkLine>) -> AnyView {
    if bulks.is_empty() {
        return ().into_any();
    }
    let running = bulks.iter().filter(|bulk| bulk.state == "running").count();
    let is_open = running > 0;
    let lines = bulks
        .into_iter()
        .map(|bulk| {
            view! {
                <li>
                    <a href=format!("/bulk/{}", bulk.id)>{bulk.title}</a>
                    " "
                    {life_badge(&bulk.state)}
                    <span class="quiet">" by " {bulk.by} ", " {time(bulk.at)}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <details class="box bulks" open=is_open>
            <summary>{format!("{} now; the newest", counted(running, "bulk action runs", "bulk actions run"))}</summary>
            <ul class="facts">{lines}</ul>
        </details>
    }
    .into_any()
}

fn kinds(chosen: Option<&str>, pairs: &Pairs) -> AnyView {
    let rest = without(pairs, &["action", "after"]);
    let chips = Action::ALL
        .iter()
        .map(|action| {
            let is_chosen = chosen == Some(action.name());
            let href = address("/actions", &with(&rest, "action", if is_chosen { "" } else { action.name() }));
            view! {
                <li>
                    <a class="filter" href=href aria-current=is_chosen.then_some("true")>
                        {action.label()}
                    </a>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="filters" aria-label="Only one kind">{chips}</ul> }.into_any()
}

/// How far an action has come, as a badge.
pub fn standing_badge(standing: Standing) -> AnyView {
    let (glyph, words) = standing.words();
    let is_final = standing != Standing::Awaits;
    let class = format!("badge badge--{}{}", standing.tone(), if is_final { " badge--final" } else { "" });
    view! {
        <span class=class>
            <span aria-hidden="true">{glyph.to_string()}</span>
            " "
            {words}
        </span>
    }
    .into_any()
}

fn table(rows: Vec<ActionLine>) -> AnyView {
    let rows = rows.into_iter().map(row).collect_view();
    view! {
        <table class="rows rows--log">
            <caption class="unseen">"Actions, newest first"</caption>
            <thead>
                <tr>
                    <th scope="col">"When"</th>
                    <th scope="col">"Action"</th>
                    <th scope="col">"Operation"</th>
                    <th scope="col">"Who and why"</th>
                    <th scope="col">"What came of it"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

fn row(line: ActionLine) -> AnyView {
    let second = line.second.map(|name| view! { <span class="quiet">{format!(" with {name}")}</span> });
    let to = line.to.map(|to| view! { " → " {state_badge(to)} });
    let refusal = line.refusal.map(|why| view! { <span class="rows__target">{why}</span> });
    view! {
        <tr>
            <td>{time(line.at)}</td>
            <th scope="row">
                <a href=format!("/actions/{}", encoded(&line.key))>{line.label}</a>
            </th>
            <td>
                <a class="code" href=format!("/operations/{}", line.operation_id)>
                    {line.operation_key}
                </a>
            </td>
            <td>
                <strong>{line.by}</strong>
                {second}
                <span class="rows__target">{line.reason}</span>
            </td>
            <td>{standing_badge(line.standing)} {to} {refusal}</td>
        </tr>
    }
    .into_any()
}

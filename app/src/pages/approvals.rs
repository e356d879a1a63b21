//! `/approvals`: what waits for an authorization, in groups that each ask another question.

use leptos::prelude::*;
use tallystick_domain::view::approvals::{ApprovalGroup, ApprovalLine, ApprovalsView, UntilView};

use super::loading::{Asked, Coming, Place, shown};
use crate::api::approvals::get_approvals;
use crate::components::difference::difference;
use crate::components::notice::empty;
use crate::components::time::time;

/// What waits for an authorization.
#[component]
pub fn ApprovalsPage() -> impl IntoView {
    shown(Place {
        asked: Memo::new(|_| Asked::default()),
        fetch: |_| -> Coming { Box::pin(get_approvals()) },
        concerns: |change, _| change.topic == "operation",
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: ApprovalsView) -> AnyView {
    let ApprovalsView { words, groups, left_out, .. } = view;
    let content = if groups.is_empty() {
        empty(
            "Nothing waits for an authorization",
            "Proposals come by POST /api/v1/operations; those that policy does not approve by itself are then here.",
        )
    } else {
        groups.into_iter().map(group).collect_view().into_any()
    };
    let left_out = left_out
        .into_iter()
        .map(|(words, href)| {
            view! {
                <p class="part">
                    {words} ". " <a href=href>"All of them in the queue"</a>
                </p>
            }
        })
        .collect_view();
    view! {
        <section class="page approvals" aria-labelledby="approvals-title">
            <div class="head">
                <h1 id="approvals-title">"Approvals"</h1>
                <p class="head__note">{words}</p>
            </div>
            {left_out}
            {content}
        </section>
    }
    .into_any()
}

fn group(group: ApprovalGroup) -> AnyView {
    let ApprovalGroup { id, title, note, rows } = group;
    let rows = rows.into_iter().map(row).collect_view();
    view! {
        <section class="box" aria-labelledby=id.clone()>
            <h2 id=id.clone()>{title.clone()}</h2>
            <p class="quiet approvals__note">{note}</p>
            <div class="table-wrap" tabindex="0" role="region" aria-label=title>
                <table class="plain">
                    <thead>
                        <tr>
                            <th scope="col">"Operation"</th>
                            <th scope="col">"At stake"</th>
                            <th scope="col">"Asked by"</th>
                            <th scope="col">"Waits for"</th>
                            <th scope="col">"Until"</th>
                            <th scope="col">"Decide"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

fn row(row: ApprovalLine) -> AnyView {
    let notes = row.notes.into_iter().map(|note| view! { <p class="approvals__about">{note}</p> }).collect_view();
    let differs = row
        .changes
        .into_iter()
        .map(|(from, lines)| {
            view! {
                <div class="approvals__about">
                    <p>{from} ":"</p>
                    {difference(lines)}
                </div>
            }
        })
        .collect_view();
    let (href, label) = row.form;
    view! {
        <tr>
            <th scope="row">
                <a class="code" href=row.href>
                    {row.key.clone()}
                </a>
                <p class="approvals__about">{row.target}</p>
                {notes}
                {differs}
            </th>
            <td>{row.stake.unwrap_or_else(|| "not told".into())}</td>
            <td>{row.asker}</td>
            <td>
                {row.age} <p class="approvals__about">"since " {time(row.since)}</p>
            </td>
            <td>{until(row.until)}</td>
            <td>
                <a class="button" href=href aria-label=format!("{label}: {}", row.key)>
                    {label.clone()}
                </a>
            </td>
        </tr>
    }
    .into_any()
}

fn until(until: UntilView) -> AnyView {
    view! {
        <span class:doubtful=until.is_over>
            {until.words} " " {until.at.map(time)}
        </span>
    }
    .into_any()
}

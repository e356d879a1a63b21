//! `/workflows`: which way each goes, and which of them need a person.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use tallystick_domain::view::encoded;
use tallystick_domain::view::workflows::{WorkflowLine, WorkflowsView};

use super::loading::{Asked, Coming, Place, shown};
use super::{address, pairs_of, with};
use crate::api::Pairs;
use crate::api::workflows::get_workflows;
use crate::components::notice::{empty, more};
use crate::components::time::time;

/// The workflows.
#[component]
pub fn WorkflowsPage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_workflows(asked.pairs)) },
        concerns: |change, _| change.topic == "operation",
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: WorkflowsView, pairs: &Pairs) -> AnyView {
    let count = view.rows.len();
    let next = view.next.map(|after| address("/workflows", &with(pairs, "after", &after)));
    view! {
        <section class="page" aria-labelledby="workflows-title">
            <div class="head">
                <h1 id="workflows-title">"Workflows"</h1>
                <p class="head__note">"newest first"</p>
            </div>
            {list(view.rows)}
            {more(next, count)}
        </section>
    }
    .into_any()
}

fn list(rows: Vec<WorkflowLine>) -> AnyView {
    if rows.is_empty() {
        let text =
            "Propose an operation with a \"step\", or import lines that name a saga; each workflow is then here.";
        return empty("No workflow is on record", text);
    }
    let rows = rows
        .into_iter()
        .map(|row| {
            let href = format!("/workflows/{}", encoded(&row.name));
            view! {
                <tr>
                    <th scope="row">
                        <a class="code" href=href>
                            {row.name}
                        </a>
                    </th>
                    <td>{way(row.word, row.needs_person)}</td>
                    <td>{row.sentence}</td>
                    <td>{row.done}</td>
                    <td>{row.owner.unwrap_or_else(|| "nobody".into())}</td>
                    <td>{time(row.begun_at)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="table-wrap" tabindex="0" role="region" aria-label="Workflows">
            <table class="plain">
                <thead>
                    <tr>
                        <th scope="col">"Workflow"</th>
                        <th scope="col">"Way"</th>
                        <th scope="col">"Why"</th>
                        <th scope="col">"Steps"</th>
                        <th scope="col">"Owner"</th>
                        <th scope="col">"Begun"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// Which way it goes, in a word; strong where a person must act.
pub fn way(word: String, needs_person: bool) -> AnyView {
    view! {
        <span class="tag" class:tag--strong=needs_person>
            {word}
        </span>
    }
    .into_any()
}

//! `/layers`: which retry layer owns each kind of failure, what the layers multiply to, and what to switch off.

use leptos::prelude::*;
use tallystick_domain::layers::RetryClass;
use tallystick_domain::operation::Severity;
use tallystick_domain::view::layers::{CellView, DeclarationLine, LayerFinding, LayerRow, LayersView};
use tallystick_domain::view::{counted, encoded};

use super::loading::{Asked, Coming, Place, shown};
use super::operation::severity_words;
use crate::api::layers::get_layers;
use crate::components::notice::empty;
use crate::components::time::time;

/// Retry layers.
#[component]
pub fn LayersPage() -> impl IntoView {
    shown(Place {
        asked: Memo::new(|_| Asked::default()),
        fetch: |_| -> Coming { Box::pin(get_layers()) },
        // A layer that declares itself changes no operation; what is seen of it is told with the sums.
        concerns: |change, _| matches!(change.topic.as_str(), "outcomes" | "tool" | "source"),
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: LayersView) -> AnyView {
    let LayersView { words, rows, findings, declarations, looked_at, .. } = view;
    let matrix_or_nothing = if rows.is_empty() {
        empty(
            "No tool is known",
            "Declare one with PUT /api/v1/tools/NAME, or import what was sent; each tool is then here.",
        )
    } else {
        matrix(rows, looked_at)
    };
    view! {
        <section class="page layers" aria-labelledby="layers-title">
            <div class="head">
                <h1 id="layers-title">"Retry layers"</h1>
                <p class="head__note">{words}</p>
            </div>
            <p class="layers__rule">
                "Each kind of failure has one owner: the layer that tries again. Where two do, one operation becomes their product of sends. An owner is what a layer declares of itself; what a tool declares to be its owner stands beside it where both differ."
            </p>
            {matrix_or_nothing}
            {what_is_wrong(findings)}
            {declared(declarations)}
        </section>
    }
    .into_any()
}

fn matrix(rows: Vec<LayerRow>, looked_at: u32) -> AnyView {
    let rows = rows.into_iter().map(row).collect_view();
    view! {
        <div class="box table-wrap" tabindex="0" role="region" aria-label="Who owns each retry">
            <table class="plain matrix">
                <caption class="box__title">"Who owns each retry, by tool"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Tool"</th>
                        <th scope="col">"Connection"</th>
                        <th scope="col">"Throttled, temporary"</th>
                        <th scope="col">"Across restarts"</th>
                        <th scope="col">"Re-planning"</th>
                        <th scope="col" class="number">"Worst case, sends"</th>
                        <th scope="col" class="number">"Most seen, attempts"</th>
                        <th scope="col">"Hidden sends per attempt"</th>
                        <th scope="col" class="number">"Waits at most"</th>
                        <th scope="col" class="number">"Findings"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
            <p class="quiet">
                {format!(
                    "Worst case: the product of what each layer may send for one call, of one operation. Most seen: attempts on record of one operation, of all that are counted. Hidden: sends by a layer that made no attempt of the {looked_at} newest operations of the tool. Waits: the longest timeout that a layer declares, times the worst case, before back-off. Findings: notices aside.",
                )}
            </p>
        </div>
    }
    .into_any()
}

fn row(row: LayerRow) -> AnyView {
    let observed = match row.observed {
        Some((count, href)) => view! { <a href=href>{count}</a> }.into_any(),
        None => "none".into_any(),
    };
    let findings = if row.findings == 0 {
        "0".into_any()
    } else {
        view! { <a class="loud" href="#findings">{row.findings}</a> }.into_any()
    };
    let destination = row.destination.map(|name| format!(" → {name}"));
    view! {
        <tr>
            <th scope="row">
                <a class="code" href=format!("/tools/{}", encoded(&row.tool))>
                    {row.tool.clone()}
                </a>
                <span class="matrix__about">{row.class} {destination}</span>
            </th>
            {row.cells.into_iter().map(cell).collect_view()}
            <td class="number">
                <span class:loud=row.is_loud>{row.worst}</span>
                {row.worst_note.map(|note| view! { <span class="matrix__about">{note}</span> })}
            </td>
            <td class="number">{observed}</td>
            <td>{row.hidden}</td>
            <td class="number">{row.timeout}</td>
            <td class="number">{findings}</td>
        </tr>
    }
    .into_any()
}

/// The owners of one tool's retries, a line each class.
pub(super) fn owners(cells: Vec<CellView>) -> AnyView {
    let rows = RetryClass::ALL
        .iter()
        .zip(cells)
        .map(|(class, one)| {
            view! {
                <tr>
                    <th scope="row">{class.label()}</th>
                    {cell(one)}
                </tr>
            }
        })
        .collect_view();
    view! {
        <table class="plain owners">
            <thead>
                <tr>
                    <th scope="col">"After a failure of"</th>
                    <th scope="col">"Who sends again"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

fn cell(cell: CellView) -> AnyView {
    let is_conflict = cell.is_conflict;
    let none = (cell.owners.is_empty() && cell.note.is_none()).then(|| view! { <span class="quiet">"nobody"</span> });
    let owners = cell
        .owners
        .into_iter()
        .map(|owner| {
            view! {
                <span class="owner" class:owner--conflict=is_conflict>
                    {owner}
                </span>
            }
        })
        .collect_view();
    view! {
        <td>
            {none} {owners}
            {cell.note.map(|note| view! { <span class="matrix__about" class:loud=is_conflict>{note}</span> })}
        </td>
    }
    .into_any()
}

/// Findings, notices folded away.
pub(super) fn what_is_wrong(findings: Vec<LayerFinding>) -> AnyView {
    let (notices, wrong): (Vec<_>, Vec<_>) = findings.into_iter().partition(|one| one.severity == Severity::Notice);
    let content = if wrong.is_empty() {
        let text = "Nothing contradicts what is declared. A layer that declares nothing is not audited.";
        view! { <p>{text}</p> }.into_any()
    } else {
        view! { <ul class="findings">{wrong.into_iter().map(finding).collect_view()}</ul> }.into_any()
    };
    let noticed = (!notices.is_empty()).then(|| {
        let words = counted(notices.len(), "notice", "notices");
        view! {
            <details class="layers__notices">
                <summary>{words} ": layers of which nobody knows how often they send, and the like"</summary>
                <ul class="findings">{notices.into_iter().map(finding).collect_view()}</ul>
            </details>
        }
    });
    view! {
        <section class="box" aria-labelledby="findings">
            <h2 class="box__title" id="findings">
                "Findings, the most serious first"
            </h2>
            {content}
            {noticed}
        </section>
    }
    .into_any()
}

fn finding(one: LayerFinding) -> AnyView {
    let (class, word) = severity_words(one.severity);
    let evidence = one
        .evidence
        .into_iter()
        .map(|(words, href)| {
            view! {
                " · "
                <a href=href>{words}</a>
            }
        })
        .collect_view();
    view! {
        <li class=format!("finding finding--{class}")>
            <strong>{word}</strong>
            " "
            <span class="code">{one.tool}</span>
            ": "
            {one.text}
            " "
            <code class="quiet">{one.code}</code>
            {evidence}
        </li>
    }
    .into_any()
}

fn declared(lines: Vec<DeclarationLine>) -> AnyView {
    let rows = lines
        .into_iter()
        .map(|line| {
            view! {
                <tr>
                    <th scope="row" class="code">
                        {line.layer}
                    </th>
                    <td class="code">{line.about}</td>
                    <td class="number">{line.attempts}</td>
                    <td>{line.on}</td>
                    <td class="number">{line.timeout}</td>
                    <td>{line.source}</td>
                    <td>{time(line.at)}</td>
                </tr>
            }
        })
        .collect::<Vec<_>>();
    let content = if rows.is_empty() {
        empty(
            "No layer declares itself",
            "Let each client, engine and agent send a line with \"ev\":\"layer.declared\", its name, max_attempts, on and timeout_s; until then the worst case is not known.",
        )
    } else {
        view! {
            <div class="table-wrap" tabindex="0" role="region" aria-label="What layers declare of themselves">
                <table class="plain">
                    <thead>
                        <tr>
                            <th scope="col">"Layer"</th>
                            <th scope="col">"Speaks of"</th>
                            <th scope="col" class="number">"Sends at most"</th>
                            <th scope="col">"Retries on"</th>
                            <th scope="col" class="number">"Waits for one"</th>
                            <th scope="col">"Whose word"</th>
                            <th scope="col">"Declared"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any()
    };
    view! {
        <section class="box" aria-labelledby="declared">
            <h2 class="box__title" id="declared">
                "What layers declare of themselves, the newest first"
            </h2>
            {content}
        </section>
    }
    .into_any()
}

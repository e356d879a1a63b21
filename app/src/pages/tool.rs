//! `/tools/{name}`: one tool: what it does, each promise and how well it is known, who tries again, and how its declaration
//! came to be as it is.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use tallystick_domain::view::encoded;
use tallystick_domain::view::layers::LayerRow;
use tallystick_domain::view::operation::Promise;
use tallystick_domain::view::tools::{LimitView, ToolPage as ToolContent, ToolView, VersionView};

use super::layers::{owners, what_is_wrong};
use super::loading::{Asked, Coming, Place, shown};
use crate::api::workspace::get_tool;
use crate::components::difference::difference;
use crate::components::notice::{banner, empty};
use crate::components::time::full_time;

/// One tool.
#[component]
pub fn ToolPage() -> impl IntoView {
    let params = use_params_map();
    shown(Place {
        asked: Memo::new(move |_| Asked {
            names: vec![params.with(|params| params.get("name").unwrap_or_default())],
            pairs: vec![],
        }),
        fetch: |asked| -> Coming { Box::pin(get_tool(asked.name(0))) },
        concerns: |change, _| matches!(change.topic.as_str(), "tool" | "outcomes" | "source"),
        announces: false,
    })
}

/// What the page shows.
pub fn content(view: ToolContent) -> AnyView {
    let ToolContent { tool, is_declared, further, unverified, limits, layers, findings, versions, has_older, .. } =
        view;
    let undeclared = (!is_declared).then(|| {
        let text = "It is in use, and nothing about it is declared: it counts as irreversible, without key and look-up. Declare it with PUT /api/v1/tools/{name}.";
        banner("bad", "Nobody declared this tool".into(), text.into())
    });
    view! {
        <section class="page tool" aria-labelledby="tool-title">
            <nav class="back" aria-label="Back">
                <a href="/tools">"← Tools"</a>
            </nav>
            <div class="tool__head">
                <h1 id="tool-title" class="code">
                    {tool.name.clone()}
                </h1>
                <span class="tag" class:tag--strong=tool.is_irreversible>
                    {tool.class.clone()}
                </span>
            </div>
            {undeclared}
            {facts(&tool)}
            {promises(&tool, further, &unverified)}
            {numbers(limits)}
            {retries(layers)}
            {what_is_wrong(findings)}
            {history(versions, has_older)}
        </section>
    }
    .into_any()
}

fn facts(tool: &ToolView) -> AnyView {
    let operations = format!("/operations?tool={}", encoded(&tool.name));
    let queue = format!("/?tool={}", encoded(&tool.name));
    let destination = match &tool.destination {
        Some(name) => {
            let href = format!("/operations?destination={}", encoded(name));
            view! {
                <a class="code" href=href>
                    {name.clone()}
                </a>
            }
            .into_any()
        }
        None => "not told".into_any(),
    };
    let people = match &tool.dual_threshold {
        Some(amount) => format!("two from {amount}"),
        None if tool.is_irreversible => "two for what cannot be undone".into(),
        None => "one".into(),
    };
    let sends = if tool.is_executable { "yes; operations can be adopted" } else { "no, only others do" };
    let raw = format!("/api/v1/tools/{}", encoded(&tool.name));
    let raw = (tool.version != "0").then(|| {
        view! {
            " · "
            <a rel="external" href=raw>
                "as declared (JSON)"
            </a>
        }
    });
    view! {
        <dl class="fact-grid">
            <div>
                <dt>"Destination"</dt>
                <dd>{destination}</dd>
            </div>
            <div>
                <dt>"Sent from here"</dt>
                <dd>{sends}</dd>
            </div>
            <div>
                <dt>"People it takes"</dt>
                <dd>{people}</dd>
            </div>
            <div>
                <dt>"Declared"</dt>
                <dd>{format!("{}×", tool.version)} {raw}</dd>
            </div>
            <div>
                <dt>"On record"</dt>
                <dd>
                    <a href=operations>"its operations"</a>
                    " · "
                    <a href=queue>"those that wait for a person"</a>
                </dd>
            </div>
        </dl>
    }
    .into_any()
}

fn promises(tool: &ToolView, further: Vec<Promise>, unverified: &[String]) -> AnyView {
    let weak = (!unverified.is_empty()).then(|| {
        let names = unverified.join(", ");
        let text = format!(
            "A key protects nothing of this tool before these are tested as its class, {}, asks for: {names}.",
            tool.class
        );
        view! { <p class="doubtful">{text}</p> }
    });
    let rows = tool.promises.iter().cloned().map(|one| promise(one, false)).collect_view();
    let further = further.into_iter().map(|one| promise(one, true)).collect_view();
    view! {
        <section class="box" aria-labelledby="promises-title">
            <h2 id="promises-title" class="box__title">
                "What the destination promises " <span class="quiet">{tool.verification.clone()}</span>
            </h2>
            {weak}
            <div class="table-wrap" tabindex="0" role="region" aria-label="Promises, and how well each is known">
                <table class="plain">
                    <thead>
                        <tr>
                            <th scope="col">"About"</th>
                            <th scope="col">"What is promised"</th>
                            <th scope="col">"How that is known"</th>
                        </tr>
                    </thead>
                    <tbody>{rows} {further}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}

/// `as_declared`: it is shown under the name and with the value that the declaration has.
fn promise(one: Promise, as_declared: bool) -> AnyView {
    let known = if one.is_unknown { "nobody says; the unsafe answer counts".to_owned() } else { one.known };
    let source = one.source_url.filter(|url| url.starts_with("https://")).map(|url| {
        view! {
            " · "
            <a rel="external noreferrer" href=url>
                "where it is written"
            </a>
        }
    });
    let is_unknown = one.is_unknown;
    view! {
        <tr>
            <th scope="row" class:code=as_declared>
                {one.name}
            </th>
            <td class:code=as_declared class:quiet=is_unknown>
                {one.value}
            </td>
            <td class:quiet=is_unknown>{known} {source}</td>
        </tr>
    }
    .into_any()
}

fn numbers(limits: Vec<LimitView>) -> AnyView {
    let lines = limits
        .into_iter()
        .map(|one| {
            view! {
                <div>
                    <dt>{one.name}</dt>
                    <dd>{one.value} {one.is_default.then(|| view! { " " <span class="quiet">"by default"</span> })}</dd>
                </div>
            }
        })
        .collect_view();
    view! {
        <section class="box" aria-labelledby="limits-title">
            <h2 id="limits-title" class="box__title">"What limits it"</h2>
            <dl class="fact-grid fact-grid--flat">{lines}</dl>
        </section>
    }
    .into_any()
}

fn retries(layers: LayerRow) -> AnyView {
    let observed = match layers.observed {
        Some((count, href)) => view! { <a href=href>{count}</a> }.into_any(),
        None => "none".into_any(),
    };
    view! {
        <section class="box" aria-labelledby="owners-title">
            <h2 id="owners-title" class="box__title">
                "Who tries again " <a href="/layers">"all layers"</a>
            </h2>
            {owners(layers.cells)}
            <p class="quiet">
                {format!("Worst case: {} sends for one call. Most attempts seen of one operation: ", layers.worst)} {observed}
                {format!(". Hidden sends per attempt: {}.", layers.hidden)}
            </p>
        </section>
    }
    .into_any()
}

fn history(versions: Vec<VersionView>, has_older: bool) -> AnyView {
    let count = versions.len();
    let lines = versions.into_iter().map(version).collect_view();
    let list = if count == 0 {
        empty(
            "No declaration is on record",
            "Declare it with PUT /api/v1/tools/{name}; each change of it is then here.",
        )
    } else {
        view! { <ol class="journal">{lines}</ol> }.into_any()
    };
    let part = has_older
        .then(|| view! { <p class="part">{format!("Only the newest {count} declarations are shown; older ones are on record.")}</p> });
    view! {
        <section class="box" aria-labelledby="versions-title">
            <h2 id="versions-title" class="box__title">
                "Declarations " <span class="quiet">"newest first, each with what it made different"</span>
            </h2>
            {list}
            {part}
        </section>
    }
    .into_any()
}

fn version(one: VersionView) -> AnyView {
    let what = match one.changes {
        None => view! { <p class="quiet">"the first declaration"</p> }.into_any(),
        Some(made) => difference(made),
    };
    view! {
        <li class="version">
            <p>
                <span class="journal__version">{format!("v{}", one.version)}</span>
                " "
                {full_time(one.at)}
                " by "
                <strong>{one.by}</strong>
            </p>
            {what}
        </li>
    }
    .into_any()
}

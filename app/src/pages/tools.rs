//! `/tools`: what each tool does to the world, and what its destination promises.

use leptos::prelude::*;
use tallystick_domain::view::encoded;
use tallystick_domain::view::tools::ToolView;

use super::loading::{Asked, Coming, Place, shown};
use super::operation::promise_list;
use crate::api::workspace::get_tools;
use crate::components::notice::empty;

/// The tools.
#[component]
pub fn ToolsPage() -> impl IntoView {
    shown(Place {
        asked: Memo::new(|_| Asked::default()),
        fetch: |_| -> Coming { Box::pin(get_tools()) },
        concerns: |change, _| change.topic == "tool",
        announces: false,
    })
}

/// What the page shows.
pub fn content(tools: Vec<ToolView>) -> AnyView {
    view! {
        <section class="page" aria-labelledby="tools-title">
            <div class="head">
                <h1 id="tools-title">"Tools"</h1>
                <p class="head__note">"a tool that nobody declared counts as irreversible, without key and look-up"</p>
            </div>
            {list(tools)}
        </section>
    }
    .into_any()
}

fn list(tools: Vec<ToolView>) -> AnyView {
    if tools.is_empty() {
        let text = "Declare one with PUT /api/v1/tools/{name}; until then the unsafe answer counts.";
        return empty("No tool is declared", text);
    }
    view! { <ul class="tools">{tools.into_iter().map(tool).collect_view()}</ul> }.into_any()
}

fn tool(tool: ToolView) -> AnyView {
    let operations = format!("/operations?tool={}", encoded(&tool.name));
    let page = format!("/tools/{}", encoded(&tool.name));
    let source = tool.source_url.filter(|url| url.starts_with("https://")).map(|url| {
        view! { " · " <a rel="external noreferrer" href=url.clone()>"where it is written"</a> }
    });
    let dual = tool.dual_threshold.map(|amount| view! { <p class="quiet">{format!("Two people from {amount}.")}</p> });
    let executable = if tool.is_executable {
        "Operations can be adopted."
    } else {
        "Operations cannot be adopted: nothing here could send for it."
    };
    view! {
        <li class="box">
            <div class="tool__head">
                <h2 class="code">
                    <a href=page>{tool.name}</a>
                </h2>
                <span class="tag" class:tag--strong=tool.is_irreversible>{tool.class}</span>
            </div>
            <p class="quiet">
                {tool.destination.map_or_else(|| "no destination".to_owned(), |name| format!("→ {name}"))}
                {format!(" · {} · declared {}×", tool.verification, tool.version)} {source}
            </p>
            {promise_list(tool.promises)}
            {dual}
            <p class="quiet">{executable}</p>
            <p>
                <a href=operations>"Its operations"</a>
            </p>
        </li>
    }
    .into_any()
}

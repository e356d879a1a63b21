//! The command palette: every link of the page by name, under `Ctrl K`. It follows links and nothing else, so it can do
//! nothing that a page does not offer, and what changes something still asks on its own form. Runs only in the browser.

use leptos::html::{Dialog, Input};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use tallystick_domain::view::encoded;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use crate::keys::listen;

/// Where commands are found on a page, and what they are.
const SOURCES: [(&str, &str); 6] = [
    (".cards a[href]", "This operation"),
    (".place", "Go to"),
    (".views__link", "Your view"),
    (".filter", "Only"),
    (".rows__order", "Order by"),
    (".head__act", "List"),
];
/// How many are listed; typing finds the others.
const LISTED: usize = 12;

/// A link by name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Command {
    kind: &'static str,
    label: String,
    href: String,
}

/// The palette, closed until it is asked for.
#[component]
pub fn Palette() -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    let field = NodeRef::<Input>::new();
    let commands = RwSignal::new(Vec::<Command>::new());
    let text = RwSignal::new(String::new());
    let at = RwSignal::new(0_usize);
    let shown = Memo::new(move |_| commands.with(|all| text.with(|text| matching(all, text))));
    let close = move || {
        if let Some(dialog) = dialog.get_untracked() {
            dialog.close();
        }
    };
    let open = move || {
        let Some(dialog) = dialog.get_untracked().filter(|dialog| !dialog.open()) else { return };
        commands.set(on_page());
        text.set(String::new());
        at.set(0);
        if let Some(field) = field.get_untracked() {
            field.set_value("");
        }
        // Fails only for a dialog that is not in the document.
        let _ = dialog.show_modal();
    };
    Effect::new(move |_| {
        listen("keydown", move |event: &KeyboardEvent| {
            if (event.ctrl_key() || event.meta_key()) && event.key().eq_ignore_ascii_case("k") {
                event.prevent_default();
                open();
            }
        });
    });
    let on_key = move |event: KeyboardEvent| {
        let last = shown.with(Vec::len).saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" => at.update(|at| *at = (*at + 1).min(last)),
            "ArrowUp" => at.update(|at| *at = at.saturating_sub(1)),
            "Enter" => follow(at.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    };
    // An option is no link of its own: who reads by ear hears one thing, not two. A click goes where its address says.
    let navigate = use_navigate();
    let option = move |(index, command): (usize, Command)| {
        let Command { kind, label, href } = command;
        let navigate = navigate.clone();
        view! {
            <li
                id=format!("command-{index}")
                class="palette__line"
                role="option"
                aria-selected=move || (at.get() == index).to_string()
                on:click=move |_| {
                    close();
                    navigate(&href, NavigateOptions::default());
                }
            >
                <span class="quiet">{kind} ": "</span>
                {label}
            </li>
        }
    };
    view! {
        <dialog class="palette" node_ref=dialog aria-label="Commands">
            <input
                node_ref=field
                type="text"
                role="combobox"
                aria-label="Type a command, or what to search for"
                aria-expanded="true"
                aria-autocomplete="list"
                aria-controls="commands"
                aria-activedescendant=move || format!("command-{}", at.get())
                placeholder="Type a command, or what to search for"
                autocomplete="off"
                spellcheck="false"
                on:input=move |event| {
                    text.set(event_target_value(&event));
                    at.set(0);
                }
                on:keydown=on_key
            />
            <ul id="commands" role="listbox" aria-label="Commands">
                {move || shown.get().into_iter().enumerate().map(option.clone()).collect_view()}
            </ul>
        </dialog>
    }
    .into_any()
}

/// Presses a line.
fn follow(index: usize) {
    let found = document().query_selector(&format!("#command-{index}")).ok().flatten();
    if let Some(line) = found.and_then(|line| line.dyn_into::<HtmlElement>().ok()) {
        line.click();
    }
}

/// Every command of the page as it is now, each once.
fn on_page() -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for (selector, kind) in SOURCES {
        let Ok(found) = document().query_selector_all(selector) else { continue };
        let links = (0..found.length()).filter_map(|at| found.get(at)?.dyn_into::<HtmlElement>().ok());
        for link in links {
            // As it is seen: parts that stand apart are words apart.
            let label = link.inner_text();
            let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
            let Some(href) = link.get_attribute("href").filter(|_| !label.is_empty()) else { continue };
            let command = Command { kind, label, href };
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

/// Those that hold every typed word, whatever its case; last, the search for what was typed.
fn matching(commands: &[Command], text: &str) -> Vec<Command> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let holds = |command: &&Command| {
        let whole = format!("{} {}", command.kind, command.label).to_lowercase();
        words.iter().all(|word| whole.contains(word))
    };
    let search = (!words.is_empty()).then(|| Command {
        kind: "Search operations for",
        label: text.trim().to_owned(),
        href: format!("/operations?search={}", encoded(text.trim())),
    });
    commands.iter().filter(holds).take(LISTED).cloned().chain(search).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_must_be_in_it_and_the_search_comes_last() {
        let command =
            |kind, label: &str| Command { kind, label: label.into(), href: format!("/{}", label.to_lowercase()) };
        let all = [command("Go to", "Queue 3"), command("Go to", "Operations"), command("Only", "timed out 3")];
        let labels = |text: &str| matching(&all, text).into_iter().map(|one| one.label).collect::<Vec<_>>();
        assert_eq!(labels(""), ["Queue 3", "Operations", "timed out 3"]);
        assert_eq!(labels("GO op"), ["Operations", "GO op"]);
        assert_eq!(labels("order-7 "), ["order-7"]);
        assert_eq!(matching(&all, "order-7 & co")[0].href, "/operations?search=order-7%20%26%20co");
    }
}

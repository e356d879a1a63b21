//! Keyboard work: moving, opening, searching, going places. Keys press links that are there without them, and nothing
//! that changes anything has a key. Runs only in the browser.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, HtmlElement, KeyboardEvent};

/// What the help lists: keys and what they do.
const HELP: [(&str, &str); 10] = [
    ("j  k", "next and previous row"),
    ("Enter", "open the chosen row"),
    ("x", "take the row for a bulk action, or leave it out"),
    ("/", "search"),
    ("g q", "go to the queue"),
    ("g o", "go to all operations"),
    ("g a", "go to the actions"),
    ("g t", "go to the tools"),
    ("?", "show and hide this list"),
    ("Esc", "leave the search, hide this list"),
];

/// The list of keys, hidden until `?` is pressed.
#[component]
pub fn KeyHelp() -> impl IntoView {
    let is_shown = RwSignal::new(false);
    let goes = StoredValue::new(false);
    Effect::new(move |_| listen(move |event| on_key(event, is_shown, goes)));
    let lines = HELP
        .into_iter()
        .map(|(keys, meaning)| view! { <div><dt><kbd>{keys}</kbd></dt><dd>{meaning}</dd></div> })
        .collect_view();
    view! {
        <aside class="keys" role="dialog" aria-label="Keys" hidden=move || !is_shown.get()>
            <h2 class="box__title">"Keys"</h2>
            <dl>{lines}</dl>
        </aside>
    }
    .into_any()
}

fn listen(act: impl Fn(&KeyboardEvent) + 'static) {
    let closure = Closure::<dyn Fn(KeyboardEvent)>::new(move |event| act(&event));
    // Fails only for a callback that is not a function. The listener lives as long as the page.
    let _ = document().add_event_listener_with_callback("keydown", closure.as_ref().unchecked_ref());
    closure.forget();
}

fn on_key(event: &KeyboardEvent, is_shown: RwSignal<bool>, goes: StoredValue<bool>) {
    if event.ctrl_key() || event.alt_key() || event.meta_key() {
        return;
    }
    let key = event.key();
    if is_typing() {
        if key == "Escape" {
            with_element(":focus", |field| drop(field.blur()));
        }
        return;
    }
    let was_going = goes.try_update_value(|goes| std::mem::replace(goes, key == "g")).unwrap_or(false);
    match (was_going, key.as_str()) {
        (true, "q") => press(".place[href='/']"),
        (true, "o") => press(".place[href='/operations']"),
        (true, "a") => press(".place[href='/actions']"),
        (true, "t") => press(".place[href='/tools']"),
        (false, "j") => move_by(1),
        (false, "k") => move_by(-1),
        (false, "Enter") if !has_focus_on_control() => press(".rows__row--chosen .rows__key"),
        (false, "x") => press(".rows__row--chosen .rows__box input"),
        (false, "/") => {
            event.prevent_default();
            with_element("#search", |field| drop(field.focus()));
        }
        (_, "?") => is_shown.update(|shown| *shown = !*shown),
        (_, "Escape") => is_shown.set(false),
        _ => {}
    }
}

fn with_element(selector: &str, act: impl Fn(HtmlElement)) {
    let found = document().query_selector(selector).ok().flatten();
    if let Some(element) = found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        act(element);
    }
}

fn press(selector: &str) {
    with_element(selector, |link| link.click());
}

fn focused() -> Option<Element> {
    document().active_element()
}

fn is_typing() -> bool {
    let is_box = |element: &Element| element.get_attribute("type").as_deref() == Some("checkbox");
    focused()
        .filter(|element| !is_box(element))
        .is_some_and(|element| matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT"))
}

fn has_focus_on_control() -> bool {
    focused().is_some_and(|element| matches!(element.tag_name().as_str(), "A" | "BUTTON" | "SUMMARY"))
}

/// In the queue the neighbour's decision is chosen; in other lists the neighbour's link gets the focus.
fn move_by(step: i32) {
    let Ok(rows) = document().query_selector_all(".rows tbody tr") else { return };
    let rows: Vec<Element> = (0..rows.length()).filter_map(|at| rows.get(at)?.dyn_into().ok()).collect();
    let has_focus = |row: &Element| focused().is_some_and(|element| row.contains(Some(element.as_ref())));
    let current = rows
        .iter()
        .position(|row| row.class_list().contains("rows__row--chosen"))
        .or_else(|| rows.iter().position(has_focus));
    let next = match (current, step) {
        (None, _) => Some(0),
        (Some(at), 1) => Some(at + 1),
        (Some(at), _) => at.checked_sub(1),
    };
    let Some(row) = next.and_then(|at| rows.get(at)) else { return };
    let link =
        |selector| row.query_selector(selector).ok().flatten().and_then(|link| link.dyn_into::<HtmlElement>().ok());
    match link(".rows__select") {
        Some(select) => select.click(),
        None => {
            if let Some(key) = link("th a") {
                // Fails only for an element that cannot have the focus.
                let _ = key.focus();
            }
        }
    }
}

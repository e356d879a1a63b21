//! Keyboard work: moving, opening, searching, going places. Keys press links that are there without them, and nothing
//! that changes anything has a key. Runs only in the browser.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::convert::FromWasmAbi;
use web_sys::{Element, HtmlElement, HtmlInputElement, KeyboardEvent, MouseEvent, MouseEventInit};

/// What the help lists: keys and what they do.
const HELP: [(&str, &str); 12] = [
    ("j  k", "next and previous row"),
    ("Enter", "open the chosen row"),
    ("x", "take the row for a bulk action, or leave it out"),
    ("Shift x", "the same for every row from the last one to this; Shift and a click on a box do so too"),
    ("Ctrl K", "commands: everything the page offers, by name"),
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
    let last_box = StoredValue::new(None);
    Effect::new(move |_| {
        listen("keydown", move |event: &KeyboardEvent| on_key(event, is_shown, goes));
        // A key that presses a box ends in a click, too.
        listen("click", move |event: &MouseEvent| on_click(event, last_box));
    });
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

/// Hears events of the whole document.
pub(crate) fn listen<E: FromWasmAbi + 'static>(name: &str, act: impl Fn(&E) + 'static) {
    let closure = Closure::<dyn Fn(E)>::new(move |event: E| act(&event));
    // Fails only for a callback that is not a function. The listener lives as long as the page.
    let _ = document().add_event_listener_with_callback(name, closure.as_ref().unchecked_ref());
    closure.forget();
}

/// Boxes of rows: with Shift every box from the last one that was pressed is as this one. `last` is its row's value.
fn on_click(event: &MouseEvent, last: StoredValue<Option<String>>) {
    let target = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
    let Some(pressed) = target.filter(|target| target.matches(BOX).unwrap_or(false)) else { return };
    let boxes = row_boxes();
    let place = |value: &str| boxes.iter().position(|one| one.value() == value);
    let before = last.get_value().and_then(|value| place(&value));
    if let (true, Some(from), Some(to)) = (event.shift_key(), before, place(&pressed.value())) {
        for one in boxes.iter().take(from.max(to) + 1).skip(from.min(to)) {
            one.set_checked(pressed.checked());
        }
    }
    last.set_value(Some(pressed.value()));
    let count = boxes.iter().filter(|one| one.checked()).count();
    with_element(".choosing__count", |told| told.set_text_content(Some(&format!("{count} of {} chosen", boxes.len()))));
}

/// The box of a row.
const BOX: &str = ".rows__box input";

fn row_boxes() -> Vec<HtmlInputElement> {
    let Ok(found) = document().query_selector_all(BOX) else { return Vec::new() };
    (0..found.length()).filter_map(|at| found.get(at)?.dyn_into().ok()).collect()
}

/// Presses the box of the chosen row as a click with Shift would.
fn press_with_shift(selector: &str) {
    let init = MouseEventInit::new();
    init.set_bubbles(true);
    init.set_cancelable(true);
    init.set_shift_key(true);
    if let Ok(click) = MouseEvent::new_with_mouse_event_init_dict("click", &init) {
        // Whether anybody prevented it is of no interest.
        with_element(selector, |pressed| drop(pressed.dispatch_event(&click)));
    }
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
        (false, "X") => press_with_shift(".rows__row--chosen .rows__box input"),
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

/// The neighbour's link gets the focus; in the queue its decision is chosen, too.
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
    if let Some(select) = link(".rows__select") {
        // At once, so that the next key goes on from here and need not wait for the page.
        for other in &rows {
            drop(other.class_list().remove_1("rows__row--chosen"));
        }
        drop(row.class_list().add_1("rows__row--chosen"));
        select.click();
    }
    // What is read aloud, and where Tab goes on from.
    if let Some(key) = link("th a") {
        // Fails only for an element that cannot have the focus.
        let _ = key.focus();
    }
}

fn is_focus_lost() -> bool {
    focused().is_none_or(|element| element.tag_name() == "BODY")
}

/// Whether the focus is in a row of a list.
pub(crate) fn is_in_rows() -> bool {
    focused().is_some_and(|element| element.closest(".rows tbody").ok().flatten().is_some())
}

/// Gives the focus a place after content was put where other content had it: the heading of a new page, or of a list that
/// is another one now; the chosen row for those who were among the rows. A focus that is still there stays.
pub(crate) fn place_focus(is_new_page: bool, was_in_rows: bool) {
    if was_in_rows && !is_new_page && is_focus_lost() {
        with_element(".rows__row--chosen .rows__key", |key| drop(key.focus()));
    }
    if is_new_page || is_focus_lost() {
        with_element("#content h1", |heading| {
            // A heading takes the focus from scripts alone; Tab passes it by.
            drop(heading.set_attribute("tabindex", "-1"));
            drop(heading.focus());
        });
    }
}

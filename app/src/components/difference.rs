//! How two sets of arguments differ: field by field, and in a sentence what holds of all of it.

use leptos::prelude::*;
use tallystick_domain::view::arguments::{ChangeLine, DifferenceView};

/// The difference.
pub fn difference(view: DifferenceView) -> AnyView {
    let lines = view.lines.into_iter().map(line).collect_view();
    let lines = (!lines.is_empty()).then(|| view! { <ul class="changes">{lines}</ul> });
    let sentences = view.sentences.into_iter().map(|said| view! { <p class="changes__said">{said}</p> }).collect_view();
    view! {
        {lines}
        {sentences}
    }
    .into_any()
}

fn line(change: ChangeLine) -> AnyView {
    let before = change.before.map(|text| view! { <del>{text}</del> });
    let after = change.after.map(|text| view! { <ins>{text}</ins> });
    view! {
        <li>
            <code>{change.path}</code>
            " "
            {before}
            " "
            {after}
            " "
            {change.note.map(|note| view! { <span class="quiet">{note}</span> })}
        </li>
    }
    .into_any()
}

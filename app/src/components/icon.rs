//! Icons from one sprite. They decorate; the words beside them speak.

use leptos::prelude::*;

use crate::document::PageAssets;

/// Where the sprite is, on both sides.
#[derive(Clone)]
struct Sprite(Option<String>);

/// Makes the sprite's address known: the server has it from the process, the browser from the document's head.
pub fn provide_icons() {
    let told = use_context::<PageAssets>().map(|assets| assets.icons_url);
    provide_sprite(told.unwrap_or_else(|| read_from_head().filter(|url| !url.is_empty())));
}

/// Makes a sprite's address known.
pub fn provide_sprite(url: Option<String>) {
    provide_context(Sprite(url));
}

fn read_from_head() -> Option<String> {
    // Where there is no browser, asking for the window panics; the address came with the context, or none is needed.
    if !cfg!(target_arch = "wasm32") {
        return None;
    }
    let head = web_sys::window()?.document()?.query_selector("meta[name=icons]").ok()??;
    head.get_attribute("content")
}

/// One icon of the sprite.
pub fn icon(name: &str) -> impl IntoView + use<> {
    let sprite = use_context::<Sprite>().and_then(|sprite| sprite.0)?;
    let address = format!("{sprite}#i-{name}");
    Some(view! {
        <svg class="icon" aria-hidden="true" width="16" height="16">
            <use href=address></use>
        </svg>
    })
}

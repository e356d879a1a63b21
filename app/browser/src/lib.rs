//! The browser's half: hydrates the pages. Everything in them is `tallystick_app`'s.

use wasm_bindgen::prelude::wasm_bindgen;

/// Called by the document's script once this part is loaded. If it panics later, links and forms still work.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(tallystick_app::App);
    // Says that scripts have taken over: for style sheets, and for whoever waits for it.
    if let Some(root) = leptos::prelude::document().document_element() {
        // Fails only for a name that is not an attribute's.
        let _ = root.set_attribute("data-hydrated", "");
    }
}

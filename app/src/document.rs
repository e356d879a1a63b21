//! The document around the pages: head, style sheet, and the script that starts the browser part.

use leptos::prelude::*;
use leptos_meta::MetaTags;

use crate::App;

/// Where what a page is dressed with can be fetched, and the nonce that its scripts carry.
#[derive(Debug, Clone, Default)]
pub struct PageAssets {
    /// The nonce of this page's content security policy.
    pub nonce: String,
    /// The style sheet.
    pub stylesheet_url: String,
    /// The sprite of icons.
    pub icons_url: Option<String>,
    /// The icon of the browser's tab.
    pub favicon_url: Option<String>,
    /// Glue and WebAssembly of the browser part; none where it was not built. Pages work without.
    pub browser: Option<(String, String)>,
}

/// The document. Every address in it comes from [`PageAssets`].
pub fn document() -> impl IntoView {
    let assets = use_context::<PageAssets>().unwrap_or_default();
    let script = assets.browser.clone().map(|browser| start_script(browser, assets.nonce.clone()));
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <meta name="icons" content=assets.icons_url.clone() />
                <link rel="stylesheet" href=assets.stylesheet_url.clone() />
                {assets.favicon_url.clone().map(|url| view! { <link rel="icon" type="image/svg+xml" href=url /> })}
                {script}
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// Starts the browser part once the document is there. A module script waits for that by itself.
fn start_script((glue, wasm): (String, String), nonce: String) -> impl IntoView {
    // Both addresses are our own constants; `{:?}` quotes them as JavaScript does.
    let script =
        format!("import({glue:?}).then(part=>part.default({{module_or_path:{wasm:?}}}).then(()=>part.hydrate()))");
    view! {
        <link rel="modulepreload" href=glue nonce=nonce.clone() />
        <link rel="preload" href=wasm r#as="fetch" r#type="application/wasm" crossorigin="anonymous" />
        <script type="module" nonce=nonce inner_html=script></script>
    }
}

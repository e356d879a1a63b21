//! The console's pages and their server functions, mounted with what they need: the record, who is asking, and the nonce.

use std::sync::OnceLock;

use axum::Router;
use axum::http::request::Parts;
use leptos::nonce::Nonce;
use leptos::prelude::{provide_context, use_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes, generate_route_list};
use tallystick_app::App;
use tallystick_app::api::ssr::{PageContext, shell};
use tallystick_domain::permission::Actor;

use super::assets;
use super::security::CspNonce;
use crate::state::AppState;

/// Adds the pages and their server functions to the router.
pub fn mount(router: Router<AppState>, state: &AppState) -> Router<AppState> {
    let (provided, options) = (state.clone(), state.leptos.clone());
    router.leptos_routes_with_context(state, routes(), move || provide(&provided), move || shell(options.clone()))
}

/// Every place of the console. Walked once a process: while leptos walks the routes it keeps every resource of the whole
/// process from loading, and a page that another thread renders just then would wait for ever.
pub fn routes() -> Vec<AxumRouteListing> {
    static ROUTES: OnceLock<Vec<AxumRouteListing>> = OnceLock::new();
    ROUTES.get_or_init(|| generate_route_list(App)).clone()
}

/// Runs once a request, after leptos has put the request's parts into the context.
fn provide(state: &AppState) {
    let parts = use_context::<Parts>();
    let extensions = parts.as_ref().map(|parts| &parts.extensions);
    let nonce = extensions.and_then(|all| all.get::<CspNonce>()).map_or_else(Default::default, |nonce| nonce.0.clone());
    provide_context(Nonce::from_value(nonce.clone()));
    provide_context(PageContext {
        ledger: state.ledger.clone(),
        faces: std::sync::Arc::clone(&state.faces),
        actor: extensions.and_then(|all| all.get::<Actor>()).cloned(),
        nonce: nonce.to_string(),
        stylesheet_url: assets::stylesheet_url().to_owned(),
        icons_url: assets::icons_url().map(str::to_owned),
        favicon_url: assets::asset_url("favicon.svg").map(str::to_owned),
        browser: assets::browser_part().map(|part| (part.glue_url.to_owned(), part.wasm_url.to_owned())),
    });
}

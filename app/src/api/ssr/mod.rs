//! The server's half of the pages: the context that the process provides, and the use cases in the pages' words.
//! The only module under `cfg(feature = "ssr")`; what follows from it is declared here.

mod acting;
mod approvals;
mod budgets;
mod bulk;
mod layers;
mod outcomes;
mod reading;
mod rendering;
mod tools;
mod views;
mod workflows;
mod zone;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use tallystick_domain::name::NameError;
use tallystick_domain::permission::Actor;
use tallystick_domain::refusal::Refusal;
use tallystick_domain::request::Face;
use tallystick_domain::time::Timestamp;
use tallystick_domain::view::Lens;
use tallystick_ledger::{Ledger, LedgerError};

pub use self::acting::{Fields, Press};
pub use self::bulk::Chosen;
pub use self::rendering::rendered;
pub use self::zone::ZonePrinter;
use super::ApiError;
use crate::document::PageAssets;

/// What the process provides for every page and server function.
#[derive(Clone)]
pub struct PageContext {
    /// The record.
    pub ledger: Ledger,
    /// Who asks; nobody on the sign-in page.
    pub actor: Option<Actor>,
    /// How requests to each configured destination begin, for previews; without any secret.
    pub faces: Arc<BTreeMap<String, Face>>,
    /// The nonce of this answer's content security policy.
    pub nonce: String,
    /// Where the style sheet is.
    pub stylesheet_url: String,
    /// Where the sprite of icons is.
    pub icons_url: Option<String>,
    /// Where the tab's icon is.
    pub favicon_url: Option<String>,
    /// Where glue and WebAssembly of the browser part are, if it was built.
    pub browser: Option<(String, String)>,
}

/// The document around the pages, with the addresses of the context. What the router hands over holds nothing that is needed.
pub fn shell(_: LeptosOptions) -> impl IntoView {
    if let Some(context) = use_context::<PageContext>() {
        provide_context(PageAssets {
            nonce: context.nonce,
            stylesheet_url: context.stylesheet_url,
            icons_url: context.icons_url,
            favicon_url: context.favicon_url,
            browser: context.browser,
        });
    }
    crate::document::document()
}

/// Who reads, in which zone.
pub struct Reader {
    ledger: Ledger,
    actor: Actor,
    faces: Arc<BTreeMap<String, Face>>,
    zone: ZonePrinter,
}

impl Reader {
    /// The signed-in reader of this request, or [`ApiError::SignedOut`].
    pub async fn from_context() -> Result<Self, ApiError> {
        let context = use_context::<PageContext>().ok_or(ApiError::Failed).inspect_err(set_status)?;
        let actor = context.actor.ok_or(ApiError::SignedOut).inspect_err(set_status)?;
        let settings = context.ledger.settings().await.map_err(told)?;
        Ok(Self { ledger: context.ledger, actor, faces: context.faces, zone: ZonePrinter::named(&settings.zone) })
    }

    /// People's names by id. Without them ids are shown, which is no reason to show nothing.
    async fn names(&self) -> BTreeMap<String, String> {
        let people = self.ledger.principals(&self.actor).await.unwrap_or_default();
        people.into_iter().map(|person| (person.id.to_string(), person.name)).collect()
    }

    fn lens<'a>(&'a self, now: Timestamp, names: &'a BTreeMap<String, String>) -> Lens<'a> {
        Lens { now, times: &self.zone, names }
    }
}

/// An error of the ledger in the pages' words, with its HTTP status; what only the process may know goes to the log.
fn told(error: LedgerError) -> ApiError {
    let answer = match error {
        LedgerError::Refused(refusal) => refused(&refusal),
        LedgerError::Contended => ApiError::Contended,
        LedgerError::TookTooLong => ApiError::TookTooLong,
        LedgerError::StoreUnavailable { .. } => {
            tracing::error!(error = &error as &dyn std::error::Error, "A page could not reach the store");
            ApiError::StoreUnavailable
        }
        other => {
            tracing::error!(error = &other as &dyn std::error::Error, "A page failed: {other}");
            ApiError::Failed
        }
    };
    set_status(&answer);
    answer
}

fn refused(refusal: &Refusal) -> ApiError {
    ApiError::Refused { code: refusal.code().into(), text: refusal.to_string() }
}

fn bad_name(error: &NameError) -> ApiError {
    let answer = ApiError::BadAddress { text: format!("{error}. Nothing was done.") };
    set_status(&answer);
    answer
}

fn not_found(what: &str) -> ApiError {
    let answer = ApiError::NotFound { what: what.into() };
    set_status(&answer);
    answer
}

/// A form that a browser navigates with must keep its redirect: back to the form, which then says that it failed.
fn is_form() -> bool {
    use_context::<Parts>().is_some_and(|parts| {
        let wants_page = |value: &HeaderValue| value.to_str().is_ok_and(|kinds| kinds.contains("text/html"));
        parts.uri.path().starts_with("/ui/") && parts.headers.get(ACCEPT).is_some_and(wants_page)
    })
}

fn set_status(error: &ApiError) {
    if is_form() {
        return;
    }
    if let (Some(response), Ok(status)) = (use_context::<ResponseOptions>(), StatusCode::from_u16(error.status())) {
        response.set_status(status);
    }
}

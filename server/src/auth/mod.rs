//! Who is asking: a browser session or an API token becomes an [`Actor`] in the request's extensions. What an actor may do
//! is checked in the ledger, whatever the surface; here it is only decided whether somebody is known at all.

pub mod limits;
pub mod link;
pub mod password;
pub mod session_store;
pub mod sign_in;
pub mod token;

use std::collections::HashMap;

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, REFERER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Form, Json};
use tallystick_app::api::ApiError;
use tallystick_domain::name::PrincipalId;
use tallystick_domain::permission::Actor;
use tower_sessions::Session;

use crate::http::notice::Notice;
use crate::http::problem::{INVALID_TOKEN, NOT_SIGNED_IN, Problem, STORE_UNAVAILABLE};
use crate::http::url;
use crate::state::AppState;

/// The only thing a session holds: whose it is.
pub const SESSION_PRINCIPAL: &str = "principal";

/// Places that need nobody: signing in, what pages are dressed with, health, and documents about the API itself.
const OPEN_PLACES: &[&str] = &[
    "/sign-in",
    "/sign-in/",
    "/sign-out",
    "/assets/",
    "/pkg/",
    "/favicon.ico",
    "/healthz",
    "/readyz",
    "/problems/",
    "/api/v1/openapi.json",
    "/api/v1/events/schema.json",
];

/// The actor of a request to the API. Without one the answer is 401.
#[derive(Debug, Clone)]
pub struct SignedIn(pub Actor);

impl<S: Sync> FromRequestParts<S> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Actor>().cloned().map(Self).ok_or_else(Problem::not_signed_in)
    }
}

/// Finds out who is asking and turns everybody else away from places that need somebody.
pub async fn identify(State(state): State<AppState>, session: Session, mut request: Request, next: Next) -> Response {
    match actor_of(&state, &session, request.headers()).await {
        Err(problem) => return problem.into_response(),
        Ok(Some(actor)) => {
            request.extensions_mut().insert(actor);
        }
        Ok(None) if is_open(request.uri().path()) => {}
        Ok(None) => return turn_away(request).await,
    }
    next.run(request).await
}

async fn actor_of(state: &AppState, session: &Session, headers: &HeaderMap) -> Result<Option<Actor>, Problem> {
    if let Some(token) = headers.get(AUTHORIZATION) {
        return holder_of(state, token).await.map(Some);
    }
    let Some(id) = session.get::<PrincipalId>(SESSION_PRINCIPAL).await.map_err(unreadable)? else { return Ok(None) };
    let principal = state.ledger.principal(&id).await?;
    Ok(principal.map(|principal| principal.actor()))
}

async fn holder_of(state: &AppState, header: &HeaderValue) -> Result<Actor, Problem> {
    let hash = header.to_str().ok().and_then(token::from_header).map(|token| token::hash(&token));
    let holder = match hash {
        Some(hash) => state.ledger.token_holder(hash).await?,
        None => None,
    };
    holder.map(|principal| principal.actor()).ok_or_else(|| {
        Problem::new(INVALID_TOKEN, "The token is not valid. Nothing was done. Make one with `tallystick token new`.")
            .with_header(
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"tallystick\", error=\"invalid_token\""),
            )
    })
}

/// Not the same as being signed out: a person who signs in again would only meet it again.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn unreadable(error: tower_sessions::session::Error) -> Problem {
    tracing::error!(%error, "A session could not be read: {error}");
    Problem::new(
        STORE_UNAVAILABLE,
        "Your session could not be read, because the store is not available. Nothing was done. Try again in a moment; \
         you are still signed in.",
    )
    .retry_after(5)
}

fn is_open(path: &str) -> bool {
    OPEN_PLACES.iter().any(|place| if place.ends_with('/') { path.starts_with(place) } else { path == *place })
}

/// A program gets a problem; a person is sent to sign in and comes back to where they were.
async fn turn_away(request: Request) -> Response {
    let path = request.uri().path();
    let is_page = !path.starts_with("/api/") && !path.starts_with("/ui/") && path != "/metrics";
    if is_page && matches!(*request.method(), Method::GET | Method::HEAD) {
        let here = request.uri().path_and_query().map_or("/", |place| place.as_str());
        return Redirect::to(&sign_in_address(here)).into_response();
    }
    if path.starts_with("/api/") {
        return Problem::not_signed_in().into_response();
    }
    if wants_html(request.headers()) {
        return session_ended(request).await;
    }
    if path.starts_with("/ui/") {
        // In the pages' own words, so that a page can show what it means.
        return (StatusCode::UNAUTHORIZED, Json(ApiError::SignedOut)).into_response();
    }
    Problem::not_signed_in().into_response()
}

/// What people write in forms, by the fields' names. Choices and confirmations are made anew.
const WRITTEN: [(&str, &str); 5] = [
    ("reason", "Reason"),
    ("statement", "Statement"),
    ("receipt", "Receipt"),
    ("reference", "Reference"),
    ("arguments", "Arguments"),
];

/// A form was sent after its session had ended: it must be plain that nothing was done, the way back must be there, and what
/// was written must not be lost with it.
async fn session_ended(request: Request) -> Response {
    let form = request.headers().get(REFERER).and_then(|referer| referer.to_str().ok()).and_then(url::local_part);
    let back = sign_in_address(&form.unwrap_or_else(|| "/".to_owned()));
    let fields: HashMap<String, String> =
        Form::from_request(request, &()).await.map(|Form(fields)| fields).unwrap_or_default();
    let notice = Notice::new(
        NOT_SIGNED_IN.status,
        "Your session has ended",
        "You were no longer signed in when this form was sent. Nothing was done, and nothing of it was recorded. \
         Sign in; you come back to the form and can send it again.",
    );
    let written = |(name, label)| fields.get(name).filter(|text| !text.is_empty()).map(|text| (label, text));
    WRITTEN
        .into_iter()
        .filter_map(written)
        .fold(notice, |notice, (label, text)| notice.kept(format!("{label}, as you wrote it"), text))
        .link(back, "Sign in")
        .into_response()
}

/// Where to sign in, and where to go afterwards.
pub fn sign_in_address(next: &str) -> String {
    if next == "/" { "/sign-in".to_owned() } else { format!("/sign-in?next={}", url::encode(next)) }
}

/// Whether a browser navigates, rather than a program that asks.
pub fn wants_html(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"))
}

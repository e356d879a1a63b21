//! Everything that is answered over HTTP, and the layers around it. From the outside in: request id, trace, panics,
//! headers of security, compression, same-origin check, session, who is asking, deadline, then the route itself.

pub mod assets;
pub mod body;
pub mod export;
pub mod health;
pub mod metrics;
pub mod notice;
pub mod pages;
pub mod problem;
pub mod problem_pages;
pub mod security;
pub mod url;
pub mod v1;
pub mod webhooks;

use std::any::Any;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::get};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::{CsrfLayer, ProtectionError};
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use tower_sessions::cookie::SameSite;
use tower_sessions::{Expiry, SessionManagerLayer};

use crate::auth;
use crate::auth::session_store::LedgerSessions;
use crate::state::AppState;
use notice::Notice;
use problem::{INTERNAL, Problem, TIMED_OUT};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The whole router.
pub fn router(state: AppState) -> Router {
    let swift = Router::new()
        .nest("/api/v1", v1::router())
        .merge(auth::sign_in::router())
        .merge(health::router())
        .merge(problem_pages::router())
        .route("/operations.csv", get(export::operations))
        .route("/metrics", get(metrics::show));
    let swift = pages::mount(swift, &state)
        .fallback(nothing_here)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(state.clone(), limit_body))
        .layer(middleware::from_fn_with_state(state.clone(), end_in_time));
    // Streams have their own limits instead of a deadline.
    let slow = Router::new().nest("/api/v1", v1::streams());
    swift
        .merge(slow)
        .layer(middleware::from_fn_with_state(state.clone(), auth::identify))
        .layer(sessions(&state))
        // After the sessions: files are served without one, and deliveries prove who sent them by themselves.
        .merge(assets::router())
        .merge(webhooks::router().layer(middleware::from_fn_with_state(state.clone(), end_in_time)))
        .layer(CsrfLayer::new().with_rejection_response(from_another_site))
        .layer(CatchPanicLayer::custom(after_panic))
        .layer(middleware::from_fn(show_people_a_page))
        .layer(CompressionLayer::new())
        .layer(middleware::from_fn_with_state(state.clone(), security::guard))
        .layer(middleware::from_fn_with_state(state.clone(), metrics::count))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(TraceLayer::new_for_http().make_span_with(span))
        .layer(SetRequestIdLayer::new(REQUEST_ID, DrawId))
        .layer(middleware::map_request(without_foreign_id))
        .with_state(state)
}

/// Only what names the request: no headers, no query (it may hold a search for a key), no body.
fn span(request: &Request) -> tracing::Span {
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    // A sign-in link's secret is part of its path.
    let path = request.uri().path();
    let path = if path.starts_with("/sign-in/link/") { "/sign-in/link/…" } else { path };
    tracing::info_span!("http.request", id, method = %request.method(), path)
}

#[derive(Clone, Copy)]
struct DrawId;

/// A caller's own id is not taken over: ids in our log are ours.
async fn without_foreign_id(mut request: Request) -> Request {
    request.headers_mut().remove(REQUEST_ID);
    request
}

impl MakeRequestId for DrawId {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        let id = auth::token::random_hex::<8>().ok()?;
        HeaderValue::from_str(&id).ok().map(RequestId::new)
    }
}

fn sessions(state: &AppState) -> SessionManagerLayer<LedgerSessions> {
    let is_secure = state.config.is_over_tls();
    // `__Host-` works only with Secure, and browsers take Secure cookies over plain HTTP nowhere but in part on loopback.
    let name = if is_secure { "__Host-tallystick" } else { "tallystick" };
    let seconds = i64::try_from(state.config.limits.session_s).unwrap_or(i64::MAX);
    SessionManagerLayer::new(LedgerSessions::new(state.ledger.clone()))
        .with_name(name)
        .with_secure(is_secure)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path("/")
        .with_expiry(Expiry::OnInactivity(time::Duration::seconds(seconds)))
}

/// A problem that a person meets with a browser becomes a page that says the same. Programs, and everybody under `/api/`,
/// get the document.
async fn show_people_a_page(request: Request, next: Next) -> Response {
    let is_for_people = auth::wants_html(request.headers()) && !request.uri().path().starts_with("/api/");
    let response = next.run(request).await;
    let problem = response.extensions().get::<Problem>().filter(|_| is_for_people);
    problem.map(|problem| Notice::about(problem).link("/", "To the queue").into_response()).unwrap_or(response)
}

/// A page's body, or a form's, is never longer than this; the calls of the API have limits of their own.
async fn limit_body(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let limit = state.config.limits.body_bytes;
    if request.uri().path().starts_with("/api/") {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    match body::read_limited(&parts.headers, body, limit).await {
        Ok(bytes) => next.run(Request::from_parts(parts, bytes.into())).await,
        Err(problem) => problem.into_response(),
    }
}

/// A request that takes too long is answered. What it began is not taken back: a commit that is under way completes.
async fn end_in_time(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let limit = Duration::from_secs(state.config.limits.request_s);
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(
            TIMED_OUT,
            format!(
                "The request took longer than {} s. What it asked for may or may not have been done. Ask again with the same key: nothing is done twice.",
                limit.as_secs()
            ),
        )
        .retry_after(5)
        .into_response(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that the layer wants")]
fn after_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    let what = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    tracing::error!(what, "A handler panicked: {what}");
    Problem::new(
        INTERNAL,
        "Something failed here. What was asked for may or may not have been done; ask again with the same key. The X-Request-Id of this answer names the log line.",
    )
    .into_response()
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that the layer wants")]
fn from_another_site(error: ProtectionError) -> Response {
    Problem::new(
        problem::CROSS_SITE,
        format!("{error}. Nothing was done. Send the form from a page of this console; a proxy must pass Host and Origin on."),
    )
    .into_response()
}

async fn nothing_here(request: Request) -> Problem {
    Problem::not_found(request.uri().path())
}

async fn method_not_allowed(request: Request) -> Problem {
    Problem::method_not_allowed(request.method().as_str(), request.uri().path())
}

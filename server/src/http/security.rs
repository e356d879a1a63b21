//! Headers that keep a browser from being used against the person before it: a content security policy with a nonce for
//! each page, and its companions.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::{INTERNAL, Problem};
use crate::auth::token;
use crate::state::AppState;

/// The nonce that scripts of this request's page carry.
#[derive(Debug, Clone)]
pub struct CspNonce(pub Arc<str>);

/// Mints the nonce and sets the headers.
pub async fn guard(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let Ok(nonce) = token::random_hex::<16>() else {
        return Problem::new(INTERNAL, "The system gives no random bytes. Nothing was done.").into_response();
    };
    request.extensions_mut().insert(CspNonce(nonce.as_str().into()));
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let is_page =
        headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.starts_with("text/html"));
    if is_page {
        set(headers, CONTENT_SECURITY_POLICY, &page_policy(&nonce));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    } else {
        set(headers, CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    }
    // Not no-referrer: forms without script come back to the page they were sent from.
    set(headers, REFERRER_POLICY, "same-origin");
    set(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, X_FRAME_OPTIONS, "DENY");
    set(headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(headers, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if state.config.is_over_tls() {
        set(headers, STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    response
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Everything from here, scripts only with the nonce or from our own files, no inline styles, no frames.
fn page_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
}

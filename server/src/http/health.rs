//! Whether the process lives, and whether it can work.

use axum::Router;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::problem::Problem;
use crate::state::AppState;

/// `/healthz` and `/readyz`.
pub fn router() -> Router<AppState> {
    Router::new()
        .route("/healthz", get(async || ([(CACHE_CONTROL, "no-store")], "alive\n")))
        .route("/readyz", get(check_ready))
}

async fn check_ready(State(state): State<AppState>) -> Response {
    if *state.ending.borrow() {
        return Problem::new(super::problem::STORE_UNAVAILABLE, "The process is ending. Ask another one.")
            .into_response();
    }
    match state.ledger.check_ready().await {
        Ok(()) => ([(CACHE_CONTROL, "no-store")], "ready\n").into_response(),
        Err(error) => Problem::from(error).into_response(),
    }
}

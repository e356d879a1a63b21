//! The public API, version 1: plain documents for programs. Bodies are read strictly; every error is a problem document;
//! what a call may do is decided in the ledger, exactly as for the console's pages.

pub mod actions;
pub mod bulk;
pub mod deliveries;
pub mod destinations;
pub mod document;
pub mod events;
pub mod executing;
pub mod headers;
pub mod live;
pub mod openapi;
pub mod operations;
pub mod sources;
pub mod tools;
pub mod workflows;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::routing::{get, post, put};

use super::problem::Problem;
use crate::state::AppState;

/// Calls that are answered within the deadline.
pub fn router() -> Router<AppState> {
    Router::new()
        .route("/tools", get(tools::list))
        .route("/tools/{name}", put(tools::declare).get(tools::one))
        .route("/sources", get(sources::list))
        .route("/sources/{name}", put(sources::declare))
        .route("/operations", post(operations::propose).get(operations::list))
        .route("/operations/{id}", get(operations::one))
        .route("/operations/{id}/arguments", get(operations::arguments))
        .route("/operations/{id}/actions", post(actions::act))
        .route("/operations/{id}/lease", post(executing::lease))
        .route("/operations/{id}/dispatches", post(executing::dispatch))
        .route("/operations/{id}/outcomes", post(executing::outcome))
        .route("/operations/{id}/evidence", post(executing::evidence))
        .route("/destinations", get(destinations::list))
        .route("/destinations/{name}/pause", put(destinations::pause))
        .route("/deliveries", get(deliveries::list))
        .route("/workers", get(destinations::workers))
        .route("/restore", get(destinations::restore))
        .route("/restore/acknowledgement", post(destinations::acknowledge))
        .route("/workflows", get(workflows::list))
        .route("/workflows/{name}", get(workflows::one).put(workflows::declare))
        .route("/queue", get(operations::queue))
        .route("/actions", get(actions::list))
        .route("/actions/{key}", get(actions::one))
        .route("/actions/{key}/complete", post(actions::complete))
        .route("/actions/{key}/decline", post(actions::decline))
        .route("/bulk", post(bulk::preview))
        .route("/bulk/{id}", get(bulk::one))
        .route("/bulk/{id}/start", post(bulk::start))
        .route("/bulk/{id}/abort", post(bulk::abort))
        .route("/openapi.json", get(openapi::document))
        .route("/events/schema.json", get(events::schema))
        .fallback(nothing_here)
        .method_not_allowed_fallback(method_not_allowed)
        // Each handler reads its body itself, within its own limit.
        .layer(DefaultBodyLimit::disable())
}

/// Calls that run for as long as they must, and end when the process ends.
pub fn streams() -> Router<AppState> {
    Router::new()
        .route("/claims", post(executing::claim))
        .route("/events", post(events::take))
        .route("/live", get(live::follow))
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::disable())
}

async fn nothing_here(request: Request) -> Problem {
    Problem::not_found(&format!("/api/v1{}", request.uri().path()))
}

async fn method_not_allowed(request: Request) -> Problem {
    Problem::method_not_allowed(request.method().as_str(), &format!("/api/v1{}", request.uri().path()))
}

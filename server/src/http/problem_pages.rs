//! What each problem type means: `/problems` and `/problems/{code}`, the pages that `describedby` links lead to.

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::notice::Notice;
use super::problem::{KINDS, Problem, TYPE_PREFIX};
use crate::state::AppState;

/// The pages.
pub fn router() -> Router<AppState> {
    Router::new().route("/problems/", get(list)).route("/problems/{code}", get(one))
}

async fn list() -> Response {
    let start = Notice::new(200, "Problem types", "Errors of the API are RFC 9457 documents of these types.");
    KINDS.iter().fold(start, |page, kind| page.link(format!("/problems/{}", kind.code), kind.code)).into_response()
}

async fn one(Path(code): Path<String>) -> Response {
    let Some(kind) = KINDS.iter().find(|kind| kind.code == code) else {
        return Problem::not_found(&format!("/problems/{code}")).into_response();
    };
    let text = format!(
        "Type {TYPE_PREFIX}{}, status {}. The member `detail` says what was not done and what to do next.",
        kind.code, kind.status
    );
    Notice::new(200, kind.title, text).link("/problems/", "All problem types").into_response()
}

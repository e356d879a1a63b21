//! A few counters of this process in the Prometheus text format. No labels that grow with data.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::auth::SignedIn;
use crate::state::AppState;

/// Counts what this process did since it started.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Answers by class of status: 1xx to 5xx.
    answers: [AtomicU64; 5],
    /// Event lines read.
    pub event_lines: AtomicU64,
    /// Event lines that were not taken.
    pub event_lines_bad: AtomicU64,
    /// Deliveries whose signature held.
    pub deliveries: AtomicU64,
    /// Those of them that were there already.
    pub deliveries_repeated: AtomicU64,
    /// Deliveries that were turned away unverified.
    pub deliveries_refused: AtomicU64,
    /// Live streams that are open.
    pub live_streams: AtomicI64,
}

/// Counts answers.
pub async fn count(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let class = usize::from(response.status().as_u16() / 100).saturating_sub(1);
    if let Some(counter) = state.metrics.answers.get(class) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
    response
}

/// `GET /metrics`, for whoever may read.
pub async fn show(SignedIn(_): SignedIn, State(state): State<AppState>) -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text(&state.metrics)).into_response()
}

fn text(metrics: &Metrics) -> String {
    let mut out = String::from("# TYPE tallystick_http_answers_total counter\n");
    for (class, counter) in (1..).zip(&metrics.answers) {
        // Writing to a string cannot fail.
        let _ =
            writeln!(out, "tallystick_http_answers_total{{class=\"{class}xx\"}} {}", counter.load(Ordering::Relaxed));
    }
    let single = [
        ("tallystick_event_lines_total", "counter", metrics.event_lines.load(Ordering::Relaxed).to_string()),
        ("tallystick_event_lines_bad_total", "counter", metrics.event_lines_bad.load(Ordering::Relaxed).to_string()),
        ("tallystick_deliveries_total", "counter", metrics.deliveries.load(Ordering::Relaxed).to_string()),
        (
            "tallystick_deliveries_repeated_total",
            "counter",
            metrics.deliveries_repeated.load(Ordering::Relaxed).to_string(),
        ),
        (
            "tallystick_deliveries_refused_total",
            "counter",
            metrics.deliveries_refused.load(Ordering::Relaxed).to_string(),
        ),
        ("tallystick_live_streams", "gauge", metrics.live_streams.load(Ordering::Relaxed).to_string()),
    ];
    for (name, kind, value) in single {
        let _ = writeln!(out, "# TYPE {name} {kind}\n{name} {value}");
    }
    out
}

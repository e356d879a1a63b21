//! `POST /events`: what already happened elsewhere, as NDJSON. Read in pieces, taken in batches, idempotent per line: after
//! any failure the same body may be sent again.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Serialize;
use tallystick_domain::name::SourceName;
use utoipa::ToSchema;

use super::operations::{Pairs, bad_query, known_pairs};
use crate::auth::SignedIn;
use crate::http::problem::{Answer, BAD_BODY, BAD_LINE, Problem};
use crate::intake::lines::Lines;
use crate::intake::{Intake, OnBadLine, Total};
use crate::state::AppState;
use tallystick_domain::query::QueryError;

/// The vocabulary as a JSON Schema; one line is one value of it.
pub const SCHEMA: &str = include_str!("event.schema.json");

/// What came of the lines.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventsReport {
    /// Lines read, blank ones excepted.
    pub lines: u64,
    /// Lines that changed the record.
    pub recorded: u64,
    /// Lines that were there already, byte for byte.
    pub repeated: u64,
    /// Lines that were kept and linked to no operation yet.
    pub unlinked: u64,
    /// Operations that were made.
    pub operations: u64,
    /// Proposals that conflict with one on record.
    pub conflicts: u64,
    /// How many lines were not taken.
    pub bad_count: u64,
    /// The first thousand lines that were not taken.
    pub bad: Vec<BadLineDocument>,
}

/// A line that was not taken.
#[derive(Debug, Serialize, ToSchema)]
pub struct BadLineDocument {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong, and where.
    pub reason: String,
}

impl From<&Total> for EventsReport {
    fn from(total: &Total) -> Self {
        let report = &total.report;
        let bad = report.bad.iter().map(|bad| BadLineDocument { line: bad.number, reason: bad.reason.clone() });
        Self {
            lines: total.lines,
            recorded: report.recorded,
            repeated: report.repeated,
            unlinked: report.unlinked,
            operations: report.operations,
            conflicts: report.conflicts,
            bad_count: total.bad_count,
            bad: bad.collect(),
        }
    }
}

/// Takes events of one source. Every operation they tell of is *observed*: nothing is ever sent for it.
#[utoipa::path(post, path = "/api/v1/events", request_body(content = String, content_type = "application/x-ndjson"),
    params(("source" = String, Query, description = "Where the events come from"),
        ("strict" = Option<bool>, Query, description = "Stop at the first bad line and answer 422")),
    responses((status = 200, body = EventsReport), (status = 422, description = "With strict: a bad line; nothing after it was taken")))]
pub async fn take(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    pairs: Pairs,
    body: Body,
) -> Answer<Response> {
    let (source, on_bad) = read_query(pairs)?;
    // Who may not report is told before the body is read.
    state.ledger.import_lines(&actor, &source, 1, &[]).await?;
    let mut intake = Intake::new(state.ledger.clone(), actor, source, on_bad);
    let read = read_all(&state, &mut intake, body).await;
    let so_far = EventsReport::from(intake.total());
    let finished = match read {
        Ok(()) => intake.finish().await.map_err(Problem::from),
        Err(problem) => Err(problem),
    };
    let total = finished.map_err(|problem| with_report(problem, &so_far))?;
    state.metrics.event_lines.fetch_add(total.lines, Ordering::Relaxed);
    state.metrics.event_lines_bad.fetch_add(total.bad_count, Ordering::Relaxed);
    answer(&total)
}

fn read_query(pairs: Pairs) -> Answer<(SourceName, OnBadLine)> {
    let pairs = known_pairs(pairs, &["source", "strict"])?;
    let find = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let bad = |parameter: &str, value: &str, expected: &str| {
        bad_query(QueryError { parameter: parameter.into(), value: value.into(), expected: expected.into() })
    };
    let source = find("source").ok_or_else(|| bad("source", "", "name the source of the events"))?;
    let source = SourceName::parse(source).map_err(|error| bad("source", source, &error.to_string()))?;
    let on_bad = match find("strict") {
        None | Some("false") => OnBadLine::GoOn,
        Some("true") => OnBadLine::Stop,
        Some(other) => return Err(bad("strict", other, "use true or false")),
    };
    Ok((source, on_bad))
}

async fn read_all(state: &AppState, intake: &mut Intake, body: Body) -> Answer<()> {
    let mut pieces = body.into_data_stream();
    let mut lines = Lines::default();
    let mut length = 0_u64;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Problem::new(BAD_BODY, "The body ended before it was complete."))?;
        length += piece.len() as u64;
        if length > state.config.limits.events_bytes {
            let limit = usize::try_from(state.config.limits.events_bytes).unwrap_or(usize::MAX);
            return Err(Problem::too_large("The body", limit));
        }
        for line in lines.push(&piece) {
            intake.take(line).await?;
        }
        if intake.total().stopped || *state.ending.borrow() {
            return Ok(());
        }
    }
    if let Some(line) = lines.finish() {
        intake.take(line).await?;
    }
    Ok(())
}

/// What was taken stays taken; the answer says so.
fn with_report(problem: Problem, so_far: &EventsReport) -> Problem {
    problem.with("report", serde_json::to_value(so_far).unwrap_or_default()).with(
        "advice",
        "Lines in the report are on record. Send the same body again: lines that are there count as repeated.",
    )
}

fn answer(total: &Total) -> Answer<Response> {
    let report = EventsReport::from(total);
    match report.bad.first() {
        Some(bad) if total.stopped => Err(with_report(
            Problem::new(
                BAD_LINE,
                format!(
                    "Line {} was not taken: {}. Nothing after it was taken. Correct it and send the body again.",
                    bad.line, bad.reason
                ),
            )
            .with("line", bad.line),
            &report,
        )),
        _ => Ok((StatusCode::OK, Json(report)).into_response()),
    }
}

/// `GET /events/schema.json`.
#[utoipa::path(get, path = "/api/v1/events/schema.json", security(()), responses((status = 200, description = "The JSON Schema of one event line")))]
pub async fn schema() -> Response {
    ([(CONTENT_TYPE, "application/schema+json")], SCHEMA).into_response()
}

//! Destinations and workers as the record knows them, and what a restore needs.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use tallystick_domain::name::DestinationName;
use tallystick_ledger::destinations::Destination;
use tallystick_ledger::restoring::Restore;
use utoipa::ToSchema;

use crate::auth::SignedIn;
use crate::http::body::read_json;
use crate::http::problem::Answer;
use crate::state::AppState;

/// A destination, without its address or credential.
#[derive(Debug, Serialize, ToSchema)]
pub struct DestinationDocument {
    /// Its name in configuration.
    name: String,
    /// Counts changes of its scope.
    version: u64,
    /// In what keys are unique there.
    #[schema(value_type = Object)]
    scope: tallystick_domain::lease::Scope,
    /// Whether nothing is sent to it for now.
    is_paused: bool,
    /// What retries it bears; nothing until one was paid for.
    #[schema(value_type = Option<Object>)]
    budget: Option<tallystick_domain::budget::Budget>,
    /// Since when its budget paid for no retry, the last time that it did not.
    short_since: Option<String>,
    /// When that ended, or will end by time; nothing while only a success ends it.
    short_until: Option<String>,
}

impl From<Destination> for DestinationDocument {
    fn from(one: Destination) -> Self {
        let Destination { name, version, scope, is_paused, budget, shortage } = one;
        let (short_since, short_until) = (shortage.map(|last| last.since), shortage.and_then(|last| last.until));
        Self {
            name: name.to_string(),
            version,
            scope,
            is_paused,
            budget,
            short_since: short_since.map(|at| at.to_string()),
            short_until: short_until.map(|at| at.to_string()),
        }
    }
}

/// Every destination that a process was configured with.
#[utoipa::path(get, path = "/api/v1/destinations", responses((status = 200, body = Vec<DestinationDocument>)))]
pub async fn list(SignedIn(actor): SignedIn, State(state): State<AppState>) -> Answer<Json<Vec<DestinationDocument>>> {
    let all = state.ledger.destinations(&actor).await?;
    Ok(Json(all.into_iter().map(Into::into).collect()))
}

/// What `PUT /destinations/{name}/pause` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseBody {
    /// Whether nothing is to be sent for now.
    is_paused: bool,
}

/// Stops sending to a destination, or goes on.
#[utoipa::path(put, path = "/api/v1/destinations/{name}/pause", request_body = PauseBody,
    params(("name" = String, Path, description = "The destination's name")),
    responses((status = 200, body = DestinationDocument), (status = 403, description = "Administrators only")))]
pub async fn pause(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<DestinationDocument>> {
    let asked: PauseBody = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let one = state.ledger.pause_destination(&actor, &DestinationName::parse(name)?, asked.is_paused).await?;
    Ok(Json(one.into()))
}

/// A process that took work.
#[derive(Debug, Serialize, ToSchema)]
pub struct WorkerDocument {
    /// Its name.
    name: String,
    /// Which process it is.
    incarnation: String,
    /// When it last took work.
    seen_at: String,
    /// How many milliseconds its own clock was ahead of the record's, where it told it. Nothing is decided by it.
    clock_ahead_ms: Option<i64>,
}

/// Processes that took work, the last that spoke first.
#[utoipa::path(get, path = "/api/v1/workers", responses((status = 200, body = Vec<WorkerDocument>)))]
pub async fn workers(SignedIn(actor): SignedIn, State(state): State<AppState>) -> Answer<Json<Vec<WorkerDocument>>> {
    let all = state.ledger.workers(&actor).await?;
    let document = |worker: tallystick_ledger::executing::SeenWorker| WorkerDocument {
        name: worker.name,
        incarnation: worker.incarnation,
        seen_at: worker.seen_at.to_string(),
        clock_ahead_ms: worker.offset_micros.map(|micros| micros / 1_000),
    };
    Ok(Json(all.into_iter().map(document).collect()))
}

/// A restore that was declared.
#[derive(Debug, Serialize, ToSchema)]
pub struct RestoreDocument {
    /// The time of the copy.
    backup_at: String,
    /// When it was declared.
    declared_at: String,
    /// When it was acknowledged; nothing, while nothing is sent because of it.
    acknowledged_at: Option<String>,
    /// Who acknowledged it.
    acknowledged_by: Option<String>,
}

impl From<Restore> for RestoreDocument {
    fn from(restore: Restore) -> Self {
        let (at, by) = restore.acknowledged.unzip();
        Self {
            backup_at: restore.backup_at.to_string(),
            declared_at: restore.declared_at.to_string(),
            acknowledged_at: at.map(|at| at.to_string()),
            acknowledged_by: by,
        }
    }
}

/// The last restore that was declared, if any was.
#[utoipa::path(get, path = "/api/v1/restore", responses((status = 200, body = Option<RestoreDocument>)))]
pub async fn restore(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
) -> Answer<Json<Option<RestoreDocument>>> {
    Ok(Json(state.ledger.restore(&actor).await?.map(Into::into)))
}

/// A person has read what is gone: operations, approvals and sends after the backup's time. Sending goes on.
#[utoipa::path(post, path = "/api/v1/restore/acknowledgement",
    responses((status = 200, body = RestoreDocument), (status = 403, description = "Administrators only"),
        (status = 422, description = "No restore waits")))]
pub async fn acknowledge(SignedIn(actor): SignedIn, State(state): State<AppState>) -> Answer<Json<RestoreDocument>> {
    Ok(Json(state.ledger.acknowledge_restore(&actor, None).await?.into()))
}

//! Bulk actions over the API: preview, start, stop, read. A preview freezes the list; starting confirms its hash, so that no
//! filter is ever applied to what nobody has seen.

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tallystick_domain::action::Action;
use tallystick_domain::bulk::{Filter, Selection, input_for_many};
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{BulkId, NameError, OperationId, PrincipalId};
use tallystick_domain::permission::Actor;
use tallystick_ledger::bulk::BulkAnswer;
use utoipa::ToSchema;

use super::document::{BulkDocument, BulkPageDocument};
use super::headers::IDEMPOTENCY_REPLAYED;
use super::operations::bad_query;
use crate::auth::SignedIn;
use crate::http::body::read_json;
use crate::http::problem::{Answer, BAD_BODY, BAD_FIELD, Problem};
use crate::state::AppState;

/// What `POST /bulk` takes: an action, and either operations or a filter.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// `look_up`, `rerun_same_key`, `deny`, `revoke`, `cancel`, `escalate`, `assign` or `comment`.
    action: String,
    /// Whom to assign to, by id; nobody, where it is left out.
    #[serde(default)]
    to: Option<String>,
    /// These operations, by id; at most 1000.
    #[serde(default)]
    operations: Option<Vec<String>>,
    /// All that match now, at most 1000: `list` is `queue` (with `reason`, `assignee`, `tool`, `destination`, `cause`) or
    /// `operations` (with `state`, `tool`, `destination`, `mode`, `search`, `without_key`, `since`, `until`, `layer`, `mark`).
    /// It must name something.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    filter: Option<BTreeMap<String, String>>,
}

/// What `POST /bulk/{id}/start` takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRequest {
    /// The hash of the preview that was read.
    hash: String,
    /// Why; needed for all but `look_up` and `assign`. It goes into each of the actions.
    #[serde(default)]
    reason: String,
}

/// Freezes which operations are meant and what the decision says about each. Nothing is done to them.
#[utoipa::path(post, path = "/api/v1/bulk", request_body = PreviewRequest,
    responses((status = 201, description = "Previewed", body = BulkPageDocument), (status = 403, description = "The role does not admit it"),
        (status = 404, description = "No such operation"),
        (status = 422, description = "Not an action for many, an empty filter, nothing, or more than 1000")))]
pub async fn preview(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let asked: PreviewRequest = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let action = Action::parse(&asked.action).ok_or_else(|| {
        let detail = format!("There is no action {:?}. Nothing was done.", asked.action);
        Problem::new(BAD_BODY, detail).with("member", "action")
    })?;
    let input = input_for_many(action, asked.to.map(PrincipalId::parse).transpose()?)?;
    let selection = read_selection(asked.operations, asked.filter, &actor)?;
    let bulk = state.ledger.preview_bulk(&actor, input, selection).await?;
    let page = state.ledger.bulk(&actor, &bulk.id).await?;
    let page = page.ok_or_else(|| Problem::unknown("bulk action", bulk.id.as_str()))?;
    let mut response = (StatusCode::CREATED, Json(BulkPageDocument::from(&page))).into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/api/v1/bulk/{}", bulk.id)) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

fn read_selection(
    operations: Option<Vec<String>>,
    filter: Option<BTreeMap<String, String>>,
    actor: &Actor,
) -> Answer<Selection> {
    match (operations, filter) {
        (Some(ids), None) => {
            let operations = ids.into_iter().map(OperationId::parse).collect::<Result<Vec<_>, NameError>>()?;
            Ok(Selection::Chosen { operations, from: None })
        }
        (None, Some(filter)) => Ok(Selection::Matching(read_filter(filter, actor)?)),
        (Some(_), Some(_)) | (None, None) => {
            Err(Problem::new(BAD_BODY, "Give either \"operations\" or \"filter\", and not both. Nothing was done."))
        }
    }
}

/// All members known: a filter that is misspelt must not find more than was meant.
fn read_filter(mut filter: BTreeMap<String, String>, actor: &Actor) -> Answer<Filter> {
    let list = filter.remove("list").unwrap_or_default();
    let known: &[&str] = match list.as_str() {
        "queue" => &["reason", "assignee", "tool", "destination", "cause"],
        _ => &["state", "tool", "destination", "mode", "search", "without_key", "since", "until", "layer", "mark"],
    };
    if let Some(stranger) = filter.keys().find(|name| !known.contains(&name.as_str())) {
        let detail =
            format!("The filter {stranger:?} is not known. Nothing was done. Known are list, {}.", known.join(", "));
        return Err(Problem::new(BAD_BODY, detail).with("member", stranger.as_str()));
    }
    let pairs = filter.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Filter::from_pairs(&list, pairs, actor).map_err(bad_query)
}

/// Starts a preview: only its maker, only with its hash, once. The items are carried out in the background.
#[utoipa::path(post, path = "/api/v1/bulk/{id}/start", request_body = StartRequest,
    params(("id" = String, Path, description = "The bulk action's id")),
    responses((status = 202, description = "Started, or already started", body = BulkDocument),
        (status = 403, description = "Somebody else made the preview, or the role does not admit it"),
        (status = 404, description = "No such bulk action"),
        (status = 409, description = "Too old, stopped, another list, or nothing to do"), (status = 422, description = "A reason is missing")))]
pub async fn start(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let asked: StartRequest = read_json(&headers, body, state.config.limits.body_bytes).await?;
    let hash = Hash::parse_hex(&asked.hash).ok_or_else(|| {
        Problem::new(BAD_FIELD, "hash: it is not 64 hexadecimal digits. Nothing was done.").with("field", "hash")
    })?;
    let answer = state.ledger.start_bulk(&actor, &BulkId::parse(id)?, hash, &asked.reason).await?;
    Ok(answered(StatusCode::ACCEPTED, &answer))
}

/// Stops a bulk action: no further item begins; what was begun stays as it is.
#[utoipa::path(post, path = "/api/v1/bulk/{id}/abort", params(("id" = String, Path, description = "The bulk action's id")),
    responses((status = 200, description = "Over; it may have ended before", body = BulkDocument),
        (status = 403, description = "The role does not admit it"), (status = 404, description = "No such bulk action")))]
pub async fn abort(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Answer<Response> {
    let answer = state.ledger.abort_bulk(&actor, &BulkId::parse(id)?).await?;
    Ok(answered(StatusCode::OK, &answer))
}

/// One bulk action with its whole list: where each item stands.
#[utoipa::path(get, path = "/api/v1/bulk/{id}", params(("id" = String, Path, description = "The bulk action's id")),
    responses((status = 200, body = BulkPageDocument), (status = 404, description = "No such bulk action")))]
pub async fn one(
    SignedIn(actor): SignedIn,
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Answer<Json<BulkPageDocument>> {
    let found = state.ledger.bulk(&actor, &BulkId::parse(id.as_str())?).await?;
    found.map(|page| Json((&page).into())).ok_or_else(|| Problem::unknown("bulk action", &id))
}

fn answered(status: StatusCode, answer: &BulkAnswer) -> Response {
    let mut response = (status, Json(BulkDocument::from(&answer.bulk))).into_response();
    if answer.already_recorded {
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

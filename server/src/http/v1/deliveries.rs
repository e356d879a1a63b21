//! Deliveries: what destinations told by themselves, as it was received.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tallystick_domain::query::{DeliveryFilter, PAGE_SIZE};
use tallystick_ledger::deliveries::{Delivery, DeliveryQuery};
use utoipa::ToSchema;

use super::actions::read_limit;
use super::document::PageDocument;
use super::operations::{Pairs, bad_query, borrowed, known_pairs, next_link, with_link};
use crate::auth::SignedIn;
use crate::http::problem::Answer;
use crate::state::AppState;

/// A delivery. Only one whose signature was verified is on record.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryDocument {
    /// The webhook that it came to.
    webhook: String,
    /// Its id at the destination; the same however often it is sent.
    id: String,
    /// How it was signed: `stripe`, `github` or `standard`.
    scheme: &'static str,
    /// The destination that delivers there.
    destination: String,
    /// The type of its event, where one is told.
    event: Option<String>,
    /// When it was first received.
    received_at: String,
    /// When it happened by the destination's clock, where that is told.
    happened_at: Option<String>,
    /// How many milliseconds lie between the two; negative where the destination's clock is ahead.
    late_ms: Option<i64>,
    /// How often it came again. That changed nothing.
    repeats: u32,
    /// When it last came again.
    repeated_at: Option<String>,
    /// The operations that hold what it says; none while it is unmatched.
    matched: Vec<MatchDocument>,
}

/// An operation that holds what a delivery says.
#[derive(Debug, Serialize, ToSchema)]
pub struct MatchDocument {
    /// Its id.
    operation_id: String,
    /// Its key.
    operation_key: String,
    /// How it was linked: `key`, `metadata`, `receipt` or `natural_key`.
    linked_by: &'static str,
}

impl From<Delivery> for DeliveryDocument {
    fn from(one: Delivery) -> Self {
        Self {
            webhook: one.webhook.to_string(),
            id: one.id.to_string(),
            scheme: one.scheme.name(),
            destination: one.destination.to_string(),
            late_ms: one.happened_at.map(|at| (one.received_at.as_micros() - at.as_micros()) / 1_000),
            event: one.event,
            received_at: one.received_at.to_string(),
            happened_at: one.happened_at.map(|at| at.to_string()),
            repeats: one.repeats,
            repeated_at: one.repeated_at.map(|at| at.to_string()),
            matched: one
                .matched
                .into_iter()
                .map(|matched| MatchDocument {
                    operation_id: matched.operation_id.to_string(),
                    operation_key: matched.operation_key.to_string(),
                    linked_by: matched.linked_by.name(),
                })
                .collect(),
        }
    }
}

/// A page of deliveries, newest first. `only` is `unmatched`, `repeated` or `late`: a page then looks through some of the
/// newest, may have few rows or none, and still names the next one; follow `next` until there is none.
#[utoipa::path(get, path = "/api/v1/deliveries",
    params(("after" = Option<String>, Query), ("limit" = Option<u32>, Query), ("only" = Option<String>, Query)),
    responses((status = 200, body = PageDocument<DeliveryDocument>)))]
pub async fn list(SignedIn(actor): SignedIn, State(state): State<AppState>, pairs: Pairs) -> Answer<Response> {
    let pairs = known_pairs(pairs, &["after", "limit", "only"])?;
    let find = |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let limit = find("limit").map_or(Ok(PAGE_SIZE), read_limit)?;
    let only = DeliveryFilter::from_pairs(borrowed(&pairs)).map_err(bad_query)?;
    let query = DeliveryQuery { after: find("after").map(str::to_owned), limit: Some(limit), only };
    let page = state.ledger.deliveries(&actor, &query).await?;
    let link = page.next.as_ref().map(|after| {
        let place = [("after", after.clone()), ("limit", limit.to_string())];
        let only = only.map(|only| ("only", only.name().to_owned()));
        next_link("/api/v1/deliveries", &place.into_iter().chain(only).collect::<Vec<_>>())
    });
    let document = PageDocument::of(page, DeliveryDocument::from);
    Ok(with_link(link, Json(document).into_response()))
}

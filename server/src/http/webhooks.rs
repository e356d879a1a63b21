//! `POST /webhooks/{source}`: what destinations tell by themselves. The signature is verified over the bytes as they came
//! before anything else; what does not hold leaves nothing but a count and a log line (I22).

use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderMap, HeaderValue};
use axum::routing::post;
use axum::{Json, Router};
use serde::Serialize;
use tallystick_domain::json::Json as StrictJson;
use tallystick_ledger::LedgerError;
use tallystick_ledger::deliveries::{Inbound, Received};

use super::body::read_limited;
use super::problem::{Answer, INVALID_SIGNATURE, Problem, SECRET_UNAVAILABLE};
use crate::intake::webhooks::{Unverified, Webhook};
use crate::state::AppState;

/// The most bytes that a delivery may have.
pub const LIMIT_BYTES: usize = 1024 * 1024;

/// Places that nobody signs in to: the signature says who speaks.
pub fn router() -> Router<AppState> {
    Router::new()
        .route("/webhooks/{source}", post(receive))
        .method_not_allowed_fallback(super::method_not_allowed)
        .layer(DefaultBodyLimit::disable())
}

/// What the sender is answered. It learns nothing of what the delivery was linked to.
#[derive(Debug, Serialize)]
struct Receipt {
    /// `recorded`, or `repeated` where a delivery with its id was there.
    status: &'static str,
}

/// Why a delivery is not taken.
enum Refused {
    Unverified(Unverified),
    Ledger(LedgerError),
}

impl From<Unverified> for Refused {
    fn from(error: Unverified) -> Self {
        Self::Unverified(error)
    }
}

async fn receive(
    State(state): State<AppState>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<Receipt>> {
    let Some(webhook) = state.webhooks.get(&name) else { return Err(Problem::unknown("webhook", &name)) };
    let limit = state.config.limits.body_bytes.min(LIMIT_BYTES);
    let bytes = read_limited(&headers, body, limit).await?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let now = async { state.ledger.now().await.map_err(Refused::Ledger) };
    match webhook.verify(header, &bytes, now).await {
        Ok(()) => {}
        Err(Refused::Ledger(error)) => return Err(error.into()),
        Err(Refused::Unverified(error)) => {
            state.metrics.deliveries_refused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(webhook = %webhook.name, "A delivery to webhook {} was not taken: {error}", webhook.name);
            return Err(refused(&error));
        }
    }
    let received = state.ledger.receive_delivery(inbound(webhook, header, bytes.to_vec())).await?;
    state.metrics.deliveries.fetch_add(1, Ordering::Relaxed);
    let status = match received {
        Received::New(_) => "recorded",
        Received::Repeated => {
            state.metrics.deliveries_repeated.fetch_add(1, Ordering::Relaxed);
            "repeated"
        }
    };
    Ok(Json(Receipt { status }))
}

fn inbound<'h>(webhook: &Webhook, header: impl Fn(&str) -> Option<&'h str>, body: Vec<u8>) -> Inbound {
    let Webhook { name, scheme, destination, .. } = webhook;
    let json = StrictJson::parse(&body).ok();
    let kept = scheme.headers().iter().filter_map(|name| Some(((*name).to_owned(), header(name)?.to_owned())));
    Inbound {
        webhook: name.clone(),
        scheme: *scheme,
        destination: destination.clone(),
        envelope: scheme.envelope(&header, &body, json.as_ref()),
        headers: kept.collect(),
        body,
    }
}

fn refused(error: &Unverified) -> Problem {
    match error {
        Unverified::Signature(why) => {
            let detail = format!("The delivery is not taken: {why}. Nothing of it was recorded. Check the secret and the clock.");
            Problem::new(INVALID_SIGNATURE, detail)
                .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Signature realm=\"tallystick\""))
        }
        Unverified::NoSecret => Problem::new(
            SECRET_UNAVAILABLE,
            "The delivery cannot be verified, because no secret of this webhook can be read. Nothing of it was recorded. \
             Send it again later.",
        )
        .retry_after(60),
    }
}

//! What every delivery of a scheme tells about itself, whatever it is about: its id, its type, when it happened.

use serde::{Deserialize, Serialize};

use super::text_at;
use crate::fingerprint::Hash;
use crate::json::Json;
use crate::name::DeliveryId;
use crate::operation::named;
use crate::time::Timestamp;

named! {
    /// How deliveries are signed, and where they say what they are (semantics 1.9).
    Scheme {
        /// `Stripe-Signature: t=…,v1=…`.
        Stripe = "stripe",
        /// `X-Hub-Signature-256`.
        Github = "github",
        /// Standard Webhooks 1.0.0.
        Standard = "standard",
    }
}

impl Scheme {
    /// The headers that are kept beside the body: what the delivery tells about itself there, and its signature.
    pub const fn headers(self) -> &'static [&'static str] {
        match self {
            Self::Stripe => &["content-type", "stripe-signature"],
            Self::Github => {
                &["content-type", "x-github-delivery", "x-github-event", "x-github-hook-id", "x-hub-signature-256"]
            }
            Self::Standard => &["content-type", "webhook-id", "webhook-timestamp", "webhook-signature"],
        }
    }

    /// Reads what a delivery tells about itself. `header` knows headers by their lower-case names.
    pub fn envelope<'h>(self, header: impl Fn(&str) -> Option<&'h str>, bytes: &[u8], body: Option<&Json>) -> Envelope {
        let told = |pointer: &str| body.and_then(|body| text_at(body, pointer)).map(str::to_owned);
        let (id, event, happened_at) = match self {
            Self::Stripe => {
                let account = told("/account");
                let id = told("/id").map(|id| account.map_or_else(|| id.clone(), |account| format!("{account}/{id}")));
                (id, told("/type"), body.and_then(|body| time_at(body, "/created")))
            }
            Self::Github => {
                let event = header("x-github-event").map(|event| match told("/action") {
                    Some(action) => format!("{event}.{action}"),
                    None => event.to_owned(),
                });
                // The guid names the event; the delivery's own number is not told to the receiver.
                (header("x-github-delivery").map(str::to_owned), event, None)
            }
            Self::Standard => {
                let at = body.and_then(|body| time_at(body, "/timestamp"));
                (header("webhook-id").map(str::to_owned), told("/type"), at)
            }
        };
        // What tells no id that can be kept is known again by its bytes.
        let id = id.and_then(|id| DeliveryId::parse(id).ok()).unwrap_or_else(|| DeliveryId::of_body(&Hash::of(bytes)));
        Envelope { id, event: event.filter(|event| is_short(event)), happened_at }
    }
}

/// A type is shown in lists and compared; a longer one is none that could have been declared.
fn is_short(event: &str) -> bool {
    crate::name::check_name("event type", event, 120).is_ok()
}

/// What a delivery tells about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Its id, the same however often it is sent.
    pub id: DeliveryId,
    /// The type of its event.
    pub event: Option<String>,
    /// When it happened by the destination's clock.
    pub happened_at: Option<Timestamp>,
}

/// A time as seconds since 1970 or RFC 3339.
pub(super) fn time_at(json: &Json, pointer: &str) -> Option<Timestamp> {
    let text = text_at(json, pointer)?;
    match text.parse::<i64>() {
        // Within the years that RFC 3339 knows; anything else is no time in seconds.
        Ok(seconds) => Timestamp::parse_rfc3339(&Timestamp::from_micros(seconds.checked_mul(1_000_000)?).to_string()),
        Err(_) => Timestamp::parse_rfc3339(text),
    }
}

//! `GET /live`: server-sent events that say what changed, never how. Who hears of a change reads it again. Each listener
//! pulls from the change feed at its own pace, so a slow one holds nobody up; one that falls too far behind is told to read
//! everything again (`resync`).

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use tallystick_domain::query::QueryError;
use tallystick_ledger::Ledger;
use tallystick_ledger::changes::{CatchUp, Change};
use tokio::sync::watch;
use utoipa::ToSchema;

use super::operations::{Pairs, bad_query, known_pairs};
use crate::auth::SignedIn;
use crate::http::metrics::Metrics;
use crate::http::problem::{Answer, Problem};
use crate::state::AppState;

/// How many changes are read at once.
const PIECE: u32 = 200;
/// A comment that keeps proxies from closing a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A stream ends now and then; the browser comes back with its last number, and who it is gets checked again.
const LONGEST: Duration = Duration::from_mins(15);

/// The data of a `change` event.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangeDocument {
    /// Rises with every change; the event's id.
    pub sequence: i64,
    /// `operation`, `action`, `bulk`, `delivery`, `destination`, `tool`, `source` or `settings`.
    pub topic: String,
    /// Which one.
    pub id: String,
    /// Its version after the change.
    pub version: u64,
    /// Whether it waits for a person after the change.
    pub needs_attention: bool,
}

impl From<Change> for ChangeDocument {
    fn from(change: Change) -> Self {
        Self {
            sequence: change.sequence,
            topic: change.topic,
            id: change.id,
            version: change.version,
            needs_attention: change.needs_attention,
        }
    }
}

/// Follows the change feed from `Last-Event-ID`, else from `after`, else from now. Events: `ready` (the number it starts
/// from), `change`, `resync`.
#[utoipa::path(get, path = "/api/v1/live", params(("after" = Option<i64>, Query, description = "The last number seen")),
    responses((status = 200, description = "A stream of server-sent events", content_type = "text/event-stream", body = ChangeDocument)))]
pub async fn follow(
    SignedIn(_reader): SignedIn,
    State(state): State<AppState>,
    headers: HeaderMap,
    pairs: Pairs,
) -> Answer<Response> {
    let pairs = known_pairs(pairs, &["after"])?;
    let told = match headers.get("last-event-id").and_then(|id| id.to_str().ok()) {
        Some(id) => Some(("Last-Event-ID", id.to_owned())),
        None => pairs.into_iter().next().map(|(_, value)| ("after", value)),
    };
    let after = match told {
        Some((name, text)) => read_sequence(name, &text)?,
        None => state.ledger.newest_sequence().await?,
    };
    let events = Listener::new(&state, after).into_stream();
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).text("alive");
    let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
    // Proxies that gather a stream would make it late.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    Ok(response)
}

fn read_sequence(name: &str, text: &str) -> Answer<i64> {
    text.trim().parse().ok().filter(|sequence| *sequence >= 0).ok_or_else(|| {
        bad_query(QueryError { parameter: name.into(), value: text.into(), expected: "use the id of an event".into() })
    })
}

/// Counts itself among the open streams for as long as it lives.
struct Open(Arc<Metrics>);

impl Open {
    fn new(metrics: Arc<Metrics>) -> Self {
        metrics.live_streams.fetch_add(1, Ordering::Relaxed);
        Self(metrics)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.live_streams.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Listener {
    ledger: Ledger,
    wake: watch::Receiver<u64>,
    ending: watch::Receiver<bool>,
    after: i64,
    waiting: std::vec::IntoIter<Event>,
    ends_at: std::pin::Pin<Box<tokio::time::Sleep>>,
    _open: Open,
}

impl Listener {
    fn new(state: &AppState, after: i64) -> Self {
        let mut wake = state.ledger.wake();
        // What is there already is read before the first wait.
        wake.mark_changed();
        Self {
            ledger: state.ledger.clone(),
            wake,
            ending: state.ending.clone(),
            after,
            waiting: vec![event("ready", after, &serde_json::json!({ "sequence": after }))].into_iter(),
            ends_at: Box::pin(tokio::time::sleep(LONGEST)),
            _open: Open::new(state.metrics.clone()),
        }
    }

    fn into_stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(self, |mut listener| async move {
            let event = listener.next().await?;
            Some((Ok(event), listener))
        })
    }

    /// The next event; `None` when the stream ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.next() {
                return Some(event);
            }
            self.wait().await?;
            match self.ledger.changes_after(self.after, PIECE).await {
                Ok(caught_up) => self.waiting = self.events(caught_up).into_iter(),
                Err(error) => {
                    // Logged where problems are made; the browser comes back by itself.
                    drop(Problem::from(error));
                    return None;
                }
            }
        }
    }

    async fn wait(&mut self) -> Option<()> {
        tokio::select! {
            woken = self.wake.changed() => woken.ok(),
            () = ends(&mut self.ending) => None,
            () = self.ends_at.as_mut() => None,
        }
    }

    fn events(&mut self, caught_up: CatchUp) -> Vec<Event> {
        match caught_up {
            CatchUp::Resync { sequence } => {
                self.after = sequence;
                vec![event("resync", sequence, &serde_json::json!({ "sequence": sequence }))]
            }
            CatchUp::Changes(changes) => {
                if changes.len() >= PIECE as usize {
                    // There may be more: read on without waiting.
                    self.wake.mark_changed();
                }
                self.after = changes.last().map_or(self.after, |change| change.sequence);
                changes
                    .into_iter()
                    .map(|change| event("change", change.sequence, &ChangeDocument::from(change)))
                    .collect()
            }
        }
    }
}

async fn ends(ending: &mut watch::Receiver<bool>) {
    if ending.wait_for(|ends| *ends).await.is_err() {
        // Nobody is left who could end us (tests): the stream ends with its connection.
        std::future::pending::<()>().await;
    }
}

fn event(name: &str, sequence: i64, data: &impl Serialize) -> Event {
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).id(sequence.to_string()).data(data)
}

//! What changed since the page was made: server-sent events become signals, and pages read themselves anew.
//!
//! An event carries no content, only which thing changed. Nothing here runs on the server.

use leptos::prelude::*;
use serde::Deserialize;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};

/// The most changes that are remembered; more are one "read everything anew".
const REMEMBERED: usize = 400;
/// How long changes are gathered before a page reads itself anew.
const GATHER: std::time::Duration = std::time::Duration::from_millis(300);

/// How current the page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Rendered once; nothing keeps it current (yet).
    Still,
    /// Changes arrive.
    Live,
    /// Changes arrived and do so no longer.
    Lost,
}

/// One change, without content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Change {
    /// Rises with every change.
    pub sequence: i64,
    /// What kind of thing.
    pub topic: String,
    /// Which one.
    pub id: String,
    /// Whether it waits for a person afterwards.
    #[serde(default)]
    pub needs_attention: bool,
}

/// The feed.
#[derive(Clone, Copy)]
pub struct Live {
    /// How current the page is.
    pub status: RwSignal<Status>,
    /// The newest changes, oldest first.
    pub changes: RwSignal<Vec<Change>>,
    /// Rises when everything must be read anew.
    pub resyncs: RwSignal<u32>,
    /// Whether content has been put in place since the document came.
    pub has_shown: StoredValue<bool>,
    has_started: StoredValue<bool>,
}

/// Makes the feed known to all pages.
pub fn provide_live() {
    provide_context(Live {
        status: RwSignal::new(Status::Still),
        changes: RwSignal::new(Vec::new()),
        resyncs: RwSignal::new(0),
        has_shown: StoredValue::new(false),
        has_started: StoredValue::new(false),
    });
}

impl Live {
    /// The feed of this page.
    pub fn get() -> Self {
        use_context().unwrap_or_else(|| {
            provide_live();
            expect_context()
        })
    }

    /// A number that rises, a moment later, after a change that `concerns` the page; a page's data depends on it.
    pub fn refresh_on(self, concerns: Box<dyn Fn(&Change) -> bool>) -> RwSignal<u32> {
        let refresh = RwSignal::new(0_u32);
        let is_due = StoredValue::new(false);
        let seen = StoredValue::new((0_i64, 0_u32));
        Effect::new(move |_| {
            let resyncs = self.resyncs.get();
            let (before, resyncs_before) = seen.get_value();
            let (newest, is_concerned) = self.changes.with(|changes| {
                let fresh = changes.iter().filter(|change| change.sequence > before);
                (changes.last().map_or(before, |change| change.sequence), { fresh }.any(&concerns))
            });
            seen.set_value((newest, resyncs));
            if (is_concerned || resyncs != resyncs_before) && !is_due.get_value() {
                is_due.set_value(true);
                set_timeout(
                    move || {
                        is_due.try_update_value(|due| *due = false);
                        refresh.try_update(|count| *count += 1);
                    },
                    GATHER,
                );
            }
        });
        refresh
    }

    /// Listens for what comes after `sequence`. The first call counts; the browser connects anew by itself.
    pub fn start(self, sequence: &str) {
        if sequence.is_empty() || self.has_started.get_value() {
            return;
        }
        self.has_started.set_value(true);
        mark_document();
        let Ok(source) = EventSource::new(&format!("/api/v1/live?after={sequence}")) else {
            return;
        };
        listen(&source, "open", move |_| self.status.set(Status::Live));
        listen(&source, "error", move |_| self.status.set(Status::Lost));
        listen(&source, "change", move |event| {
            let Some(change) = data_of(&event).and_then(|data| serde_json::from_str::<Change>(&data).ok()) else {
                return;
            };
            self.remember(change);
        });
        listen(&source, "resync", move |_| self.resyncs.update(|count| *count += 1));
    }

    fn remember(self, change: Change) {
        let mut is_full = false;
        self.changes.update(|changes| {
            changes.push(change);
            is_full = changes.len() > REMEMBERED;
            if is_full {
                changes.drain(..REMEMBERED / 2);
            }
        });
        if is_full {
            self.resyncs.update(|count| *count += 1);
        }
    }
}

fn data_of(event: &web_sys::Event) -> Option<String> {
    event.dyn_ref::<MessageEvent>()?.data().as_string()
}

/// The listener lives as long as the page.
fn listen(source: &EventSource, name: &str, act: impl Fn(web_sys::Event) + 'static) {
    let closure = Closure::<dyn Fn(web_sys::Event)>::new(act);
    // Fails only for a callback that is not a function.
    let _ = source.add_event_listener_with_callback(name, closure.as_ref().unchecked_ref());
    closure.forget();
}

/// Lets the style sheet show what only works with script.
fn mark_document() {
    if let Some(root) = document().document_element() {
        // Fails only for a name that is not an attribute's.
        let _ = root.set_attribute("data-script", "on");
    }
}

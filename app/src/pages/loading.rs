//! Puts a page's content in place, and keeps it current. One concrete function serves all pages: what is generic is
//! compiled once for each use, and the browser pays for every copy.

use std::pin::Pin;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use crate::api::fragment::Fragment;
use crate::api::{ApiError, Pairs};
use crate::components::notice::{failed, loading};
use crate::keys::{is_in_rows, place_focus};
use crate::live::{Change, Live};
use crate::morph::{is_shown, morph_content};

/// What an address asks for. Equal questions are not asked twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// The parts of the path that vary.
    pub names: Vec<String>,
    /// The query.
    pub pairs: Pairs,
}

impl Asked {
    /// The varying part of the path with this number.
    pub fn name(&self, at: usize) -> String {
        self.names.get(at).cloned().unwrap_or_default()
    }
}

/// Content on its way.
pub type Coming = Pin<Box<dyn Future<Output = Result<Fragment, ApiError>> + Send>>;

/// How a page is filled and kept current.
pub struct Place {
    /// What its address asks for.
    pub asked: Memo<Asked>,
    /// Gets it.
    pub fetch: fn(Asked) -> Coming,
    /// Which changes make it read itself anew.
    pub concerns: fn(&Change, &Asked) -> bool,
    /// Whether it says how many operations have come to wait since it was read.
    pub announces: bool,
}

/// Content as it is kept between server and browser: the document holds the text already, so it is not sent twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Shown {
    title: String,
    sequence: String,
    #[serde(skip)]
    html: String,
}

impl From<Fragment> for Shown {
    fn from(Fragment { title, html, sequence }: Fragment) -> Self {
        Self { title, sequence, html }
    }
}

/// A page that no change concerns.
pub fn unconcerned(_: &Change, _: &Asked) -> bool {
    false
}

/// Shows a place.
pub fn shown(Place { asked, fetch, concerns, announces }: Place) -> AnyView {
    let live = Live::get();
    let data = Resource::new(
        move || asked.get(),
        move |asked| {
            let coming = fetch(asked);
            async move { coming.await.map(Shown::from) }
        },
    );
    let read_at = RwSignal::new(0_i64);
    // Effects run only in the browser.
    Effect::new(move |_| {
        if let Some(Ok(shown)) = data.get() {
            read_at.set(shown.sequence.parse().unwrap_or(0));
        }
    });
    keep_focus(live, asked, data);
    let refresh = live.refresh_on(Box::new(move |change| asked.with_untracked(|asked| concerns(change, asked))));
    Effect::new(move |before: Option<u32>| {
        let count = refresh.get();
        if before.is_some_and(|before| before != count) {
            spawn_local(read_anew(fetch(asked.get_untracked()), read_at));
        }
        count
    });
    let new = announces.then(|| new_rows(live, read_at, data));
    view! {
        {new}
        <Transition fallback=loading>
            {move || Suspend::new(async move { data.await.map_or_else(|error| failure(&error), content) })}
        </Transition>
    }
    .into_any()
}

/// Content that is put in place takes the focus of what was there away; it goes on where a reader would look next.
fn keep_focus(live: Live, asked: Memo<Asked>, data: Resource<Result<Shown, ApiError>>) {
    let was_in_rows = StoredValue::new(false);
    // The old content is still there when something else is asked for.
    Effect::new(move |_| {
        asked.track();
        was_in_rows.set_value(is_in_rows());
    });
    Effect::new(move |before: Option<Option<Vec<String>>>| {
        let before = before.flatten();
        if data.with(Option::is_none) {
            return before;
        }
        let names = asked.with_untracked(|asked| asked.names.clone());
        let is_new_page = before.as_ref() != Some(&names);
        // A document that just came has the focus where browsers put it.
        if live.has_shown.try_update_value(|has_shown| std::mem::replace(has_shown, true)) == Some(true) {
            let was_in_rows = was_in_rows.get_value();
            // The content is there with the next frame.
            request_animation_frame(move || place_focus(is_new_page, was_in_rows));
        }
        Some(names)
    });
}

fn failure(error: &ApiError) -> AnyView {
    view! {
        <Title text=format!("{} · Tallystick", error.title()) />
        {failed(error)}
    }
    .into_any()
}

fn content(shown: Shown) -> AnyView {
    view! {
        <Title text=shown.title />
        <div id="content" inner_html=shown.html></div>
    }
    .into_any()
}

/// Reads a page anew and changes what differs. When that fails, what is there stays; the dot in the head tells the rest.
async fn read_anew(coming: Coming, read_at: RwSignal<i64>) {
    let Ok(fragment) = coming.await else { return };
    let Some(content) = document().get_element_by_id("content") else { return };
    morph_content(&content, &fragment.html);
    read_at.try_set(fragment.sequence.parse().unwrap_or(0));
}

/// Says `+N new` and reads the list anew when pressed, so that rows never jump under the pointer by themselves.
fn new_rows(live: Live, read_at: RwSignal<i64>, data: Resource<Result<Shown, ApiError>>) -> AnyView {
    let count = move || {
        let since = read_at.get();
        live.changes.with(|changes| {
            let arrived = changes.iter().filter(|change| change.sequence > since && change.needs_attention);
            let mut ids: Vec<&str> = arrived.map(|change| change.id.as_str()).filter(|id| !is_shown(id)).collect();
            ids.sort_unstable();
            ids.dedup();
            ids.len()
        })
    };
    let button = move || {
        let count = count();
        (count > 0).then(|| {
            view! {
                <button class="button button--new" on:click=move |_| data.refetch()>
                    {format!("+{count} new")}
                </button>
            }
        })
    };
    view! {
        <div class="new" role="status">
            {button}
        </div>
    }
    .into_any()
}

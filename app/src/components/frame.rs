//! What frames every page: where one can go, the search, who is signed in, and how current the page is.

use leptos::prelude::*;
use leptos_router::components::Outlet;
use leptos_router::hooks::use_location;
use tallystick_domain::view::Moment;
use tallystick_domain::view::workspace::FrameView;

use super::icon::icon;
use super::time::time;
use crate::api::workspace::get_frame;
use crate::keys::KeyHelp;
use crate::live::{Live, Status};
use crate::palette::Palette;

/// The frame. It reads its own figures anew when operations change.
#[component]
pub fn Frame() -> impl IntoView {
    let live = Live::get();
    let refresh = live.refresh_on(Box::new(|change| !matches!(change.topic.as_str(), "action" | "outcomes")));
    let data = Resource::new(move || refresh.get(), |_| get_frame());
    view! {
        <a class="skip" href="#main">"Skip to the content"</a>
        <div class="frame">
            <Transition fallback=|| ()>
                {move || Suspend::new(async move {
                    // Where the figures cannot be read, the places are still there.
                    surroundings(data.await.unwrap_or_default(), live)
                })}
            </Transition>
            <main id="main" tabindex="-1">
                <Outlet />
            </main>
            <KeyHelp />
            <Palette />
        </div>
    }
    .into_any()
}

fn surroundings(frame: FrameView, live: Live) -> AnyView {
    let (sequence, is_nobody) = (frame.sequence.clone(), frame.name.is_empty());
    // The feed starts where the first page ends; an effect runs only in the browser.
    Effect::new(move |_| live.start(&sequence));
    view! {
        {frame.restored_from.clone().map(held)}
        <nav class="side" aria-label="Places">
            {brand()} {places(frame.waiting.clone())}
        </nav>
        <header class="top">
            <form class="search" role="search" method="get" action="/operations">
                <label class="unseen" for="search">"Search operations"</label>
                {icon("search")}
                <input
                    id="search"
                    type="search"
                    name="search"
                    placeholder="Start of a key, a receipt, an id"
                    maxlength="255"
                    autocomplete="off"
                />
                <kbd class="needs-script" aria-hidden="true">
                    "/"
                </kbd>
                <button class="unseen">"Search"</button>
            </form>
            <span class="top__zone">{frame.zone}</span>
            <span class="top__live">
                // The time of every change would be news to nobody.
                <span role="status">{move || live_words(live.status.get())}</span>
                "as of "
                {time(frame.as_of)}
            </span>
            <details class="me" hidden=is_nobody>
                <summary title=frame.name.clone()>
                    {frame.initials} <span class="unseen">{format!(": signed in as {}", frame.name)}</span>
                </summary>
                <div class="me__panel">
                    <p>
                        <strong>{frame.name}</strong>
                    </p>
                    <p class="quiet">{frame.role}</p>
                    <form method="post" action="/sign-out">
                        <button class="button">"Sign out"</button>
                    </form>
                </div>
            </details>
        </header>
    }
    .into_any()
}

/// That nothing is sent, on every page: whoever waits for an outcome must know why none comes.
fn held(restored_from: Moment) -> AnyView {
    view! {
        <div class="held" role="status">
            <p>
                "Nothing is sent: the record is a copy of " {time(restored_from)} ". "
                <a href="/budgets">"What may be missing, and how to go on"</a>
            </p>
        </div>
    }
    .into_any()
}

fn live_words(status: Status) -> AnyView {
    match status {
        Status::Still => view! { <span class="dot dot--still"></span> " " }.into_any(),
        Status::Live => view! { <span class="dot dot--live"></span> " live · " }.into_any(),
        Status::Lost => view! { <span class="dot dot--lost"></span> " not live: changes are not shown · " }.into_any(),
    }
}

fn brand() -> AnyView {
    view! {
        <a class="brand" href="/" aria-label="Tallystick">
            {icon("tally")}
            <span>"Tallystick"</span>
        </a>
    }
    .into_any()
}

fn places(waiting: String) -> AnyView {
    let waiting = Some(waiting).filter(|count| !count.is_empty() && count != "0");
    view! {
        <ul class="places">
            {place("/", "queue", "Queue", waiting)}
            {place("/operations", "operations", "Operations", None)}
            {place("/approvals", "approvals", "Approvals", None)}
            {place("/actions", "actions", "Actions", None)}
            {place("/workflows", "workflows", "Workflows", None)}
            {place("/outcomes", "outcomes", "Outcomes", None)}
            {place("/budgets", "budgets", "Budgets", None)}
            {place("/layers", "layers", "Layers", None)}
            {place("/deliveries", "delivery", "Deliveries", None)}
            {place("/tools", "tools", "Tools", None)}
            {place("/settings", "settings", "Settings", None)}
        </ul>
    }
    .into_any()
}

fn place(href: &'static str, sign: &'static str, label: &'static str, count: Option<String>) -> AnyView {
    let path = use_location().pathname;
    let current =
        move || path.with(|path| if href == "/" { path == "/" } else { path.starts_with(href) }).then_some("page");
    view! {
        <li>
            <a class="place" href=href aria-current=current>
                {icon(sign)}
                <span>{label}</span>
                {count.map(|count| view! { <span class="place__count">{count}</span> })}
            </a>
        </li>
    }
    .into_any()
}

//! `/settings`: the workspace zone, people and roles, how far sources are believed, and what the reader may do.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::hooks::use_query_map;
use tallystick_domain::view::workspace::{PermissionView, PersonView, SettingsView, SourceView};

use super::loading::{Asked, Coming, Place, shown, unconcerned};
use super::{pairs_of, value};
use crate::api::Pairs;
use crate::api::workspace::{SetZone, get_settings};
use crate::components::field::hidden;
use crate::components::notice::{banner, failed_submission};
use crate::components::time::{full_time, time};

/// The settings.
#[component]
pub fn SettingsPage() -> impl IntoView {
    let query = use_query_map();
    shown(Place {
        asked: Memo::new(move |_| Asked { names: vec![], pairs: query.with(pairs_of) }),
        fetch: |asked| -> Coming { Box::pin(get_settings(asked.pairs)) },
        // A form is being filled in; its version tells when the settings changed meanwhile.
        concerns: unconcerned,
        announces: false,
    })
}

/// What came of the last form.
fn said(pairs: &Pairs) -> Option<AnyView> {
    if value(pairs, "saved").is_some() {
        return Some(banner("good", "Saved".into(), "Times are shown in this zone from now on.".into()));
    }
    let text = match value(pairs, "problem")?.as_str() {
        "zone" => "That is not a zone of the IANA database, such as Europe/Berlin. Choose one from the list.",
        "stale" => "Somebody else changed the settings since you opened this page. Look at them, then save again.",
        _ => return None,
    };
    Some(banner("bad", "Not saved".into(), text.into()))
}

/// What the page shows.
pub fn content(view: SettingsView, pairs: &Pairs) -> AnyView {
    view! {
        <section class="page page--narrow" aria-labelledby="settings-title">
            <div class="head">
                <h1 id="settings-title">"Settings"</h1>
            </div>
            {said(pairs)}
            {failed_submission(pairs)}
            {zone(view.zone, view.version, view.zones, view.may_administer, view.as_of)}
            {people(view.people)}
            {sources(view.sources)}
            {permissions(view.permissions, &view.role)}
        </section>
    }
    .into_any()
}

fn zone(
    zone: String,
    version: String,
    zones: Vec<String>,
    may: bool,
    as_of: tallystick_domain::view::Moment,
) -> AnyView {
    let options = zones.into_iter().map(|name| view! { <option value=name></option> }).collect_view();
    let why = (!may).then(|| view! { <p class="quiet">"Only an administrator changes it."</p> });
    view! {
        <form class="box form" method="post" action=SetZone::url()>
            <h2 class="box__title">"Workspace zone"</h2>
            {hidden("seen_version", version)}
            <label class="field">
                <span class="field__label">"Times are shown in"</span>
                <input type="text" name="zone" value=zone list="zones" required=true maxlength="64" disabled=!may autocomplete="off" />
                <span class="field__hint">"It is now " {full_time(as_of)} ". Only printing depends on it."</span>
            </label>
            <datalist id="zones">{options}</datalist>
            {why}
            <div class="form__foot">
                <button class="button" disabled=!may>
                    "Save the zone"
                </button>
            </div>
        </form>
    }
    .into_any()
}

fn people(people: Vec<PersonView>) -> AnyView {
    let rows = people
        .into_iter()
        .map(|person| {
            let you = person.is_reader.then(|| view! { <span class="tag">"you"</span> });
            view! {
                <tr>
                    <th scope="row">{person.name} " " {you}</th>
                    <td class="code">{person.login}</td>
                    <td>{person.role}</td>
                    <td>{time(person.since)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="box" aria-labelledby="people-title">
            <h2 id="people-title" class="box__title">"People and automations"</h2>
            <table class="plain">
                <thead>
                    <tr>
                        <th scope="col">"Name"</th>
                        <th scope="col">"Login"</th>
                        <th scope="col">"Role"</th>
                        <th scope="col">"Since"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
    .into_any()
}

fn sources(sources: Vec<SourceView>) -> AnyView {
    if sources.is_empty() {
        return ().into_any();
    }
    let rows = sources
        .into_iter()
        .map(|source| {
            view! {
                <tr>
                    <th scope="row" class="code">
                        {source.name}
                    </th>
                    <td>{source.trust}</td>
                    <td>{format!("at most {}", source.cap)}</td>
                    <td>{source.declared_by} ", " {time(source.declared_at)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="box" aria-labelledby="sources-title">
            <h2 id="sources-title" class="box__title">"How far sources are believed"</h2>
            <table class="plain">
                <thead>
                    <tr>
                        <th scope="col">"Source"</th>
                        <th scope="col">"Trust"</th>
                        <th scope="col">"Strength"</th>
                        <th scope="col">"Said by"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
    .into_any()
}

fn permissions(permissions: Vec<PermissionView>, role: &str) -> AnyView {
    let rows = permissions
        .into_iter()
        .map(|permission| {
            let (glyph, word) = if permission.is_allowed { ("✓", "yes") } else { ("–", "no") };
            view! {
                <tr class:quiet=!permission.is_allowed>
                    <th scope="row">{permission.label}</th>
                    <td>
                        <span aria-hidden="true">{glyph}</span>
                        " "
                        {word}
                    </td>
                    <td>{permission.roles}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="box" aria-labelledby="permissions-title">
            <h2 id="permissions-title" class="box__title">
                {format!("Your permissions as {role}")}
            </h2>
            <table class="plain">
                <thead>
                    <tr>
                        <th scope="col">"What"</th>
                        <th scope="col">"You"</th>
                        <th scope="col">"Roles that may"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
    .into_any()
}

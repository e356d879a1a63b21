//! `/actions/{key}`: one action's life, and what a second person needs while it waits for one.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::hooks::{use_params_map, use_query_map};
use tallystick_domain::bulk::bulk_of_key;
use tallystick_domain::view::action::{ActionLine, ActionPage as ActionView, Followed, SecondForm, Standing};
use tallystick_domain::view::encoded;

use super::actions::standing_badge;
use super::form::confirmation_field;
use super::loading::{Asked, Coming, Place, shown};
use super::{pairs_of, value};
use crate::api::Pairs;
use crate::api::action::{CompleteAction, DeclineAction, get_action};
use crate::components::badge::state_badge;
use crate::components::field::{hidden, reason_field};
use crate::components::notice::{banner, failed_submission};
use crate::components::time::full_time;

/// One action.
#[component]
pub fn ActionPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    shown(Place {
        asked: Memo::new(move |_| Asked {
            names: vec![params.with(|params| params.get("key").unwrap_or_default())],
            pairs: query.with(pairs_of),
        }),
        fetch: |asked| -> Coming { Box::pin(get_action(asked.name(0), asked.pairs)) },
        // What follows an action changes with its operation.
        concerns: |change, asked| change.topic == "operation" || asked.names.contains(&change.id),
        announces: false,
    })
}

/// The page says when a press was not the first.
fn repeated(pairs: &Pairs) -> Option<AnyView> {
    if value(pairs, "again").is_some() {
        return Some(banner(
            "quiet",
            "Already recorded".into(),
            "This was sent more than once under the same key. It counts once; this is the answer it got the first time.".into(),
        ));
    }
    value(pairs, "reused").map(|_| {
        banner(
            "bad",
            "Not done: this form had already been sent with other content".into(),
            "The first one stands and is shown here. What you sent now was not done. Open the form again if it is still needed.".into(),
        )
    })
}

/// What the page shows.
pub fn content(view: ActionView, pairs: &Pairs) -> AnyView {
    let line = view.line;
    let refused = view.refused.map(|text| banner("bad", "Your press was refused".into(), text));
    let bulk = bulk_of_key(&line.key).map(|bulk| {
        view! {
            <p class="quiet">
                "One of a " <a href=format!("/bulk/{}", encoded(bulk))>"bulk action"</a> "."
            </p>
        }
    });
    let second = view.second.map(|form| second_person(form, line.key.clone(), &line.label));
    view! {
        <article class="page page--narrow">
            {repeated(pairs)}
            {failed_submission(pairs)}
            <nav class="back" aria-label="Back">
                <a href="/actions">"← Actions"</a>
            </nav>
            <div class="operation__top">
                <h1>{line.label.clone()}</h1>
                {standing_badge(line.standing)}
            </div>
            <p class="form__about">
                "on "
                <a class="code" href=format!("/operations/{}", line.operation_id)>
                    {line.operation_key.clone()}
                </a>
                {view.now.map(|badge| view! { " · now " {state_badge(badge)} })}
            </p>
            {refused}
            {bulk}
            {steps(line, view.followed)}
            {second}
            <p class="quiet">"As of " {full_time(view.as_of)}</p>
        </article>
    }
    .into_any()
}

fn sentences(lines: Vec<String>) -> AnyView {
    lines.into_iter().map(|line| view! { <p>{line}</p> }).collect_view().into_any()
}

/// Accepted, attempted, confirmed: three words that are never mixed.
fn steps(line: ActionLine, followed: Option<Followed>) -> AnyView {
    let Followed { attempted, confirmed } =
        followed.unwrap_or(Followed { attempted: vec!["Nothing.".to_owned()], confirmed: Vec::new() });
    let confirmed = (!confirmed.is_empty()).then(|| {
        view! {
            <li class="box">
                <h2 class="box__title">"Confirmed"</h2>
                {sentences(confirmed)}
            </li>
        }
    });
    let fields = line
        .fields
        .into_iter()
        .map(|(name, value)| view! { <div><dt>{name}</dt><dd class="code">{value}</dd></div> })
        .collect_view();
    let settled = settled_step(line.standing, line.second, line.refusal);
    let at = line.settled_at.map(|at| view! { <p class="quiet">{full_time(at)}</p> });
    let version = line.made_version.map_or_else(
        || format!("They had seen version {}.", line.seen_version),
        |made| format!("They had seen version {}; it made version {made}.", line.seen_version),
    );
    let states = line.to.map(|to| {
        let from = line.from.map(|from| view! { {state_badge(from)} " → " });
        view! { <p>{from} {state_badge(to)}</p> }
    });
    let reason =
        (!line.reason.is_empty()).then(|| view! { <blockquote class="timeline__quote">{line.reason}</blockquote> });
    let created = line.created.map(|id| {
        view! { <p>"It made " <a href=format!("/operations/{id}")>"a guarded operation"</a> "."</p> }
    });
    view! {
        <ol class="steps">
            <li class="box">
                <h2 class="box__title">"Accepted"</h2>
                <p>
                    <strong>{line.by}</strong>
                    " asked for it. "
                    {version}
                </p>
                <p class="quiet">{full_time(line.at)}</p>
                {reason}
                <dl class="hashes">{fields} <div><dt>"Key"</dt><dd class="code">{line.key}</dd></div></dl>
            </li>
            <li class="box">
                <h2 class="box__title">"What came of it"</h2>
                <p>{settled}</p>
                {states}
                {created}
                {at}
            </li>
            <li class="box">
                <h2 class="box__title">"Attempted"</h2>
                {sentences(attempted)}
            </li>
            {confirmed}
        </ol>
    }
    .into_any()
}

fn settled_step(standing: Standing, second: Option<String>, refusal: Option<String>) -> String {
    match (standing, second) {
        (Standing::Done, Some(name)) => format!("Done. {name} completed it as the second person."),
        (Standing::Done, None) => "Done. It is on record.".to_owned(),
        (Standing::Awaits, _) => "Nothing yet: it waits for a second person.".to_owned(),
        (Standing::Declined, Some(name)) => format!("Declined by {name}. Nothing was done."),
        (Standing::Declined, None) => "Declined. Nothing was done.".to_owned(),
        (Standing::Refused, _) => refusal.unwrap_or_else(|| "Refused. Nothing was done.".to_owned()),
    }
}

fn second_person(form: SecondForm, awaited: String, label: &str) -> AnyView {
    let complete = match form.obstacle {
        Some(obstacle) => view! {
            <section class="box">
                <h2 class="box__title">"Complete it as the second person"</h2>
                <p>{obstacle}</p>
                <button class="button" disabled=true>
                    {format!("Complete: {label}")}
                </button>
            </section>
        }
        .into_any(),
        None => view! {
            <form class="box form" method="post" action=CompleteAction::url()>
                <h2 class="box__title">"Complete it as the second person"</h2>
                {hidden("awaited", awaited.clone())}
                {hidden("action_key", form.complete_key)}
                {hidden("seen_version", form.seen_version.clone())}
                {confirmation_field(form.confirm_text)}
                <div class="form__foot">
                    <button class="button button--first">{format!("Complete: {label}")}</button>
                </div>
            </form>
        }
        .into_any(),
    };
    let (title, button) = if form.is_own { ("Take it back", "Take it back") } else { ("Or decline it", "Decline") };
    view! {
        {complete}
        <form class="box form" method="post" action=DeclineAction::url()>
            <h2 class="box__title">{title}</h2>
            {hidden("awaited", awaited)}
            {hidden("action_key", form.decline_key)}
            {hidden("seen_version", form.seen_version)}
            {reason_field("Reason", "It goes into the audit log, with your name.", "", true)}
            <div class="form__foot">
                <button class="button">{button}</button>
            </div>
        </form>
    }
    .into_any()
}

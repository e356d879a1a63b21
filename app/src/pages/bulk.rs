//! `/bulk/{id}`: one bulk action: the frozen list before it is started, and where each item stands afterwards.

use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_router::hooks::{use_params_map, use_query_map};
use tallystick_domain::bulk::{Standing, bulk_of_key};
use tallystick_domain::view::bulk::{BulkView, ItemLine, StandingChip, StartForm};
use tallystick_domain::view::encoded;

use super::loading::{Asked, Coming, Place, shown};
use super::{address, pairs_of, value, with, without};
use crate::api::Pairs;
use crate::api::bulk::{AbortBulk, StartBulk, get_bulk};
use crate::components::badge::state_badge;
use crate::components::field::{hidden, reason_field};
use crate::components::notice::{banner, empty, failed_submission, more};
use crate::components::tally::share_bar;
use crate::components::time::full_time;
use crate::morph::is_shown;

/// One bulk action.
#[component]
pub fn BulkPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    shown(Place {
        asked: Memo::new(move |_| Asked {
            names: vec![params.with(|params| params.get("id").unwrap_or_default())],
            pairs: query.with(pairs_of),
        }),
        fetch: |asked| -> Coming { Box::pin(get_bulk(asked.name(0), asked.pairs)) },
        concerns: |change, asked| {
            let is_its_item = || bulk_of_key(&change.id).is_some_and(|bulk| asked.name(0) == bulk);
            match change.topic.as_str() {
                "bulk" => asked.names.contains(&change.id),
                "action" => is_its_item(),
                topic => topic == "operation" && is_shown(&change.id),
            }
        },
        announces: false,
    })
}

/// What the page shows.
pub fn content(mut view: BulkView, pairs: &Pairs) -> AnyView {
    let here = format!("/bulk/{}", encoded(&view.id));
    let start = view.start.take();
    let said = said(&view, pairs);
    let consequence = view.consequence.drain(..).map(|line| view! { <li>{line}</li> }).collect_view();
    let outlook = view.outlook.drain(..).map(|line| view! { <li>{line}</li> }).collect_view();
    let list = list(&mut view, &here, pairs);
    let progress = (!view.is_preview).then(|| progress(&view, &here, pairs));
    let heading = if view.is_preview { "What starting it does" } else { "What was asked" };
    view! {
        <article class="page bulk">
            {said}
            {failed_submission(pairs)}
            <div class="operation__top">
                <h1>{view.title.clone()}</h1>
                {life_badge(&view.state)}
            </div>
            {progress}
            <section class="box">
                <h2 class="box__title">{heading}</h2>
                <ul class="bulk__outlook">{outlook}</ul>
                <ul class="consequence">{consequence}</ul>
                {frozen(&view)}
            </section>
            {start.map(|form| start_form(form, &view.id, &view.label))}
            {list}
            <p class="quiet">"As of " {full_time(view.as_of)}</p>
        </article>
    }
    .into_any()
}

/// What came of the last press here.
fn said(view: &BulkView, pairs: &Pairs) -> Option<AnyView> {
    if value(pairs, "again").is_some() && !view.is_preview {
        let text = "Starting was sent more than once. It counts once; this page shows how far it is.";
        return Some(banner("quiet", "Already recorded".into(), text.into()));
    }
    let text = match value(pairs, "refused")?.as_str() {
        "reason" => "A reason is missing, or too long. Nothing was started.",
        "another" => "Only whoever made the preview may start it. Nothing was started. Make a preview of your own.",
        _ => {
            "Nothing was started by this press: the preview is too old, was stopped, was started before with another reason, or is not the list that you confirmed. This page shows what is on record."
        }
    };
    Some(banner("bad", "Not started".into(), text.into()))
}

/// How far a bulk action has come, as a badge.
pub fn life_badge(state: &str) -> AnyView {
    let (glyph, tone, words, is_final) = match state {
        "previewed" => ("◌", "quiet", "preview: nothing done yet", false),
        "running" => ("◔", "running", "running", false),
        "done" => ("●", "good", "done", true),
        _ => ("✕", "quiet", "stopped", true),
    };
    let class = format!("badge badge--{tone}{}", if is_final { " badge--final" } else { "" });
    view! {
        <span class=class>
            <span aria-hidden="true">{glyph}</span>
            " "
            {words}
        </span>
    }
    .into_any()
}

/// The filter that the list came from is shown, and is nothing but text.
fn frozen(view: &BulkView) -> AnyView {
    let words =
        view.filter_words.iter().map(|line| view! { <span class="bulk__filter">{line.clone()}</span> }).collect_view();
    view! {
        <p class="quiet">
            {format!("{} by {}, ", view.origin, view.by)} {full_time(view.made_at.clone())}
            ". The list is fixed: what matches later is not touched, and what changes until its turn is left alone. " {words}
        </p>
    }
    .into_any()
}

fn start_form(form: StartForm, id: &str, label: &str) -> AnyView {
    if let Some(obstacle) = form.obstacle {
        return view! {
            <section class="box">
                <p>{obstacle}</p>
                <div class="form__foot">
                    <button class="button" disabled=true>
                        {format!("Start: {label}")}
                    </button>
                    <a class="button" href="/">
                        "To the queue"
                    </a>
                </div>
            </section>
        }
        .into_any();
    }
    let (name, hint) = match (form.is_remark, form.needs_reason) {
        (true, _) => ("Comment", "It stays on the timeline of each, and in the audit log."),
        (false, true) => ("Reason", "It goes into the audit log with each of them, with your name."),
        (false, false) => ("Reason (optional)", "It goes into the audit log with each of them, with your name."),
    };
    view! {
        <form class="box form" method="post" action=StartBulk::url()>
            {hidden("id", id.to_owned())}
            {hidden("hash", form.hash)}
            {reason_field(name, hint, "", form.needs_reason)}
            <div class="form__foot">
                <button class="button button--first">{format!("Start: {label}")}</button>
                <a class="button" href="/">
                    "Leave it"
                </a>
            </div>
            <p class="quiet">"Pressing twice starts it once. It may be started until " {full_time(form.until)} "."</p>
        </form>
    }
    .into_any()
}

fn progress(view: &BulkView, here: &str, pairs: &Pairs) -> AnyView {
    let figures = view
        .figures
        .iter()
        .map(|(name, figure)| view! { <div><dt>{name.clone()}</dt><dd>{figure.clone()}</dd></div> })
        .collect_view();
    let reason = view.reason.clone().map(|reason| view! { <blockquote class="timeline__quote">{reason}</blockquote> });
    let started = view.started_at.clone().map(|at| view! { "Started " {full_time(at)} ". " });
    let ended = view.ended_at.clone().map(|at| view! { "Ended " {full_time(at)} ". " });
    let stopped =
        view.stopped.clone().map(|why| view! { <p class="doubtful">{why} " What was begun stays as it is."</p> });
    let again = view.is_running.then(|| {
        let again = address(here, &without(pairs, &["again", "refused"]));
        view! {
            <a class="button" rel="external" href=again>
                "See how far it is"
            </a>
        }
    });
    let abort = view.may_abort.then(|| {
        view! {
            <form method="post" action=AbortBulk::url()>
                {hidden("id", view.id.clone())} <button class="button">"Stop: begin no further item"</button>
            </form>
        }
    });
    view! {
        <section class="box" aria-labelledby="progress-title">
            <h2 id="progress-title" class="box__title">
                "How far it is"
            </h2>
            <div class="bulk__bar">{share_bar(view.percent)}</div>
            <div role="status">
                <dl class="fact-grid">{figures}</dl>
            </div>
            {stopped}
            {reason}
            <p class="quiet">{started} {ended}</p>
            <div class="form__foot">{again} {abort}</div>
        </section>
    }
    .into_any()
}

fn list(view: &mut BulkView, here: &str, pairs: &Pairs) -> AnyView {
    let (lines, chips) = (std::mem::take(&mut view.lines), std::mem::take(&mut view.chips));
    let count = lines.len();
    let rest = without(pairs, &["again", "refused"]);
    let next = view.next.map(|after| address(here, &with(&rest, "after", &after.to_string())));
    let rows = if lines.is_empty() {
        empty("None of the list stands here", "Take the filter away to see the others.")
    } else {
        table(lines)
    };
    view! {
        <section aria-labelledby="items-title">
            <h2 id="items-title" class="box__title">
                "The list"
            </h2>
            {standings(chips, here, &rest)}
            {rows}
            {more(next, count)}
        </section>
    }
    .into_any()
}

fn standings(chips: Vec<StandingChip>, here: &str, pairs: &Pairs) -> AnyView {
    let rest = without(pairs, &["only", "after"]);
    let chips = chips
        .into_iter()
        .map(|chip| {
            let href = address(here, &with(&rest, "only", if chip.is_chosen { "" } else { &chip.name }));
            view! {
                <li>
                    <a class="filter" href=href aria-current=chip.is_chosen.then_some("true")>
                        {chip.label}
                        " "
                        <strong>{chip.count}</strong>
                    </a>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="filters" aria-label="Only items that stand">{chips}</ul> }.into_any()
}

fn table(lines: Vec<ItemLine>) -> AnyView {
    let rows = lines.into_iter().map(row).collect_view();
    view! {
        <table class="rows rows--log rows--items">
            <caption class="unseen">"Operations of this bulk action, as they were frozen"</caption>
            <thead>
                <tr>
                    <th scope="col">"Operation"</th>
                    <th scope="col">"State now"</th>
                    <th scope="col">"Here"</th>
                    <th scope="col">"Why, or what followed"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
    .into_any()
}

fn row(line: ItemLine) -> AnyView {
    let action = line.action_key.map(|key| {
        view! {
            " "
            <a href=format!("/actions/{}", encoded(&key))>"its action"</a>
        }
    });
    view! {
        <tr data-id=line.id.clone()>
            <th scope="row">
                <a class="rows__key" href=format!("/operations/{}", line.id)>
                    {line.key}
                </a>
                <span class="rows__target">{line.target}</span>
            </th>
            <td>{state_badge(line.badge)}</td>
            <td>{standing_badge(line.standing)}</td>
            <td>{line.why} {action}</td>
        </tr>
    }
    .into_any()
}

fn standing_badge(standing: Standing) -> AnyView {
    let (glyph, tone) = match standing {
        Standing::Waiting => ("◌", "running"),
        Standing::Accepted => ("●", "good"),
        Standing::Changed => ("↷", "uncertain"),
        Standing::Refused => ("⊘", "bad"),
        Standing::Skipped => ("↷", "quiet"),
        Standing::NotBegun => ("✕", "quiet"),
    };
    let is_final = standing != Standing::Waiting;
    let class = format!("badge badge--{tone}{}", if is_final { " badge--final" } else { "" });
    view! {
        <span class=class>
            <span aria-hidden="true">{glyph}</span>
            " "
            {standing.label()}
        </span>
    }
    .into_any()
}

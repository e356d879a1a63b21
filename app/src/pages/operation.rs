//! `/operations/{id}`: what is known, how it is known, and what may safely be done now.

use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};
use tallystick_domain::operation::Severity;
use tallystick_domain::view::arguments::{ArgumentsView, VersionView};
use tallystick_domain::view::encoded;
use tallystick_domain::view::list::RowView;
use tallystick_domain::view::operation::{Counts, EffectView, FindingView, OperationView, Promise, RelativeView};

use super::loading::{Asked, Coming, Place, shown};
use super::{address, pairs_of, value, way_back, with};
use crate::api::Pairs;
use crate::api::operation::get_operation;
use crate::components::badge::{state_badge, state_phrase, strength_badge};
use crate::components::decision::{awaited, decision, known};
use crate::components::difference::difference;
use crate::components::lanes::lanes;
use crate::components::rules::rules_in_groups;
use crate::components::tally::{key_window, tally};
use crate::components::time::{full_time, time};
use crate::components::timeline::{journal, timeline};

/// One operation.
#[component]
pub fn OperationPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    shown(Place {
        asked: Memo::new(move |_| Asked {
            names: vec![params.with(|params| params.get("id").unwrap_or_default())],
            pairs: query.with(pairs_of),
        }),
        fetch: |asked| -> Coming { Box::pin(get_operation(asked.name(0), asked.pairs)) },
        concerns: |change, asked| asked.names.contains(&change.id),
        announces: false,
    })
}

/// What the page shows.
pub fn content(mut view: OperationView, pairs: &Pairs) -> AnyView {
    let back = way_back(value(pairs, "back"));
    let waiting = view.decision.awaited.take().map(awaited);
    let knowledge = known(&view.decision.known);
    let row = view.row;
    let (place, raw) = (format!("/operations/{}", row.id), format!("/api/v1/operations/{}", row.id));
    let shown_from = |passed_over: &str| {
        let passed_over = if passed_over == "0" { "" } else { passed_over };
        format!("{}#timeline-title", address(&place, &with(pairs, "timeline", passed_over)))
    };
    let journal_note = view.journal_note.map(|note| view! { <p class="quiet">{note}</p> });
    let log = format!("/actions?operation={}", row.id);
    view! {
        <article class="page" aria-labelledby="operation-title">
            {back_link(back)}
            <div class="operation__top">
                {state_phrase(row.badge.clone())} <h1 id="operation-title" class="operation__key code">
                    {row.key.clone()}
                </h1>
                <span class="operation__acts">
                    <a class="button" href=format!("/operations/{}/assign", row.id)>"Assign"</a>
                    <a class="button" href=format!("/operations/{}/comment", row.id)>"Comment"</a>
                    <a class="button" href=format!("/operations/{}/escalate", row.id)>"Escalate"</a>
                </span>
            </div>
            {facts(&row, view.tool.as_deref(), &view.class, view.counts, &view.key_protection)}
            {findings(view.findings)}
            {waiting}
            <div class="columns">
                <div class="columns__main">
                    <section class="box" aria-labelledby="timeline-title">
                        <h2 id="timeline-title" class="box__title">
                            "Timeline " <span class="quiet">{view.timeline.words.clone()}</span>
                        </h2>
                        <div class="operation__tally">{tally(row.tally)}</div>
                        {view.lanes.map(lanes)}
                        {timeline(view.timeline, shown_from)}
                        <details class="box__more">
                            <summary>"Journal: every change of this operation"</summary>
                            {journal(view.journal)}
                            {journal_note}
                        </details>
                    </section>
                    {arguments(view.arguments, &raw)}
                    <section class="box" aria-labelledby="raw-title">
                        <h2 id="raw-title" class="box__title">"The record itself"</h2>
                        <p>
                            <a rel="external" href=raw.clone() download=format!("operation-{}.json", row.id)>
                                "Raw record as JSON"
                            </a>
                            " · "
                            <a href=log>"Actions on it"</a>
                        </p>
                        <p class="quiet">"The same by API:"</p>
                        <pre class="code-box code-box--copied" tabindex="0"><code>{format!("curl -H \"Authorization: Bearer $TOKEN\" \\\n  $TALLYSTICK{raw}")}</code></pre>
                        <p class="quiet">
                            {format!("State by {} · version {} · as of ", view.fold_rule, view.version)} {full_time(view.as_of)}
                        </p>
                    </section>
                </div>
                <section class="box columns__first" aria-labelledby="decision-title">
                    <h2 id="decision-title" class="box__title">"What may be done now"</h2>
                    {knowledge}
                    {decision(view.decision)}
                    {rules_in_groups(view.rules)}
                </section>
                <div class="columns__side">
                    {effects(view.effects)}
                    {contract(view.contract, view.verification)}
                    {relatives(view.relatives, view.bulks, view.aliases)}
                </div>
            </div>
        </article>
    }
    .into_any()
}

fn back_link(back: Option<String>) -> AnyView {
    let place = back.unwrap_or_else(|| "/".to_owned());
    let name = if place.starts_with("/operations") { "Operations" } else { "Queue" };
    view! {
        <nav class="back" aria-label="Back">
            <a href=place>{format!("← {name}")}</a>
        </nav>
    }
    .into_any()
}

fn facts(row: &RowView, tool: Option<&str>, class: &str, counts: Counts, protection: &str) -> AnyView {
    let stake = row.stake.clone().map_or_else(|| class.to_owned(), |stake| format!("{stake} · {class}"));
    let until = row.window.until.clone().map(|until| view! { <span class="quiet">{format!("until {until}")}</span> });
    let mode = if row.is_observed { "observed: somebody else sends it" } else { "guarded: sent only by us" };
    let target = match tool {
        Some(tool) => view! { <a href=format!("/tools/{}", encoded(tool))>{row.target.clone()}</a> }.into_any(),
        None => row.target.clone().into_any(),
    };
    let owner = row.assignee.clone().unwrap_or_else(|| "nobody".into());
    view! {
        <dl class="fact-grid">
            <div>
                <dt>"Tool → destination"</dt>
                <dd>{target}</dd>
            </div>
            <div>
                <dt>"At stake"</dt>
                <dd>{stake}</dd>
            </div>
            <div>
                <dt>"Operations · attempts · effects"</dt>
                <dd>
                    {format!("{} · {} · ", counts.operations, counts.attempts)}
                    <span class:doubtful=counts.is_open>{counts.effects}</span>
                </dd>
            </div>
            <div title=protection.to_owned()>
                <dt>"Key protects"</dt>
                <dd>{key_window(row.window.clone())} " " {until}</dd>
            </div>
            <div>
                <dt>"Mode"</dt>
                <dd>{mode}</dd>
            </div>
            <div>
                <dt>"Owner"</dt>
                <dd>{owner}</dd>
            </div>
            <div>
                <dt>"In this state"</dt>
                <dd>{row.age.clone()} " " <span class="quiet">"since " {time(row.since.clone())}</span></dd>
            </div>
        </dl>
    }
    .into_any()
}

/// A severity as its style's name and as a word.
pub(super) const fn severity_words(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Notice => ("notice", "Notice"),
        Severity::Audit => ("audit", "Audit"),
        Severity::Integrity => ("integrity", "Integrity"),
    }
}

fn findings(findings: Vec<FindingView>) -> AnyView {
    if findings.is_empty() {
        return ().into_any();
    }
    let lines = findings
        .into_iter()
        .map(|finding| {
            let (class, word) = severity_words(finding.severity);
            view! {
                <li class=format!("finding finding--{class}")>
                    <strong>{word}</strong>
                    " "
                    {finding.text}
                    " "
                    <code class="quiet">{finding.code}</code>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="findings" aria-label="Findings">{lines}</ul> }.into_any()
}

fn arguments(view: ArgumentsView, raw: &str) -> AnyView {
    let text = view.text.map(|text| view! { <pre class="code-box" tabindex="0"><code>{text}</code></pre> });
    let note = view.note.map(|note| view! { <p class="quiet">{note}</p> });
    let whole = view.size.is_some().then(|| {
        let hidden = view.hides.then_some(" It also holds what the tool hides here.");
        view! {
            <p>
                <a rel="external" href=format!("{raw}/arguments") download="">
                    "Download all bytes, exactly as received"
                </a>
                "."
                {hidden}
            </p>
        }
    });
    let hash = |label: &'static str, hash: String| view! { <div><dt>{label}</dt><dd class="code">{hash}</dd></div> };
    let args_hash = view.args_hash.map(|value| hash("Fingerprint", value));
    let identity_hash = view.identity_hash.map(|value| hash("Without volatile fields", value));
    view! {
        <section class="box" aria-labelledby="arguments-title">
            <h2 id="arguments-title" class="box__title">
                "Arguments " <span class="quiet">{view.size}</span>
            </h2>
            {note}
            {text}
            {whole}
            <dl class="hashes">{args_hash} {identity_hash}</dl>
            {versions(view.versions)}
        </section>
    }
    .into_any()
}

/// A single version that no approval speaks of is what stands above.
fn versions(versions: Vec<VersionView>) -> AnyView {
    if versions.len() < 2 && versions.iter().all(|version| version.approvals.is_empty()) {
        return ().into_any();
    }
    let lines = versions
        .into_iter()
        .map(|version| {
            let in_force = if version.is_in_force { "in force" } else { "no longer in force" };
            let approvals = version.approvals.into_iter().map(|said| view! { <p>{said}</p> }).collect_view();
            view! {
                <li>
                    <p>
                        <strong>{format!("Version {}", version.number)}</strong>
                        {format!(" {in_force} · by {} · {} · ", version.by, version.size)}
                        {time(version.at)}
                    </p>
                    {approvals}
                    <p class="quiet">"Fingerprint " <span class="code">{version.args_hash}</span></p>
                    {version.difference.map(difference)}
                </li>
            }
        })
        .collect_view();
    view! {
        <h3 class="label">"Versions, and which of them an approval covers"</h3>
        <ol class="versions">{lines}</ol>
    }
    .into_any()
}

fn effects(effects: Vec<EffectView>) -> AnyView {
    if effects.is_empty() {
        return ().into_any();
    }
    let lines = effects
        .into_iter()
        .map(|effect| {
            let surplus = effect.is_surplus.then(|| view! { <strong class="surplus">"one too many"</strong> });
            view! {
                <li>
                    <span class="code">{effect.receipt}</span>
                    " "
                    {strength_badge(effect.strength)}
                    " "
                    {time(effect.at)}
                    " "
                    {surplus}
                </li>
            }
        })
        .collect_view();
    view! {
        <section class="box" aria-labelledby="effects-title">
            <h2 id="effects-title" class="box__title">"Effects at the destination"</h2>
            <ul class="facts">{lines}</ul>
        </section>
    }
    .into_any()
}

/// What a destination promises, line by line, and what it says nothing about.
pub fn promise_list(promises: Vec<Promise>) -> AnyView {
    let (unknown, told): (Vec<_>, Vec<_>) = promises.into_iter().partition(|promise| promise.is_unknown);
    let lines = told
        .into_iter()
        .map(|promise| view! { <div><dt>{promise.name}</dt><dd>{promise.value}</dd></div> })
        .collect_view();
    let unknown: Vec<String> = unknown.into_iter().map(|promise| promise.name.to_lowercase()).collect();
    let unknown = (!unknown.is_empty())
        .then(|| view! { <p class="unknown">"Unknown, so the unsafe answer counts: " {unknown.join(", ")} "."</p> });
    view! {
        <dl class="promises">{lines}</dl>
        {unknown}
    }
    .into_any()
}

fn contract(promises: Vec<Promise>, verification: String) -> AnyView {
    view! {
        <section class="box" aria-labelledby="contract-title">
            <h2 id="contract-title" class="box__title">
                "What the destination promises " <span class="quiet">{verification}</span>
            </h2>
            {promise_list(promises)}
        </section>
    }
    .into_any()
}

fn relatives(relatives: Vec<RelativeView>, bulks: Vec<(String, String)>, aliases: Vec<String>) -> AnyView {
    if relatives.is_empty() && bulks.is_empty() && aliases.len() < 2 {
        return ().into_any();
    }
    let lines = relatives
        .into_iter()
        .map(|relative| {
            view! {
                <li>
                    {relative.link}
                    " "
                    <a class="code" href=format!("/operations/{}", relative.id)>
                        {relative.key}
                    </a>
                    " "
                    {state_badge(relative.badge)}
                </li>
            }
        })
        .collect_view();
    let bulks = bulks
        .into_iter()
        .map(|(id, asked)| {
            view! {
                <li>
                    "in a bulk action: "
                    <a href=format!("/bulk/{id}")>{asked}</a>
                </li>
            }
        })
        .collect_view();
    let names = aliases
        .into_iter()
        .map(|alias| view! { <li>"also called " <span class="code">{alias}</span></li> })
        .collect_view();
    view! {
        <section class="box" aria-labelledby="relatives-title">
            <h2 id="relatives-title" class="box__title">"Relatives"</h2>
            <ul class="facts">{lines} {bulks} {names}</ul>
        </section>
    }
    .into_any()
}

//! What may be done now: each action with its verdict, its reason, and what stands behind it.

use leptos::prelude::*;
use tallystick_domain::decision::Verdict;
use tallystick_domain::view::decision::{ActionView, AwaitedView, DecisionView, FactView};
use tallystick_domain::view::encoded;

use super::badge::{strength_badge, verdict_badge};
use super::rules::rules_behind;
use super::time::time;

/// What is known, in a few sentences.
pub fn known(sentences: &[String]) -> AnyView {
    if sentences.is_empty() {
        return ().into_any();
    }
    view! {
        <p class="known">
            <strong>"What we know. "</strong>
            {sentences.join(" ")}
        </p>
    }
    .into_any()
}

/// A dual act that waits, with the way to its page.
pub fn awaited(awaited: AwaitedView) -> AnyView {
    let href = format!("/actions/{}", encoded(&awaited.key));
    let call = if awaited.is_for_reader { "Review it: complete or decline" } else { "See where it stands" };
    view! {
        <div class="banner banner--dual">
            <p class="banner__title">{format!("{} asked: {}. A second person must agree.", awaited.by, awaited.label)}</p>
            <p>{time(awaited.at)} " · “" {awaited.reason} "”"</p>
            <p>
                <a href=href>{call}</a>
            </p>
        </div>
    }
    .into_any()
}

/// The actions as cards, beside the queue.
pub fn action_cards(decision: DecisionView) -> AnyView {
    view! {
        <h3 class="label">"What may be done now"</h3>
        {cards(decision.actions, "cards", false)}
        {not_offered(&decision.not_offered)}
    }
    .into_any()
}

/// The whole decision, on an operation's page.
pub fn decision(decision: DecisionView) -> AnyView {
    let facts = (!decision.facts.is_empty()).then(|| facts(decision.facts, decision.more_facts));
    view! {
        <p class="decision__why">
            <span class="code">{decision.row}</span>
            " "
            {decision.why}
        </p>
        {cards(decision.actions, "cards cards--plain", true)}
        {not_offered(&decision.not_offered)}
        {facts}
    }
    .into_any()
}

/// What is always safe and changes no state has its buttons elsewhere on the page.
fn is_everyday(action: &ActionView) -> bool {
    action.verdict == Verdict::Safe
        && !action.is_recommended
        && matches!(action.name.as_str(), "assign" | "comment" | "escalate")
}

/// What can be pressed as cards; below it, in lines, what cannot be, with the reason.
fn cards(actions: Vec<ActionView>, class: &'static str, is_whole: bool) -> AnyView {
    let actions = actions.into_iter().filter(|action| !is_everyday(action));
    let (main, others): (Vec<_>, Vec<_>) = actions.partition(|action| action.is_recommended || action.href.is_some());
    let (forbidden, unreachable): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|action| matches!(action.verdict, Verdict::Forbidden | Verdict::NotOffered));
    view! {
        <ul class=class>{main.into_iter().map(card).collect_view()}</ul>
        {lines("Allowed by the rules, but not from here", unreachable, is_whole)}
        {lines("Forbidden now", forbidden, is_whole)}
    }
    .into_any()
}

fn lines(title: &'static str, actions: Vec<ActionView>, is_open: bool) -> AnyView {
    if actions.is_empty() {
        return ().into_any();
    }
    let summary = format!("{title} ({})", actions.len());
    view! {
        <details class="barred" open=is_open>
            <summary>{summary}</summary>
            <ul>{actions.into_iter().map(line).collect_view()}</ul>
        </details>
    }
    .into_any()
}

fn line(action: ActionView) -> AnyView {
    let badge = (action.verdict != Verdict::Forbidden).then(|| verdict_badge(action.verdict));
    let why = action.obstacle.unwrap_or(action.reason);
    view! {
        <li class="barred__line" title=action.grounds.join(" · ")>
            <span class="barred__name" role="link" aria-disabled="true">
                {action.label}
            </span>
            {badge}
            <span class="barred__why">{why}</span>
        </li>
    }
    .into_any()
}

fn not_offered(labels: &[String]) -> AnyView {
    if labels.is_empty() {
        return ().into_any();
    }
    view! {
        <details class="not-offered">
            <summary>{format!("{} more do not concern this state", labels.len())}</summary>
            <p>{labels.join(" · ")}</p>
        </details>
    }
    .into_any()
}

const fn card_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Safe | Verdict::Confirm | Verdict::Dual => "card",
        Verdict::Forbidden | Verdict::NotOffered => "card card--forbidden",
    }
}

fn card(action: ActionView) -> AnyView {
    let is_open = !matches!(action.verdict, Verdict::Forbidden | Verdict::NotOffered);
    let head = match action.href {
        Some(href) => view! { <a class="card__name" href=href>{action.label}</a> }.into_any(),
        // A disabled link: it stays, says why, and cannot be followed.
        None => view! { <a class="card__name" role="link" aria-disabled="true">{action.label}</a> }.into_any(),
    };
    let first = action.is_recommended.then(|| view! { <span class="card__first">"do this first"</span> });
    let obstacle = action.obstacle.filter(|_| is_open).map(|text| view! { <p class="card__obstacle">{text}</p> });
    let until = action.expires.map(|moment| view! { <p class="card__until">"changes at " {time(moment)}</p> });
    view! {
        <li class=card_class(action.verdict) class:card--first=action.is_recommended>
            <div class="card__head">{head} {first} {verdict_badge(action.verdict)}</div>
            <p class="card__reason">{action.reason}</p>
            {obstacle}
            {until}
            {rules_behind(action.rules, "why")}
        </li>
    }
    .into_any()
}

fn facts(facts: Vec<FactView>, more: Option<String>) -> AnyView {
    let more = more.map(|more| view! { <p class="quiet">{more}</p> });
    let lines = facts
        .into_iter()
        .map(|fact| {
            view! {
                <li>
                    {strength_badge(fact.strength)}
                    " "
                    {fact.text}
                    " "
                    <span class="quiet">{time(fact.at)} ", " {fact.age} " ago"</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <h3 class="label">"What this stands on"</h3>
        <ul class="facts">{lines}</ul>
        {more}
    }
    .into_any()
}

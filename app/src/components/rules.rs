//! The rules behind a verdict, on demand: their numbers, of what they spoke, and a sentence each. Needs no JavaScript.

use leptos::prelude::*;
use tallystick_domain::view::rules::{RuleGroup, RuleLine};

/// Every rule behind an operation's state and decision, folded away.
pub fn rules_in_groups(groups: Vec<RuleGroup>) -> AnyView {
    let groups = groups
        .into_iter()
        .map(|group| {
            view! {
                <h3 class="label">{group.title}</h3>
                {rule_list(group.rules)}
            }
        })
        .collect_view();
    view! {
        <details class="rules">
            <summary>"Why: rules"</summary>
            {groups}
        </details>
    }
    .into_any()
}

/// The rules behind one thing, folded away; nothing where no rule spoke.
pub fn rules_behind(rules: Vec<RuleLine>, summary: &'static str) -> AnyView {
    if rules.is_empty() {
        return ().into_any();
    }
    view! {
        <details class="rules">
            <summary>{summary}</summary>
            {rule_list(rules)}
        </details>
    }
    .into_any()
}

fn rule_list(rules: Vec<RuleLine>) -> AnyView {
    let lines = rules
        .into_iter()
        .map(|rule| {
            let about = rule.about.map(|about| view! { <span class="rules__about">{about}</span> });
            view! {
                <div>
                    <dt class="code">{rule.id}</dt>
                    <dd>{rule.sentence} " " {about}</dd>
                </div>
            }
        })
        .collect_view();
    view! { <dl class="rules__list">{lines}</dl> }.into_any()
}

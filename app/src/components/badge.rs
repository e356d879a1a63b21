//! Badges: a state, a verdict, a strength. Each has a word and an outline of its own; colour never stands alone.

use leptos::prelude::*;
use tallystick_domain::decision::Verdict;
use tallystick_domain::evidence::Strength;
use tallystick_domain::view::ChipView;
use tallystick_domain::view::state::StateBadge;

/// A state in a word or two.
pub fn state_badge(badge: StateBadge) -> AnyView {
    let text = badge.word.clone();
    badge_with(badge, text)
}

/// A state with what stands behind it.
pub fn state_phrase(badge: StateBadge) -> AnyView {
    let text = badge.phrase.clone();
    badge_with(badge, text)
}

fn badge_with(badge: StateBadge, text: String) -> AnyView {
    let class = format!("badge badge--{}{}", badge.tone.name(), if badge.is_final { " badge--final" } else { "" });
    view! {
        <span class=class title=badge.name>
            <span aria-hidden="true">{badge.glyph.to_string()}</span>
            " "
            {text}
        </span>
    }
    .into_any()
}

const fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Safe => "verdict verdict--safe",
        Verdict::Confirm => "verdict verdict--confirm",
        Verdict::Dual => "verdict verdict--dual",
        Verdict::Forbidden | Verdict::NotOffered => "verdict verdict--forbidden",
    }
}

/// A verdict.
pub fn verdict_badge(verdict: Verdict) -> AnyView {
    view! { <span class=verdict_class(verdict)>{verdict.label()}</span> }.into_any()
}

const fn strength_words(strength: Strength) -> &'static str {
    match strength {
        Strength::Hint => "A hint: it proves nothing",
        Strength::P0 => "P0: a person's word; no proof for a later rule",
        Strength::P1 => "P1: a guarantee of the transport",
        Strength::P2 => "P2: a signal that the contract declares",
        Strength::P3 => "P3: a receipt",
    }
}

/// How strong a fact is.
pub fn strength_badge(strength: Strength) -> AnyView {
    let class = format!("strength strength--{}", strength.name().to_ascii_lowercase());
    view! {
        <span class=class title=strength_words(strength)>
            {strength.name()}
        </span>
    }
    .into_any()
}

/// Evidence in a few words.
pub fn chip(chip: ChipView) -> AnyView {
    let class = format!("chip chip--{}", chip.strength.name().to_ascii_lowercase());
    view! {
        <span class=class title=strength_words(chip.strength)>
            {chip.text}
        </span>
    }
    .into_any()
}

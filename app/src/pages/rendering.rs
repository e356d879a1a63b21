//! What pages look like as HTML, from hand-made values: nothing that others wrote becomes markup, and nothing that an
//! operator needs is left to colour or to script.

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use tallystick_domain::decision::Verdict;
use tallystick_domain::evidence::Strength;
use tallystick_domain::operation::{Doubt, Mark, State};
use tallystick_domain::view::decision::{ActionView, DecisionView, FactView};
use tallystick_domain::view::list::RowView;
use tallystick_domain::view::rules::RuleLine;
use tallystick_domain::view::state::{TallyGroup, TallyView, WindowView, state_badge};
use tallystick_domain::view::{ChipView, Moment};

use crate::api::ApiError;
use crate::components::decision::decision;
use crate::components::notice::{empty, failed, loading, more};
use crate::components::rows::{LinkedRow, Orders, operation_table};

const TRICK: &str = "\"><script>alert(1)</script><img src=x onerror=alert(2)>";

fn html(page: impl FnOnce() -> AnyView) -> String {
    let owner = Owner::new();
    owner.with(|| {
        provide_meta_context();
        page().to_html()
    })
}

fn moment() -> Moment {
    Moment { short: "09:00:05".into(), full: "2026-10-05 09:00 UTC".into(), utc: "2026-10-05T09:00:05Z".into() }
}

fn row(key: &str) -> RowView {
    RowView {
        id: "0190".into(),
        key: key.into(),
        key_given: true,
        badge: state_badge(State::Uncertain(Doubt::Timeout)),
        target: format!("pay{key} → psp"),
        is_observed: true,
        stake: Some("€ 1,240.00".into()),
        tally: TallyView {
            groups: vec![TallyGroup { layer: key.into(), marks: vec![Mark::Unknown, Mark::NotSent] }],
            spoken: "2 attempts. tool: 1 unknown, 1 not sent.".into(),
            caption: "2 of 4 · tool".into(),
            is_loud: false,
        },
        chips: vec![ChipView { text: format!("receipt {key}"), strength: Strength::P3 }],
        window: WindowView { text: "23 min".into(), until: Some("14:30".into()), percent: Some(2), is_urgent: true },
        age: "22 h 41".into(),
        since: moment(),
        recommended: "Look up".into(),
        assignee: Some(key.into()),
        finding: Some((key.into(), 2)),
    }
}

fn linked(key: &str) -> LinkedRow {
    LinkedRow {
        row: row(key),
        href: "/operations/0190".into(),
        select_href: Some("/?selected=0190".into()),
        is_chosen: true,
        has_box: Some(true),
    }
}

fn action(label: &str, verdict: Verdict, obstacle: Option<&str>) -> ActionView {
    ActionView {
        name: "mark_failed".into(),
        label: label.into(),
        verdict,
        reason: "Nothing proves that it did not happen.".into(),
        grounds: vec!["row 19".into(), "overlay O4".into()],
        rules: vec![RuleLine { id: "O4".into(), about: None, sentence: "It cannot be undone.".into() }],
        expires: None,
        is_recommended: false,
        href: obstacle.is_none().then(|| "/operations/0190/mark_failed".into()),
        obstacle: obstacle.map(Into::into),
    }
}

fn judged(actions: Vec<ActionView>, words: &str) -> DecisionView {
    DecisionView {
        row: "row 19".into(),
        why: words.into(),
        known: vec![],
        facts: vec![FactView { text: words.into(), strength: Strength::Hint, at: moment(), age: "4 min".into() }],
        actions,
        not_offered: vec![],
        awaited: None,
    }
}

#[test]
fn what_others_wrote_never_becomes_markup() {
    let table = html(|| operation_table("Operations", vec![linked(TRICK)], Orders::default()));
    let decided = html(|| decision(judged(vec![action(TRICK, Verdict::Forbidden, Some(TRICK))], TRICK)));
    for page in [table, decided] {
        assert!(!page.contains("<script>") && !page.contains("<img"), "{page}");
    }
}

#[test]
fn a_row_says_in_words_what_it_shows_in_colour() {
    let page = html(|| operation_table("Operations", vec![linked("refund:ord_1042:rr_7")], Orders::default()));
    for words in ["timed out", "2 attempts. tool: 1 unknown, 1 not sent.", "23 min", "receipt", "2 findings"] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    assert!(page.contains("<tbody") && page.contains("scope=\"row\""), "{page}");
    assert!(page.contains("aria-current=\"true\""), "{page}");
}

#[test]
fn an_action_that_may_not_be_pressed_stays_with_its_reason_and_leads_nowhere() {
    let closed = action("Mark failed", Verdict::Forbidden, Some("Nothing proves it."));
    let page = html(|| decision(judged(vec![closed], "why")));
    assert!(page.contains("Mark failed") && page.contains("Nothing proves it."), "{page}");
    assert!(page.contains("aria-disabled=\"true\"") && !page.contains("/mark_failed"), "{page}");
}

#[test]
fn an_action_that_may_be_pressed_leads_to_its_form_and_shows_verdict_and_grounds() {
    let page = html(|| decision(judged(vec![action("Mark failed", Verdict::Dual, None)], "why")));
    for words in ["/operations/0190/mark_failed", "second person", "O4", "It cannot be undone."] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
}

#[test]
fn nothing_there_still_coming_failed_and_a_part_are_different_texts() {
    let texts = [
        html(|| empty("Nothing waits", "Everything is settled.")),
        html(loading),
        html(|| failed(&ApiError::StoreUnavailable)),
        html(|| more(Some("/?after=x".into()), 50)),
    ];
    for (index, text) in texts.iter().enumerate() {
        assert!(texts.iter().skip(index + 1).all(|other| other != text), "{text}");
    }
}

#[test]
fn a_page_needs_neither_inline_styles_nor_handlers() {
    let table = html(|| operation_table("Operations", vec![linked("a:b")], Orders::default()));
    let decided = html(|| decision(judged(vec![action("Adopt", Verdict::Confirm, None)], "why")));
    for page in [table, decided] {
        assert!(!page.contains(" style=") && !page.contains(" onclick"), "{page}");
    }
}

//! What pages look like as HTML, from hand-made values: nothing that others wrote becomes markup, and nothing that an
//! operator needs is left to colour or to script.

use std::collections::BTreeMap;

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use tallystick_domain::contract::{Contract, EffectIdentity};
use tallystick_domain::decision::Verdict;
use tallystick_domain::evidence::Strength;
use tallystick_domain::layers::with_seen;
use tallystick_domain::name::{LayerName, ToolName};
use tallystick_domain::operation::{Doubt, Mark, State};
use tallystick_domain::sums::{Sum, Times};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;
use tallystick_domain::view::approvals::{ApprovalGroup, ApprovalLine, ApprovalsView, UntilView};
use tallystick_domain::view::decision::{ActionView, DecisionView, FactView};
use tallystick_domain::view::layers::{LayersView, SeenStack, layer_row, layers_view};
use tallystick_domain::view::list::RowView;
use tallystick_domain::view::outcomes::{
    BreakdownView, OutcomesView, Window, bar, both_in_words, breakdown, figures, layer_shares, rule, standing, ticks,
};
use tallystick_domain::view::rules::RuleLine;
use tallystick_domain::view::state::{TallyGroup, TallyView, WindowView, state_badge};
use tallystick_domain::view::tools::tool_page;
use tallystick_domain::view::{ChipView, Lens, Moment, TimePrinter};

use super::{approvals, layers, outcomes, tool};
use crate::api::ApiError;
use crate::components::decision::decision;
use crate::components::notice::{empty, failed, loading, more, searched};
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
            more: None,
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
        more_facts: None,
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
fn nothing_there_still_coming_failed_a_part_and_partly_searched_are_different_texts() {
    let texts = [
        html(|| empty("Nothing waits", "Everything is settled.")),
        html(loading),
        html(|| failed(&ApiError::StoreUnavailable)),
        html(|| more(Some("/?after=x".into()), 50)),
        html(|| {
            searched("2 were found in the newest 2,000; older ones were not looked through.".into(), "/?after=x".into())
        }),
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

fn sum(operations: i64, attempts: i64) -> Sum {
    Sum { operations, attempts, uncertain: 1, ..Sum::default() }
}

fn outcomes_page(name: &str) -> OutcomesView {
    let window = (Timestamp::from_micros(0), Timestamp::from_micros(86_400_000_000));
    let names = BTreeMap::new();
    let lens = Lens { now: window.1, times: &Utc, names: &names };
    let bars = [sum(3, 5), Sum::default()];
    let (ticks, top) = ticks(&bars);
    let by_name = [(name.to_owned(), sum(3, 5))];
    OutcomesView {
        window: Window::Week,
        span: name.into(),
        zone: "UTC".into(),
        rule: rule(Window::Week),
        words: both_in_words(3, 5),
        is_empty: false,
        standing: standing(2, window.0, &lens),
        figures: figures(&sum(3, 5), 0, |_| 0, &Times::default(), window),
        bars: bars.iter().map(|sum| bar(sum, window, top, Window::Week, &lens)).collect(),
        ticks,
        tools: breakdown(&by_name, |_| None, "tool", window),
        destinations: BreakdownView::default(),
        states: Vec::new(),
        layers: layer_shares(&by_name, window),
        marks: Vec::new(),
        as_of: moment(),
        sequence: "1".into(),
    }
}

/// Prints UTC days alone: enough for a page.
struct Utc;

impl TimePrinter for Utc {
    fn day(&self, _: Timestamp) -> String {
        "5 Oct 2026".into()
    }
    fn clock(&self, _: Timestamp) -> String {
        "00:00:00".into()
    }
    fn full(&self, _: Timestamp) -> String {
        "2026-10-05 00:00 UTC".into()
    }
    fn stamp(&self, _: Timestamp) -> String {
        "2026-10-05T00:00:00+00:00".into()
    }
}

#[test]
fn the_chart_is_hidden_from_those_who_listen_and_its_table_says_the_same() {
    let page = html(|| outcomes::content(outcomes_page("pay")));
    let charts = page.split("<svg").filter_map(|svg| svg.split("</svg>").next()?.split_once('>'));
    let (head, drawn) = charts.filter(|(head, _)| head.contains("class=\"chart\"")).last().unwrap();
    assert!(head.contains("aria-hidden=\"true\""), "{head}");
    // Nothing in it can be reached by a key that is not in the table.
    assert_eq!((drawn.matches("<a ").count(), drawn.matches("tabindex=\"-1\"").count()), (1, 1), "{drawn}");
    for words in ["<caption", "scope=\"row\"", "3 operations · 5 attempts", "2 changes are not counted yet", "1.67"] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
}

#[test]
fn the_three_pages_take_no_markup_from_others_and_need_no_inline_style() {
    let outcomes = html(|| outcomes::content(outcomes_page(TRICK)));
    let tool = Tool::undeclared(ToolName::parse("pay<script>").unwrap());
    let seen = [(LayerName::parse("sdk<script>").unwrap(), 3)];
    let found = layers_in_use(&tool, &seen);
    let layers = html(|| layers::content(found));
    for page in [outcomes, layers] {
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        assert!(!page.contains(" style=") && !page.contains(" onclick"), "{page}");
    }
}

#[test]
fn a_tools_page_takes_no_markup_and_no_address_but_a_web_one_from_a_declaration() {
    let contract = Contract {
        key_location: Some(TRICK.into()),
        source_url: Some("javascript:alert(1)".into()),
        effect_identity: Some(EffectIdentity { object: TRICK.into(), aliases: Vec::new() }),
        ..Contract::default()
    };
    let tool = Tool { contract, ..Tool::undeclared(ToolName::parse("pay<script>").unwrap()) };
    let stack = SeenStack { tool: &tool, layers: &[], declared: 0, seen: &[], most: None };
    let page = html(|| tool::content(tool_page(&tool, layer_row(&stack), (Vec::new(), false), "1".into())));
    assert!(page.contains("alert(2)") && page.contains("Nobody declared this tool"), "{page}");
    for markup in ["<script", "<img", "javascript:", " style=", " onclick"] {
        assert!(!page.contains(markup), "{markup} in {page}");
    }
}

fn layers_in_use(tool: &Tool, seen: &[(LayerName, i64)]) -> LayersView {
    let all = with_seen(Vec::new(), seen.iter().map(|(layer, _)| layer));
    let stack = SeenStack { tool, layers: &all, declared: 0, seen, most: None };
    layers_view(vec![layer_row(&stack)], Vec::new(), 100, "1".into())
}

#[test]
fn an_approval_leads_to_its_form_and_says_what_it_counts() {
    let line = ApprovalLine {
        href: "/operations/0190".into(),
        key: TRICK.into(),
        target: "pay → psp".into(),
        stake: None,
        asker: TRICK.into(),
        age: "4 min".into(),
        since: moment(),
        until: UntilView { words: "no time limit".into(), at: None, is_over: false },
        form: ("/operations/0190/approve".into(), "Approve".into()),
        notes: vec![TRICK.into()],
        changes: Vec::new(),
    };
    let title = "1 new proposal";
    let group = ApprovalGroup { id: "new".into(), title: title.into(), note: "why".into(), rows: vec![line] };
    let view = ApprovalsView {
        words: "1 operation waits for an authorization".into(),
        groups: vec![group],
        left_out: vec![("Awaits approval: the 1 most urgent of 7 are shown".into(), "/?reason=awaits_approval".into())],
        as_of: moment(),
        sequence: "1".into(),
    };
    let page = html(|| approvals::content(view));
    for words in [title, "/operations/0190/approve", "the 1 most urgent of 7", "/?reason=awaits_approval"] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    assert!(!page.contains("<script") && !page.contains(" style="), "{page}");
}

//! Bulk actions: what was seen is what is done, each item once, whoever carries it out and however often; and it stops when
//! it must.

use tallystick_domain::action::ActionInput;
use tallystick_domain::bulk::{Bulk, Filter, ITEM_LIMIT, Life, NotStartable, Selection, Skip, Stop};
use tallystick_domain::contract::{Consistency, Contract, LookUp, LookUpBy};
use tallystick_domain::evidence::Claim;
use tallystick_domain::name::{BulkId, OperationId, PrincipalId, Receipt};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::query::{OperationQuery, QueueQuery};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::tool::{Class, Tool};
use tallystick_domain::view::action::Reached;
use tallystick_ledger::actions::ActionStatus;
use tallystick_ledger::bulk::BulkPage;
use tallystick_ledger::people::{NewPrincipal, executor_actor};
use tallystick_ledger::{Ledger, LedgerError};

use crate::rig::{Rig, act, admin, at, automation, case, proposal, second_operator, tool, viewer};

on_both! {
    what_was_frozen_is_done_and_not_what_the_filter_finds_later,
    what_changed_since_the_preview_is_left_alone_and_listed,
    what_is_not_safe_for_an_item_is_skipped_with_its_reason,
    two_processes_at_once_do_every_item_once,
    a_process_that_dies_is_followed_by_another_that_does_only_the_rest,
    doing_it_all_again_does_nothing,
    after_a_stop_no_further_item_begins,
    a_person_who_lost_the_role_stops_it_and_it_says_so,
    a_person_who_is_gone_stops_it_too,
    only_its_maker_starts_a_preview_once_and_in_time,
    an_empty_filter_nothing_and_too_much_are_refused,
    only_actions_for_many_and_only_roles_that_may,
    keys_of_items_are_kept_for_items,
    accepted_is_not_attempted_is_not_confirmed,
    previews_that_nobody_started_are_forgotten,
    an_operation_tells_which_bulk_actions_named_it,
}

/// A person on record.
async fn person(rig: &Rig, login: &str, role: Role) -> Actor {
    let new = NewPrincipal { login: login.into(), name: login.into(), role, password_hash: None };
    rig.ledger.add_principal(&admin(), new).await.unwrap().actor()
}

/// Proposals of one tool that may be cancelled.
async fn proposed(rig: &Rig, keys: std::ops::Range<usize>) -> Vec<OperationId> {
    if rig.ledger.tools(&admin()).await.unwrap().is_empty() {
        rig.declare("pay", Class::Reversible).await;
    }
    let mut ids = Vec::new();
    for number in keys {
        let new = proposal(&format!("k-{number}"), "pay", &format!(r#"{{"n":{number}}}"#));
        ids.push(rig.ledger.propose_operation(&automation(), new).await.unwrap().operation.head.id);
    }
    ids
}

fn of_tool(name: &str) -> Filter {
    Filter::Operations(OperationQuery { tool: Some(name.into()), ..OperationQuery::default() })
}

fn these(operations: &[OperationId]) -> Selection {
    Selection::Chosen { operations: operations.to_vec(), from: None }
}

async fn previewed(rig: &Rig, by: &Actor, selection: Selection) -> Bulk {
    rig.ledger.preview_bulk(by, ActionInput::Cancel {}, selection).await.unwrap()
}

async fn start(rig: &Rig, by: &Actor, bulk: &Bulk) {
    let answer = rig.ledger.start_bulk(by, &bulk.id, bulk.hash, "asked by the customer").await.unwrap();
    assert!(!answer.already_recorded);
    assert_eq!(answer.bulk.life.name(), "running");
}

/// Works until nothing runs any more for this runner.
async fn run(ledger: &Ledger, runner: &str) -> u32 {
    let mut answered = 0;
    for _ in 0..200 {
        match ledger.carry_on_bulks(runner).await.unwrap() {
            0 => break,
            count => answered += count,
        }
    }
    answered
}

async fn page(rig: &Rig, bulk: &Bulk) -> BulkPage {
    rig.ledger.bulk(&viewer(), &bulk.id).await.unwrap().unwrap()
}

/// Accepted, refused, waiting, skipped.
fn counts(page: &BulkPage) -> (usize, usize, usize, usize) {
    let answered = |status| {
        page.items.iter().filter(|item| item.answer.as_ref().is_some_and(|answer| answer.status == status)).count()
    };
    let skipped = page.items.iter().filter(|item| item.item.skip.is_some()).count();
    let (accepted, refused) = (answered(ActionStatus::Done), answered(ActionStatus::Refused));
    (accepted, refused, page.items.len() - accepted - refused - skipped, skipped)
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, LedgerError>) -> Refusal {
    match outcome {
        Err(LedgerError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

async fn what_was_frozen_is_done_and_not_what_the_filter_finds_later(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    proposed(&rig, 0..3).await;
    let bulk = previewed(&rig, &olga, Selection::Matching(of_tool("pay"))).await;
    assert_eq!((bulk.items, bulk.eligible, bulk.life.name()), (3, 3, "previewed"));
    assert_eq!(run(&rig.ledger, "r").await, 0, "a preview does nothing");
    proposed(&rig, 3..5).await;
    start(&rig, &olga, &bulk).await;
    assert_eq!(run(&rig.ledger, "r").await, 3);
    for (key, state) in [("k-0", "cancelled"), ("k-2", "cancelled"), ("k-3", "proposed"), ("k-4", "proposed")] {
        assert_eq!(rig.state(key).await, state, "{key}");
    }
    let page = page(&rig, &bulk).await;
    assert_eq!(counts(&page), (3, 0, 0, 0));
    assert_eq!(page.bulk.life.name(), "done");
    let answer = page.items[0].answer.as_ref().unwrap();
    assert_eq!(answer.key.as_str(), format!("bulk:{}:{}", bulk.id, page.items[0].item.operation));
    let action = rig.ledger.action(&olga, &answer.key).await.unwrap().unwrap();
    assert_eq!((action.act.reason.as_str(), action.act.actor), ("asked by the customer", olga));
    rig.assert_verified().await;
}

async fn what_changed_since_the_preview_is_left_alone_and_listed(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..3).await;
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    let version = rig.listed("k-1").await.unwrap().version;
    let remark = act("c1", &second_operator(), ActionInput::Comment {}, version);
    rig.ledger.act(&ids[1], remark).await.unwrap();
    start(&rig, &olga, &bulk).await;
    run(&rig.ledger, "r").await;
    let page = page(&rig, &bulk).await;
    assert_eq!(counts(&page), (2, 1, 0, 0));
    let changed = page.items[1].answer.as_ref().unwrap().refusal.clone();
    assert_eq!(changed, Some(Refusal::StaleVersion { seen: version, current: version + 1 }));
    assert_eq!((rig.state("k-1").await, rig.state("k-2").await), ("proposed".into(), "cancelled".into()));
    assert_eq!(page.bulk.life.name(), "done");
}

async fn what_is_not_safe_for_an_item_is_skipped_with_its_reason(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..1).await;
    let lines: Vec<String> = case("R01").lines().take(4).map(ToOwned::to_owned).collect();
    rig.import(&lines.join("\n")).await;
    let observed = rig.id("credit_purchase:cart-77").await;
    let bulk = previewed(&rig, &olga, these(&[observed.clone(), ids[0].clone(), observed])).await;
    assert_eq!((bulk.items, bulk.eligible), (2, 1), "each once");
    start(&rig, &olga, &bulk).await;
    run(&rig.ledger, "r").await;
    let page = page(&rig, &bulk).await;
    assert_eq!(counts(&page), (1, 0, 0, 1));
    let Some(Skip::Forbidden { reason }) = &page.items[0].item.skip else { panic!("{:?}", page.items[0].item) };
    assert!(!reason.is_empty());
    assert_eq!(rig.count("operator_action").await, 1, "what is skipped is not even pressed");
    // Nothing was sent yet, so there is nothing to repeat.
    let rerun = rig.ledger.preview_bulk(&olga, ActionInput::RerunSameKey {}, these(&ids)).await.unwrap();
    assert_eq!(rerun.eligible, 0);
    let nothing = rig.ledger.start_bulk(&olga, &rerun.id, rerun.hash, "r").await;
    assert_eq!(refusal(nothing), Refusal::BulkNotStartable { why: NotStartable::NothingEligible });
}

async fn two_processes_at_once_do_every_item_once(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..60).await;
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    start(&rig, &olga, &bulk).await;
    // As if taking meant nothing: both work on the same list.
    let another = rig.another().await;
    let greedy = async |ledger: &Ledger, runner: &str| {
        for _ in 0..20 {
            rig.sql("UPDATE bulk SET taken_until = NULL").await;
            ledger.carry_on_bulks(runner).await.unwrap();
        }
    };
    tokio::join!(greedy(&rig.ledger, "one"), greedy(&another, "two"));
    assert_eq!(counts(&page(&rig, &bulk).await), (60, 0, 0, 0));
    assert_eq!(rig.count("operator_action").await, 60);
    assert_eq!(rig.count("journal WHERE command = 'act cancel'").await, 60);
    rig.assert_verified().await;
}

async fn a_process_that_dies_is_followed_by_another_that_does_only_the_rest(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..40).await;
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    start(&rig, &olga, &bulk).await;
    // One batch, and it is heard of no more: whatever it would have written next is not written.
    assert_eq!(rig.ledger.carry_on_bulks("dying").await.unwrap(), 25);
    let another = rig.another().await;
    assert_eq!(another.carry_on_bulks("next").await.unwrap(), 0, "it may still be at work");
    assert_eq!(counts(&page(&rig, &bulk).await), (25, 0, 15, 0));
    rig.ledger.set_clock(at("2026-10-05T09:00:11Z")).await.unwrap();
    assert_eq!(run(&another, "next").await, 15);
    assert_eq!(counts(&page(&rig, &bulk).await), (40, 0, 0, 0));
    assert_eq!(rig.count("operator_action").await, 40);
    assert_eq!(page(&rig, &bulk).await.bulk.life.name(), "done");
}

async fn doing_it_all_again_does_nothing(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..5).await;
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    start(&rig, &olga, &bulk).await;
    run(&rig.ledger, "r").await;
    // As if the end had not been written, and with another role: the keys alone hold.
    rig.sql("UPDATE bulk SET state = 'running', ended_at = NULL").await;
    rig.sql("UPDATE principal SET role = 'approver'").await;
    assert_eq!(run(&rig.ledger, "r").await, 0);
    assert_eq!(rig.count("operator_action").await, 5);
    assert_eq!(page(&rig, &bulk).await.bulk.life.name(), "done");
    assert_eq!(rig.count("audit WHERE status = 'action_key_reused'").await, 0);
}

async fn after_a_stop_no_further_item_begins(rig: Rig) {
    let (olga, vera) = (person(&rig, "olga", Role::Operator).await, viewer());
    let ids = proposed(&rig, 0..40).await;
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    start(&rig, &olga, &bulk).await;
    rig.ledger.carry_on_bulks("r").await.unwrap();
    assert!(matches!(refusal(rig.ledger.abort_bulk(&vera, &bulk.id).await), Refusal::NotPermitted { .. }));
    let stopped = rig.ledger.abort_bulk(&second_operator(), &bulk.id).await.unwrap();
    assert!(!stopped.already_recorded);
    assert!(rig.ledger.abort_bulk(&olga, &bulk.id).await.unwrap().already_recorded);
    assert_eq!(run(&rig.ledger, "r").await, 0);
    let page = page(&rig, &bulk).await;
    assert_eq!(counts(&page), (25, 0, 15, 0));
    let Life::Aborted { why: Stop::Asked { by }, started: Some(started), .. } = page.bulk.life else {
        panic!("{:?}", page.bulk.life)
    };
    assert_eq!((by.id, started.reason.as_str()), (second_operator().id, "asked by the customer"));
    // A preview can be stopped too, and then not be started any more.
    let other = previewed(&rig, &olga, these(&ids)).await;
    rig.ledger.abort_bulk(&olga, &other.id).await.unwrap();
    let late = rig.ledger.start_bulk(&olga, &other.id, other.hash, "r").await;
    assert_eq!(refusal(late), Refusal::BulkNotStartable { why: NotStartable::Stopped });
}

async fn a_person_who_lost_the_role_stops_it_and_it_says_so(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..40).await;
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    start(&rig, &olga, &bulk).await;
    rig.ledger.carry_on_bulks("r").await.unwrap();
    rig.sql("UPDATE principal SET role = 'viewer'").await;
    assert_eq!(run(&rig.ledger, "r").await, 0);
    let page = page(&rig, &bulk).await;
    assert_eq!(counts(&page), (25, 0, 15, 0));
    let Life::Aborted { why, .. } = page.bulk.life else { panic!("{:?}", page.bulk.life) };
    assert_eq!(why, Stop::NotPermitted { role: Role::Viewer });
    assert_eq!(rig.count("audit WHERE verb = 'abort_bulk' AND actor_id = 'system'").await, 1);
}

async fn a_person_who_is_gone_stops_it_too(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..2).await;
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    start(&rig, &olga, &bulk).await;
    rig.sql("DELETE FROM principal").await;
    run(&rig.ledger, "r").await;
    let page = page(&rig, &bulk).await;
    assert!(matches!(page.bulk.life, Life::Aborted { why: Stop::Gone, .. }), "{:?}", page.bulk.life);
    assert_eq!(rig.count("operator_action").await, 0);
}

async fn only_its_maker_starts_a_preview_once_and_in_time(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..2).await;
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    let late = previewed(&rig, &olga, these(&ids)).await;
    let start = |by: Actor, hash, reason: &'static str| {
        let (ledger, id) = (rig.ledger.clone(), bulk.id.clone());
        async move { ledger.start_bulk(&by, &id, hash, reason).await }
    };
    let stranger = refusal(start(second_operator(), bulk.hash, "r").await);
    assert_eq!(stranger, Refusal::BulkOfAnother { by: "olga".into() });
    let other = previewed(&rig, &olga, these(&ids[..1])).await.hash;
    let differs = refusal(start(olga.clone(), other, "r").await);
    assert_eq!(differs, Refusal::BulkNotStartable { why: NotStartable::Differs });
    assert_eq!(refusal(start(olga.clone(), bulk.hash, "").await), Refusal::ReasonMissing {});
    // Two presses at once, and one more later: one start.
    let (one, two) = tokio::join!(start(olga.clone(), bulk.hash, "r"), start(olga.clone(), bulk.hash, "r"));
    assert_ne!(one.unwrap().already_recorded, two.unwrap().already_recorded);
    run(&rig.ledger, "r").await;
    assert!(start(olga.clone(), bulk.hash, "r").await.unwrap().already_recorded);
    assert_eq!(rig.count("operator_action").await, 2);
    assert_eq!(rig.count("audit WHERE verb = 'start_bulk'").await, 1);
    rig.ledger.set_clock(at("2026-10-05T10:00:00Z")).await.unwrap();
    let expired = refusal(rig.ledger.start_bulk(&olga, &late.id, late.hash, "r").await);
    assert_eq!(expired, Refusal::BulkNotStartable { why: NotStartable::Expired });
    let nothing = BulkId::parse("nothing").unwrap();
    assert!(matches!(refusal(rig.ledger.start_bulk(&olga, &nothing, bulk.hash, "r").await), Refusal::Unknown { .. }));
    assert!(rig.ledger.bulk(&olga, &nothing).await.unwrap().is_none());
}

async fn an_empty_filter_nothing_and_too_much_are_refused(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let lines: Vec<String> = (0..=ITEM_LIMIT)
        .map(|number| {
            format!(
                r#"{{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"o{number}","key":"k{number}","tool":"{}"}}"#,
                if number == 0 { "one" } else { "many" },
            )
        })
        .collect();
    rig.import(&lines.join("\n")).await;
    let preview = |selection| {
        let (ledger, olga) = (rig.ledger.clone(), olga.clone());
        async move { ledger.preview_bulk(&olga, ActionInput::Comment {}, selection).await }
    };
    let all = OperationQuery::default;
    let too_much = OperationQuery { mode: Some(tallystick_domain::operation::Mode::Observed), ..all() };
    let nothing = OperationQuery { tool: Some("none".into()), ..all() };
    let ghosts: Vec<OperationId> =
        (0..=ITEM_LIMIT).map(|number| OperationId::parse(format!("ghost-{number}")).unwrap()).collect();
    for (selection, field, said) in [
        (Selection::Matching(Filter::Operations(all())), "filter", "mean everything"),
        (Selection::Matching(Filter::Queue(QueueQuery::default())), "filter", "mean everything"),
        (Selection::Matching(Filter::Operations(nothing)), "filter", "matches no operation"),
        (Selection::Matching(Filter::Operations(too_much.clone())), "filter", "more than 1000"),
        (these(&[]), "operations", "at least one"),
        (these(&ghosts), "operations", "more than 1000"),
    ] {
        let Refusal::BadField { field: named, problem } = refusal(preview(selection).await) else { panic!("{said}") };
        assert!(named == field && problem.contains(said), "{named}: {problem}");
    }
    assert!(matches!(refusal(preview(these(&ghosts[..1])).await), Refusal::Unknown { .. }));
    assert_eq!(rig.count("bulk").await, 0);
    let count = |filter| {
        let (ledger, olga) = (rig.ledger.clone(), olga.clone());
        async move { ledger.count_matching(&olga, &filter).await.unwrap() }
    };
    assert_eq!(count(Filter::Operations(too_much)).await, ITEM_LIMIT + 1);
    assert_eq!(count(of_tool("many")).await, ITEM_LIMIT);
    let searched = OperationQuery { search: Some("k1".into()), tool: Some("many".into()), ..all() };
    assert_eq!(count(Filter::Operations(searched)).await, 112, "k1, k10 to k19, k100 to k199, k1000");
    let exactly = preview(Selection::Matching(of_tool("many"))).await.unwrap();
    assert_eq!((exactly.items, exactly.eligible), (1000, 1000));
}

async fn only_actions_for_many_and_only_roles_that_may(rig: Rig) {
    let ids = proposed(&rig, 0..1).await;
    let olga = person(&rig, "olga", Role::Operator).await;
    for input in [ActionInput::Approve {}, ActionInput::MarkFailed {}, ActionInput::RerunNew {}] {
        let Refusal::BadField { field, problem } = refusal(rig.ledger.preview_bulk(&admin(), input, these(&ids)).await)
        else {
            panic!("one at a time")
        };
        assert!(field == "action" && problem.contains("look_up"), "{problem}");
    }
    for (by, input) in [
        (viewer(), ActionInput::Comment {}),
        (automation(), ActionInput::Assign { to: None }),
        (olga.clone(), ActionInput::Deny {}),
    ] {
        let refused = refusal(rig.ledger.preview_bulk(&by, input, these(&ids)).await);
        assert!(matches!(refused, Refusal::NotPermitted { .. }), "{refused:?}");
    }
    assert_eq!(rig.count("audit WHERE status = 'refused' AND subject = 'bulk'").await, 3);
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    let demoted = Actor { role: Role::Viewer, ..olga };
    let refused = refusal(rig.ledger.start_bulk(&demoted, &bulk.id, bulk.hash, "r").await);
    assert!(matches!(refused, Refusal::NotPermitted { .. }), "{refused:?}");
    assert_eq!(rig.count("bulk WHERE state = 'previewed'").await, 1);
}

async fn keys_of_items_are_kept_for_items(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..1).await;
    let bulk = previewed(&rig, &olga, these(&ids)).await;
    let version = rig.listed("k-0").await.unwrap().version;
    let forged = act(&format!("bulk:{}:{}", bulk.id, ids[0]), &viewer(), ActionInput::Comment {}, version);
    let Refusal::BadField { field, .. } = refusal(rig.ledger.act(&ids[0], forged).await) else { panic!("forged") };
    assert_eq!(field, "action_key");
    start(&rig, &olga, &bulk).await;
    run(&rig.ledger, "r").await;
    assert_eq!(counts(&page(&rig, &bulk).await), (1, 0, 0, 0));
}

async fn accepted_is_not_attempted_is_not_confirmed(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let lookup = LookUp { by: LookUpBy::Key, consistency: Some(Consistency::Eventual), complete: false };
    let charge = tool("payments.charge", Class::Reversible);
    let contract = Contract { lookup: Some(lookup), ..charge.contract.clone() };
    rig.ledger.declare_tool(&admin(), Tool { contract, ..charge }).await.unwrap();
    let lines: Vec<String> = case("R01").lines().take(4).map(ToOwned::to_owned).collect();
    rig.import(&lines.join("\n")).await;
    let id = rig.id("credit_purchase:cart-77").await;
    let bulk = rig.ledger.preview_bulk(&olga, ActionInput::LookUp {}, these(std::slice::from_ref(&id))).await.unwrap();
    let reason = "";
    rig.ledger.start_bulk(&olga, &bulk.id, bulk.hash, reason).await.unwrap();
    run(&rig.ledger, "r").await;
    let reached = async || page(&rig, &bulk).await.items[0].reached;
    assert_eq!(counts(&page(&rig, &bulk).await), (1, 0, 0, 0));
    assert_eq!(reached().await, Reached { is_attempted: false, is_confirmed: false }, "accepted, and no more");
    let look = async |claim: Claim| {
        let now = rig.ledger.now().await.unwrap();
        rig.ledger.record_look_up(&executor_actor(), &id, now, vec![claim]).await.unwrap();
    };
    look(Claim::Unavailable).await;
    assert_eq!(reached().await, Reached { is_attempted: true, is_confirmed: false });
    look(Claim::Executed { receipt: Receipt::parse("pi_A").unwrap() }).await;
    assert_eq!(reached().await, Reached { is_attempted: true, is_confirmed: true });
}

async fn previews_that_nobody_started_are_forgotten(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..2).await;
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    let (left, started) = (previewed(&rig, &olga, these(&ids)).await, previewed(&rig, &olga, these(&ids)).await);
    start(&rig, &olga, &started).await;
    run(&rig.ledger, "r").await;
    rig.ledger.set_clock(at("2026-10-06T08:59:59Z")).await.unwrap();
    rig.ledger.sweep(100).await.unwrap();
    assert_eq!(rig.count("bulk").await, 2);
    rig.ledger.set_clock(at("2026-10-06T09:00:00Z")).await.unwrap();
    rig.ledger.sweep(100).await.unwrap();
    assert!(rig.ledger.bulk(&olga, &left.id).await.unwrap().is_none());
    assert_eq!(rig.count("bulk_item").await, 2);
    assert_eq!(counts(&page(&rig, &started).await), (2, 0, 0, 0));
}

async fn an_operation_tells_which_bulk_actions_named_it(rig: Rig) {
    let olga = person(&rig, "olga", Role::Operator).await;
    let ids = proposed(&rig, 0..2).await;
    let assign = ActionInput::Assign { to: Some(PrincipalId::parse("otto").unwrap()) };
    let bulk = rig.ledger.preview_bulk(&olga, assign.clone(), these(&ids)).await.unwrap();
    assert!(rig.examined("k-0").await.bulks.is_empty(), "a preview is nothing yet");
    start(&rig, &olga, &bulk).await;
    let told = rig.examined("k-0").await.bulks;
    assert_eq!((told.len(), &told[0].id, &told[0].input), (1, &bulk.id, &assign));
    run(&rig.ledger, "r").await;
    assert_eq!(rig.listed("k-1").await.unwrap().row.assignee, PrincipalId::parse("otto").ok());
}

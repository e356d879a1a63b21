//! Workflows in the record: a step waits for what it needs, and what goes back proposes one undo after another, once.

use tallystick_domain::action::ActionInput;
use tallystick_domain::attempt::{End, ReportedOutcome};
use tallystick_domain::contract::{Compensation, Contract, Stores, Verification};
use tallystick_domain::name::{OperationId, OperationKey, PrincipalId, Receipt, SourceName, ToolName, WorkflowName};
use tallystick_domain::operation::Reason;
use tallystick_domain::permission::Role;
use tallystick_domain::query::QueueQuery;
use tallystick_domain::refusal::Refusal;
use tallystick_domain::tool::{Class, Tool};
use tallystick_domain::transition::Worker;
use tallystick_domain::workflow::{Direction, Ending, Place, Progress, Unwinds, Workflow};
use tallystick_ledger::LedgerError;
use tallystick_ledger::executing::{ClaimRequest, DispatchRequest};
use tallystick_ledger::operations::{NewProposal, NewStep};
use tallystick_ledger::people::executor_actor;
use tallystick_ledger::workflows::SeenWorkflow;

use crate::rig::{Rig, act, actor, admin, at, automation, operator, proposal, second_operator, tool, viewer};

on_both! {
    a_step_begins_when_what_it_needs_has_succeeded,
    going_back_proposes_one_undo_after_the_other,
    two_who_go_on_at_once_propose_one_undo,
    people_undo_what_they_keep_for_themselves,
    an_uncertain_step_is_waited_for,
    an_undo_that_fails_stops_the_rest_and_is_in_the_queue,
    a_place_that_makes_no_workflow_is_refused_and_nothing_is_recorded,
    what_others_run_is_never_undone_by_itself,
    workflows_are_read_in_pages,
}

fn undoable(name: &str) -> Tool {
    let contract = Contract {
        key_retention_s: Some(86_400),
        stores: Some(Stores::AnyOnceStarted),
        verification: Some(Verification::TestedLive),
        compensation: Some(Compensation { tool: "void".into(), window_s: None, partial: None, commutative: None }),
        ..Contract::default()
    };
    Tool { contract, ..tool(name, Class::Reversible) }
}

async fn begin(rig: &Rig, unwinds: Unwinds) {
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    rig.ledger.declare_tool(&admin(), undoable("pay")).await.unwrap();
    rig.ledger.declare_tool(&admin(), tool("void", Class::Reversible)).await.unwrap();
    declare(rig, unwinds).await;
}

async fn declare(rig: &Rig, unwinds: Unwinds) {
    let owner = add_person(rig).await;
    rig.ledger.declare_workflow(&automation(), &name(), unwinds, Some(owner)).await.unwrap();
}

async fn add_person(rig: &Rig) -> PrincipalId {
    let new = tallystick_ledger::people::NewPrincipal {
        login: "olga".into(),
        name: "Olga".into(),
        role: Role::Operator,
        password_hash: None,
    };
    rig.ledger.add_principal(&admin(), new).await.unwrap().id
}

fn name() -> WorkflowName {
    WorkflowName::parse("order-7").unwrap()
}

fn step(key: &str, place: Place) -> NewProposal {
    NewProposal {
        step: Some(NewStep { workflow: name(), place }),
        ..proposal(key, "pay", &format!(r#"{{"for":"{key}"}}"#))
    }
}

fn number(number: u32) -> Place {
    Place { number, is_pivot: false, needs: None }
}

async fn approve(rig: &Rig, id: &OperationId) {
    let version = examined(rig, id).await.0;
    let approve = act(&format!("approve {id}"), &actor("ida", Role::Approver), ActionInput::Approve {}, version);
    let answer = rig.ledger.act(id, approve).await.unwrap();
    assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
}

async fn examined(rig: &Rig, id: &OperationId) -> (u64, String) {
    let found = rig.ledger.operation(&viewer(), id).await.unwrap().unwrap();
    (found.record.version, found.record.row.unwrap().state.to_string())
}

/// Steps a, b, c … one after the other, approved.
async fn steps(rig: &Rig, keys: &[&str]) -> Vec<OperationId> {
    let mut made = Vec::new();
    for (place, key) in (1..).map(number).zip(keys) {
        let id = rig.ledger.propose_operation(&automation(), step(key, place)).await.unwrap().operation.head.id;
        approve(rig, &id).await;
        made.push(id);
    }
    settle(rig).await;
    made
}

/// Goes on until nothing changes.
async fn settle(rig: &Rig) {
    while rig.ledger.advance_workflows(10).await.unwrap() > 0 {}
}

/// What an executor gets for a tool now: keys.
async fn claimable(rig: &Rig, tool: &str) -> Vec<(OperationId, String)> {
    let request = ClaimRequest {
        worker: Worker { name: "w".into(), incarnation: "w-1".into() },
        tools: vec![ToolName::parse(tool).unwrap()],
        limit: 8,
        lease: None,
        clock: None,
    };
    let claimed = rig.ledger.claim(&executor_actor(), request).await.unwrap();
    let mut found = Vec::new();
    for one in claimed {
        let head = &one.operation.head;
        rig.ledger.release_claim(&executor_actor(), &head.id, one.epoch, "only looking").await.unwrap();
        found.push((head.id.clone(), head.key.to_string()));
    }
    found
}

async fn keys_claimable(rig: &Rig, tool: &str) -> Vec<String> {
    claimable(rig, tool).await.into_iter().map(|(_, key)| key).collect()
}

/// Claims and sends the one operation of this tool that may be; it ends like this.
async fn send(rig: &Rig, tool: &str, end: End) -> OperationId {
    let request = ClaimRequest {
        worker: Worker { name: "w".into(), incarnation: "w-1".into() },
        tools: vec![ToolName::parse(tool).unwrap()],
        limit: 1,
        lease: None,
        clock: None,
    };
    let claimed = rig.ledger.claim(&executor_actor(), request).await.unwrap().remove(0);
    let (id, epoch) = (claimed.operation.head.id, claimed.epoch);
    let request = DispatchRequest {
        epoch,
        worker: Worker { name: "w".into(), incarnation: "w-1".into() },
        source: SourceName::own_executor(),
        layer: None,
        wire: Some(b"POST /x HTTP/1.1\r\n\r\n".to_vec()),
        wire_hash: None,
    };
    rig.ledger.dispatch(&executor_actor(), &id, request).await.unwrap();
    let source = SourceName::own_executor();
    rig.ledger.report_outcome(&executor_actor(), &id, epoch, &source, end).await.unwrap();
    settle(rig).await;
    id
}

fn done(receipt: &str) -> End {
    End { http: Some(201), receipt: Some(Receipt::parse(receipt).unwrap()), ..End::new(ReportedOutcome::Ok) }
}

fn declined() -> End {
    End { http: Some(422), ..End::new(ReportedOutcome::Rejected) }
}

async fn seen(rig: &Rig) -> SeenWorkflow {
    rig.ledger.workflow(&viewer(), "order-7").await.unwrap().unwrap()
}

fn progress(workflow: &Workflow, key: &str) -> Progress {
    workflow.steps().iter().find(|step| step.key.as_str() == key).unwrap().compensation
}

async fn undos(rig: &Rig) -> Vec<OperationId> {
    let operations = seen(rig).await.operations;
    operations.into_iter().filter(|one| one.head.compensates.is_some()).map(|one| one.head.id).collect()
}

async fn a_step_begins_when_what_it_needs_has_succeeded(rig: Rig) {
    begin(&rig, Unwinds::ByItself).await;
    steps(&rig, &["a", "b"]).await;
    let beside = step("beside", Place { needs: Some(vec![OperationKey::parse("a").unwrap()]), ..number(2) });
    let beside = rig.ledger.propose_operation(&automation(), beside).await.unwrap().operation.head.id;
    approve(&rig, &beside).await;
    assert_eq!(keys_claimable(&rig, "pay").await, ["a"]);
    send(&rig, "pay", done("re_a")).await;
    assert_eq!(keys_claimable(&rig, "pay").await, ["b", "beside"]);
    assert!(matches!(seen(&rig).await.steps.unwrap().direction(), Direction::Forward));
    assert!(undos(&rig).await.is_empty());
    rig.assert_verified().await;
}

async fn going_back_proposes_one_undo_after_the_other(rig: Rig) {
    begin(&rig, Unwinds::ByItself).await;
    let ids = steps(&rig, &["a", "b", "c", "d"]).await;
    send(&rig, "pay", done("re_a")).await;
    send(&rig, "pay", done("re_b")).await;
    send(&rig, "pay", declined()).await;
    assert_eq!(examined(&rig, &ids[3]).await.1, "cancelled", "it never begins");
    let first = undos(&rig).await;
    assert_eq!(first.len(), 1, "only what nothing builds on");
    let undo = rig.ledger.operation(&viewer(), &first[0]).await.unwrap().unwrap();
    assert_eq!(undo.record.head.compensates.as_ref(), Some(&ids[1]));
    assert_eq!(undo.arguments.unwrap(), br#"{"receipt":"re_b","undoes":"b"}"#);
    assert_eq!(examined(&rig, &first[0]).await.1, "proposed", "and it has an approval of its own");
    assert!(keys_claimable(&rig, "void").await.is_empty());
    approve(&rig, &first[0]).await;
    send(&rig, "void", done("void_b")).await;
    let second = undos(&rig).await;
    assert_eq!(second.len(), 2);
    approve(&rig, second.iter().find(|id| **id != first[0]).unwrap()).await;
    send(&rig, "void", done("void_a")).await;
    let SeenWorkflow { declared, steps, unwinding, .. } = seen(&rig).await;
    let steps = steps.unwrap();
    assert_eq!(steps.ending(declared.owner.as_ref()), Some(Ending::Undone));
    assert!(unwinding.undo.is_empty() && unwinding.cancel.is_empty());
    rig.assert_verified().await;
}

async fn two_who_go_on_at_once_propose_one_undo(rig: Rig) {
    begin(&rig, Unwinds::ByPeople).await;
    steps(&rig, &["a", "b"]).await;
    send(&rig, "pay", done("re_a")).await;
    send(&rig, "pay", declined()).await;
    assert!(undos(&rig).await.is_empty());
    rig.ledger.declare_workflow(&automation(), &name(), Unwinds::ByItself, None).await.unwrap();
    let other = rig.another().await;
    let (one, two) = tokio::join!(rig.ledger.advance_workflows(5), other.advance_workflows(5));
    assert_eq!(one.unwrap() + two.unwrap(), 1);
    settle(&rig).await;
    assert_eq!(undos(&rig).await.len(), 1);
    rig.assert_verified().await;
}

async fn people_undo_what_they_keep_for_themselves(rig: Rig) {
    begin(&rig, Unwinds::ByPeople).await;
    let ids = steps(&rig, &["a", "b", "c"]).await;
    send(&rig, "pay", done("re_a")).await;
    send(&rig, "pay", done("re_b")).await;
    send(&rig, "pay", declined()).await;
    assert!(undos(&rig).await.is_empty());
    assert_eq!(seen(&rig).await.unwinding.undo, [ids[1].clone()], "the page offers it");
    let undo = |id: &OperationId, version| tallystick_domain::action::Act {
        confirmation: Some(if *id == ids[0] { "a".into() } else { "b".into() }),
        ..act(&format!("undo {id}"), &operator(), ActionInput::Compensate { receipt: None }, version)
    };
    let version = examined(&rig, &ids[0]).await.0;
    let refused = rig.ledger.act(&ids[0], undo(&ids[0], version)).await.unwrap().record.refusal.unwrap();
    assert!(refused.to_string().contains("later step"), "{refused}");
    let version = examined(&rig, &ids[1]).await.0;
    assert!(rig.ledger.act(&ids[1], undo(&ids[1], version)).await.unwrap().record.refusal.is_none());
    settle(&rig).await;
    assert_eq!(progress(&seen(&rig).await.steps.unwrap(), "b"), Progress::Requested);
}

async fn an_uncertain_step_is_waited_for(rig: Rig) {
    begin(&rig, Unwinds::ByItself).await;
    let ids = steps(&rig, &["a", "b"]).await;
    send(&rig, "pay", done("re_a")).await;
    send(&rig, "pay", End::new(ReportedOutcome::Timeout)).await;
    assert!(examined(&rig, &ids[1]).await.1.starts_with("uncertain"));
    assert!(undos(&rig).await.is_empty(), "whether b happened is not known");
    rig.assert_verified().await;
}

async fn an_undo_that_fails_stops_the_rest_and_is_in_the_queue(rig: Rig) {
    begin(&rig, Unwinds::ByItself).await;
    let ids = steps(&rig, &["a", "b", "c"]).await;
    send(&rig, "pay", done("re_a")).await;
    send(&rig, "pay", done("re_b")).await;
    send(&rig, "pay", declined()).await;
    let undo = undos(&rig).await.remove(0);
    approve(&rig, &undo).await;
    send(&rig, "void", declined()).await;
    let SeenWorkflow { declared, steps, .. } = seen(&rig).await;
    let steps = steps.unwrap();
    assert_eq!(progress(&steps, "b"), Progress::Stuck);
    let Some(Ending::Stuck { owner, not_undone, .. }) = steps.ending(declared.owner.as_ref()) else {
        panic!("{:?}", steps.ending(declared.owner.as_ref()))
    };
    assert_eq!((Some(owner), not_undone), (declared.owner, ids[..2].to_vec()));
    assert_eq!(undos(&rig).await.len(), 1, "nothing more is undone");
    let queue = QueueQuery { reason: Some(Reason::CompensationStuck), ..QueueQuery::default() };
    let page = rig.ledger.queue(&viewer(), &queue).await.unwrap().page;
    assert_eq!(page.rows.iter().map(|row| &row.head.id).collect::<Vec<_>>(), [&ids[1]]);
    // T33: run again by its own row, the rest goes on.
    let version = examined(&rig, &undo).await.0;
    let key = rig.ledger.operation(&viewer(), &undo).await.unwrap().unwrap().record.head.key;
    let confirmation = Some(tallystick_domain::transition::confirmation_text(&key).to_owned());
    let again = act("again", &second_operator(), ActionInput::RerunNew {}, version);
    let again = tallystick_domain::action::Act { confirmation, ..again };
    let answer = rig.ledger.act(&undo, again).await.unwrap();
    assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
    let made = answer.record.created.unwrap();
    approve(&rig, &made).await;
    settle(&rig).await;
    send(&rig, "void", done("void_b")).await;
    assert_eq!(progress(&seen(&rig).await.steps.unwrap(), "b"), Progress::Compensated);
    assert_eq!(undos(&rig).await.len(), 3, "and that of a is proposed");
    rig.assert_verified().await;
}

async fn a_place_that_makes_no_workflow_is_refused_and_nothing_is_recorded(rig: Rig) {
    begin(&rig, Unwinds::ByPeople).await;
    steps(&rig, &["a"]).await;
    let pivot = Place { is_pivot: true, ..number(2) };
    rig.ledger.propose_operation(&automation(), step("pivot", pivot.clone())).await.unwrap();
    let nowhere = Place { needs: Some(vec![OperationKey::parse("nowhere").unwrap()]), ..number(3) };
    let before = rig.count("operation").await;
    for (key, place, problem) in [
        ("x", number(0), "from 1"),
        ("x", nowhere, "nowhere, which is no step"),
        ("x", Place { number: 3, ..pivot }, "claim to be the pivot"),
        ("a", number(9), "does not change"),
    ] {
        let error = rig.ledger.propose_operation(&automation(), step(key, place)).await.unwrap_err();
        let LedgerError::Refused(Refusal::BadField { field, problem: told }) = &error else { panic!("{error}") };
        assert!(field == "step" && told.contains(problem), "{told}");
    }
    assert_eq!(rig.count("operation").await, before);
    let again = rig.ledger.propose_operation(&automation(), step("a", number(1))).await.unwrap();
    assert!(again.replayed);
    let error = rig
        .ledger
        .declare_workflow(&automation(), &name(), Unwinds::ByPeople, PrincipalId::parse("nobody").ok())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("nobody here"), "{error}");
    assert!(rig.ledger.declare_workflow(&viewer(), &name(), Unwinds::ByPeople, None).await.is_err());
}

async fn what_others_run_is_never_undone_by_itself(rig: Rig) {
    rig.ledger.set_clock(at("2026-10-05T21:10:00Z")).await.unwrap();
    rig.import_from("feed", &crate::rig::case("R16")).await;
    let workflow = WorkflowName::parse("saga-3").unwrap();
    rig.ledger.declare_workflow(&admin(), &workflow, Unwinds::ByItself, None).await.unwrap();
    let before = rig.count("operation").await;
    settle(&rig).await;
    assert_eq!(rig.count("operation").await, before);
    let seen = rig.ledger.workflow(&viewer(), "saga-3").await.unwrap().unwrap();
    assert_eq!(seen.steps.unwrap().steps().len(), 2);
    rig.assert_verified().await;
}

async fn workflows_are_read_in_pages(rig: Rig) {
    begin(&rig, Unwinds::ByPeople).await;
    steps(&rig, &["a"]).await;
    for number in 0..4 {
        rig.ledger.set_clock(at(&format!("2026-10-05T10:0{number}:00Z"))).await.unwrap();
        let name = WorkflowName::parse(format!("w.{number}")).unwrap();
        rig.ledger.declare_workflow(&automation(), &name, Unwinds::ByPeople, None).await.unwrap();
    }
    let mut names = Vec::new();
    let mut after = None;
    loop {
        let page = rig.ledger.workflows(&viewer(), after.as_deref(), Some(2)).await.unwrap();
        names.extend(page.rows.iter().map(|one| one.declared.name.clone()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(names, ["w.3", "w.2", "w.1", "w.0", "order-7"]);
    assert!(rig.ledger.workflow(&viewer(), "unknown").await.unwrap().is_none());
    assert!(rig.ledger.workflows(&viewer(), Some("x"), None).await.is_err());
}

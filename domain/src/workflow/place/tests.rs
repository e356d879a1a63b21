use std::collections::BTreeMap;

use super::*;
use crate::action::{Action, ActionInput};
use crate::contract::Contract as Promises;
use crate::decision::Verdict;
use crate::guard::Guard;
use crate::name::PrincipalId;
use crate::operation::{Head, Mode, Reason, SuccessBasis};
use crate::permission::{Actor, Role};
use crate::rig::{Rig, failed_guards, keyed, made, operation, refused, retry_wait, timed_out, undo_by};
use crate::tool::Class;
use crate::transition::{Command, Unwind};

const SUCCEEDED: State = State::Succeeded(SuccessBasis::Receipt);

fn key(text: &str) -> OperationKey {
    OperationKey::parse(text).unwrap()
}

fn undoable() -> Promises {
    Promises { compensation: undo_by("invoice.void"), ..keyed() }
}

/// One step a name, in this order, each with the place given.
fn rig_of(steps: &[(&str, u32, Option<&[&str]>)]) -> Rig {
    let mut rig = Rig::new(Class::Reversible, undoable());
    for (name, number, needs) in steps {
        let needs = needs.map(|needs| needs.iter().map(|need| key(need)).collect());
        let place = Place { number: *number, is_pivot: *name == "pivot", needs };
        let head = rig.head(name, Mode::Guarded, name);
        rig.propose_as(Head { workflow: Some("w".into()), step: Some(place), ..head }, None);
        rig.press("ben", name, ActionInput::Approve {}).unwrap();
        rig.wait(1);
    }
    rig
}

fn gathered(rig: &Rig) -> Result<Workflow, Misbuilt> {
    let members: Vec<Member<'_>> =
        rig.records.values().map(|record| Member { record, contract: &rig.tool.contract }).collect();
    Workflow::gather(&members, rig.now)
}

fn waits(rig: &Rig) -> BTreeMap<String, Option<StepWait>> {
    let workflow = gathered(rig).unwrap();
    workflow.steps().iter().map(|step| (step.key.to_string(), workflow.around(&step.id).wait)).collect()
}

fn needs(step: &str) -> StepWait {
    StepWait::Needs { step: key(step) }
}

#[test]
fn a_step_waits_for_what_it_needs_and_for_nothing_else() {
    let mut rig = rig_of(&[("a", 1, None), ("b", 2, None), ("beside", 2, Some(&["a"])), ("free", 3, Some(&[]))]);
    let now = waits(&rig);
    assert_eq!((&now["a"], &now["b"]), (&None, &Some(needs("a"))));
    assert_eq!((&now["beside"], &now["free"]), (&Some(needs("a")), &None));
    rig.send_and_end("a", timed_out());
    assert_eq!(waits(&rig)["b"], Some(needs("a")), "uncertain is not done");
    rig.receipt("a", "in_1");
    assert_eq!((&waits(&rig)["b"], &waits(&rig)["beside"]), (&None, &None));
    rig.send_and_end("b", refused(422));
    assert_eq!((&waits(&rig)["a"], &waits(&rig)["b"]), (&None, &None), "what is over waits for nothing");
}

#[test]
fn nothing_new_begins_once_a_step_failed_for_good() {
    let mut rig = rig_of(&[("a", 1, None), ("b", 2, None), ("free", 3, Some(&[]))]);
    rig.send_and_end("a", made("in_1"));
    rig.send_and_end("b", refused(422));
    assert_eq!(waits(&rig)["free"], Some(StepWait::GoesBack { because: key("b") }));
    // What failed is run again as a new operation: that one is the step now, and nothing goes back.
    rig.press("ana", "b", ActionInput::RerunNew {}).unwrap();
    let workflow = gathered(&rig).unwrap();
    assert_eq!(workflow.direction(), Direction::Forward);
    let step = workflow.steps().iter().find(|step| step.step_no == 2).unwrap();
    assert_eq!((step.key.as_str(), step.state), ("b~2", State::Proposed));
    assert_eq!(workflow.around(&step.id).wait, None);
}

#[test]
fn what_needs_a_step_by_its_key_needs_the_newest_of_its_intent() {
    let mut rig = rig_of(&[("a", 1, None), ("b", 2, Some(&["a"]))]);
    rig.send_and_end("a", refused(422));
    rig.press("ana", "a", ActionInput::RerunNew {}).unwrap();
    assert_eq!(waits(&rig)["b"], Some(needs("a~2")));
}

#[test]
fn a_need_that_is_no_step_is_told() {
    let rig = rig_of(&[("a", 1, Some(&["nowhere"]))]);
    assert_eq!(gathered(&rig).unwrap_err(), Misbuilt::UnknownKey { step: key("a"), on: key("nowhere") });
}

#[test]
fn steps_without_a_place_stand_in_the_order_in_which_they_came() {
    let mut rig = Rig::new(Class::Reversible, undoable());
    for name in ["later-by-name", "a"] {
        let head = rig.head(name, Mode::Observed, name);
        rig.propose_as(Head { workflow: Some("w".into()), ..head }, None);
        rig.wait(1);
    }
    let workflow = gathered(&rig).unwrap();
    let told: Vec<_> = workflow.steps().iter().map(|step| (step.key.as_str(), step.step_no)).collect();
    assert_eq!(told, [("later-by-name", 1), ("a", 2)]);
}

fn system() -> Actor {
    Actor { id: PrincipalId::parse("tallystick").unwrap(), name: "Tallystick".into(), role: Role::Administrator }
}

fn unwind(rig: &mut Rig, name: &str, how: Unwind) -> Result<String, String> {
    let new_id = operation(&format!("undo-of-{name}"));
    let command = Command::Unwind { how, because: key("c"), by: system(), new_id: new_id.clone() };
    rig.command(name, &command).map(|_| new_id.to_string()).map_err(|refusal| refusal.to_string())
}

fn compensation(rig: &Rig, name: &str) -> Progress {
    gathered(rig).unwrap().steps().iter().find(|step| step.key == key(name)).unwrap().compensation
}

#[test]
fn it_goes_back_step_by_step_and_each_undo_has_its_own_approval() {
    let mut rig = rig_of(&[("a", 1, None), ("b", 2, None), ("c", 3, None), ("d", 4, None)]);
    rig.send_and_end("a", made("in_a"));
    rig.send_and_end("b", made("in_b"));
    rig.send_and_end("c", refused(422));
    let first = gathered(&rig).unwrap().unwind(rig.now);
    assert_eq!((first.undo, first.cancel), (vec![], vec![operation("d")]), "what may still begin is stopped first");
    unwind(&mut rig, "d", Unwind::Cancel).unwrap();
    assert_eq!(rig.state("d"), "cancelled");
    let then = gathered(&rig).unwrap();
    assert_eq!(then.unwind(rig.now).undo, [operation("b")]);
    assert_eq!(then.around(&operation("a")).undo_waits_for, Some(key("b")));
    let undo = unwind(&mut rig, "b", Unwind::Undo).unwrap();
    assert_eq!((rig.state(&undo).as_str(), compensation(&rig, "b")), ("proposed", Progress::Requested));
    assert!(unwind(&mut rig, "b", Unwind::Undo).is_err(), "once");
    assert_eq!(gathered(&rig).unwrap().unwind(rig.now).undo, [], "its ancestors wait");
    rig.press("ben", &undo, ActionInput::Approve {}).unwrap();
    rig.send_and_end(&undo, made("void_b"));
    assert_eq!(compensation(&rig, "b"), Progress::Compensated);
    assert_eq!(gathered(&rig).unwrap().unwind(rig.now).undo, [operation("a")]);
}

#[test]
fn where_two_people_decide_it_does_not_go_back_by_itself() {
    let mut rig = Rig::approved(Class::Irreversible, undoable());
    rig.send_and_end("op", made("in_1"));
    assert!(unwind(&mut rig, "op", Unwind::Undo).unwrap_err().contains("Two people"));
    let mut open = Rig::approved(Class::Reversible, undoable());
    open.send_and_end("op", timed_out());
    assert!(unwind(&mut open, "op", Unwind::Undo).is_err(), "C4: never while it is uncertain");
    assert!(unwind(&mut open, "op", Unwind::Cancel).is_err(), "something is open");
}

#[test]
fn an_undo_that_failed_is_stuck_until_it_is_run_again_or_waived() {
    let mut rig = rig_of(&[("a", 1, None)]);
    rig.send_and_end("a", made("in_a"));
    let undo = unwind(&mut rig, "a", Unwind::Undo).unwrap();
    rig.press("ben", &undo, ActionInput::Approve {}).unwrap();
    rig.send_and_end(&undo, refused(422));
    assert_eq!(compensation(&rig, "a"), Progress::Stuck);
    let attention = |rig: &Rig| rig.record("a").row.as_ref().unwrap().attention.map(|attention| attention.reason);
    assert_eq!(attention(&rig), Some(Reason::CompensationStuck), "T32: somebody is asked");
    // T33: by its own row.
    rig.press("ana", &undo, ActionInput::RerunNew {}).unwrap();
    let again = rig.newest();
    assert_eq!((rig.row("a").as_str(), compensation(&rig, "a")), ("28", Progress::Requested));
    rig.press("ben", &again, ActionInput::Approve {}).unwrap();
    rig.send_and_end(&again, made("void_a"));
    assert_eq!((compensation(&rig, "a"), attention(&rig)), (Progress::Compensated, None));
    assert_eq!(rig.verdict("a", Action::Compensate), Verdict::Forbidden, "it is undone");

    let mut rig = rig_of(&[("a", 1, None)]);
    rig.send_and_end("a", made("in_a"));
    let undo = unwind(&mut rig, "a", Unwind::Undo).unwrap();
    rig.press("ben", &undo, ActionInput::Approve {}).unwrap();
    rig.send_and_end(&undo, refused(422));
    rig.agree("a", ActionInput::Waive { receipt: None }).unwrap();
    assert_eq!((compensation(&rig, "a"), rig.row("a").as_str()), (Progress::Waived, "4"));
}

#[test]
fn an_undo_that_was_denied_can_be_asked_for_again_under_its_own_key() {
    let mut rig = rig_of(&[("a", 1, None)]);
    rig.send_and_end("a", made("in_a"));
    rig.press("ana", "a", ActionInput::Compensate { receipt: None }).unwrap();
    let first = rig.newest();
    rig.press("ben", &first, ActionInput::Deny {}).unwrap();
    assert_eq!(rig.verdict("a", Action::Compensate), Verdict::Confirm);
    rig.press("ana", "a", ActionInput::Compensate { receipt: None }).unwrap();
    let second = rig.newest();
    let head = |id: &str| rig.record(id).head.clone();
    assert_eq!(head(&second).key.as_str(), format!("{}~2", head(&first).key));
    assert_eq!(head(&second).intent_id, head(&first).intent_id);
    assert_eq!(head(&second).retries_of, Some(head(&first).id));
}

#[test]
fn a_step_that_waits_is_not_claimed_and_says_why() {
    let mut rig = Rig::approved(Class::Reversible, undoable());
    assert!(rig.record("op").row.as_ref().unwrap().claim_at.is_some());
    rig.steps.wait = Some(needs("a"));
    rig.refold();
    assert_eq!(failed_guards(rig.claim("op", "w").unwrap_err()), [Guard::StepMayBegin]);
    let row = rig.record("op").row.clone().unwrap();
    assert_eq!(row.claim_at, None);
    assert!(row.findings.iter().any(|finding| finding.text.contains("the step a")), "{:?}", row.findings);
    // Nor sent, if the workflow turned after the claim.
    rig.steps.wait = None;
    rig.refold();
    let epoch = rig.claim("op", "w").unwrap();
    rig.steps.wait = Some(StepWait::GoesBack { because: key("b") });
    let failed: Vec<Guard> =
        rig.permit("op", epoch).unwrap_err().failed().into_iter().map(|failed| failed.guard).collect();
    assert_eq!(failed, [Guard::StepMayBegin]);
}

#[test]
fn people_do_not_undo_a_step_beneath_another_either() {
    let mut rig = Rig::approved(Class::Reversible, undoable());
    rig.send_and_end("op", made("in_1"));
    assert_eq!(rig.verdict("op", Action::Compensate), Verdict::Confirm);
    rig.steps.undo_waits_for = Some(key("b"));
    assert_eq!(rig.verdict("op", Action::Compensate), Verdict::Forbidden);
    let ruling = rig.ruling_for("op", None);
    assert!(ruling.on(Action::Compensate).unwrap().reason.contains("later step"));
}

#[test]
fn an_effect_that_is_there_too_often_leaves_the_step_done_when_it_is_undone() {
    let mut rig = rig_of(&[("a", 1, None)]);
    rig.send_and_end("a", made("in_1"));
    rig.receipt("a", "in_2");
    rig.agree("a", ActionInput::Compensate { receipt: Some(crate::rig::receipt("in_2")) }).unwrap();
    let undo = rig.newest();
    rig.press("ben", &undo, ActionInput::Approve {}).unwrap();
    rig.send_and_end(&undo, made("void_2"));
    let pick =
        ActionInput::PickVerdict { pick: crate::action::Pick::Succeeded, receipt: Some(crate::rig::receipt("in_1")) };
    rig.agree("a", pick).unwrap();
    let workflow = gathered(&rig).unwrap();
    assert_eq!((workflow.steps()[0].state, workflow.steps()[0].compensation), (SUCCEEDED, Progress::None));
}

#[test]
fn a_wait_is_told_in_a_sentence() {
    assert_eq!(needs("a").words(), "It waits for the step a, which has not succeeded.");
    assert_ne!(retry_wait(), SUCCEEDED);
}

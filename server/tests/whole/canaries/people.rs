//! The rules that keep people from what would double, lose or wrongly undo an effect: what the console offers is decided by
//! the process, and here people press whatever it offers.

use serde_json::{Value, json};
use tallystick_destination::{Failure, Plan, Stores};
use tallystick_domain::name::{OperationId, WorkflowName};
use tallystick_domain::operation::State;
use tallystick_domain::permission::Role;
use tallystick_domain::policy::SafetyRule;
use tallystick_domain::workflow::Place;
use tallystick_ledger::operations::NewStep;

use super::{
    Without, blind, canaries, end, environment, forgetful, made, process, send_and_die, sent_twice, state_of, until,
    until_answered, until_made, with_and_without,
};
use crate::api::Api;
use crate::scene::{Process, Scene, actor};

canaries! {
    a_crash_taken_for_nothing_sent_is_run_again: SweepToUncertain => run_again_after_a_crash, 1, 2;
    a_last_refusal_taken_for_the_whole_is_run_again: AggregateOverAttempts => run_again_after_a_refusal, 1, 2;
    a_claim_that_forgets_what_it_was_taken_from_is_run_again: ReturnToClaimedFrom => run_again_after_a_claim, 1, 2;
    a_new_key_without_proof_doubles_the_effect: NewKeyNeedsProof => run_again_in_doubt, 1, 2;
    a_word_taken_for_proof_doubles_the_effect: FailedMarkIsNotProof => run_again_on_a_word, 1, 2;
    an_undo_before_the_effect_undoes_nothing: UndoWaitsResolution => undone_in_doubt, 0, 1;
    a_pick_taken_for_proof_undoes_what_another_effect_stands_on: PickIsNotProof => undone_on_a_pick, 1, 0;
    a_second_effect_that_nobody_counts_stays: CountPerIntent => undone_where_doubled, 1, 2;
    a_success_without_a_receipt_is_a_lost_effect:
        SuccessNeedsEvidence => done_without_a_receipt, (0, false), (0, true);
}

/// A process at whose API people press.
async fn console(scene: &Scene, without: Without) -> (Process, Api) {
    let process = scene.first_process(&environment(without, None));
    let api = Api::of(scene, &process).await;
    (process, api)
}

/// An operator runs it again as a new operation where that is offered to one person; an approver approves. The effects.
async fn run_again(scene: &mut Scene, api: &Api) -> u32 {
    let id = scene.ids[0].clone();
    let asked = api.press(scene, &id, Role::Operator, json!({"action": "rerun_new"})).await;
    api.approve_made(scene, asked).await;
    made(scene, 2).await
}

async fn until_state(scene: &Scene, id: &OperationId, is: impl Fn(State) -> bool) {
    until(scene, "as it should be", async |scene| is(scene.listed(id).await.row.state)).await;
}

/// Lets the leases of processes that died run out, and waits for who sweeps.
async fn leases_end(scene: &mut Scene) {
    scene.pass(60).await;
    let id = scene.ids[0].clone();
    until_state(scene, &id, |state| !matches!(state, State::Claimed | State::Executing)).await;
}

/// A process died after its send (T16).
async fn run_again_after_a_crash(without: Without) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.destination.set_plan(forgetful(&[]));
    scene.authorise(1).await;
    send_and_die(&scene, "after_response");
    let (process, api) = console(&scene, without).await;
    leases_end(&mut scene).await;
    let effects = run_again(&mut scene, &api).await;
    end(scene, [process]).await;
    effects
}

/// A key that is kept for ten minutes, and an answer that was lost.
async fn short_key(failures: &[Failure]) -> Scene {
    let mut scene = Scene::start(false, "any_once_started").await;
    scene.declare("charge", json!({"key_retention_s": 600, "attempts_per_episode": 8})).await;
    scene.destination.set_plan(blind(Stores::Any, failures));
    scene.authorise(1).await;
    scene
}

/// The second send was refused by a limiter; the key is too old for a third (F14).
async fn run_again_after_a_refusal(without: Without) -> u32 {
    let failures: Vec<_> = [Failure::ApplyThenDrop].into_iter().chain([Failure::Throttle; 20]).collect();
    let mut scene = short_key(&failures).await;
    let (process, api) = console(&scene, without).await;
    sent_twice(&mut scene).await;
    scene.pass(1_000).await;
    scene.destination.set_plan(forgetful(&[]));
    let effects = run_again(&mut scene, &api).await;
    end(scene, [process]).await;
    effects
}

/// A process died after its send, a second one that had taken the repeat died before it sent (T9).
async fn run_again_after_a_claim(without: Without) -> u32 {
    let mut scene = short_key(&[]).await;
    send_and_die(&scene, "after_response");
    scene.pass(30).await;
    send_and_die(&scene, "before_dispatch");
    scene.pass(1_000).await;
    scene.destination.set_plan(forgetful(&[]));
    let (process, api) = console(&scene, without).await;
    leases_end(&mut scene).await;
    let effects = run_again(&mut scene, &api).await;
    end(scene, [process]).await;
    effects
}

/// Sent, done, and the answer lost; nothing can be looked up.
async fn in_doubt(contract: Value, without: Without) -> (Scene, Process, Api) {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.declare("charge", contract).await;
    scene.destination.set_plan(forgetful(&[Failure::ApplyThenDrop]));
    scene.authorise(1).await;
    let (process, api) = console(&scene, without).await;
    until_answered(&scene, 1).await;
    (scene, process, api)
}

/// A new key beside an open attempt (T28, T43).
async fn run_again_in_doubt(without: Without) -> u32 {
    let (mut scene, process, api) = in_doubt(json!({"stores": "2xx_only"}), without).await;
    let effects = run_again(&mut scene, &api).await;
    end(scene, [process]).await;
    effects
}

/// Two people say that it failed (I15).
async fn run_again_on_a_word(without: Without) -> u32 {
    let (mut scene, process, api) = in_doubt(json!({"stores": "2xx_only", "lookup": null}), without).await;
    let id = scene.ids[0].clone();
    api.press_by_two(&scene, &id, json!({"action": "mark_failed"})).await.expect("two people may say so");
    let effects = run_again(&mut scene, &api).await;
    end(scene, [process]).await;
    effects
}

/// Declares what takes back whatever an order made, and finds nothing to be no fault.
async fn declare_undo(scene: &Scene) {
    scene.declare("take_back", json!({})).await;
    scene.redeclare("take_back", |tool| tool.request.as_mut().unwrap().path = "/cancellations".into()).await;
}

/// An undo is asked for while the send is still on its way (I5, T30). What stands in the end.
async fn undone_in_doubt(without: Without) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    let contract = json!({"stores": "2xx_only", "max_arrival_delay_s": 3_600, "compensation": {"tool": "take_back"}});
    scene.declare("charge", contract).await;
    declare_undo(&scene).await;
    scene.destination.set_plan(forgetful(&[Failure::Hold]));
    scene.authorise(1).await;
    send_and_die(&scene, "after_send");
    let (process, api) = console(&scene, without).await;
    leases_end(&mut scene).await;
    let id = scene.ids[0].clone();
    let undo = json!({"action": "compensate"});
    let early = api.press(&scene, &id, Role::Operator, undo.clone()).await;
    let mut undone = api.approve_made(&scene, early).await;
    if let Some(undone) = &undone {
        until_state(&scene, undone, |state| matches!(state, State::Succeeded(_))).await;
    }
    scene.destination.let_go();
    until_made(&scene).await;
    if undone.is_none() {
        scene.destination.set_plan(Plan::default());
        let look_up = json!({"action": "look_up"});
        api.press(&scene, &id, Role::Operator, look_up).await.expect("it may always be looked up");
        until_state(&scene, &id, |state| matches!(state, State::Succeeded(_))).await;
        let late = api.press(&scene, &id, Role::Operator, undo).await;
        undone = api.approve_made(&scene, late).await;
    }
    let undone = undone.expect("it is undone, early or late");
    until_state(&scene, &undone, |state| matches!(state, State::Succeeded(_))).await;
    let standing = scene.destination.report().effects["order-0"];
    end(scene, [process]).await;
    standing
}

/// A place in one workflow.
fn step(number: u32) -> NewStep {
    let place = Place { number, is_pivot: false, needs: None };
    NewStep { workflow: WorkflowName::parse("journey").unwrap(), place }
}

/// The second step happened, is marked as failed, is found, and picked as failed all the same; then somebody undoes the first
/// step, on which it stands (T27, T30). What stands of the first step in the end.
async fn undone_on_a_pick(without: Without) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    let contract = json!({"stores": "2xx_only", "lookup": null, "compensation": {"tool": "take_back"}});
    scene.declare("charge", contract).await;
    declare_undo(&scene).await;
    scene.destination.set_plan(forgetful(&[]));
    let (process, api) = console(&scene, without).await;
    let first = scene.authorise_one("charge", Some(step(1))).await;
    until_state(&scene, &first, |state| matches!(state, State::Succeeded(_))).await;
    scene.destination.set_plan(forgetful(&[Failure::ApplyThenDrop]));
    let second = scene.authorise_one("charge", Some(step(2))).await;
    until_state(&scene, &second, |state| matches!(state, State::Uncertain(_))).await;
    api.press_by_two(&scene, &second, json!({"action": "mark_failed"})).await.expect("two people may say so");
    found(&scene, &api, &second, "ob_2").await;
    until_state(&scene, &second, |state| matches!(state, State::Contradicted(_))).await;
    let pick = json!({"action": "pick_verdict", "pick": "failed"});
    api.press_by_two(&scene, &second, pick).await.expect("two people may pick");
    let asked = api.press(&scene, &first, Role::Operator, json!({"action": "compensate"})).await;
    if let Some(undo) = api.approve_made(&scene, asked).await {
        until_state(&scene, &undo, |state| matches!(state, State::Succeeded(_))).await;
    }
    let report = scene.destination.report();
    assert_eq!(report.effects["order-1"], 1, "the second step stands");
    end(scene, [process]).await;
    report.effects["order-0"]
}

/// An automation that is believed tells of the object under the operation's key.
async fn found(scene: &Scene, api: &Api, id: &OperationId, receipt: &str) {
    let ada = actor("ada", Role::Administrator);
    let examined = scene.ledger.operation(&ada, id).await.unwrap().unwrap();
    let key = examined.record.destination_keys()[0].as_str().to_owned();
    let told = json!({"id": receipt, "claim": "executed", "receipt": receipt, "linked_by": "key", "key": key});
    let path = format!("operations/{id}/evidence");
    let (status, answer) = api.post(Role::Automation, &path, &[], &told.to_string()).await;
    assert_eq!(status, 200, "{answer:#}");
}

/// Two people accept the risk of a second run, and both happened (F3). People undo what is shown to be too much; what stands in
/// the end.
async fn undone_where_doubled(without: Without) -> u32 {
    let contract = json!({"stores": "2xx_only", "lookup": null, "watch_s": 60, "compensation": {"tool": "take_back"}});
    let (mut scene, process, api) = in_doubt(contract, without).await;
    scene.declare("take_back", json!({})).await;
    let path = "/objects/{/receipt}/cancel";
    scene.redeclare("take_back", |tool| tool.request.as_mut().unwrap().path = path.into()).await;
    scene.pass(120).await;
    let id = scene.ids[0].clone();
    let asked = api.press_by_two(&scene, &id, json!({"action": "rerun_new"})).await;
    let again = api.approve_made(&scene, asked).await.expect("two people may");
    until_state(&scene, &again, |state| matches!(state, State::Succeeded(_))).await;
    found(&scene, &api, &id, "ob_1").await;
    until_state(&scene, &id, |state| !matches!(state, State::Uncertain(_))).await;
    if state_of(&scene, &id).await == "contradicted(duplicate)" {
        let surplus = json!({"action": "compensate", "receipt": "ob_1"});
        let undo = api.press_by_two(&scene, &id, surplus).await;
        let undo = api.approve_made(&scene, undo).await.expect("two people may undo what is too much");
        until_state(&scene, &undo, |state| matches!(state, State::Succeeded(_))).await;
    }
    let standing = scene.destination.report().effects["order-0"];
    end(scene, [process]).await;
    standing
}

/// A proxy answers in the destination's place (I2): how many effects there are, and whether the record says that it is done.
async fn done_without_a_receipt(without: Without) -> (u32, bool) {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.destination.set_plan(forgetful(&[Failure::NoContent]));
    scene.authorise(1).await;
    let process = process(&scene, without);
    let effects = made(&mut scene, 1).await;
    let is_done = matches!(scene.states().await[0], State::Succeeded(_));
    end(scene, [process]).await;
    (effects, is_done)
}

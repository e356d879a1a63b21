//! The rules about who may send: ours and others'.

use serde_json::json;
use tallystick_destination::{Failure, Plan, Stores};
use tallystick_domain::permission::Role;
use tallystick_domain::policy::SafetyRule;
use tallystick_domain::tool::Class;

use super::{
    STEPS, Without, blind, canaries, end, environment, forget_keys, forgetful, made, made_of, process, send_and_die,
    step, until_answered, with_and_without,
};
use crate::api::{Api, Held};
use crate::scene::{Process, Scene, actor};

canaries! {
    what_is_sent_before_it_is_on_record_is_sent_twice: Wal => sent_by_one_that_died, 1, 2;
    whoever_lost_the_lease_sends_beside_the_holder: FencedDispatch => sent_under_an_old_lease, 1, 2;
    a_key_that_aged_between_claim_and_dispatch_doubles_the_effect: RecheckAtDispatch => sent_long_after_the_claim, 1, 2;
    an_older_operation_of_the_intent_is_sent_beside_the_newest: NewestOfIntentOnly => sent_beside_its_successor, 1, 2;
    what_somebody_else_reported_as_authorized_is_sent: ObservedNeverDispatched => reported_by_somebody_else, 0, 1;
    without_the_hold_of_a_restore_is_sent_before_a_person_has_read: RestoreHoldsDispatch => restored, 0, 1;
}

const TOOL: &str = "outside";

/// A process at whose API executors of somebody else ask for work, and one operation that is theirs to carry out.
async fn outside(class: Class, contract: serde_json::Value, without: Without) -> (Scene, Process, Api) {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.declare_for_others(TOOL, class, contract).await;
    scene.authorise_one(TOOL, None).await;
    let process = scene.first_process(&environment(without, None));
    let api = Api::of(&scene, &process).await;
    (scene, process, api)
}

/// Asks for the operation until it is given out, or long enough to say that it is not.
async fn ask(scene: &mut Scene, api: &Api, worker: &str, lease_s: u64) -> Option<Held> {
    for _ in 0..STEPS {
        let held = api.claim(worker, TOOL, lease_s, 0).await;
        if held.is_some() {
            return held;
        }
        scene.pass(1).await;
        step(scene, || false).await;
    }
    None
}

/// An executor sends and dies. Where the rule does not bind it, it would have told of its send afterwards (E1). The product has no
/// switch for this one: a dispatch is answered after its commit, and nothing is sent before its answer.
async fn sent_by_one_that_died(without: Without) -> u32 {
    let (mut scene, process, api) = outside(Class::Reversible, json!({"stores": "2xx_only"}), None).await;
    scene.destination.set_plan(forgetful(&[]));
    let first = ask(&mut scene, &api, "first", 5).await.expect("it is given out");
    if without.is_none() {
        assert!(api.dispatch(&first).await);
    }
    first.send(&scene).await;
    scene.pass(60).await;
    if let Some(second) = ask(&mut scene, &api, "second", 5).await
        && api.dispatch(&second).await
    {
        second.send(&scene).await;
    }
    let effects = made_of(&scene, "order-0");
    end(scene, [process]).await;
    effects
}

/// An executor stands still after its claim; another one has the lease when it comes back, and is sending (4.6).
async fn sent_under_an_old_lease(without: Without) -> u32 {
    let contract = json!({"stores": "2xx_only", "sole_writer": true});
    let (mut scene, process, api) = outside(Class::Idempotent, contract, without).await;
    scene.destination.set_plan(forgetful(&[]));
    let first = ask(&mut scene, &api, "first", 5).await.expect("it is given out");
    scene.pass(60).await;
    let second = ask(&mut scene, &api, "second", 60).await.expect("it is given out again");
    assert!(api.dispatch(&second).await);
    second.send(&scene).await;
    // Past the back-off between two sends, within the second lease.
    scene.pass(30).await;
    if api.dispatch(&first).await {
        first.send(&scene).await;
    }
    let effects = made_of(&scene, "order-0");
    end(scene, [process]).await;
    effects
}

/// The key is certain when the repeat is taken, and forgotten when it is to be sent (4.6, case 16).
async fn sent_long_after_the_claim(without: Without) -> u32 {
    let (mut scene, process, api) = outside(Class::Reversible, json!({"key_retention_s": 600}), without).await;
    scene.destination.set_plan(blind(Stores::Any, &[]));
    let first = ask(&mut scene, &api, "first", 5).await.expect("it is given out");
    assert!(api.dispatch(&first).await);
    first.send(&scene).await;
    scene.pass(100).await;
    let second = ask(&mut scene, &api, "second", 600).await.expect("its key protects a repeat");
    scene.pass(540).await;
    forget_keys(&scene);
    if api.dispatch(&second).await {
        second.send(&scene).await;
    }
    let effects = made_of(&scene, "order-0");
    end(scene, [process]).await;
    effects
}

/// A process died in the middle. A person orders a repeat, another one a run under a new key, while the destination is paused
/// (T8, L5). It reads, so that nothing else stands against a second run.
async fn sent_beside_its_successor(without: Without) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.declare_as("charge", Class::Read, json!({"stores": "2xx_only"})).await;
    let slow = Failure::ApplyThenDelay { ms: 2_000 };
    scene.destination.set_plan(forgetful(&[Failure::DropUnapplied, slow, slow]));
    scene.authorise(1).await;
    send_and_die(&scene, "after_response");
    scene.pause(true).await;
    let process = scene.first_process(&environment(without, None));
    let api = Api::of(&scene, &process).await;
    scene.pass(60).await;
    until_answered(&scene, 1).await;
    let id = scene.ids[0].clone();
    api.press(&scene, &id, Role::Operator, json!({"action": "rerun_same_key"})).await.expect("it is offered");
    let again = api.press(&scene, &id, Role::Operator, json!({"action": "rerun_new"})).await;
    api.approve_made(&scene, again).await.expect("it is offered");
    scene.pause(false).await;
    // The record's clock stands still: no lease ends while the slow answers are awaited.
    for _ in 0..STEPS {
        step(&scene, || made_of(&scene, "order-0") > 1).await;
    }
    let effects = made_of(&scene, "order-0");
    end(scene, [process]).await;
    effects
}

/// Somebody else's stream says that it was authorized there (I31).
async fn reported_by_somebody_else(without: Without) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.declare("charge", json!({"key_location": null, "stores": null})).await;
    let process = scene.first_process(&environment(without, None));
    let api = Api::of(&scene, &process).await;
    let at = scene.ledger.now().await.unwrap();
    let line = |ev: &str, more: serde_json::Value| {
        let mut line = json!({"ts": at.to_string(), "ev": ev, "op": "theirs"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let proposed = json!({"key": "order-0", "tool": "charge", "dest": "psp", "args": {"intent": "order-0"}});
    let lines = [line("operation.proposed", proposed), line("operation.authorized", json!({}))].concat();
    let kind = [("content-type", "application/x-ndjson".to_owned())];
    let (status, answer) = api.post(Role::Automation, "events?source=billing", &kind, &lines).await;
    assert_eq!((status, &answer["bad"]), (200, &json!([])), "{answer:#}");
    let effects = made(&mut scene, 1).await;
    end(scene, [process]).await;
    effects
}

/// A copy of the record was put in its place, and nobody has read what is gone (4.8).
async fn restored(without: Without) -> u32 {
    let mut scene = Scene::start(false, "any_once_started").await;
    scene.destination.set_plan(Plan::default());
    scene.authorise(1).await;
    let now = scene.ledger.now().await.unwrap();
    scene.ledger.declare_restored(&actor("ada", Role::Administrator), now).await.unwrap();
    let process = process(&scene, without);
    let effects = made(&mut scene, 1).await;
    end(scene, [process]).await;
    effects
}

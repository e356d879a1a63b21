//! The rules about keys: for how long, where, and for what one protects.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tallystick_destination::{Contract, Destination, Failure, LookUps, Plan, Stores};
use tallystick_domain::permission::Role;
use tallystick_domain::policy::SafetyRule;
use tallystick_domain::tool::Class;

use super::{
    STEPS, Without, blind, canaries, end, environment, forget_keys, forgetful, made, process, send_and_die, sent_twice,
    state_of, step, until, until_answered, with_and_without,
};
use crate::api::Api;
use crate::scene::{Process, Scene};

canaries! {
    a_key_that_keeps_successes_only_believed_to_protect_doubles_the_effect:
        TwoXxOnlyProtectsNothing => a_500_that_hides_an_effect, 1, 2;
    a_blind_repeat_doubles_the_effect: ReconcileBeforeRetry => a_lost_answer, 1, 2;
    a_forgotten_key_believed_to_be_fresh_doubles_the_effect: KeyFreshness => a_forgotten_key, 1, 2;
    a_key_used_up_to_its_last_moment_doubles_the_effect: KeyMargin => a_key_in_its_margin, 1, 2;
    a_key_carried_into_another_region_doubles_the_effect: ScopeInKey => another_region, 1, 2;
    a_refusal_believed_to_speak_for_an_earlier_send_doubles_the_effect:
        RefusalClosesOnlyItself => a_refusal_after_a_lost_answer, 1, 2;
    a_decline_believed_of_a_key_that_does_not_keep_it_loses_the_effect:
        DeclineNeedsStores => a_decline_after_a_lost_answer, "succeeded".to_owned(), "failed.business".to_owned();
    other_arguments_under_the_same_key_are_sent: ArgsChangeIsRerunNew => other_arguments, 1, 2;
}

/// The destination did it and says 500; the key keeps successes only (3.7.1).
async fn a_500_that_hides_an_effect(without: Without) -> u32 {
    unprotected(without, Failure::ErrorAfterApplying).await
}

/// The answer to what was done is lost; no key protects a second send (3.7).
async fn a_lost_answer(without: Without) -> u32 {
    unprotected(without, Failure::ApplyThenDrop).await
}

async fn unprotected(without: Without, failure: Failure) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.destination.set_plan(forgetful(&[failure]));
    scene.authorise(1).await;
    let process = process(&scene, without);
    let effects = made(&mut scene, 2).await;
    end(scene, [process]).await;
    effects
}

/// Sent once by a process that died before it saved the answer, under a key that is kept for ten minutes, certain for less
/// than five.
async fn short_key() -> Scene {
    let mut scene = Scene::start(false, "any_once_started").await;
    scene.declare("charge", json!({"key_retention_s": 600, "client_deadline_s": 60})).await;
    scene.destination.set_plan(blind(Stores::Any, &[]));
    scene.authorise(1).await;
    send_and_die(&scene, "after_response");
    scene
}

/// Sixteen minutes later (3.7.6).
async fn a_forgotten_key(without: Without) -> u32 {
    let mut scene = short_key().await;
    scene.pass(1_000).await;
    forget_keys(&scene);
    let process = process(&scene, without);
    let effects = made(&mut scene, 2).await;
    end(scene, [process]).await;
    effects
}

/// Eight minutes later a process takes it; it stands still before its first byte until the key is forgotten (3.7.6).
async fn a_key_in_its_margin(without: Without) -> u32 {
    let mut scene = short_key().await;
    scene.pass(480).await;
    let process = scene.process_with(&environment(without, Some("between_check_and_write")));
    stands_there(&scene, &process).await;
    scene.pass(150).await;
    forget_keys(&scene);
    std::fs::write(scene.go(), "").unwrap();
    let effects = made(&mut scene, 2).await;
    end(scene, [process]).await;
    effects
}

/// Waits until the process comes to its point, or long enough to say that it will not; the record's clock stands still.
async fn stands_there(scene: &Scene, process: &Process) {
    for _ in 0..STEPS {
        if process.hits.try_recv().is_ok() {
            return;
        }
        step(scene, || false).await;
    }
}

/// The destination is configured in another region after a send whose answer was lost; there nobody knows the key (3.7.5).
async fn another_region(without: Without) -> u32 {
    moved(without, LookUps::Down).await
}

async fn moved(without: Without, look_ups: LookUps) -> u32 {
    let mut scene = Scene::start(false, "any_once_started").await;
    scene.destination.set_plan(blind(Stores::Any, &[]));
    scene.authorise(1).await;
    send_and_die(&scene, "after_response");
    let contract = Contract { look_ups, ..Contract::default() };
    let plan = Plan { contract, ..Plan::default() };
    let elsewhere = Destination::start("127.0.0.1:0".parse().unwrap(), plan).await.unwrap();
    scene.move_to(elsewhere.address(), "2");
    let process = process(&scene, without);
    for _ in 0..STEPS {
        if !elsewhere.report().made.is_empty() {
            break;
        }
        scene.pass(30).await;
        step(&scene, || false).await;
    }
    let effects = [scene.destination.report(), elsewhere.report()].iter().flat_map(|report| report.made.values()).sum();
    end(scene, [process]).await;
    effects
}

/// A look-up in the new region finds nothing, and that says nothing about the old one (row 30).
#[tokio::test(flavor = "multi_thread")]
async fn absence_in_another_region_closes_nothing() {
    assert_eq!(moved(None, LookUps::Strong).await, 1);
}

/// The answer is lost; the repeat under the same key is refused by a limiter, before the key was looked at (K1, K3).
async fn limited_after_a_lost_answer(contract: Value) -> Scene {
    let mut scene = Scene::start(false, "any_once_started").await;
    scene.declare("charge", contract).await;
    let failures: Vec<_> = [Failure::ApplyThenDrop].into_iter().chain([Failure::Throttle; 20]).collect();
    scene.destination.set_plan(blind(Stores::Any, &failures));
    scene.authorise(1).await;
    scene
}

async fn a_refusal_after_a_lost_answer(without: Without) -> u32 {
    let mut scene = limited_after_a_lost_answer(json!({"key_retention_s": 600, "attempts_per_episode": 8})).await;
    let process = process(&scene, without);
    sent_twice(&mut scene).await;
    scene.pass(1_000).await;
    forget_keys(&scene);
    let effects = made(&mut scene, 2).await;
    end(scene, [process]).await;
    effects
}

/// The answer is lost; the repeat is executed anew and declined, because the key keeps successes only (K3).
async fn a_decline_after_a_lost_answer(without: Without) -> String {
    let mut scene = Scene::start(false, "2xx_only").await;
    let contract = json!({"stores": "2xx_only", "sole_writer": true, "attempts_per_episode": 2});
    scene.declare_as("charge", Class::Idempotent, contract).await;
    scene.destination.set_plan(forgetful(&[Failure::ApplyThenDrop, Failure::Decline]));
    scene.authorise(1).await;
    let process = process(&scene, without);
    sent_twice(&mut scene).await;
    // Whoever asks now is told that it is there.
    scene.destination.set_plan(Plan::default());
    let id = scene.ids[0].clone();
    for _ in 0..STEPS {
        if state_of(&scene, &id).await == "succeeded" {
            break;
        }
        scene.pass(60).await;
        step(&scene, || false).await;
    }
    let state = state_of(&scene, &id).await;
    assert_eq!(scene.destination.report().effects["order-0"], 1, "it stands, whatever the record says");
    end(scene, [process]).await;
    state
}

/// How many wordings of one request the destination is sent under one key (I7), when an operator changes the arguments of
/// what may already have happened.
async fn other_arguments(without: Without) -> usize {
    let mut scene = Scene::start(false, "any_once_started").await;
    scene.destination.set_plan(Plan { keeps_requests: true, ..blind(Stores::Any, &[]) });
    scene.authorise(1).await;
    send_and_die(&scene, "after_response");
    scene.pause(true).await;
    let process = scene.first_process(&environment(without, None));
    let api = Api::of(&scene, &process).await;
    scene.pass(30).await;
    until_answered(&scene, 1).await;
    let id = scene.ids[0].clone();
    let change = json!({"action": "change_arguments", "arguments": {"intent": "order-0", "amount": 2}});
    if api.press(&scene, &id, Role::Operator, change).await.is_some() {
        // What was approved is not what is asked for now.
        api.press(&scene, &id, Role::Approver, json!({"action": "renew"})).await.expect("it is offered");
    }
    scene.pause(false).await;
    until(&scene, "sent again", async |scene| scene.destination.report().writes > 1).await;
    let posts = scene.destination.seen().into_iter().filter(|seen| seen.bytes.starts_with(b"POST"));
    let bodies: BTreeSet<String> =
        posts.map(|seen| String::from_utf8(seen.bytes).unwrap().split_once("\r\n\r\n").unwrap().1.to_owned()).collect();
    end(scene, [process]).await;
    bodies.len()
}

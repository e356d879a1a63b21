//! Single safety rules switched off in the real process. With the rule nothing goes wrong; without it, in the same events, a second
//! effect is made, an effect is lost, or something is sent that should wait.

use std::time::Duration;

use serde_json::json;
use tallystick_destination::{Contract, Failure, LookUps, Plan, Stores};
use tallystick_domain::operation::State;
use tallystick_domain::permission::Role;

use crate::scene::{Process, Scene, actor};

/// How long a destination is watched for an effect too many, in steps of half a minute of the record's clock.
const STEPS: u32 = 20;

/// A destination whose keys mean nothing and whose look-ups are down: whatever is sent is one more effect.
fn forgetful(failures: &[Failure]) -> Plan {
    let contract = Contract { stores: Stores::Nothing, look_ups: LookUps::Down, ..Contract::default() };
    Plan { contract, failures: failures.iter().copied().collect(), ..Plan::default() }
}

/// A process that has every rule but, where one is named, that.
fn without(scene: &Scene, rule: Option<&str>) -> Process {
    let environment: Vec<_> = rule.map(|rule| ("TALLYSTICK_WITHOUT", rule.to_owned())).into_iter().collect();
    scene.process_with(&environment)
}

/// Lets time pass until the destination has made so many effects of the one intent, or long enough to say that it will not.
async fn made(scene: &mut Scene, enough: u32) -> u32 {
    let mut wake = scene.ledger.wake();
    let count = |scene: &Scene| scene.destination.report().made.get("order-0").copied().unwrap_or(0);
    for _ in 0..STEPS {
        if count(scene) >= enough {
            break;
        }
        scene.pass(30).await;
        let _ = tokio::time::timeout(Duration::from_millis(400), wake.changed()).await;
    }
    count(scene)
}

async fn end(scene: Scene, processes: Vec<Process>) {
    for process in processes {
        process.kill();
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_proof_of_the_senders_end_a_frozen_one_sends_a_second_time() {
    for (rule, effects) in [(None, 1), (Some("sender_end_proved"), 2)] {
        let mut scene = Scene::start(false, "2xx_only").await;
        let contract = Contract { stores: Stores::Nothing, ..Contract::default() };
        scene.destination.set_plan(Plan { contract, ..Plan::default() });
        scene.authorise(1).await;
        let sleeper = scene.process(Some("between_check_and_write"));
        sleeper.wait_for_hits(1);
        sleeper.signal("STOP");
        let other = without(&scene, rule);
        made(&mut scene, 1).await;
        std::fs::write(scene.go(), "").unwrap();
        sleeper.signal("CONT");
        assert_eq!(made(&mut scene, 2).await, effects, "{rule:?}: {:?}", scene.states().await);
        end(scene, vec![sleeper, other]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_keeps_successes_only_believed_to_protect_doubles_the_effect() {
    for (rule, effects) in [(None, 1), (Some("two_xx_only_protects_nothing"), 2)] {
        let mut scene = Scene::start(false, "2xx_only").await;
        scene.destination.set_plan(forgetful(&[Failure::ErrorAfterApplying]));
        scene.authorise(1).await;
        let process = without(&scene, rule);
        assert_eq!(made(&mut scene, 2).await, effects, "{rule:?}: {:?}", scene.states().await);
        end(scene, vec![process]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_key_believed_to_be_fresh_doubles_the_effect() {
    for (rule, effects) in [(None, 1), (Some("key_freshness"), 2)] {
        let mut scene = Scene::start(false, "any_once_started").await;
        // Certain for a minute, by its contract; the destination forgets at once.
        scene.declare("charge", json!({"key_retention_s": 380, "client_deadline_s": 2})).await;
        scene.destination.set_plan(forgetful(&[Failure::ApplyThenDrop]));
        scene.authorise(1).await;
        let first = scene.process(Some("after_response"));
        first.wait_for_hits(1);
        first.kill();
        scene.pass(1_000).await;
        let process = without(&scene, rule);
        assert_eq!(made(&mut scene, 2).await, effects, "{rule:?}: {:?}", scene.states().await);
        end(scene, vec![process]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_success_without_a_receipt_is_a_lost_effect() {
    for (rule, succeeds) in [(None, false), (Some("success_needs_evidence"), true)] {
        let mut scene = Scene::start(false, "2xx_only").await;
        scene.destination.set_plan(forgetful(&[Failure::NoContent]));
        scene.authorise(1).await;
        let process = without(&scene, rule);
        assert_eq!(made(&mut scene, 1).await, 0, "{rule:?}: the proxy answered in its place");
        let state = &scene.states().await[0];
        assert_eq!(matches!(state, State::Succeeded(_)), succeeds, "{rule:?}: {state:?}");
        end(scene, vec![process]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_hold_of_a_restore_is_sent_before_a_person_has_read() {
    for (rule, effects) in [(None, 0), (Some("restore_holds_dispatch"), 1)] {
        let mut scene = Scene::start(false, "any_once_started").await;
        scene.authorise(1).await;
        let now = scene.ledger.now().await.unwrap();
        scene.ledger.declare_restored(&actor("ada", Role::Administrator), now).await.unwrap();
        let process = without(&scene, rule);
        assert_eq!(made(&mut scene, 1).await, effects, "{rule:?}: {:?}", scene.states().await);
        end(scene, vec![process]).await;
    }
}

//! The rules about what was looked for and not found.

use serde_json::json;
use tallystick_destination::{Contract, Failure, Plan, Stores};
use tallystick_domain::evidence::{Claim, Evidence, LinkedBy, Trust};
use tallystick_domain::name::SourceName;
use tallystick_domain::operation::Fact;
use tallystick_domain::permission::Role;
use tallystick_domain::policy::SafetyRule;

use super::{Without, canaries, end, forgetful, made, process, send_and_die, until, with_and_without};
use crate::scene::{Process, Scene, actor};

canaries! {
    without_the_proof_of_the_senders_end_a_frozen_one_sends_a_second_time: SenderEndProved => a_frozen_sender, 1, 2;
    absence_before_settle_believed_doubles_the_effect: SettleWindow => a_request_still_on_its_way, 1, 2;
    absence_judged_when_it_is_read_doubles_the_effect: AbsenceBySendTime => an_early_look_up, 1, 2;
    a_cancel_that_found_nothing_believed_at_once_doubles_the_effect: NoopCancelWaits => a_cancel_before_the_send, 1, 2;
}

/// A destination whose keys mean nothing.
fn unkeyed(failures: &[Failure]) -> Plan {
    let contract = Contract { stores: Stores::Nothing, ..Contract::default() };
    Plan { contract, failures: failures.iter().copied().collect(), ..Plan::default() }
}

/// One operation, and a process that stands still between its dispatch and its first byte.
async fn asleep(scene: &mut Scene) -> Process {
    scene.authorise(1).await;
    let sleeper = scene.process(Some("between_check_and_write"));
    sleeper.wait_for_hits(1);
    scene.freeze(&sleeper).await;
    sleeper
}

/// A sender that sleeps for less than this sends when it wakes.
const PATIENT_S: u64 = 60;

fn wake_up(scene: &Scene, sleeper: &Process) {
    std::fs::write(scene.go(), "").unwrap();
    sleeper.signal("CONT");
}

/// Look-ups find nothing while it sleeps (K6).
async fn a_frozen_sender(without: Without) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.declare("charge", json!({"stores": "2xx_only", "client_deadline_s": PATIENT_S})).await;
    scene.destination.set_plan(unkeyed(&[]));
    let sleeper = asleep(&mut scene).await;
    let other = process(&scene, without);
    made(&mut scene, 1).await;
    wake_up(&scene, &sleeper);
    let effects = made(&mut scene, 2).await;
    end(scene, [sleeper, other]).await;
    effects
}

/// A process sent and died, which is proved; what it sent is still on its way, for at most so many seconds of the record's
/// clock. Another process has looked it up, and found nothing.
async fn looked_up_early(without: Without, arrival_delay_s: u64) -> (Scene, Process) {
    let mut scene = Scene::start(false, "2xx_only").await;
    let contract = json!({"stores": "2xx_only", "max_arrival_delay_s": arrival_delay_s});
    scene.declare("charge", contract).await;
    scene.destination.set_plan(unkeyed(&[Failure::Hold]));
    scene.authorise(1).await;
    send_and_die(&scene, "after_send");
    // Its lease is over.
    scene.pass(30).await;
    let process = process(&scene, without);
    until(&scene, "looked up", async |scene| {
        let ada = actor("ada", Role::Administrator);
        let examined = scene.ledger.operation(&ada, &scene.ids[0]).await.unwrap().unwrap();
        let is_gone = examined.record.facts.acts().any(|fact| matches!(fact, Fact::SenderGone { .. }));
        is_gone && examined.record.evidence().any(|evidence| evidence.claim == Claim::Absent)
    })
    .await;
    (scene, process)
}

/// The look-up was sent before settle (K6).
async fn a_request_still_on_its_way(without: Without) -> u32 {
    let (mut scene, process) = looked_up_early(without, 3_600).await;
    made(&mut scene, 1).await;
    scene.destination.let_go();
    let effects = made(&mut scene, 2).await;
    end(scene, [process]).await;
    effects
}

/// The look-up was sent before settle, and is looked at again after it (K6, A9).
async fn an_early_look_up(without: Without) -> u32 {
    let (mut scene, process) = looked_up_early(without, 100).await;
    scene.destination.set_plan(forgetful(&[]));
    made(&mut scene, 1).await;
    scene.destination.let_go();
    let effects = made(&mut scene, 2).await;
    end(scene, [process]).await;
    effects
}

/// Somebody cancelled by key while the sender sleeps, and nothing was there to cancel (K7, 22a).
async fn a_cancel_before_the_send(without: Without) -> u32 {
    let mut scene = Scene::start(false, "2xx_only").await;
    let cancel = json!({"noop_on_absent": true, "commutative": false});
    // It is judged again with each look-up, and those come close together.
    let contract = json!({
        "stores": "2xx_only", "client_deadline_s": PATIENT_S, "lookup_span_s": 60, "cancel_by_key": cancel
    });
    scene.declare("charge", contract).await;
    scene.destination.set_plan(forgetful(&[]));
    let sleeper = asleep(&mut scene).await;
    let other = process(&scene, without);
    scene.pass(2 * PATIENT_S).await;
    cancelled_by_key(&scene).await;
    made(&mut scene, 1).await;
    wake_up(&scene, &sleeper);
    let effects = made(&mut scene, 2).await;
    end(scene, [sleeper, other]).await;
    effects
}

async fn cancelled_by_key(scene: &Scene) {
    let (ada, robot) = (actor("ada", Role::Administrator), actor("robot", Role::Automation));
    let source = SourceName::parse("executor/robot").unwrap();
    scene.ledger.declare_source(&ada, &source, Trust::Verified).await.unwrap();
    let examined = scene.ledger.operation(&ada, &scene.ids[0]).await.unwrap().unwrap();
    let now = scene.ledger.now().await.unwrap();
    let evidence = Evidence {
        id: "cancel".into(),
        source,
        claim: Claim::CancelledByKey { found: false },
        object: None,
        linked_by: LinkedBy::Key,
        key: examined.record.destination_keys().first().map(|key| (*key).clone()),
        at: now,
        provider_time: None,
        sent_at: Some(now),
    };
    scene.ledger.add_evidence(&robot, &scene.ids[0], evidence).await.unwrap();
}

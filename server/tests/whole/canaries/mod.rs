//! Single safety rules switched off in the real process. With the rule nothing goes wrong; without it, in the same events, a second
//! effect is made, an effect is lost or undone although it should stand, or something is sent that must not be.

mod absence;
mod executors;
mod keys;
mod people;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use tallystick_destination::{Contract, Failure, LookUps, Plan, Stores};
use tallystick_domain::name::OperationId;
use tallystick_domain::operation::State;
use tallystick_domain::policy::SafetyRule;

use crate::scene::{Process, Scene};

/// How long is watched for an effect too many, in steps of half a minute of the record's clock.
const STEPS: u32 = 12;
const STEP: Duration = Duration::from_millis(350);
/// How long is waited for what must come, in the same steps.
const STEPS_TO_COME: u32 = 100;

/// The rule that the process is without, if any.
type Without = Option<SafetyRule>;

/// Plays the same events with all rules and without one.
async fn with_and_without<T, F>(rule: SafetyRule, play: impl Fn(Without) -> F, with: T, without: T)
where
    T: PartialEq + Debug,
    F: Future<Output = T>,
{
    let came = tokio::join!(play(None), play(Some(rule)));
    assert_eq!(came, (with, without), "{}: with the rule, and without it", rule.name());
}

/// One test a rule: what it is called, the rule, the events, what they come to with the rule and without it.
macro_rules! canaries {
    ($($test:ident: $rule:ident => $play:expr, $with:expr, $without:expr;)*) => {
        pub(super) const SHOWN: &[SafetyRule] = &[$(SafetyRule::$rule,)*];

        $(#[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            with_and_without(SafetyRule::$rule, $play, $with, $without).await;
        })*
    };
}
use canaries;

#[test]
fn every_rule_is_shown_to_be_needed_once() {
    let all = [keys::SHOWN, absence::SHOWN, people::SHOWN, executors::SHOWN].concat();
    let shown: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(shown.len(), all.len(), "no rule is shown twice");
    let missing: Vec<_> = SafetyRule::ALL.iter().filter(|rule| !shown.contains(rule)).map(|rule| rule.name()).collect();
    assert!(missing.is_empty(), "nothing shows what these are needed for: {missing:?}");
}

/// What a destination does whose look-ups are down.
fn blind(stores: Stores, failures: &[Failure]) -> Plan {
    let contract = Contract { stores, look_ups: LookUps::Down, ..Contract::default() };
    Plan { contract, failures: failures.iter().copied().collect(), ..Plan::default() }
}

/// A destination whose keys mean nothing and whose look-ups are down: whatever is sent is one more effect.
fn forgetful(failures: &[Failure]) -> Plan {
    blind(Stores::Nothing, failures)
}

/// From now on no key is known any more.
fn forget_keys(scene: &Scene) {
    let contract = Contract { retention_ms: Some(0), look_ups: LookUps::Down, ..Contract::default() };
    scene.destination.set_plan(Plan { contract, ..Plan::default() });
}

fn environment(without: Without, failpoint: Option<&str>) -> Vec<(&'static str, String)> {
    let left_out = without.map(|rule| ("TALLYSTICK_WITHOUT", rule.name().to_owned()));
    left_out.into_iter().chain(failpoint.map(|name| ("TALLYSTICK_FAILPOINT", name.to_owned()))).collect()
}

/// A process that has every rule but, where one is named, that.
fn process(scene: &Scene, without: Without) -> Process {
    scene.process_with(&environment(without, None))
}

/// A process that sends and dies at this point.
fn send_and_die(scene: &Scene, point: &str) {
    let process = scene.process(Some(point));
    process.wait_for_hits(1);
    process.kill();
}

fn made_of(scene: &Scene, intent: &str) -> u32 {
    scene.destination.report().made.get(intent).copied().unwrap_or(0)
}

/// Lets time pass until the destination has made so many effects of the first intent, or long enough to say that it will not.
async fn made(scene: &mut Scene, enough: u32) -> u32 {
    for _ in 0..STEPS {
        if made_of(scene, "order-0") >= enough {
            break;
        }
        scene.pass(30).await;
        step(scene, || made_of(scene, "order-0") >= enough).await;
    }
    made_of(scene, "order-0")
}

/// One step, or less where it is so at a change of the record before: however much changes, a step is as long.
async fn step(scene: &Scene, is_so: impl Fn() -> bool) {
    let mut wake = scene.ledger.wake();
    let over = tokio::time::Instant::now() + STEP;
    while !is_so() && tokio::time::timeout_at(over, wake.changed()).await.is_ok() {}
}

/// Waits, while the record's clock stands still, until it is so.
async fn until(scene: &Scene, what: &str, is_so: impl AsyncFn(&Scene) -> bool) {
    let mut wake = scene.ledger.wake();
    let over = tokio::time::Instant::now() + STEP * STEPS_TO_COME;
    while tokio::time::Instant::now() < over {
        if is_so(scene).await {
            return;
        }
        let _ = tokio::time::timeout(STEP, wake.changed()).await;
    }
    panic!("never {what}: {:?}", scene.states().await);
}

/// Waits until the first operation has been sent so often and stands at what came of it.
async fn until_answered(scene: &Scene, sends: u32) {
    until(scene, "answered", async |scene| {
        let row = scene.listed(&scene.ids[0]).await.row;
        row.attempts >= sends && !matches!(row.state, State::Claimed | State::Executing)
    })
    .await;
}

/// Lets the back-off of a second send pass, and waits for what came of it.
async fn sent_twice(scene: &mut Scene) {
    while scene.destination.report().writes < 2 {
        scene.pass(1).await;
        step(scene, || scene.destination.report().writes > 1).await;
        assert!(scene.offset < Duration::from_mins(1), "no second send: {:?}", scene.states().await);
    }
    until_answered(scene, 2).await;
}

/// Waits until the destination has made an effect of the first intent.
async fn until_made(scene: &Scene) {
    until(scene, "made", async |scene| made_of(scene, "order-0") > 0).await;
}

async fn state_of(scene: &Scene, id: &OperationId) -> String {
    scene.listed(id).await.row.state.to_string()
}

async fn end(scene: Scene, processes: impl IntoIterator<Item = Process>) {
    for process in processes {
        process.kill();
    }
    scene.end().await;
}

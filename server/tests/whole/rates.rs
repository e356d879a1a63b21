//! Two processes that send to a destination which is down share what retries it bears: together they send no more than one
//! would. What counts is what arrived there.

use std::time::Duration;

use tallystick_destination::{Failure, Plan};
use tallystick_domain::budget::BucketNumbers;

use crate::scene::Scene;

const OPERATIONS: usize = 60;
/// How many looks in a row see nothing more arrive before nothing more is awaited.
const QUIET: u32 = 4;

async fn shared(on_postgres: bool) {
    let mut scene = Scene::start(on_postgres, "any_once_started").await;
    scene.pay_retries_from("bucket");
    scene.destination.set_plan(Plan { failures: vec![Failure::Unavailable; 1_000].into(), ..Plan::default() });
    scene.authorise(OPERATIONS).await;
    let processes = [scene.process(None), scene.process(None)];
    let mut wake = scene.ledger.wake();
    let (mut writes, mut quiet) = (0, 0);
    while quiet < QUIET {
        // A commit wakes it; silence means that only time is awaited.
        while tokio::time::timeout(Duration::from_millis(1_200), wake.changed()).await.is_ok() {}
        scene.pass(120).await;
        let arrived = scene.destination.report().writes;
        quiet = if arrived == writes { quiet + 1 } else { 0 };
        writes = arrived;
    }
    let numbers = BucketNumbers::default();
    let (first, most) = (OPERATIONS as u64, u64::from(numbers.capacity / numbers.retry_cost));
    assert!(writes > first, "nothing was tried again: {writes}");
    assert!(writes <= first + most, "{writes} writes for {first} operations and {most} retries");
    assert!(scene.destination.report().made.is_empty());
    processes.into_iter().for_each(crate::scene::Process::kill);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_bucket_on_sqlite() {
    shared(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_bucket_on_postgres() {
    shared(true).await;
}

//! The real process, killed and frozen at each of its named points in the middle of twenty sends, on both stores. What
//! counts is what the destination made (semantics I28, A10).

use std::time::Duration;

use tallystick_destination::{Contract, Plan, Stores};
use tallystick_domain::operation::{Doubt, State};
use tallystick_ledger::failpoint::POINTS;

use crate::scene::Scene;

const OPERATIONS: usize = 20;

/// Kills processes at one point until twenty sends have died there, then lets a process finish.
async fn killed_at(point: &str, on_postgres: bool) {
    let mut scene = Scene::start(on_postgres, "any_once_started").await;
    // What stops inside a commit holds the store's writer: there sends stop one by one.
    let together = if point == "during_save" { 1 } else { OPERATIONS };
    for _ in 0..OPERATIONS / together {
        scene.authorise(together).await;
        let process = scene.process(Some(point));
        process.wait_for_hits(together);
        process.kill();
    }
    let finishing = scene.process(None);
    scene.settle().await;
    scene.assert_one_effect_each().await;
    finishing.kill();
    scene.end().await;
}

macro_rules! killed {
    ($($point:ident),*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $point() {
                super::killed_at(stringify!($point), false).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $point() {
                super::killed_at(stringify!($point), true).await;
            })*
        }
        const KILLED: &[&str] = &[$(stringify!($point)),*];
    };
}

killed! { before_dispatch, after_dispatch, between_check_and_write, after_send, after_response, during_save, after_save }

#[test]
fn every_point_is_killed_at() {
    assert_eq!(KILLED, POINTS);
}

/// A sender stands still between the dispatch and its first byte for longer than lease, deadline and settle. Absence read
/// meanwhile proves nothing while it lives; when it wakes and sends, that is the one effect (A10).
async fn frozen(on_postgres: bool) {
    // A key that protects nothing: a second send would be a second effect.
    let mut scene = Scene::start(on_postgres, "2xx_only").await;
    scene
        .destination
        .set_plan(Plan { contract: Contract { stores: Stores::Nothing, ..Contract::default() }, ..Plan::default() });
    scene.authorise(1).await;
    let sleeper = scene.process(Some("between_check_and_write"));
    sleeper.wait_for_hits(1);
    scene.freeze(&sleeper).await;
    let other = scene.process(None);
    let mut wake = scene.ledger.wake();
    // Past the lease, past settle, past several look-ups that find nothing.
    while scene.destination.report().look_ups < 4 {
        scene.pass(60).await;
        let _ = tokio::time::timeout(Duration::from_millis(1_500), wake.changed()).await;
        assert!(scene.offset < Duration::from_hours(4), "nobody looks it up: {:?}", scene.states().await);
    }
    assert_eq!(scene.states().await, [State::Uncertain(Doubt::Crashed)], "absence proves nothing while it lives");
    std::fs::write(scene.go(), "").unwrap();
    sleeper.signal("CONT");
    scene.settle().await;
    scene.assert_one_effect_each().await;
    sleeper.kill();
    other.kill();
    scene.end().await;
}

/// The same sender, killed instead of woken: its lock is free, which is proof, and the next look-up closes the attempt (K6).
#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_is_proved_dead_makes_room_for_one_more_send() {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.authorise(1).await;
    let dying = scene.process(Some("between_check_and_write"));
    dying.wait_for_hits(1);
    dying.kill();
    let other = scene.process(None);
    scene.settle().await;
    scene.assert_one_effect_each().await;
    other.kill();
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_sender_wakes_on_sqlite() {
    frozen(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_sender_wakes_on_postgres() {
    frozen(true).await;
}

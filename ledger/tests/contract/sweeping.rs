//! Decisions that change by time alone.

use std::time::Duration;

use crate::rig::{Rig, at, case};

on_both! {
    an_attempt_that_is_never_heard_of_again_becomes_uncertain_when_its_time_has_come,
    sweeping_twice_changes_nothing,
}

const KEY: &str = "credit_purchase:cart-77";

async fn running(rig: &Rig) {
    rig.ledger.set_clock(at("2026-10-05T09:00:03Z")).await.unwrap();
    let lines: Vec<String> = case("R01").lines().take(3).map(ToOwned::to_owned).collect();
    rig.import(&lines.join("\n")).await;
    assert_eq!(rig.state(KEY).await, "executing");
}

async fn an_attempt_that_is_never_heard_of_again_becomes_uncertain_when_its_time_has_come(rig: Rig) {
    running(&rig).await;
    assert_eq!(rig.ledger.sweep(100).await.unwrap(), 0, "its time has not come");
    let due = rig.listed(KEY).await.unwrap().row.next_change_at.unwrap();
    rig.ledger.set_clock(due.plus(Duration::from_secs(1))).await.unwrap();
    assert_eq!(rig.ledger.sweep(100).await.unwrap(), 1);
    assert_eq!(rig.state(KEY).await, "uncertain(lost)");
    let entries = rig.examined(KEY).await.entries;
    assert_eq!(entries.last().unwrap().command, "refold");
    rig.assert_verified().await;
}

async fn sweeping_twice_changes_nothing(rig: Rig) {
    running(&rig).await;
    rig.ledger.set_clock(at("2026-10-05T10:00:00Z")).await.unwrap();
    rig.ledger.sweep(100).await.unwrap();
    let journal = rig.count("journal").await;
    assert_eq!(rig.ledger.sweep(100).await.unwrap(), 0);
    assert_eq!(rig.count("journal").await, journal);
}

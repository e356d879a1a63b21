//! The change feed: complete, in order, and honest about what it no longer has.

use std::time::Duration;

use tallystick_domain::query::QueueQuery;
use tallystick_ledger::changes::CatchUp;

use crate::rig::{Engine, Rig, admin, case, viewer};

on_both! {
    each_commit_is_told_in_order,
    a_number_from_another_record_asks_to_read_again,
    a_page_names_the_number_it_shows,
    a_commit_wakes_this_process,
    a_commit_of_another_process_wakes_this_one,
    a_refused_unit_of_work_tells_nothing,
    sweeping_cuts_a_long_feed_and_leaves_a_short_one,
}

/// Waits until what was committed may be shown. PostgreSQL holds changes back while any older transaction of the
/// server runs, and other tests run on the same server.
async fn settle(rig: &Rig) {
    let newest = rig.texts("SELECT CAST(COALESCE(MAX(sequence), 0) AS TEXT) FROM outbox").await;
    let newest: i64 = newest[0].parse().unwrap();
    while rig.ledger.newest_sequence().await.unwrap() < newest {
        tokio::task::yield_now().await;
    }
}

async fn after(rig: &Rig, sequence: i64) -> Vec<(String, u64)> {
    settle(rig).await;
    match rig.ledger.changes_after(sequence, 500).await.unwrap() {
        CatchUp::Changes(changes) => {
            assert!(changes.is_sorted_by_key(|change| change.sequence));
            changes.into_iter().map(|change| (change.topic, change.version)).collect()
        }
        CatchUp::Resync { sequence } => panic!("resync from {sequence}"),
    }
}

async fn each_commit_is_told_in_order(rig: Rig) {
    rig.import("").await;
    settle(&rig).await;
    let start = rig.ledger.newest_sequence().await.unwrap();
    for line in case("R01").lines() {
        rig.import(line).await;
    }
    let operations: Vec<_> = after(&rig, start).await.into_iter().filter(|(topic, _)| topic == "operation").collect();
    let versions: Vec<u64> = operations.iter().map(|(_, version)| *version).collect();
    assert_eq!(versions, [1, 2, 3, 4, 5, 6, 7]);
    let newest = rig.ledger.newest_sequence().await.unwrap();
    assert!(after(&rig, newest).await.is_empty());
    let CatchUp::Changes(first_two) = rig.ledger.changes_after(start, 2).await.unwrap() else { panic!() };
    assert_eq!(first_two.len(), 2);
}

async fn a_number_from_another_record_asks_to_read_again(rig: Rig) {
    rig.import(&case("R01")).await;
    settle(&rig).await;
    let newest = rig.ledger.newest_sequence().await.unwrap();
    let answer = rig.ledger.changes_after(newest + 1_000_000, 10).await.unwrap();
    assert_eq!(answer, CatchUp::Resync { sequence: newest });
}

async fn a_page_names_the_number_it_shows(rig: Rig) {
    rig.import(&case("R01")).await;
    settle(&rig).await;
    let newest = rig.ledger.newest_sequence().await.unwrap();
    let queue = rig.ledger.queue(&viewer(), &QueueQuery::default()).await.unwrap();
    assert_eq!(queue.page.sequence, newest);
    let id = rig.id("credit_purchase:cart-77").await;
    assert_eq!(rig.ledger.operation(&viewer(), &id).await.unwrap().unwrap().sequence, newest);
}

async fn a_commit_wakes_this_process(rig: Rig) {
    let mut wake = rig.ledger.wake();
    wake.mark_unchanged();
    rig.import(&case("R01")).await;
    tokio::time::timeout(Duration::from_secs(5), wake.changed()).await.unwrap().unwrap();
}

async fn a_commit_of_another_process_wakes_this_one(rig: Rig) {
    let another = rig.another().await;
    let mut wake = another.wake();
    rig.import(&case("R01")).await;
    settle(&rig).await;
    let newest = rig.ledger.newest_sequence().await.unwrap();
    // Woken by a message or by the poll; then the change is there to be read.
    tokio::time::timeout(Duration::from_secs(10), async {
        while another.newest_sequence().await.unwrap() < newest {
            wake.changed().await.unwrap();
        }
    })
    .await
    .unwrap();
}

async fn a_refused_unit_of_work_tells_nothing(rig: Rig) {
    settle(&rig).await;
    let start = rig.ledger.newest_sequence().await.unwrap();
    rig.ledger.set_zone(&admin(), "Europe/Lisbon", 7).await.unwrap_err();
    assert!(after(&rig, start).await.is_empty());
    rig.ledger.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap();
    assert_eq!(after(&rig, start).await, [("settings".to_owned(), 1)]);
}

async fn sweeping_cuts_a_long_feed_and_leaves_a_short_one(rig: Rig) {
    const KEPT: i64 = 200_000;
    let rows = match rig.engine {
        Engine::Sqlite => {
            "WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 250000) SELECT n, 'main', 'operation', 'o', n, FALSE FROM rows"
        }
        Engine::Postgres => "SELECT n, 'main', 'operation', 'o', n, FALSE FROM GENERATE_SERIES(1, 250000) AS n",
    };
    rig.sql("DELETE FROM outbox").await;
    rig.sql(&format!("INSERT INTO outbox (sequence, workspace_id, topic, subject, version, needs_attention) {rows}"))
        .await;
    settle(&rig).await;
    rig.ledger.sweep(100).await.unwrap();
    assert_eq!(rig.count(&format!("outbox WHERE sequence <= {}", 250_000 - KEPT - 1)).await, 0);
    assert!(rig.count("outbox").await >= KEPT);
    let answer = rig.ledger.changes_after(250_000 - KEPT - 10, 10).await.unwrap();
    assert_eq!(answer, CatchUp::Resync { sequence: 250_000 });
    assert_eq!(after(&rig, 249_998).await.len(), 2);
    let left = rig.count("outbox").await;
    rig.ledger.sweep(100).await.unwrap();
    assert_eq!(rig.count("outbox").await, left);
}

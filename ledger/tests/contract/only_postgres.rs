//! What only PostgreSQL can show: commits out of order, cancelled transactions, a server that goes away.

use sqlx::{Connection as _, Executor as _, PgConnection};
use tallystick_domain::tool::Class;
use tallystick_ledger::LedgerError;
use tallystick_ledger::changes::CatchUp;

use crate::rig::{Rig, admin, administer, automation, proposal};

async fn topics_after(rig: &Rig, sequence: i64) -> Vec<String> {
    match rig.ledger.changes_after(sequence, 100).await.unwrap() {
        CatchUp::Changes(changes) => changes.into_iter().map(|change| change.topic).collect(),
        CatchUp::Resync { sequence } => panic!("resync from {sequence}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_commits_late_is_not_missed_by_whoever_has_read_a_later_one() {
    let rig = Rig::postgres().await;
    let start = rig.ledger.newest_sequence().await.unwrap();
    // Another replica's transaction takes its number first and commits last.
    let mut slow = PgConnection::connect(&rig.url).await.unwrap();
    slow.execute("BEGIN").await.unwrap();
    slow.execute("INSERT INTO outbox VALUES (pg_current_xact_id()::TEXT::INT8 << 14, 'main', 'slow', 'x', 1, FALSE)")
        .await
        .unwrap();
    rig.ledger.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap();
    assert_eq!(topics_after(&rig, start).await, Vec::<String>::new(), "the later one must wait");
    assert_eq!(rig.ledger.newest_sequence().await.unwrap(), start);
    slow.execute("COMMIT").await.unwrap();
    let seen = loop {
        let seen = topics_after(&rig, start).await;
        if seen.len() >= 2 {
            break seen;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(seen, ["slow", "settings"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_dropped_anywhere_leave_no_transaction_open() {
    let rig = Rig::postgres().await;
    rig.declare("pay", Class::Reversible).await;
    for number in 0..120 {
        let ledger = rig.ledger.clone();
        let call = tokio::spawn(async move {
            ledger.propose_operation(&automation(), proposal(&format!("k{number}"), "pay", "{}")).await
        });
        for _ in 0..number {
            tokio::task::yield_now().await;
        }
        call.abort();
        let _ = call.await;
    }
    // What comes after on the same connections is committed, and seen from outside.
    for number in 0..30 {
        rig.ledger.propose_operation(&automation(), proposal(&format!("after{number}"), "pay", "{}")).await.unwrap();
    }
    assert_eq!(rig.count("operation WHERE operation_key LIKE 'after%'").await, 30);
    let open = "pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'
                AND state_change < clock_timestamp() - INTERVAL '2 seconds'";
    assert_eq!(rig.count(open).await, 0);
    rig.assert_verified().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_cut_while_idle_is_not_noticed() {
    let rig = Rig::postgres().await;
    rig.ledger.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    rig.sql(cut).await;
    rig.ledger.set_zone(&admin(), "Asia/Tokyo", 1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_vanished_is_told_in_words() {
    let rig = Rig::postgres().await;
    let name = rig.texts("SELECT current_database()::TEXT").await.pop().unwrap();
    administer(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
    let error = rig.ledger.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap_err();
    assert!(matches!(error, LedgerError::StoreUnavailable { .. }), "{error:?}");
    let words = error.to_string();
    assert!(words.contains("not reachable") || words.contains("does not exist"), "{words}");
    assert!(rig.ledger.check_ready().await.is_err());
}

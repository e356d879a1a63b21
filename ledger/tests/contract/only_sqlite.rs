//! What only the embedded store can show: folded commits, one file for two processes, a file that goes wrong.

use std::error::Error as _;

use sqlx::{Connection as _, Executor as _};
use tallystick_domain::tool::Class;
use tallystick_ledger::{Ledger, LedgerError, OpenOptions};

use crate::rig::{Rig, admin, automation, case, proposal};

/// Holds the file's write lock, so that calls queue behind it.
async fn lock(rig: &Rig) -> sqlx::SqliteConnection {
    let mut connection = sqlx::SqliteConnection::connect(&rig.url).await.unwrap();
    connection.execute("BEGIN IMMEDIATE").await.unwrap();
    connection
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_member_of_a_folded_commit_does_not_roll_back_its_neighbours() {
    let rig = Rig::sqlite().await;
    rig.declare("pay", Class::Reversible).await;
    rig.ledger.propose_operation(&automation(), proposal("taken", "pay", r#"{"a":1}"#)).await.unwrap();
    let mut lock = lock(&rig).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..30 {
        let ledger = rig.ledger.clone();
        let new = match number % 3 {
            0 => proposal(&format!("k{number}"), "pay", "{}"),
            1 => proposal(&format!("k{number}"), "no such tool", "{}"),
            // A refusal that is kept: its fact is committed.
            _ => proposal("taken", "pay", &format!(r#"{{"a":{}}}"#, number + 100)),
        };
        tasks.spawn(async move { (number % 3, ledger.propose_operation(&automation(), new).await) });
    }
    // All of them wait in the queue; the first commit afterwards folds many.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    lock.execute("ROLLBACK").await.unwrap();
    for (kind, answer) in tasks.join_all().await {
        assert_eq!(kind == 0, answer.is_ok(), "{kind}: {answer:?}");
    }
    assert_eq!(rig.count("operation").await, 11);
    assert_eq!(rig.count("journal").await, 1 + 10 + 10);
    rig.assert_verified().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_file_see_each_others_commits_and_lose_none() {
    let rig = Rig::sqlite().await;
    rig.declare("pay", Class::Reversible).await;
    let another = rig.another().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let ledger = if number % 2 == 0 { rig.ledger.clone() } else { another.clone() };
        tasks.spawn(async move {
            // Both propose each key.
            let key = format!("k{}", number / 2);
            ledger.propose_operation(&automation(), proposal(&key, "pay", "{}")).await
        });
    }
    for answer in tasks.join_all().await {
        answer.unwrap();
    }
    assert_eq!((rig.count("operation").await, rig.count("journal").await), (20, 20));
    rig.assert_verified().await;
}

fn words(error: &LedgerError) -> String {
    assert!(matches!(error, LedgerError::StoreUnavailable { .. }), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn a_full_disk_is_told_in_words_and_nothing_is_half_done() {
    let rig = Rig::sqlite().await;
    rig.import(&case("R01")).await;
    let before = (rig.count("journal").await, rig.count("source_line").await);
    rig.ledger.limit_pages(1).await.unwrap();
    let large = format!(
        r#"{{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"x","args":{{"a":"{}"}}}}"#,
        "y".repeat(3 << 20)
    );
    let error =
        rig.ledger.import_lines(&automation(), &crate::rig::source("cases"), 1, &[large.as_bytes()]).await.unwrap_err();
    assert!(words(&error).contains("disk full"), "{error}");
    assert!(words(&error).contains("nothing was done"), "{error}");
    assert_eq!((rig.count("journal").await, rig.count("source_line").await), before);
    // Room again: the next call works.
    rig.ledger.limit_pages(1_000_000).await.unwrap();
    rig.import(&large).await;
    rig.assert_verified().await;
}

#[tokio::test]
async fn a_read_only_file_is_told_in_words_and_can_be_read() {
    let rig = Rig::sqlite().await;
    rig.import(&case("R01")).await;
    rig.ledger.close().await;
    let ledger = Ledger::open(&OpenOptions { url: format!("{}?mode=ro", rig.url), migrate: false }).await.unwrap();
    let error = ledger.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap_err();
    assert!(words(&error).contains("read-only"), "{error}");
    let query = tallystick_domain::query::OperationQuery::default();
    assert_eq!(ledger.operations(&admin(), &query).await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn a_file_that_is_removed_is_told_in_words() {
    let rig = Rig::sqlite().await;
    std::fs::remove_file(rig.path()).unwrap();
    let error = rig.ledger.set_zone(&admin(), "Europe/Lisbon", 0).await.unwrap_err();
    assert!(words(&error).contains("moved or removed"), "{error}");
    assert!(words(&rig.ledger.check_ready().await.unwrap_err()).contains("moved or removed"));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "milk, bread\n".repeat(400)).unwrap();
    let url = format!("sqlite:{}", path.display());
    let error = Ledger::open(&OpenOptions { url, migrate: true }).await.err().unwrap();
    assert!(words(&error).contains("not a database"), "{error}");
    assert!(error.source().is_some());
}

#[tokio::test]
async fn a_record_in_memory_works_like_one_in_a_file() {
    let ledger = crate::rig::open("sqlite::memory:").await;
    let lines = case("R01");
    let lines: Vec<&[u8]> = lines.lines().map(str::as_bytes).collect();
    ledger.import_lines(&automation(), &crate::rig::source("x"), 1, &lines).await.unwrap();
    let query = tallystick_domain::query::OperationQuery::default();
    assert_eq!(ledger.operations(&admin(), &query).await.unwrap().rows.len(), 1);
    assert!(ledger.verify().await.unwrap().discrepancies.is_empty());
    ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_waits_for_what_is_queued() {
    let rig = Rig::sqlite().await;
    rig.declare("pay", Class::Reversible).await;
    let mut lock = lock(&rig).await;
    let robot = automation();
    let mut call = Box::pin(rig.ledger.propose_operation(&robot, proposal("k", "pay", "{}")));
    // Polled once, it is in the queue.
    tokio::select! { biased; _ = &mut call => panic!("the file is locked"), () = std::future::ready(()) => {} }
    let ledger = rig.ledger.clone();
    let closing = tokio::spawn(async move { ledger.close().await });
    lock.execute("ROLLBACK").await.unwrap();
    closing.await.unwrap();
    call.await.unwrap();
    assert_eq!(rig.count("operation").await, 1);
    let error = rig.ledger.set_zone(&admin(), "UTC", 0).await.unwrap_err();
    assert!(words(&error).contains("closed"), "{error}");
}

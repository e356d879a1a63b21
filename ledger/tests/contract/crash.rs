//! Crashes: a process that is killed in the middle of its work leaves a record that verifies, with whole commits only.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use tallystick_domain::query::OperationQuery;

use crate::rig::{Rig, admin, automation, open, source};

on_both! {
    a_process_that_is_killed_while_importing_loses_nothing_and_doubles_nothing,
    dropping_a_call_half_way_leaves_whole_commits_only,
}

const LINES: usize = 1_200;
const BATCH: usize = 20;

fn lines() -> Vec<String> {
    (0..LINES)
        .map(|number| {
            let operation = number / 2;
            let stamp = format!("2026-10-05T{:02}:{:02}:{:02}Z", number / 3600, number / 60 % 60, number % 60);
            let event = if number % 2 == 0 {
                r#""ev":"attempt.started","n":1"#
            } else {
                r#""ev":"attempt.ended","n":1,"outcome":"timeout""#
            };
            format!(r#"{{"ts":"{stamp}",{event},"op":"op{operation}","key":"k{operation}"}}"#)
        })
        .collect()
}

async fn import_all(ledger: &tallystick_ledger::Ledger, after_each: impl Fn(usize)) -> u64 {
    let lines = lines();
    let mut recorded = 0;
    for (number, batch) in lines.chunks(BATCH).enumerate() {
        let bytes: Vec<&[u8]> = batch.iter().map(String::as_bytes).collect();
        let report = ledger.import_lines(&automation(), &source("crash"), 1, &bytes).await.unwrap();
        recorded += report.recorded;
        after_each(number);
    }
    recorded
}

/// Not a test by itself: the process that is killed. It says how far it has come.
#[test]
#[ignore = "run by the test that kills it"]
fn importing_process() {
    let Ok(url) = std::env::var("TALLYSTICK_CRASH_URL") else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let ledger = open(&url).await;
        import_all(&ledger, |number| {
            // Past the test harness, which keeps what is printed.
            let mut told =
                std::fs::OpenOptions::new().append(true).open(std::env::var("TALLYSTICK_CRASH_TOLD").unwrap()).unwrap();
            writeln!(told, "{number}").unwrap();
        })
        .await;
    });
}

fn start(url: &str, told: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "crash::importing_process"])
        .env("TALLYSTICK_CRASH_URL", url)
        .env("TALLYSTICK_CRASH_TOLD", told)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn a_process_that_is_killed_while_importing_loses_nothing_and_doubles_nothing(rig: Rig) {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    for kill_after in [1, 9, 23] {
        std::fs::write(&told, "").unwrap();
        let mut child = start(&rig.url, &told);
        // Waits for the work itself, however fast the machine is.
        let committed = loop {
            let committed = std::fs::read_to_string(&told).unwrap().lines().count();
            if committed >= kill_after || child.try_wait().unwrap().is_some() {
                break committed;
            }
            tokio::task::yield_now().await;
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(committed < LINES / BATCH, "the process had finished before it was killed");
        let kept = rig.count("source_line").await;
        assert!(kept >= i64::try_from(kill_after * BATCH).unwrap(), "an acknowledged batch was lost");
        assert_eq!(kept % i64::try_from(BATCH).unwrap(), 0, "half a batch was kept");
        rig.assert_verified().await;
    }
    import_all(&rig.ledger, |_| {}).await;
    assert_eq!(rig.count("source_line").await, i64::try_from(LINES).unwrap());
    assert_eq!(rig.count("operation").await, i64::try_from(LINES / 2).unwrap());
    assert_eq!(
        rig.count("operation WHERE attempts = 1 AND state = 'uncertain'").await,
        i64::try_from(LINES / 2).unwrap()
    );
    assert_eq!(import_all(&rig.ledger, |_| {}).await, 0);
    rig.assert_verified().await;
}

async fn dropping_a_call_half_way_leaves_whole_commits_only(rig: Rig) {
    let lines = lines();
    for (number, batch) in lines.chunks(BATCH).take(30).enumerate() {
        let (ledger, batch) = (rig.ledger.clone(), batch.to_vec());
        let call = tokio::spawn(async move {
            let bytes: Vec<&[u8]> = batch.iter().map(String::as_bytes).collect();
            ledger.import_lines(&automation(), &source("crash"), 1, &bytes).await
        });
        for _ in 0..number * 7 {
            tokio::task::yield_now().await;
        }
        call.abort();
        let _ = call.await;
    }
    // Whatever was under way is done or undone when the next call is answered.
    import_all(&rig.ledger, |_| {}).await;
    assert_eq!(rig.count("operation").await, i64::try_from(LINES / 2).unwrap());
    assert_eq!(rig.count("source_line").await, i64::try_from(LINES).unwrap());
    let page = rig.ledger.operations(&admin(), &OperationQuery::default()).await.unwrap();
    assert_eq!(page.rows.len(), 50);
    rig.assert_verified().await;
}

//! What runs beside requests: the sweeper, what goes on with workflows and bulk actions, what counts, and the signals that
//! end the process. Every task has an owner that awaits it.

use std::io;
use std::time::Duration;

use tallystick_ledger::outcomes::Round;
use tallystick_ledger::{Ledger, LedgerError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::auth::token::random_hex;

const SWEEP_EVERY: Duration = Duration::from_secs(1);
const SWEEP_LIMIT: u32 = 500;
const WORKFLOWS_LIMIT: u32 = 100;
/// How many changes one round counts: its transaction must be short, others want to write too.
const COUNT_LIMIT: u32 = 200;
/// What stands between a change and its being counted.
const COUNT_AFTER: Duration = Duration::from_millis(400);
/// How long nobody looks whether a bulk action runs, at the most.
const BULK_EVERY: Duration = Duration::from_secs(1);
/// What stands between a change of the record and that look: several changes are one look.
const SETTLE: Duration = Duration::from_millis(50);

/// Makes decisions again whose time has come, each second, until `ending` turns true.
pub fn start_sweeper(ledger: Ledger, mut ending: watch::Receiver<bool>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut ticks = interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut was_failing = false;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = wait_for_end(&mut ending) => return,
            }
            was_failing = hear("Sweeping", ledger.sweep(SWEEP_LIMIT).await, was_failing).is_none();
        }
    })
}

/// Goes on with workflows whose steps changed: as soon as something was told, and each second, until `ending` turns true.
pub fn start_workflows(ledger: Ledger, mut ending: watch::Receiver<bool>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let (mut wake, mut was_failing) = (ledger.wake(), false);
        loop {
            tokio::select! {
                () = tokio::time::sleep(SWEEP_EVERY) => {}
                _ = wake.changed() => tokio::time::sleep(SETTLE).await,
                () = wait_for_end(&mut ending) => return,
            }
            let advanced = ledger.advance_workflows(WORKFLOWS_LIMIT).await;
            was_failing = hear("Going on with workflows", advanced, was_failing).is_none();
        }
    })
}

/// Counts what changed into the sums of the outcomes page: soon after it was told, and each second, until `ending` turns
/// true. Nobody waits for it: a change is counted after its commit.
pub fn start_counting(ledger: Ledger, mut ending: watch::Receiver<bool>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let (mut wake, mut was_failing) = (ledger.wake(), false);
        while !*ending.borrow() {
            let round = hear("Counting outcomes", ledger.count_outcomes(COUNT_LIMIT).await, was_failing);
            was_failing = round.is_none();
            if round != Some(Round::Moved) {
                tokio::select! {
                    () = wait_for_end(&mut ending) => {}
                    () = tokio::time::sleep(SWEEP_EVERY) => {}
                    // What changes several times within this span is counted once.
                    _ = wake.changed(), if !was_failing => tokio::time::sleep(COUNT_AFTER).await,
                }
            }
        }
    })
}

/// Carries out bulk actions that were started, by whatever process, until `ending` turns true. Then no further item begins
/// here, and other processes may go on at once.
pub fn start_bulk_runner(ledger: Ledger, mut ending: watch::Receiver<bool>) -> io::Result<JoinHandle<()>> {
    let drawn = random_hex::<8>().map_err(|error| io::Error::other(error.to_string()))?;
    let runner = format!("bulk-{drawn}");
    Ok(tokio::spawn(async move {
        let (mut wake, mut was_failing) = (ledger.wake(), false);
        while !*ending.borrow() {
            let answered = hear("Carrying out bulk actions", ledger.carry_on_bulks(&runner).await, was_failing);
            was_failing = answered.is_none();
            if answered.unwrap_or(0) == 0 {
                tokio::select! {
                    () = wait_for_end(&mut ending) => {}
                    // A failure is not tried again before its time, whatever else changes.
                    () = tokio::time::sleep(BULK_EVERY) => {}
                    _ = wake.changed(), if !was_failing => tokio::time::sleep(SETTLE).await,
                }
            }
        }
        hear("Giving bulk actions back", ledger.give_bulks_back(&runner).await, false);
    }))
}

/// Waits until the process is ending, or nobody is left to say so.
pub async fn wait_for_end(ending: &mut watch::Receiver<bool>) {
    drop(ending.wait_for(|ends| *ends).await);
}

/// What came of one round; a failure that lasts is logged once.
fn hear<T>(what: &str, outcome: Result<T, LedgerError>, was_failing: bool) -> Option<T> {
    match outcome {
        Ok(value) => {
            if was_failing {
                tracing::info!("{what} works again");
            }
            Some(value)
        }
        Err(error) => {
            if !was_failing {
                tracing::error!(%error, "{what} failed and is tried again: {error}");
            }
            None
        }
    }
}

/// Ctrl-c or SIGTERM, listened for from this call on: one that comes while the process is still starting counts too.
pub fn signal_to_end() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

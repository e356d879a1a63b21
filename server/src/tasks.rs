//! What runs beside requests: the sweeper, what goes on with workflows, and the signals that end the process. Every task has an owner that awaits it.

use std::io;
use std::time::Duration;

use tallystick_ledger::Ledger;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

const SWEEP_EVERY: Duration = Duration::from_secs(1);
const SWEEP_LIMIT: u32 = 500;
const WORKFLOWS_LIMIT: u32 = 100;

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
            was_failing = sweep(&ledger, was_failing).await;
        }
    })
}

/// Goes on with workflows whose steps changed: as soon as something was told, and each second, until `ending` turns true.
pub fn start_workflows(ledger: Ledger, mut ending: watch::Receiver<bool>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut wake = ledger.wake();
        let mut was_failing = false;
        loop {
            tokio::select! {
                _ = tokio::time::timeout(SWEEP_EVERY, wake.changed()) => {}
                () = wait_for_end(&mut ending) => return,
            }
            match ledger.advance_workflows(WORKFLOWS_LIMIT).await {
                Ok(_) => {
                    if std::mem::take(&mut was_failing) {
                        tracing::info!("Going on with workflows works again");
                    }
                }
                Err(error) => {
                    if !std::mem::replace(&mut was_failing, true) {
                        tracing::error!(%error, "Going on with workflows failed; it is tried again: {error}");
                    }
                }
            }
        }
    })
}

/// Waits until the process is ending, or nobody is left to say so.
pub async fn wait_for_end(ending: &mut watch::Receiver<bool>) {
    drop(ending.wait_for(|ends| *ends).await);
}

/// One round; a failure that lasts is logged once.
async fn sweep(ledger: &Ledger, was_failing: bool) -> bool {
    match ledger.sweep(SWEEP_LIMIT).await {
        Ok(_) if was_failing => {
            tracing::info!("Sweeping works again");
            false
        }
        Ok(_) => false,
        Err(error) if !was_failing => {
            tracing::error!(%error, "Sweeping failed; it is tried again each second: {error}");
            true
        }
        Err(_) => true,
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

//! Our own executor: claims what is due, commits the dispatch, sends, and says what came of it; looks up what is uncertain;
//! and proves that processes of this machine have ended. It decides nothing: the record is asked before every step.

mod incarnation;
mod looking;
mod sending;

pub use incarnation::Incarnation;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tallystick_domain::name::ToolName;
use tallystick_domain::permission::Actor;
use tallystick_domain::tool::Tool;
use tallystick_domain::transition::Worker;
use tallystick_ledger::people::executor_actor;
use tallystick_ledger::{Ledger, LedgerError};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::auth::token::random_hex;
use crate::config::Config;
use crate::destination::{Destinations, Target};
use crate::tasks::wait_for_end;

/// How often is looked for work though nobody said that there is some.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often locks of other processes are looked at.
const PROVE_EVERY: Duration = Duration::from_secs(1);
/// What stands between a change of the record and the look for work that it causes: several changes are one look.
const SETTLE: Duration = Duration::from_millis(5);

/// What every task of the executor needs. A cheap handle.
#[derive(Clone)]
struct Shared {
    ledger: Ledger,
    destinations: Destinations,
    actor: Actor,
    worker: Worker,
}

/// The executor of this process.
pub struct Executor {
    shared: Shared,
    incarnation: Arc<Incarnation>,
    sends: usize,
    look_ups: usize,
}

impl Executor {
    /// The executor that the configuration asks for; none where it is switched off or has nowhere to send to.
    pub fn from_config(config: &Config, ledger: &Ledger, destinations: &Destinations) -> io::Result<Option<Self>> {
        if !config.executor.enabled || destinations.is_empty() {
            return Ok(None);
        }
        let drawn = random_hex::<8>().map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("executor-{drawn}");
        let incarnation = Incarnation::begin(name.clone(), lock_folder(config))?;
        let worker = Worker { name: "executor".to_owned(), incarnation: name };
        let shared =
            Shared { ledger: ledger.clone(), destinations: destinations.clone(), actor: executor_actor(), worker };
        Ok(Some(Self {
            shared,
            incarnation: Arc::new(incarnation),
            sends: config.executor.sends.clamp(1, 256) as usize,
            look_ups: config.executor.look_ups.clamp(1, 64) as usize,
        }))
    }

    /// Works until `ending` turns true. Then nothing more is dispatched, and the task ends when what was under way has an
    /// answer or its deadline has passed.
    pub fn start(self, ending: watch::Receiver<bool>) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut tasks = JoinSet::new();
            tasks.spawn(send_all(self.shared.clone(), self.sends, ending.clone()));
            tasks.spawn(look_up_all(self.shared.clone(), self.look_ups, ending.clone()));
            tasks.spawn(prove_ends(self.shared, Arc::clone(&self.incarnation), ending));
            while tasks.join_next().await.is_some() {}
            drop(self.incarnation);
        })
    }
}

/// Where the locks are: as configured, or beside the record's file.
fn lock_folder(config: &Config) -> Option<PathBuf> {
    config.executor.lock_folder.clone().or_else(|| {
        let path = config.database.strip_prefix("sqlite:")?;
        let path = path.strip_prefix("//").unwrap_or(path).split('?').next().unwrap_or_default();
        (!path.is_empty() && !path.contains(":memory:")).then(|| PathBuf::from(format!("{path}.locks")))
    })
}

/// Says a failure once, and that it is over once.
#[derive(Default)]
struct Complaint {
    is_failing: bool,
}

impl Complaint {
    fn hear<T>(&mut self, what: &str, outcome: Result<T, LedgerError>) -> Option<T> {
        match outcome {
            Ok(value) => {
                if std::mem::take(&mut self.is_failing) {
                    tracing::info!("{what} works again");
                }
                Some(value)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::error!(%error, "{what} failed and is tried again: {error}");
                }
                None
            }
        }
    }
}

impl Shared {
    /// Tools for which something can be done here, with where.
    async fn tools(&self, can: impl Fn(&Tool) -> bool) -> Result<Vec<ToolName>, LedgerError> {
        let tools = self.ledger.tools(&self.actor).await?;
        let reachable = |tool: &&Tool| self.target_of(tool).is_some();
        Ok(tools.iter().filter(|tool| can(tool)).filter(reachable).map(|tool| tool.name.clone()).collect())
    }

    fn target_of(&self, tool: &Tool) -> Option<&Arc<Target>> {
        self.destinations.get(tool.destination.as_ref()?)
    }
}

async fn send_all(shared: Shared, sends: usize, mut ending: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(sends));
    let (mut wake, mut complaint) = (shared.ledger.wake(), Complaint::default());
    loop {
        let free = tokio::select! {
            biased;
            () = wait_for_end(&mut ending) => break,
            free = Arc::clone(&slots).acquire_many_owned(1) => free,
        };
        // The semaphore is never closed.
        let Ok(mut free) = free else { break };
        if let Ok(more) =
            Arc::clone(&slots).try_acquire_many_owned(u32::try_from(slots.available_permits()).unwrap_or(0))
        {
            free.merge(more);
        }
        let room = u32::try_from(free.num_permits()).unwrap_or(1);
        let taken = complaint.hear("Taking work", sending::take(&shared, room).await).unwrap_or_default();
        let is_full = taken.len() >= room as usize;
        for claimed in taken {
            let Some(slot) = free.split(1) else { break };
            let shared = shared.clone();
            tokio::spawn(async move {
                Box::pin(sending::carry_out(&shared, claimed)).await;
                drop(slot);
            });
        }
        drop(free);
        if !is_full {
            rest(&mut wake, &mut ending).await;
        }
    }
    // What is under way has its own deadlines; whoever waits for this has one too.
    drop(slots.acquire_many(u32::try_from(sends).unwrap_or(u32::MAX)).await);
}

async fn look_up_all(shared: Shared, look_ups: usize, mut ending: watch::Receiver<bool>) {
    let (mut wake, mut complaint) = (shared.ledger.wake(), Complaint::default());
    loop {
        if *ending.borrow() {
            return;
        }
        let taken = looking::take(&shared, u32::try_from(look_ups).unwrap_or(1)).await;
        let taken = complaint.hear("Taking look-ups", taken).unwrap_or_default();
        let is_full = taken.len() >= look_ups;
        let mut tasks = JoinSet::new();
        for one in taken {
            let shared = shared.clone();
            tasks.spawn(async move { looking::carry_out(&shared, one).await });
        }
        while tasks.join_next().await.is_some() {}
        if !is_full {
            rest(&mut wake, &mut ending).await;
        }
    }
}

/// Waits until something changed, or it is time to look anyhow.
async fn rest(wake: &mut watch::Receiver<u64>, ending: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = wait_for_end(ending) => {}
        _ = tokio::time::timeout(LOOK_EVERY, wake.changed()) => tokio::time::sleep(SETTLE).await,
    }
}

async fn prove_ends(shared: Shared, incarnation: Arc<Incarnation>, mut ending: watch::Receiver<bool>) {
    let mut complaint = Complaint::default();
    loop {
        tokio::select! {
            () = wait_for_end(&mut ending) => return,
            () = tokio::time::sleep(PROVE_EVERY) => {}
        }
        let senders = complaint.hear("Looking for senders that ended", shared.ledger.senders().await);
        for name in incarnation.ended_among(&senders.unwrap_or_default()) {
            let proof = "its lock on this machine was free";
            let told = shared.ledger.sender_gone(&shared.actor, &name, proof).await;
            if let Some(count) = complaint.hear("Noting a sender that ended", told) {
                tracing::warn!(sender = name, "A process ended in the middle of {count} sends");
                incarnation.forget(&name);
            }
        }
    }
}

//! The change feed: what live views hear.
//!
//! A change is a row of the outbox, committed with what it tells of. Views are woken by a commit in this process, by
//! a notification from another (PostgreSQL), or by the poll. Numbers rise in the order in which changes become
//! visible: with SQLite because there is one writer, with PostgreSQL because a number is made of the transaction's id
//! and only those below the oldest running transaction are read.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use crate::store::Store;
use crate::store::postgres::Postgres;
use crate::{Inner, Ledger, LedgerError};

/// How often the feed is looked at even though nobody said that it changed.
const POLL: Duration = Duration::from_secs(1);
/// Other processes are told of changes no more often than this: each message wakes every one of them.
const TELL_AGAIN: Duration = Duration::from_millis(10);
/// How long to wait before listening again after the connection broke.
const LISTEN_AGAIN: Duration = Duration::from_secs(2);

/// One change, without content: who sees it refetches through the function that first filled the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Rises with every change; not gapless.
    pub sequence: i64,
    /// What kind of thing: `operation`, `action`, `tool`, `source`, `settings`, `outcomes`.
    pub topic: String,
    /// Which one.
    pub id: String,
    /// Its version after the change.
    pub version: u64,
    /// Whether it waits for a person after the change (topic `operation`).
    pub needs_attention: bool,
}

/// What came after a sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatchUp {
    /// These, in order; possibly none.
    Changes(Vec<Change>),
    /// The number is too old (or from another record): read everything again from `sequence`.
    Resync {
        /// The newest number now.
        sequence: i64,
    },
}

impl Ledger {
    /// The newest sequence number that is safe to show.
    pub async fn newest_sequence(&self) -> Result<i64, LedgerError> {
        self.store().read(|tx| Box::pin(tx.newest_sequence())).await
    }

    /// What came after `sequence`, at most `limit`. On PostgreSQL it reads only below the oldest running
    /// transaction, because there sequence order is not commit order.
    pub async fn changes_after(&self, sequence: i64, limit: u32) -> Result<CatchUp, LedgerError> {
        self.store().read(move |tx| Box::pin(tx.changes_after(sequence, limit))).await
    }

    /// Wakes when something may have changed: a commit here, a notification from another process, or the
    /// back-up poll.
    pub fn wake(&self) -> watch::Receiver<u64> {
        self.inner.wake.sender.subscribe()
    }

    /// Says that a unit of work was committed here.
    pub(crate) fn note_change(&self) {
        self.inner.wake.ring();
        self.inner.wake.to_others.notify_one();
    }
}

/// The bell.
pub(crate) struct Wake {
    sender: watch::Sender<u64>,
    /// Other processes are to be told; several commits make one message.
    to_others: Arc<Notify>,
}

impl Default for Wake {
    fn default() -> Self {
        Self { sender: watch::Sender::new(0), to_others: Arc::default() }
    }
}

impl Wake {
    fn ring(&self) {
        self.sender.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// Starts what watches the feed. The tasks hold the record weakly, and end with it.
pub(crate) fn watch(inner: &Arc<Inner>) -> Vec<JoinHandle<()>> {
    let mut tasks = vec![tokio::spawn(poll(Arc::downgrade(inner)))];
    if matches!(inner.store, Store::Postgres(_)) {
        tasks.push(tokio::spawn(listen(Arc::downgrade(inner))));
        tasks.push(tokio::spawn(tell_others(Arc::downgrade(inner), Arc::clone(&inner.wake.to_others))));
    }
    tasks
}

/// The back-up: rings when the newest number moved. The jitter keeps processes from asking at the same moment.
async fn poll(inner: Weak<Inner>) {
    let mut last = None;
    let jitter = Duration::from_millis(u64::from(std::process::id() % 200));
    loop {
        tokio::time::sleep(POLL + jitter).await;
        let Some(inner) = inner.upgrade() else { return };
        // Nobody listens: nothing to ask for.
        if inner.wake.sender.receiver_count() == 0 {
            continue;
        }
        match inner.store.read(|tx| Box::pin(tx.newest_sequence())).await {
            Ok(newest) if last.replace(newest) != Some(newest) => inner.wake.ring(),
            Ok(_) => {}
            Err(error) => tracing::debug!("Polling the change feed: {error}"),
        }
    }
}

async fn listen(inner: Weak<Inner>) {
    loop {
        let listener = match inner.upgrade() {
            Some(inner) => match postgres(&inner) {
                Some(postgres) => postgres.listener().await,
                None => return,
            },
            None => return,
        };
        match listener {
            Ok(mut listener) => loop {
                let heard = listener.try_recv().await;
                let Some(inner) = inner.upgrade() else { return };
                // `None`: the connection was lost meanwhile, so something may have been missed.
                inner.wake.ring();
                if let Err(error) = heard {
                    tracing::warn!("Listening for changes of other processes: {error}");
                    break;
                }
            },
            Err(error) => tracing::warn!("Listening for changes of other processes: {error}"),
        }
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

async fn tell_others(inner: Weak<Inner>, asked: Arc<Notify>) {
    loop {
        asked.notified().await;
        let Some(inner) = inner.upgrade() else { return };
        if let Some(postgres) = postgres(&inner) {
            postgres.notify().await;
        }
        drop(inner);
        // The first of several is told at once, the others together.
        tokio::time::sleep(TELL_AGAIN).await;
    }
}

fn postgres(inner: &Inner) -> Option<&Postgres> {
    match &inner.store {
        Store::Postgres(postgres) => Some(postgres),
        Store::Sqlite(_) => None,
    }
}

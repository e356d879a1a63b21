//! The record of Tallystick: use cases over two stores, and the only crate that knows SQL.
//!
//! Every change walks the same way: a use case loads, `tallystick_domain::transition::decide` decides,
//! the store commits in one transaction, the change feed tells the live views. Nothing else writes.

pub mod actions;
pub mod approvals;
pub mod audit;
pub mod bulk;
pub mod changes;
#[cfg(feature = "test-clock")]
pub mod clock;
pub mod deliveries;
mod desk;
pub mod destinations;
pub mod error;
pub mod executing;
pub mod exporting;
pub mod failpoint;
pub mod intake;
pub mod layers;
pub mod looking;
#[cfg(feature = "measure")]
pub mod measure;
pub mod operations;
pub mod outcomes;
pub mod people;
pub mod port;
mod proposals;
pub mod restoring;
pub mod sessions;
pub mod settings;
mod store;
pub mod sweep;
pub mod tools;
pub mod verify;
pub mod views;
pub mod workflows;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};

use tallystick_domain::time::Timestamp;
use tokio::task::JoinHandle;

pub use error::LedgerError;

use crate::changes::Wake;
use crate::port::{Ids, UuidV7Ids};
use crate::store::{Store, migrate};

/// The record. A cheap handle; clone it freely.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    ids: Arc<dyn Ids>,
    wake: Wake,
    /// The newest change up to which the feed is known to be short enough; the least number before anybody looked.
    feed_short_at: AtomicI64,
    /// What runs beside the callers and ends with the record.
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// How to open a record.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://…`.
    pub url: String,
    /// Whether to bring the schema up to date; otherwise an older schema is refused.
    pub migrate: bool,
}

impl Ledger {
    /// Opens the record, refusing a schema that this binary does not know.
    pub async fn open(options: &OpenOptions) -> Result<Self, LedgerError> {
        Self::open_with_ids(options, Arc::new(UuidV7Ids::default())).await
    }

    /// Opens the record with another maker of row ids, so that a test can repeat a run.
    pub async fn open_with_ids(options: &OpenOptions, ids: Arc<dyn Ids>) -> Result<Self, LedgerError> {
        let store = Store::open(&options.url).await?;
        migrate::settle_schema(&store, options.migrate).await?;
        if let Store::Postgres(postgres) = &store {
            postgres.settle_feed().await?;
        }
        let inner = Arc::new(Inner {
            store,
            ids,
            wake: Wake::default(),
            feed_short_at: AtomicI64::new(i64::MIN),
            tasks: Mutex::default(),
        });
        let tasks = changes::watch(&inner);
        *inner.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
        Ok(Self { inner })
    }

    /// Waits for what is under way and closes.
    pub async fn close(&self) {
        self.inner.end_tasks();
        self.inner.store.close().await;
    }

    /// The record's clock: the database's, plus the offset that only test builds can set.
    pub async fn now(&self) -> Result<Timestamp, LedgerError> {
        self.store().read(|tx| Box::pin(tx.now())).await
    }

    /// Whether the store answers and its schema is known (`/readyz`).
    pub async fn check_ready(&self) -> Result<(), LedgerError> {
        if let Store::Sqlite(sqlite) = self.store() {
            sqlite.check_file()?;
        }
        self.store().read(|tx| Box::pin(migrate::check_schema(tx))).await
    }

    fn store(&self) -> &Store {
        &self.inner.store
    }

    fn ids(&self) -> Arc<dyn Ids> {
        Arc::clone(&self.inner.ids)
    }
}

impl Inner {
    fn end_tasks(&self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end_tasks();
    }
}

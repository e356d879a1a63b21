//! The embedded store: one file, one writer, readers beside it.
//!
//! Everything that changes goes through one task that owns the writing connection. It takes what is waiting,
//! opens one `BEGIN IMMEDIATE`, gives each member a savepoint, commits once (one fsync for all, `synchronous=FULL`)
//! and only then answers. A member that fails is undone alone. A second process on the same file waits at
//! `BEGIN IMMEDIATE`; what it committed is seen, because every member loads inside the transaction.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Either, Executor as _, SqlStr, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::catalog::Catalog;
use super::fault::{from_driver, unavailable_by};
use super::value::{Cells, Value};
use super::work::{Job, MemberEnd, Work, WorkJob};
use super::{Conn, Tx};
use crate::LedgerError;

pub(super) type Db = sqlx::Sqlite;
pub(super) type Connection = SqliteConnection;

#[expect(clippy::duplicate_mod, reason = "one text, compiled under each engine")]
#[path = "shared.rs"]
pub(super) mod shared;

/// The clock, in microseconds (SQLite's has milliseconds), with the catalog's token.
#[cfg(not(feature = "test-clock"))]
pub(super) const NOW: &str =
    "SELECT CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000, (SELECT token FROM catalog)";
#[cfg(feature = "test-clock")]
pub(super) const NOW: &str = "SELECT COALESCE(
        (SELECT frozen_at FROM clock_offset WHERE one = 1),
        CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            + COALESCE((SELECT offset_micros FROM clock_offset WHERE one = 1), 0)),
        (SELECT token FROM catalog)";

/// What opens a transaction that writes: it waits for another process here, and not when it first writes.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
static BEGIN_WITH_CLOCK: LazyLock<&'static str> = LazyLock::new(|| format!("{BEGIN}; {NOW}").leak());

/// What stands around a list that a statement reads first.
pub(super) const AMONG: (&str, &str) = ("IN (", ")");
/// The newest number: with one writer, sequence order is commit order.
pub(super) const NEWEST_SEQUENCE: &str = "SELECT COALESCE(MAX(sequence), 0) FROM outbox";
pub(super) const CHANGES_AFTER: &str = "SELECT sequence, topic, subject, version, needs_attention FROM outbox
     WHERE sequence > $1 ORDER BY sequence LIMIT $2";
/// The oldest number that the feed keeps. Index: primary key of outbox. Numbers have no gaps here, so none is counted.
pub(super) const FEED_HORIZON: &str = "SELECT COALESCE(MAX(sequence), 0) - $1 FROM outbox";
/// The feed's length is looked at after so many numbers.
pub(super) const FEED_STEP: i64 = 1000;
pub(super) const SCHEMA_TABLE_EXISTS: &str =
    "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migration'";
pub(super) const SCHEMA_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migration (
        version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum BLOB NOT NULL, applied_at INTEGER NOT NULL) STRICT";

/// How long a statement waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Pages the writer may keep, in negative KiB: its indexes stay in memory while a large file is imported. Taken only
/// as they are used.
pub(crate) const WRITER_CACHE: &str = "-32768";
/// The log is folded into the file after so many pages: a batch of an import is about a thousand.
pub(crate) const CHECKPOINT_PAGES: &str = "8000";
/// The most members of one folded commit.
const FOLD_LIMIT: usize = 128;
/// How many callers may queue before the next one waits for a place.
const QUEUE_LIMIT: usize = 1024;
const READERS: u32 = 4;

/// The writer's queue and the readers.
pub(crate) struct Sqlite {
    writer: Mutex<Option<mpsc::Sender<Box<dyn Job>>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    /// None for a record in memory: there the writer also reads.
    readers: Option<SqlitePool>,
    path: Option<PathBuf>,
    catalog: Catalog,
}

impl Sqlite {
    /// Opens `sqlite:PATH` or `sqlite::memory:`.
    pub(crate) async fn open(url: &str) -> Result<Self, LedgerError> {
        let options: SqliteConnectOptions = url.parse().map_err(from_driver)?;
        let in_memory = url.contains(":memory:") || url.contains("mode=memory");
        let options = options
            .foreign_keys(false)
            .busy_timeout(BUSY_TIMEOUT)
            .statement_cache_capacity(300)
            .disable_statement_logging();
        let path = (!in_memory).then(|| options.get_filename().to_path_buf());
        let writing = options
            .clone()
            .create_if_missing(true)
            .journal_mode(if in_memory { SqliteJournalMode::Memory } else { SqliteJournalMode::Wal })
            .synchronous(SqliteSynchronous::Full)
            .pragma("cache_size", WRITER_CACHE)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES);
        let connection = writing.connect().await.map_err(from_driver)?;
        let readers = (!in_memory).then(|| {
            // Readers leave the journal mode alone: setting it would need the writer's lock.
            SqlitePoolOptions::new()
                .max_connections(READERS)
                .idle_timeout(None)
                .max_lifetime(None)
                .test_before_acquire(false)
                .connect_lazy_with(options.pragma("query_only", "ON"))
        });
        let (sender, receiver) = mpsc::channel(QUEUE_LIMIT);
        let catalog = Catalog::default();
        let tx = Tx::new(Conn::Sqlite(connection), catalog.clone());
        let writer = Writer { tx, file: path.as_deref().map(FileMark::take) };
        let task = tokio::spawn(writer.run(receiver));
        Ok(Self { writer: Mutex::new(Some(sender)), task: Mutex::new(Some(task)), readers, path, catalog })
    }

    /// Hands a unit of work to the writer and waits for its commit. Dropping this future does not stop the work.
    pub(crate) async fn write<T: Send + 'static>(&self, work: Work<T>) -> Result<T, LedgerError> {
        let sender = self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sender = sender.ok_or_else(|| unavailable_by("closed"))?;
        let (reply, answer) = oneshot::channel();
        let job = Box::new(WorkJob::new(work, reply));
        sender.send(job).await.map_err(|_| unavailable_by("its writer has stopped"))?;
        // Closing waits until the queue has no more senders, not until everybody has read their answer.
        drop(sender);
        answer.await.map_err(|_| unavailable_by("its writer has stopped"))?
    }

    /// Runs a unit of reading.
    pub(crate) async fn read<T: Send + 'static>(&self, work: Work<T>) -> Result<T, LedgerError> {
        let Some(readers) = &self.readers else { return self.write(work).await };
        let connection = readers.acquire().await.map_err(from_driver)?;
        work(&mut Tx::new(Conn::SqliteReader(connection), self.catalog.clone())).await
    }

    /// Whether the file is still where it was opened.
    pub(crate) fn check_file(&self) -> Result<(), LedgerError> {
        match &self.path {
            Some(path) if !path.exists() => Err(unavailable_by("the database file was moved or removed")),
            _ => Ok(()),
        }
    }

    /// Lets the writer finish what is queued, then closes.
    pub(crate) async fn close(&self) {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && task.await.is_err()
        {
            tracing::error!("The store's writer had stopped before it was closed");
        }
        if let Some(readers) = &self.readers {
            readers.close().await;
        }
    }
}

/// Opens a transaction and reads the clock.
pub(super) async fn begin_with_clock(conn: &mut SqliteConnection) -> Result<Vec<Cells>, sqlx::Error> {
    shared::fetch(conn, SqlStr::from_static(&BEGIN_WITH_CLOCK), Vec::new()).await
}

/// Runs the statements of one text, one after the other; how many rows each touched.
pub(super) async fn execute_each(
    conn: &mut SqliteConnection,
    sql: SqlStr,
    args: Vec<Value>,
) -> Result<Vec<u64>, sqlx::Error> {
    let mut touched = Vec::new();
    let mut steps = conn.fetch_many(shared::bind(sqlx::query(sql), args));
    while let Some(step) = steps.next().await {
        if let Either::Left(done) = step? {
            touched.push(done.rows_affected());
        }
    }
    Ok(touched)
}

/// Which file a path named when it was opened. SQLite goes on writing into a file that was removed; we do not.
struct FileMark {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl FileMark {
    fn take(path: &Path) -> Self {
        Self { path: path.into(), identity: identity(path) }
    }

    fn check(&self) -> Result<(), LedgerError> {
        if identity(&self.path) == self.identity {
            return Ok(());
        }
        Err(unavailable_by("the database file was moved or removed"))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.exists().then_some((0, 0))
}

struct Writer {
    tx: Tx,
    file: Option<FileMark>,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::Receiver<Box<dyn Job>>) {
        let mut members = Vec::with_capacity(FOLD_LIMIT);
        while receiver.recv_many(&mut members, FOLD_LIMIT).await > 0 {
            let outcome = self.commit_folded(&mut members).await;
            for member in members.drain(..) {
                member.reply(outcome.as_ref().err().map(copy_fault));
            }
        }
        if let Conn::Sqlite(connection) = self.tx.into_conn()
            && let Err(error) = connection.close().await
        {
            tracing::warn!("Closing the database: {error}");
        }
    }

    /// Runs every member inside one transaction. An error means that nothing of all of them is in the record.
    async fn commit_folded(&mut self, members: &mut [Box<dyn Job>]) -> Result<(), LedgerError> {
        if let Some(file) = &self.file {
            file.check()?;
        }
        self.tx.begin();
        let outcome = match members {
            [alone] => self.run_alone(alone).await,
            several => self.run_members(several).await,
        };
        let outcome = match outcome {
            Ok(end) if self.tx.is_open() => self.tx.control(end).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = &outcome {
            // The callers get the words; the driver's error is told once, here.
            tracing::error!(error = error as &dyn std::error::Error, "A commit failed: {error}");
            self.tx.forget_waiting();
            // It may be rolled back already (a full disk does that), then this says so and changes nothing.
            let _ = self.tx.control("ROLLBACK").await;
        }
        outcome
    }

    /// A member without neighbours needs no savepoint (and SQLite no copy of every page it touches).
    async fn run_alone(&mut self, member: &mut Box<dyn Job>) -> Result<&'static str, LedgerError> {
        match member.run(&mut self.tx).await {
            MemberEnd::Keep => Ok("COMMIT"),
            MemberEnd::Undo => Ok("ROLLBACK"),
            MemberEnd::Abort(error) => Err(error),
        }
    }

    async fn run_members(&mut self, members: &mut [Box<dyn Job>]) -> Result<&'static str, LedgerError> {
        for member in members {
            self.tx.control("SAVEPOINT member").await?;
            match member.run(&mut self.tx).await {
                MemberEnd::Keep => {}
                MemberEnd::Undo => {
                    self.tx.control("ROLLBACK TO member").await?;
                    self.tx.forget_seen();
                }
                // The connection may have lost its transaction: nothing of the fold may be kept.
                MemberEnd::Abort(error) => return Err(error),
            }
            self.tx.control("RELEASE member").await?;
        }
        Ok("COMMIT")
    }
}

/// Each member of a failed fold gets the same answer.
fn copy_fault(error: &LedgerError) -> LedgerError {
    match error {
        LedgerError::StoreUnavailable { what, .. } => unavailable_by(what),
        LedgerError::Contended => LedgerError::Contended,
        other => unavailable_by(&other.to_string()),
    }
}

//! The store for many replicas: PostgreSQL.
//!
//! Every transaction runs in a task of its own. `begin()` of sqlx 0.9.0 is not cancel-safe (a dropped future can
//! leave an open transaction on a pooled connection), and a browser that goes away drops the future of its request.
//! As a second fence a connection whose transaction was not seen to end is closed instead of given back, and the server
//! ends transactions that idle.

use std::ops::{Deref, DerefMut};
use std::str::FromStr as _;
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgConnection, SqlStr};

use super::catalog::Catalog;
use super::fault::{from_driver, unavailable, unavailable_by};
use super::value::{Cells, Value};
use super::work::{Work, guard_panic};
use super::{Conn, READ_LIMIT, Tx};
use crate::LedgerError;

pub(super) type Db = sqlx::Postgres;
pub(super) type Connection = PgConnection;

#[expect(clippy::duplicate_mod, reason = "one text, compiled under each engine")]
#[path = "shared.rs"]
pub(crate) mod shared;

/// Wall time, not the transaction's start (semantics 4.7), with the catalog's token.
#[cfg(not(feature = "test-clock"))]
pub(super) const NOW: &str =
    "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::INT8, (SELECT token FROM catalog)";
#[cfg(feature = "test-clock")]
pub(super) const NOW: &str = "SELECT COALESCE(
        (SELECT frozen_at FROM clock_offset WHERE one = 1),
        (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::INT8
            + COALESCE((SELECT offset_micros FROM clock_offset WHERE one = 1), 0)),
        (SELECT token FROM catalog)";

/// What opens a transaction.
pub(super) const BEGIN: &str = "BEGIN";
static BEGIN_WITH_CLOCK: LazyLock<&'static str> = LazyLock::new(|| format!("{BEGIN}; {NOW}").leak());

/// A change's number is its transaction's id times 2^14 plus its place in the transaction. All numbers below the
/// oldest running transaction are final: whatever commits later has a higher number.
pub(super) const NEWEST_SEQUENCE: &str = "SELECT COALESCE(MAX(sequence), 0) FROM outbox
     WHERE sequence < (pg_snapshot_xmin(pg_current_snapshot())::TEXT::INT8 << 14)";
pub(super) const CHANGES_AFTER: &str = "SELECT sequence, topic, subject, version, needs_attention FROM outbox
     WHERE sequence > $1 AND sequence < (pg_snapshot_xmin(pg_current_snapshot())::TEXT::INT8 << 14)
     ORDER BY sequence LIMIT $2";
/// The oldest number that the feed keeps. Index: primary key of outbox. Numbers have gaps here: as many entries of the
/// index are read as changes are kept, which is why it is asked only after so many transactions.
pub(super) const FEED_HORIZON: &str = "SELECT sequence FROM outbox ORDER BY sequence DESC LIMIT 1 OFFSET $1";
/// The feed's length is looked at after so many numbers.
pub(super) const FEED_STEP: i64 = 2_000 << 14;
/// What a place in the transaction is added to.
pub(super) const TRANSACTION_NUMBER: &str = "(pg_current_xact_id()::TEXT::INT8 << 14) +";
/// Numbers from the future belong to another cluster (a dump restored here): the feed starts anew.
const FORGET_FOREIGN_CHANGES: &str =
    "DELETE FROM outbox WHERE sequence >= (pg_snapshot_xmax(pg_current_snapshot())::TEXT::INT8 << 14)";
/// What stands around a list that a statement reads first. As an array: from `IN (SELECT …)` the planner makes a join, and
/// where it has no statistics yet it may join every row with every other.
pub(super) const AMONG: (&str, &str) = ("= ANY (ARRAY(", "))");
pub(super) const LOCK_ROWS: &str = " FOR UPDATE";
pub(super) const SCHEMA_TABLE_EXISTS: &str = "SELECT COUNT(*) FROM information_schema.tables
     WHERE table_schema = ANY (current_schemas(FALSE)) AND table_name = 'schema_migration'";
pub(super) const SCHEMA_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migration (
        version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum BYTEA NOT NULL, applied_at BIGINT NOT NULL)";
pub(super) const LOCK_SCHEMA: &str = "SELECT COUNT(pg_advisory_xact_lock(7236281))";
/// Serialises what meets at the same names (see [`Tx::lock_names`]); the array is sorted.
const LOCK_NAMES: &str = "SELECT COUNT(pg_advisory_xact_lock(7236282, stripe)) FROM UNNEST($1::INT4[]) AS stripe";

const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
#[cfg(not(feature = "test-clock"))]
const PING_AFTER: Duration = Duration::from_secs(1);
/// Tests do not wait.
#[cfg(feature = "test-clock")]
const PING_AFTER: Duration = Duration::ZERO;
const CHANNEL: &str = "tallystick";
const WRITERS: u32 = 12;
const READERS: u32 = 12;
/// How often a unit of work that met another one is decided anew.
const TRIES: u32 = 6;

/// Two pools: one whose connections open transactions, one that only reads.
pub(crate) struct Postgres {
    writers: PgPool,
    readers: PgPool,
    catalog: Catalog,
}

impl Postgres {
    /// Connects to `postgres://…`.
    pub(crate) async fn open(url: &str) -> Result<Self, LedgerError> {
        Self::open_with(url, WRITERS).await
    }

    async fn open_with(url: &str, writing: u32) -> Result<Self, LedgerError> {
        let options = PgConnectOptions::from_str(url)
            .map_err(from_driver)?
            .application_name("tallystick")
            .statement_cache_capacity(300)
            .options([
                ("synchronous_commit", "on"),
                ("lock_timeout", "10s"),
                ("idle_in_transaction_session_timeout", "30s"),
            ])
            .disable_statement_logging();
        let pool = || {
            PgPoolOptions::new()
                .acquire_timeout(ACQUIRE_TIMEOUT)
                .test_before_acquire(false)
                .max_lifetime(None)
                // Only what lay idle is asked whether it still lives: users do not notice that a server restarted, and
                // a busy pool pays nothing.
                .before_acquire(|connection, idle| {
                    Box::pin(async move {
                        if idle.idle_for >= PING_AFTER {
                            connection.ping().await?;
                        }
                        Ok(true)
                    })
                })
        };
        let writers = pool().max_connections(writing).connect_lazy_with(options.clone());
        let limit = format!("{}ms", READ_LIMIT.as_millis());
        let readers =
            pool().max_connections(READERS).connect_lazy_with(options.options([("statement_timeout", limit.as_str())]));
        let store = Self { writers, readers, catalog: Catalog::default() };
        store.readers.acquire().await.map_err(from_driver)?;
        Ok(store)
    }

    /// Forgets changes of another cluster. After the schema is known.
    pub(crate) async fn settle_feed(&self) -> Result<(), LedgerError> {
        self.writers.execute(FORGET_FOREIGN_CHANGES).await.map(|_| ()).map_err(from_driver)
    }

    /// Runs a unit of work in one transaction; where it met another, it is decided anew. Runs in a task of its own.
    pub(crate) async fn write<T: Send + 'static>(&self, work: Work<T>) -> Result<T, LedgerError> {
        let (pool, catalog) = (self.writers.clone(), self.catalog.clone());
        let task = tokio::spawn(async move {
            for _ in 1..TRIES {
                match write_once(&pool, &catalog, &work).await {
                    Err(LedgerError::Contended) => {}
                    settled => return settled,
                }
            }
            write_once(&pool, &catalog, &work).await
        });
        task.await.unwrap_or_else(|_| Err(unavailable_by("the process is ending")))
    }

    /// Runs a unit of reading.
    pub(crate) async fn read<T: Send + 'static>(&self, work: Work<T>) -> Result<T, LedgerError> {
        let connection = self.readers.acquire().await.map_err(from_driver)?;
        work(&mut Tx::new(Conn::PostgresReader(connection), self.catalog.clone())).await
    }

    /// Tells other processes that something changed. Outside the transaction: a NOTIFY inside would make all
    /// commits of the cluster wait for each other. Losing one is harmless, every process also polls.
    pub(crate) async fn notify(&self) {
        if let Err(error) = self.readers.execute("NOTIFY tallystick").await {
            tracing::warn!("Telling other processes of a change: {error}");
        }
    }

    /// Listens for other processes.
    pub(crate) async fn listener(&self) -> Result<PgListener, LedgerError> {
        let mut listener = PgListener::connect_with(&self.readers).await.map_err(from_driver)?;
        listener.listen(CHANNEL).await.map_err(from_driver)?;
        Ok(listener)
    }

    /// Waits for what is under way and closes.
    pub(crate) async fn close(&self) {
        self.writers.close().await;
        self.readers.close().await;
    }
}

async fn write_once<T: Send + 'static>(pool: &PgPool, catalog: &Catalog, work: &Work<T>) -> Result<T, LedgerError> {
    let connection = pool.acquire().await.map_err(from_driver)?;
    let mut tx = Tx::new(Conn::Postgres(Writing { connection, is_open: false }), catalog.clone());
    tx.begin();
    let outcome = match guard_panic(work(&mut tx)).await {
        Ok(answer) => tx.finish().await.map(|()| answer),
        Err(error) => Err(error),
    };
    let Conn::Postgres(mut writing) = tx.into_conn() else { return outcome };
    match outcome {
        Ok(answer) => writing.end("COMMIT").await.map(|()| answer).map_err(from_commit),
        Err(error) => {
            if let Err(rollback) = writing.end("ROLLBACK").await {
                tracing::debug!("Rolling back: {rollback}");
            }
            Err(error)
        }
    }
}

/// One of the pool's connections while it is written on. If its transaction is not seen to end, it is closed.
pub(crate) struct Writing {
    connection: PoolConnection<sqlx::Postgres>,
    is_open: bool,
}

impl Writing {
    /// Opens a transaction.
    pub(super) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        self.is_open = true;
        shared::execute_script(&mut self.connection, BEGIN).await
    }

    /// Opens a transaction and reads the clock.
    pub(super) async fn begin_with_clock(&mut self) -> Result<Vec<Cells>, sqlx::Error> {
        self.is_open = true;
        // Without parameters: two statements cannot be prepared as one.
        let rows = sqlx::raw_sql(*BEGIN_WITH_CLOCK).fetch_all(&mut *self.connection).await?;
        rows.iter().map(shared::read_row).collect()
    }

    /// Ends what was opened, if anything was.
    async fn end(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        if self.is_open {
            #[cfg(feature = "measure")]
            crate::measure::note_control(sql);
            shared::execute_script(&mut self.connection, sql).await?;
            self.is_open = false;
        }
        Ok(())
    }
}

impl Deref for Writing {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Writing {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.is_open {
            self.connection.close_on_drop();
        }
    }
}

/// Runs the parts of one statement that counts what each touched.
pub(super) async fn execute_each(
    conn: &mut PgConnection,
    sql: SqlStr,
    args: Vec<Value>,
) -> Result<Vec<u64>, sqlx::Error> {
    let counts = shared::fetch(conn, sql, args).await?.into_iter().next().map(Cells::rest).unwrap_or_default();
    let count = |value: Value| match value {
        Value::Int(Some(count)) => u64::try_from(count).unwrap_or(0),
        Value::Int(None) | Value::Text(_) | Value::Bool(_) | Value::Bytes(_) => 0,
    };
    Ok(counts.into_iter().map(count).collect())
}

/// A connection that breaks during COMMIT leaves it open whether the commit happened; the words must not deny it.
fn from_commit(error: sqlx::Error) -> LedgerError {
    match from_driver(error) {
        LedgerError::StoreUnavailable { source: Some(source), .. } => match source.downcast::<sqlx::Error>() {
            Ok(inner) => unavailable("the connection broke while committing: look whether it was recorded", *inner),
            Err(source) => LedgerError::StoreUnavailable { what: "the commit failed".into(), source: Some(source) },
        },
        other => other,
    }
}

/// Takes the stripes, in order.
pub(super) async fn lock_stripes(connection: &mut PgConnection, stripes: &[i32]) -> Result<(), LedgerError> {
    let query = sqlx::query(LOCK_NAMES).bind(stripes);
    query.fetch_all(connection).await.map(|_| ()).map_err(from_driver)
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;

    #[tokio::test]
    async fn a_begin_that_was_dropped_half_way_leaves_no_transaction_for_whoever_comes_next() {
        let url = std::env::var("TALLYSTICK_TEST_POSTGRES").expect("`cargo xtask test` starts a server and sets this");
        let store = Postgres::open_with(&url, 1).await.unwrap();
        for polls in 0..60 {
            let connection = store.writers.acquire().await.unwrap();
            let mut writing = Writing { connection, is_open: false };
            let mut begin = Box::pin(writing.begin());
            for _ in 0..polls {
                tokio::select! { biased; _ = &mut begin => break, () = tokio::task::yield_now() => {} }
            }
            drop(begin);
            drop(writing);
            // The only connection there is, or a new one in its place.
            let mut next = store.writers.acquire().await.unwrap();
            let row = next.fetch_one(sqlx::raw_sql("SELECT now() = statement_timestamp()")).await.unwrap();
            assert!(row.get::<bool, _>(0), "after {polls} polls the next one found itself in an open transaction");
        }
    }
}

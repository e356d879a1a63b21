//! The store: the only place that knows SQL. An enum of two engines, and a transaction that hides which one it is on.
//!
//! `sqlite` and `postgres` hold the pools and the few statements that differ; both include the same `shared.rs`.
//! The other files hold every other statement, once.

pub(crate) mod action;
mod batch;
pub(crate) mod bulk;
pub(crate) mod catalog;
pub(crate) mod delivery;
pub(crate) mod entry;
pub(crate) mod fault;
pub(crate) mod feed;
pub(crate) mod layer;
pub(crate) mod line;
pub(crate) mod list;
pub(crate) mod migrate;
pub(crate) mod operation;
pub(crate) mod outcome;
pub(crate) mod people;
#[cfg(feature = "test-clock")]
pub(crate) mod plans;
pub(crate) mod postgres;
pub(crate) mod row;
pub(crate) mod sending;
pub(crate) mod sqlite;
pub(crate) mod table;
pub(crate) mod tool;
pub(crate) mod value;
pub(crate) mod verify;
pub(crate) mod view;
pub(crate) mod work;
pub(crate) mod workflow;

use std::collections::HashMap;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{SqlSafeStr, SqlStr};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

use self::batch::Write;
use self::catalog::{Catalog, Standing};
use self::fault::from_driver;
use self::postgres::Postgres;
use self::sqlite::Sqlite;
use self::value::{Cells, Value};
use self::work::{BoxFuture, Work};
use crate::LedgerError;
use crate::changes::Change;
use crate::destinations::Destination;

/// The only workspace there is; in every key from the first migration on.
pub(crate) const WORKSPACE: &str = "main";

/// How long a statement that only reads may take: every one of ours is bounded and finds its rows by an index, so one that
/// takes longer would keep others from theirs.
pub(crate) const READ_LIMIT: Duration = if cfg!(test) { Duration::from_millis(500) } else { Duration::from_secs(10) };

/// One of two engines.
pub(crate) enum Store {
    /// Embedded.
    Sqlite(Sqlite),
    /// For many replicas.
    Postgres(Postgres),
}

impl Store {
    /// Opens by the scheme of the URL; the schema is not looked at yet.
    pub(crate) async fn open(url: &str) -> Result<Self, LedgerError> {
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            Postgres::open(url).await.map(Self::Postgres)
        } else if url.starts_with("sqlite:") {
            Sqlite::open(url).await.map(Self::Sqlite)
        } else {
            Err(fault::unavailable_by("its URL must begin with sqlite: or postgres:"))
        }
    }

    /// Runs a unit of work in a write transaction, once or, where it met another, again.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T, LedgerError>> + Send + Sync + 'static,
    ) -> Result<T, LedgerError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.write(Box::new(work)).await,
            Self::Postgres(postgres) => postgres.write(Box::new(work)).await,
        }
    }

    /// Runs a unit of reading.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T, LedgerError>> + Send + Sync + 'static,
    ) -> Result<T, LedgerError> {
        let work: Work<T> = Box::new(work);
        match self {
            Self::Sqlite(sqlite) => sqlite.read(work).await,
            Self::Postgres(postgres) => postgres.read(work).await,
        }
    }

    /// Waits for what is under way and closes.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(sqlite) => sqlite.close().await,
            Self::Postgres(postgres) => postgres.close().await,
        }
    }
}

/// Which connection a transaction runs on.
pub(crate) enum Conn {
    /// The writer's own.
    Sqlite(sqlx::SqliteConnection),
    /// One of the readers'.
    SqliteReader(PoolConnection<sqlx::Sqlite>),
    /// One of the writers'.
    Postgres(postgres::Writing),
    /// One of the readers'.
    PostgresReader(PoolConnection<sqlx::Postgres>),
}

/// What a unit of work sees: statements, the clock, and the changes it tells.
pub(crate) struct Tx {
    conn: Conn,
    /// What opens its transaction, until the first statement has done so.
    opening: Option<&'static str>,
    /// Not sent yet; see [`batch`].
    waiting: Vec<Write>,
    feed: Vec<Change>,
    /// How many changes this transaction has told already (their place in its number).
    told: i64,
    seen: Seen,
    catalog: Catalog,
}

/// What a transaction has read already and need not read again: the members of a folded commit share it. Forgotten
/// when the transaction begins or one of them writes or undoes any of it.
#[derive(Default)]
struct Seen {
    now: Option<Timestamp>,
    /// Known with the clock, and not asked any more once this transaction declares something itself.
    standing: Option<Standing>,
    sources: Option<Vec<crate::tools::Source>>,
    tools: HashMap<String, Option<Tool>>,
    /// As they are to be read, not to be spent from.
    destinations: HashMap<String, Option<Destination>>,
}

impl Tx {
    pub(crate) fn new(conn: Conn, catalog: Catalog) -> Self {
        Self { conn, opening: None, waiting: Vec::new(), feed: Vec::new(), told: 0, seen: Seen::default(), catalog }
    }

    fn into_conn(self) -> Conn {
        self.conn
    }

    /// Runs a statement; how many rows it touched.
    pub(crate) async fn execute(&mut self, sql: impl SqlSafeStr, args: Vec<Value>) -> Result<u64, LedgerError> {
        self.send_waiting().await?;
        self.run(sql.into_sql_str(), args).await
    }

    async fn run(&mut self, sql: SqlStr, args: Vec<Value>) -> Result<u64, LedgerError> {
        self.open().await?;
        #[cfg(feature = "measure")]
        crate::measure::note(&sql, &args);
        let outcome = match &mut self.conn {
            Conn::Sqlite(conn) => sqlite::shared::execute(conn, sql, args).await,
            Conn::SqliteReader(conn) => sqlite::shared::execute(conn, sql, args).await,
            Conn::Postgres(conn) => postgres::shared::execute(conn, sql, args).await,
            Conn::PostgresReader(conn) => postgres::shared::execute(conn, sql, args).await,
        };
        outcome.map_err(from_driver)
    }

    /// Runs several statements that are one text; how many rows each touched.
    async fn run_each(&mut self, sql: SqlStr, args: Vec<Value>) -> Result<Vec<u64>, LedgerError> {
        self.open().await?;
        let outcome = match &mut self.conn {
            Conn::Sqlite(conn) => sqlite::execute_each(conn, sql, args).await,
            Conn::SqliteReader(conn) => sqlite::execute_each(conn, sql, args).await,
            Conn::Postgres(conn) => postgres::execute_each(conn, sql, args).await,
            Conn::PostgresReader(conn) => postgres::execute_each(conn, sql, args).await,
        };
        outcome.map_err(from_driver)
    }

    /// Reads all rows of a bounded statement.
    pub(crate) async fn fetch(&mut self, sql: impl SqlSafeStr, args: Vec<Value>) -> Result<Vec<Cells>, LedgerError> {
        self.send_waiting().await?;
        self.open().await?;
        let sql = sql.into_sql_str();
        #[cfg(feature = "measure")]
        crate::measure::note(&sql, &args);
        let outcome = match &mut self.conn {
            Conn::Sqlite(conn) => sqlite::shared::fetch(conn, sql, args).await,
            // The other engine stops by itself; here at least nobody waits any longer.
            Conn::SqliteReader(conn) => {
                let rows = tokio::time::timeout(READ_LIMIT, sqlite::shared::fetch(conn, sql, args)).await;
                rows.map_err(|_| LedgerError::TookTooLong)?
            }
            Conn::Postgres(conn) => postgres::shared::fetch(conn, sql, args).await,
            Conn::PostgresReader(conn) => postgres::shared::fetch(conn, sql, args).await,
        };
        outcome.map_err(from_driver)
    }

    /// Reads the first row of a statement.
    pub(crate) async fn fetch_one(
        &mut self,
        sql: impl SqlSafeStr,
        args: Vec<Value>,
    ) -> Result<Option<Cells>, LedgerError> {
        Ok(self.fetch(sql, args).await?.into_iter().next())
    }

    /// Runs a script of our own.
    pub(crate) async fn execute_script(&mut self, sql: &'static str) -> Result<(), LedgerError> {
        self.send_waiting().await?;
        self.open().await?;
        let outcome = match &mut self.conn {
            Conn::Sqlite(conn) => sqlite::shared::execute_script(conn, sql).await,
            Conn::SqliteReader(conn) => sqlite::shared::execute_script(conn, sql).await,
            Conn::Postgres(conn) => postgres::shared::execute_script(conn, sql).await,
            Conn::PostgresReader(conn) => postgres::shared::execute_script(conn, sql).await,
        };
        outcome.map_err(from_driver)
    }

    /// `SAVEPOINT` and its like.
    async fn control(&mut self, sql: &'static str) -> Result<(), LedgerError> {
        self.execute(sql, Vec::new()).await.map(|_| ())
    }

    /// A transaction begins, with the first statement that runs. Whatever was left of an earlier one is forgotten.
    fn begin(&mut self) {
        self.opening = Some(self.pick(sqlite::BEGIN, postgres::BEGIN));
        self.forget_waiting();
        self.forget_seen();
    }

    /// Whether a transaction that began has run its first statement.
    fn is_open(&self) -> bool {
        self.opening.is_none()
    }

    async fn open(&mut self) -> Result<(), LedgerError> {
        let Some(begin) = self.opening.take() else { return Ok(()) };
        #[cfg(feature = "measure")]
        crate::measure::note_control(begin);
        let outcome = match &mut self.conn {
            Conn::Sqlite(conn) => sqlite::shared::execute_script(conn, begin).await,
            Conn::SqliteReader(conn) => sqlite::shared::execute_script(conn, begin).await,
            Conn::Postgres(conn) => conn.begin().await,
            Conn::PostgresReader(conn) => postgres::shared::execute_script(conn, begin).await,
        };
        outcome.map_err(from_driver)
    }

    /// Opens the transaction and reads the clock, in one trip. The clock is read after whatever wait the opening was.
    async fn open_with_clock(&mut self) -> Result<Option<Cells>, LedgerError> {
        self.opening = None;
        #[cfg(feature = "measure")]
        for sql in [self.pick(sqlite::BEGIN, postgres::BEGIN), self.pick(sqlite::NOW, postgres::NOW)] {
            crate::measure::note_control(sql);
        }
        let rows = match &mut self.conn {
            Conn::Sqlite(conn) => sqlite::begin_with_clock(conn).await,
            Conn::SqliteReader(conn) => sqlite::begin_with_clock(conn).await,
            Conn::Postgres(conn) => conn.begin_with_clock().await,
            Conn::PostgresReader(conn) => {
                postgres::shared::fetch(conn, SqlStr::from_static(postgres::NOW), Vec::new()).await
            }
        };
        Ok(rows.map_err(from_driver)?.into_iter().next())
    }

    fn is_postgres(&self) -> bool {
        match self.conn {
            Conn::Sqlite(_) | Conn::SqliteReader(_) => false,
            Conn::Postgres(_) | Conn::PostgresReader(_) => true,
        }
    }

    /// The statement of this engine.
    pub(crate) fn pick(&self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        if self.is_postgres() { postgres } else { sqlite }
    }

    /// From now on this transaction reads declarations for itself: what it writes is not what stands for others, and may
    /// be undone.
    fn declares(&mut self) {
        self.seen.standing = None;
    }

    fn forget_seen(&mut self) {
        self.seen = Seen::default();
    }

    /// The record's clock: read inside the transaction, after any wait for it (semantics 4.7), once a transaction.
    pub(crate) async fn now(&mut self) -> Result<Timestamp, LedgerError> {
        if let Some(now) = self.seen.now {
            return Ok(now);
        }
        let row = if self.is_open() {
            self.fetch_one(self.pick(sqlite::NOW, postgres::NOW), Vec::new()).await?
        } else {
            self.open_with_clock().await?
        };
        let mut cells = row.ok_or_else(|| fault::unavailable_by("its clock does not answer"))?;
        let now = cells.at()?;
        self.seen.standing = cells.text_opt()?.map(|token| self.catalog.under(token));
        self.seen.now = Some(now);
        Ok(now)
    }

    /// Lets the database have so many pages and no more, as if the disk ended there (SQLite).
    #[cfg(feature = "test-clock")]
    pub(crate) async fn limit_pages(&mut self, pages: u32) -> Result<(), LedgerError> {
        let sql = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        self.fetch(sql, Vec::new()).await.map(|_| ())
    }

    /// Moves the clock, in test builds.
    #[cfg(feature = "test-clock")]
    pub(crate) async fn clock_set(&mut self, offset: i64, frozen_at: Option<Timestamp>) -> Result<(), LedgerError> {
        const SET: &str = "INSERT INTO clock_offset (one, offset_micros, frozen_at) VALUES (1, $1, $2)
             ON CONFLICT (one) DO UPDATE
             SET offset_micros = excluded.offset_micros, frozen_at = excluded.frozen_at";
        self.forget_seen();
        self.execute(SET, vec![offset.into(), frozen_at.into()]).await.map(|_| ())
    }

    /// Makes units of work that touch the same names go one after the other, so that "an operation with this key"
    /// and "a delivery for this key" cannot miss each other. A few stripes, not one lock a name: the server's lock
    /// table is small. Where there is one writer nothing needs to be locked.
    pub(crate) async fn lock_names<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<(), LedgerError> {
        let mut stripes: Vec<i32> = names.map(stripe).collect();
        stripes.sort_unstable();
        stripes.dedup();
        self.lock_stripes(&stripes).await
    }

    /// Makes units of work that decide upon steps of one workflow go one after the other. Its stripes are their own and
    /// taken last, so that nobody who holds one waits for a name.
    pub(crate) async fn lock_workflow(&mut self, name: &str) -> Result<(), LedgerError> {
        self.lock_stripes(&[stripe(name) + STRIPES_OF_WORKFLOWS]).await
    }

    async fn lock_stripes(&mut self, stripes: &[i32]) -> Result<(), LedgerError> {
        if !matches!(self.conn, Conn::Postgres(_)) {
            return Ok(());
        }
        self.send_waiting().await?;
        self.open().await?;
        let Conn::Postgres(conn) = &mut self.conn else { return Ok(()) };
        postgres::lock_stripes(conn, stripes).await
    }
}

const STRIPES: u32 = 64;
/// Beyond those of the names.
const STRIPES_OF_WORKFLOWS: i32 = 64;

/// Which stripe a name belongs to; must be the same in every process (FNV-1a).
fn stripe(name: &str) -> i32 {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    i32::try_from(hash % STRIPES).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each ends by itself, after more time than a read may take.
    #[tokio::test]
    async fn a_read_that_takes_too_long_is_stopped_and_the_next_one_is_answered() {
        const COUNTS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000000)
             SELECT MAX(i) FROM n";
        const SLEEPS: &str = "SELECT 1 FROM (SELECT pg_sleep(5)) AS slept";
        let postgres =
            std::env::var("TALLYSTICK_TEST_POSTGRES").expect("`cargo xtask test` starts a server and sets this");
        let folder = tempfile::tempdir().unwrap();
        let sqlite = format!("sqlite:{}", folder.path().join("slow.db").display());
        for (url, slow) in [(sqlite, COUNTS), (postgres, SLEEPS)] {
            let store = Store::open(&url).await.unwrap();
            let read = |sql: &'static str| store.read(move |tx| Box::pin(tx.fetch_one(sql, Vec::new())));
            let stopped = read(slow).await.unwrap_err();
            assert!(matches!(stopped, LedgerError::TookTooLong), "{stopped}");
            let mut row = read("SELECT 7").await.unwrap().unwrap();
            assert_eq!(row.int().unwrap(), 7);
            store.close().await;
        }
    }
}

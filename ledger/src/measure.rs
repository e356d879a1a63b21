//! For benches only: keeps the statements that a use case ran, and runs them again bare. The same SQL text, the same
//! driver, the same durability and page cache, and nothing of ours around them: what a figure is compared with.

#![expect(clippy::disallowed_methods, reason = "a bench measures with the machine's own clock")]

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection as _, Executor as _, PgConnection, SqlStr, SqliteConnection};

use crate::LedgerError;
use crate::store::fault::from_driver;
use crate::store::postgres;
use crate::store::sqlite::{CHECKPOINT_PAGES, WRITER_CACHE};
use crate::store::value::Value;

static TAPE: Mutex<Option<Vec<Statement>>> = Mutex::new(None);

#[derive(Clone)]
struct Statement {
    sql: SqlStr,
    args: Vec<Value>,
    reads: bool,
}

impl Statement {
    fn is(&self, text: &str) -> bool {
        self.sql.as_str() == text
    }
}

/// The statements of a stretch of work, in their order.
pub struct Tape(Vec<Statement>);

/// How writes are run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    /// In the transactions in which they were written.
    AsWritten,
    /// Each unit of work in a transaction of its own.
    OneEach,
}

/// Begins to keep statements.
pub fn start_tape() {
    *TAPE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// What was kept since then; nothing more is kept.
pub fn take_tape() -> Tape {
    Tape(TAPE.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default())
}

/// Keeps the begin or the end of a transaction that the driver makes by itself.
pub(crate) fn note_control(sql: &'static str) {
    note(&SqlStr::from_static(sql), &[]);
}

/// Keeps a statement, if a tape runs.
pub(crate) fn note(sql: &SqlStr, args: &[Value]) {
    if let Some(tape) = TAPE.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        // A statement that writes may answer with rows all the same.
        let reads = sql.as_str().starts_with("SELECT");
        tape.push(Statement { sql: sql.clone(), args: args.to_vec(), reads });
    }
}

impl Tape {
    /// Runs the tape's reads `times` over a `SQLite` file; the time of each run.
    pub async fn read_again(&self, url: &str, times: usize) -> Result<Vec<Duration>, LedgerError> {
        let reads: Vec<&Statement> = self.0.iter().filter(|statement| statement.reads).collect();
        let mut connection = open(url).await?;
        let mut spans = Vec::with_capacity(times);
        for _ in 0..times {
            let start = Instant::now();
            for statement in &reads {
                let rows = bound(statement).fetch_all(&mut connection).await.map_err(from_driver)?;
                std::hint::black_box(rows);
            }
            spans.push(start.elapsed());
        }
        connection.close().await.map_err(from_driver)?;
        Ok(spans)
    }

    /// Runs the tape's writes again into a fresh database of the same engine that has the schema; how long they took in all.
    pub async fn write_again(&self, url: &str, commits: Commits) -> Result<Duration, LedgerError> {
        if !url.starts_with("sqlite:") {
            return self.write_again_to_postgres(url).await;
        }
        let mut connection = open(url).await?;
        let writes = bare(&self.0, commits);
        for sql in texts(&writes) {
            connection.prepare(sql).await.map_err(from_driver)?;
        }
        let start = Instant::now();
        for statement in &writes {
            bound(statement).execute(&mut connection).await.map_err(from_driver)?;
        }
        let span = start.elapsed();
        connection.close().await.map_err(from_driver)?;
        Ok(span)
    }
}

impl Tape {
    /// Every unit is a transaction of its own there already.
    async fn write_again_to_postgres(&self, url: &str) -> Result<Duration, LedgerError> {
        let mut connection = PgConnection::connect(url).await.map_err(from_driver)?;
        for sql in texts(&self.0) {
            connection.prepare(sql).await.map_err(from_driver)?;
        }
        let start = Instant::now();
        for Statement { sql, args, .. } in self.0.iter().filter(|statement| !statement.reads) {
            postgres::shared::execute(&mut connection, sql.clone(), args.clone()).await.map_err(from_driver)?;
        }
        let span = start.elapsed();
        connection.close().await.map_err(from_driver)?;
        Ok(span)
    }
}

/// Each text of these once: prepared before the clock runs, as they are in a process that has worked for a while.
fn texts(statements: &[Statement]) -> Vec<SqlStr> {
    let mut seen = HashSet::new();
    let writes = statements.iter().filter(|statement| !statement.reads);
    writes.filter(|write| seen.insert(write.sql.as_str())).map(|write| write.sql.clone()).collect()
}

/// The writes as they are run bare: what folds units into one commit is left out, or becomes a commit of each. A unit
/// that was alone in its transaction has no savepoint and is bare already.
fn bare(tape: &[Statement], commits: Commits) -> Vec<Statement> {
    let control = |sql: &'static str| Statement { sql: SqlStr::from_static(sql), args: Vec::new(), reads: false };
    let writes: Vec<&Statement> = tape.iter().filter(|statement| !statement.reads).collect();
    let mut is_folded = false;
    let mut bare = Vec::with_capacity(writes.len());
    for (at, statement) in writes.iter().enumerate() {
        if statement.is("BEGIN IMMEDIATE") {
            is_folded = writes.get(at + 1).is_some_and(|next| next.is("SAVEPOINT member"));
        }
        match (commits, statement.sql.as_str()) {
            (Commits::OneEach, "BEGIN IMMEDIATE" | "COMMIT") if is_folded => {}
            (Commits::AsWritten, "SAVEPOINT member" | "RELEASE member") => {}
            (Commits::OneEach, "SAVEPOINT member") => bare.push(control("BEGIN IMMEDIATE")),
            (Commits::OneEach, "RELEASE member") => bare.push(control("COMMIT")),
            _ => bare.push((*statement).clone()),
        }
    }
    bare
}

fn bound(statement: &Statement) -> sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments> {
    let mut query = sqlx::query(statement.sql.clone());
    for arg in &statement.args {
        query = match arg.clone() {
            Value::Text(text) => query.bind(text),
            Value::Int(int) => query.bind(int),
            Value::Bool(yes) => query.bind(yes),
            Value::Bytes(bytes) => query.bind(bytes),
        };
    }
    query
}

async fn open(url: &str) -> Result<SqliteConnection, LedgerError> {
    let options: SqliteConnectOptions = url.parse().map_err(from_driver)?;
    let options = options
        .foreign_keys(false)
        .busy_timeout(Duration::from_secs(10))
        .statement_cache_capacity(300)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("cache_size", WRITER_CACHE)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES);
    SqliteConnection::connect_with(&options).await.map_err(from_driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_get_a_commit_of_their_own_whether_they_were_folded_or_alone() {
        let tape: Vec<Statement> = "BEGIN IMMEDIATE|a|COMMIT|BEGIN IMMEDIATE|SAVEPOINT member|b|RELEASE member|SAVEPOINT member|c|RELEASE member|COMMIT"
            .split('|')
            .map(|sql| Statement { sql: SqlStr::from_static(sql), args: Vec::new(), reads: false })
            .collect();
        let words =
            |commits| bare(&tape, commits).iter().map(|one| one.sql.as_str().to_owned()).collect::<Vec<_>>().join("|");
        assert_eq!(
            words(Commits::OneEach),
            "BEGIN IMMEDIATE|a|COMMIT|BEGIN IMMEDIATE|b|COMMIT|BEGIN IMMEDIATE|c|COMMIT"
        );
        assert_eq!(words(Commits::AsWritten), "BEGIN IMMEDIATE|a|COMMIT|BEGIN IMMEDIATE|b|c|COMMIT");
    }
}

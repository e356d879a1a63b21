//! Writes that wait for one another: what a unit of work writes goes to the database together, as one statement, before
//! the unit reads anything and at its end. A commit of seven small writes costs one trip instead of seven.
//!
//! On SQLite they are one text and run one after the other. On PostgreSQL they are parts of one `WITH` and none sees
//! another, so two that may touch the same row never wait together.

use std::fmt::Write as _;

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

use super::Tx;
use super::table::Table;
use super::value::Value;
use crate::LedgerError;

/// The most writes that wait: every mixture of them is a statement that the database keeps prepared.
const WAITING_LIMIT: usize = 12;

/// The most rows of a table that wait: more go in together, at once.
const ROWS_LIMIT: usize = 3;

/// One write that waits.
pub(super) struct Write {
    table: &'static str,
    sql: SqlStr,
    args: Vec<Value>,
    touches: Touches,
}

/// Which rows a write touches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touches {
    /// New ones, that nothing else touches.
    New,
    /// Some that another write may touch as well.
    Any,
    /// Exactly one, or the unit met another.
    One,
}

/// How an engine runs several writes in one statement.
#[derive(Clone, Copy)]
enum Joint {
    Sequence,
    Parts,
}

impl Tx {
    /// Inserts rows by the time this unit of work reads anything or ends.
    pub(super) async fn insert_later(
        &mut self,
        table: &'static Table,
        rows: Vec<Vec<Value>>,
    ) -> Result<(), LedgerError> {
        self.insert_added_later(table, "", rows).await
    }

    /// The same, with the first value added to what the database computes; see [`Tx::insert_added`].
    pub(super) async fn insert_added_later(
        &mut self,
        table: &'static Table,
        first: &'static str,
        rows: Vec<Vec<Value>>,
    ) -> Result<(), LedgerError> {
        if rows.len() > ROWS_LIMIT {
            return self.insert_added(table, first, rows).await.map(|_| ());
        }
        for args in rows {
            let sql = self.insert_one(table, first);
            self.wait(Write { table: table.name, sql, args, touches: Touches::New }).await?;
        }
        Ok(())
    }

    /// Runs a statement that writes into `table`, by the time this unit of work reads anything or ends.
    pub(super) async fn execute_later(
        &mut self,
        table: &'static str,
        sql: impl SqlSafeStr,
        args: Vec<Value>,
    ) -> Result<(), LedgerError> {
        self.wait(Write { table, sql: sql.into_sql_str(), args, touches: Touches::Any }).await
    }

    /// The same for a statement that must touch one row: if it does not, the unit of work met another one
    /// ([`LedgerError::Contended`]).
    pub(super) async fn change_one_later(
        &mut self,
        table: &'static str,
        sql: impl SqlSafeStr,
        args: Vec<Value>,
    ) -> Result<(), LedgerError> {
        self.wait(Write { table, sql: sql.into_sql_str(), args, touches: Touches::One }).await
    }

    async fn wait(&mut self, write: Write) -> Result<(), LedgerError> {
        let meets = |other: &Write| {
            other.table == write.table && (write.touches, other.touches) != (Touches::New, Touches::New)
        };
        if self.waiting.len() >= WAITING_LIMIT || self.waiting.iter().any(meets) {
            self.send_waiting().await?;
        }
        self.waiting.push(write);
        Ok(())
    }

    /// Sends what waits.
    pub(crate) async fn send_waiting(&mut self) -> Result<(), LedgerError> {
        let writes = std::mem::take(&mut self.waiting);
        let touched = match writes.as_slice() {
            [] => return Ok(()),
            [alone] => vec![self.run(alone.sql.clone(), alone.args.clone()).await?],
            several => self.run_joint(several).await?,
        };
        let missed = |(write, touched): (&Write, u64)| write.touches == Touches::One && touched != 1;
        if writes.iter().zip(touched).any(missed) { Err(LedgerError::Contended) } else { Ok(()) }
    }

    /// Forgets what an undone unit of work had not sent.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    async fn run_joint(&mut self, writes: &[Write]) -> Result<Vec<u64>, LedgerError> {
        #[cfg(feature = "measure")]
        for write in writes {
            crate::measure::note(&write.sql, &write.args);
        }
        let joint = if self.is_postgres() { Joint::Parts } else { Joint::Sequence };
        let sql = AssertSqlSafe(joint_text(joint, writes.iter().map(|write| (write.sql.as_str(), write.args.len()))));
        let args = writes.iter().flat_map(|write| write.args.iter().cloned()).collect();
        self.run_each(sql.into_sql_str(), args).await
    }
}

/// One text of several, each with the number of its values. Their parameters are numbered through.
fn joint_text<'a>(joint: Joint, parts: impl Iterator<Item = (&'a str, usize)>) -> String {
    let mut text = String::new();
    let mut counts = String::new();
    let mut values = 0;
    for (at, (part, length)) in parts.enumerate() {
        match joint {
            Joint::Sequence => {
                text.push_str(if at == 0 { "" } else { "; " });
                renumber(part, values, &mut text);
            }
            Joint::Parts => {
                let _ = write!(text, "{} w{at} AS (", if at == 0 { "WITH" } else { "," });
                renumber(part, values, &mut text);
                text.push_str(" RETURNING 1)");
                let _ = write!(counts, "{}(SELECT COUNT(*) FROM w{at})", if at == 0 { " SELECT " } else { ", " });
            }
        }
        values += length;
    }
    text + &counts
}

/// Writes `sql` with its parameters numbered from `before` + 1 on. No text of ours has a `?` or a `$` that is none.
fn renumber(sql: &str, before: usize, text: &mut String) {
    let mut unnumbered = before;
    let mut rest = sql;
    while let Some(at) = rest.find(['?', '$']) {
        let (head, tail) = rest.split_at(at);
        text.push_str(head);
        let (mark, tail) = tail.split_at(1);
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        let number = if mark == "?" {
            unnumbered += 1;
            unnumbered
        } else {
            before + tail[..digits].parse::<usize>().unwrap_or_default()
        };
        let _ = write!(text, "${number}");
        rest = &tail[digits..];
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_through_whichever_way_each_part_wrote_them() {
        let parts = [("UPDATE a SET b = $2 WHERE c = $1", 2), ("INSERT INTO d (e, f) VALUES (?, ?)", 2), ("DELETE", 0)];
        assert_eq!(
            joint_text(Joint::Sequence, parts.into_iter()),
            "UPDATE a SET b = $2 WHERE c = $1; INSERT INTO d (e, f) VALUES ($3, $4); DELETE"
        );
        let parts = [("UPDATE a SET b = $1", 1), ("INSERT INTO d (e, f) VALUES (7 + $1, $2)", 2)];
        assert_eq!(
            joint_text(Joint::Parts, parts.into_iter()),
            "WITH w0 AS (UPDATE a SET b = $1 RETURNING 1), w1 AS (INSERT INTO d (e, f) VALUES (7 + $2, $3) RETURNING 1) \
             SELECT (SELECT COUNT(*) FROM w0), (SELECT COUNT(*) FROM w1)"
        );
    }
}

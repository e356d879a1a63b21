//! Inserting many rows at once, and asking for many keys at once, with statements whose text does not depend on how
//! many there are: both engines keep them prepared.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::Tx;
use super::value::{Cells, Value};
use crate::LedgerError;

/// A table as rows are written into it.
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// The columns, in the order of the values.
    pub(crate) columns: &'static [&'static str],
    /// What happens when the row is there: nothing, or `ON CONFLICT …`.
    pub(crate) on_conflict: &'static str,
}

/// Rows go in by these many at once, largest first.
const CHUNKS: [usize; 3] = [64, 8, 1];
/// Keys are asked for by this many at once; a shorter list is filled up with its last key.
const ASKED: usize = 64;

/// By the addresses of what the text is made from, how many, and how parameters are written.
type Texts = Mutex<HashMap<(usize, usize, usize, bool), Arc<str>>>;
static TEXTS: LazyLock<Texts> = LazyLock::new(Mutex::default);

/// The text for (what, how many), made once. Everything in it is ours: names of tables and columns, and `$n`.
fn text(
    name: &'static str,
    columns: &'static [&'static str],
    count: usize,
    is_numbered: bool,
    make: impl FnOnce() -> String,
) -> AssertSqlSafe<Arc<str>> {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (name.as_ptr().addr(), columns.as_ptr().addr(), count, is_numbered);
    AssertSqlSafe(Arc::clone(texts.entry(key).or_insert_with(|| make().into())))
}

/// SQLite finds a numbered parameter by walking through all of them; nameless ones are bound in order.
fn insert_text(table: &Table, first: &str, count: usize, is_numbered: bool) -> String {
    let mut sql = format!("INSERT INTO {} ({}) VALUES ", table.name, table.columns.join(", "));
    let mut number = 0;
    for row in 0..count {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..table.columns.len() {
            number += 1;
            sql.push_str(if column == 0 { first } else { ", " });
            if is_numbered {
                let _ = write!(sql, "${number}");
            } else {
                sql.push('?');
            }
        }
        sql.push(')');
    }
    if !table.on_conflict.is_empty() {
        let _ = write!(sql, " {}", table.on_conflict);
    }
    sql
}

impl Tx {
    /// Inserts rows; how many went in.
    pub(crate) async fn insert(&mut self, table: &'static Table, rows: Vec<Vec<Value>>) -> Result<u64, LedgerError> {
        self.insert_added(table, "", rows).await
    }

    /// Inserts rows whose first value is added to what the database computes: `first` is that expression, up to its `+`.
    /// One table has one such expression.
    pub(super) async fn insert_added(
        &mut self,
        table: &'static Table,
        first: &'static str,
        rows: Vec<Vec<Value>>,
    ) -> Result<u64, LedgerError> {
        let is_numbered = self.is_postgres();
        let mut inserted = 0;
        let mut rows = rows.into_iter();
        for chunk in CHUNKS {
            while rows.len() >= chunk {
                let args = rows.by_ref().take(chunk).flatten().collect();
                let make = || insert_text(table, first, chunk, is_numbered);
                inserted += self.execute(text(table.name, table.columns, chunk, is_numbered, make), args).await?;
            }
        }
        Ok(inserted)
    }

    /// The text that inserts one row.
    pub(super) fn insert_one(&self, table: &'static Table, first: &'static str) -> SqlStr {
        let is_numbered = self.is_postgres();
        text(table.name, table.columns, 1, is_numbered, || insert_text(table, first, 1, is_numbered)).into_sql_str()
    }

    /// Runs `sql` for many keys: `{keys}` stands for the list, after the values that come first in every chunk.
    /// Rows of all chunks together, in the order of the chunks.
    pub(crate) async fn fetch_for_keys(
        &mut self,
        sql: &'static str,
        first: &[Value],
        keys: &[Value],
    ) -> Result<Vec<Cells>, LedgerError> {
        let mut rows = Vec::new();
        for chunk in keys.chunks(ASKED) {
            let (text, args) = for_keys(sql, first, chunk);
            rows.extend(self.fetch(text, args).await?);
        }
        Ok(rows)
    }

    /// The same for a statement that changes rows; how many it touched.
    pub(crate) async fn execute_for_keys(
        &mut self,
        sql: &'static str,
        first: &[Value],
        keys: &[Value],
    ) -> Result<u64, LedgerError> {
        let mut touched = 0;
        for chunk in keys.chunks(ASKED) {
            let (text, args) = for_keys(sql, first, chunk);
            touched += self.execute(text, args).await?;
        }
        Ok(touched)
    }
}

/// The statement for one chunk of keys, which is not empty, and its values.
fn for_keys(sql: &'static str, first: &[Value], chunk: &[Value]) -> (AssertSqlSafe<Arc<str>>, Vec<Value>) {
    // A single key is common enough for a text of its own.
    let asked = if chunk.len() == 1 { 1 } else { ASKED };
    let mut args: Vec<Value> = first.to_vec();
    args.extend(chunk.iter().cloned());
    args.extend((chunk.len()..asked).map(|_| chunk[chunk.len() - 1].clone()));
    let text = text(sql, &[], asked, true, || {
        let list: Vec<_> = (0..asked).map(|at| format!("${}", at + first.len() + 1)).collect();
        sql.replace("{keys}", &list.join(", "))
    });
    (text, args)
}

/// Texts as keys.
pub(crate) fn text_keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> Vec<Value> {
    keys.into_iter().map(Value::from).collect()
}

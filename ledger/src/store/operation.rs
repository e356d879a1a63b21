//! Operations with their facts: loading records, and the write that compares versions.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use sqlx::AssertSqlSafe;
use tallystick_domain::facts::Facts;
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::OperationId;
use tallystick_domain::operation::{Fact, Head, Projection, Record};

use super::entry::{JOURNAL, JournalEntry};
use super::table::{Table, text_keys};
use super::value::{Cells, Value};
use super::{Conn, Tx, WORKSPACE, postgres, row, sqlite};
use crate::LedgerError;
use crate::operations::Listed;

/// A record with the hash that its next entry chains to.
pub(crate) struct Loaded {
    pub(crate) record: Record,
    pub(crate) head_hash: Hash,
}

/// What one commit does to one operation.
pub(crate) struct OperationWrite<'a> {
    pub(crate) head: &'a Head,
    /// The version that the row must have; 0: it must not be there.
    pub(crate) expected_version: u64,
    pub(crate) row: &'a Projection,
    /// One or several, oldest first.
    pub(crate) entries: &'a [JournalEntry],
}

pub(crate) static OPERATION: LazyLock<Table> = LazyLock::new(|| {
    let columns: Vec<&'static str> = std::iter::once("workspace_id").chain(row::COLUMNS.iter().copied()).collect();
    Table { name: "operation", columns: columns.leak(), on_conflict: "" }
});

/// The columns of a row, for reading.
pub(crate) static LISTED: LazyLock<String> = LazyLock::new(|| row::COLUMNS.join(", "));

/// Index: primary key.
static UPDATE: LazyLock<Arc<str>> = LazyLock::new(|| {
    let mut sql = String::from("UPDATE operation SET version = $1, head_hash = $2");
    let mut number = 2;
    for column in &row::COLUMNS[row::HEAD_COLUMNS..] {
        number += 1;
        let _ = write!(sql, ", {column} = ${number}");
    }
    let _ =
        write!(sql, " WHERE workspace_id = ${} AND op_id = ${} AND version = ${}", number + 1, number + 2, number + 3);
    sql.into()
});

/// Index: primary key. In the order of the ids, so that two transactions lock in the same order.
pub(super) static BY_ID: LazyLock<&'static str> = LazyLock::new(|| {
    let sql =
        format!("SELECT {} FROM operation WHERE workspace_id = $1 AND op_id IN ({{keys}}) ORDER BY op_id", *LISTED);
    sql.leak()
});
/// Index: primary key and `operation_by_intent`. With every member of their intents. Not ordered where nothing is locked:
/// SQLite would read the whole primary key, in its order, for a single one.
pub(super) static WITH_INTENTS: LazyLock<&'static str> = LazyLock::new(|| with_intents(sqlite::AMONG, ""));
/// The same; see [`postgres::AMONG`].
pub(super) static WITH_INTENTS_POSTGRES: LazyLock<&'static str> = LazyLock::new(|| with_intents(postgres::AMONG, ""));
/// In the order of the ids, as [`BY_ID`].
pub(super) static WITH_INTENTS_LOCKED: LazyLock<&'static str> =
    LazyLock::new(|| with_intents(postgres::AMONG, &format!(" ORDER BY op_id{}", postgres::LOCK_ROWS)));
static BY_ID_LOCKED: LazyLock<&'static str> = LazyLock::new(|| format!("{}{}", *BY_ID, postgres::LOCK_ROWS).leak());
/// Index: primary key of journal.
pub(super) const FACTS: &str = "SELECT op_id, version, facts FROM journal
     WHERE workspace_id = $1 AND op_id IN ({keys}) ORDER BY op_id, version";
// The next three are not ordered: SQLite would rather read the whole primary key than sort a few rows.
/// Index: `operation_by_intent`.
pub(super) const IDS_OF_INTENTS: &str = "SELECT op_id FROM operation WHERE workspace_id = $1 AND intent_id IN ({keys})";
/// Index: `operation_key_once`.
pub(super) const IDS_BY_KEY: &str = "SELECT operation_key, op_id FROM operation
     WHERE workspace_id = $1 AND operation_key IN ({keys})";
/// Index: `operation_by_compensates`.
pub(super) const IDS_BY_COMPENSATES: &str = "SELECT op_id FROM operation
     WHERE workspace_id = $1 AND compensates IN ({keys})";
/// Index: `operation_by_workflow`.
pub(super) const IDS_BY_WORKFLOW: &str = "SELECT op_id FROM operation
     WHERE workspace_id = $1 AND workflow = $2 ORDER BY op_id LIMIT 50";
/// Index: primary key of journal.
pub(super) const ENTRIES: &str =
    "SELECT op_id, version, at, actor_id, actor_name, actor_role, command, rules_version, rules,
        facts, changes, prev_hash, hash
     FROM journal WHERE workspace_id = $1 AND op_id = $2 AND version <= $3 ORDER BY version";

impl Tx {
    /// Rows by id, in the order of the ids; those that are not there are left out.
    pub(crate) async fn operation_rows(&mut self, ids: &[&str]) -> Result<Vec<(Listed, Hash)>, LedgerError> {
        let rows = self.fetch_for_keys(*BY_ID, &[WORKSPACE.into()], &text_keys(ids.iter().copied())).await?;
        rows.into_iter().map(|mut cells| row::read(&mut cells)).collect()
    }

    /// Records by id with all their facts. In a write transaction their rows stay locked until its end.
    pub(crate) async fn operations_load(&mut self, ids: &[&str]) -> Result<Vec<Loaded>, LedgerError> {
        self.operations_read(ids, true).await
    }

    /// Records by id with every other member of their intents, in no order. In a write transaction their rows stay locked.
    pub(crate) async fn operations_load_with_intents(&mut self, ids: &[&str]) -> Result<Vec<Loaded>, LedgerError> {
        let sql = match self.conn {
            Conn::Postgres(_) => *WITH_INTENTS_LOCKED,
            Conn::PostgresReader(_) => *WITH_INTENTS_POSTGRES,
            Conn::Sqlite(_) | Conn::SqliteReader(_) => *WITH_INTENTS,
        };
        self.operations_fetch(sql, ids).await
    }

    /// Records by id, locked or not.
    pub(super) async fn operations_read(&mut self, ids: &[&str], to_write: bool) -> Result<Vec<Loaded>, LedgerError> {
        let sql = match self.conn {
            Conn::Postgres(_) if to_write => *BY_ID_LOCKED,
            _ => *BY_ID,
        };
        self.operations_fetch(sql, ids).await
    }

    async fn operations_fetch(&mut self, sql: &'static str, ids: &[&str]) -> Result<Vec<Loaded>, LedgerError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let rows = self.fetch_for_keys(sql, &[WORKSPACE.into()], &text_keys(sorted)).await?;
        let mut loaded = Vec::with_capacity(rows.len());
        let mut places = HashMap::with_capacity(rows.len());
        for mut cells in rows {
            let (Listed { head, version, row }, head_hash) = row::read(&mut cells)?;
            // Two lists of ids may hold members of one intent.
            if places.contains_key(head.id.as_str()) {
                continue;
            }
            places.insert(head.id.as_str().to_owned(), loaded.len());
            let record = Record { head, version, facts: Facts::new(), row: Some(row) };
            loaded.push(Loaded { record, head_hash });
        }
        let keys = text_keys(loaded.iter().map(|one| one.record.head.id.as_str()));
        for mut cells in self.fetch_for_keys(FACTS, &[WORKSPACE.into()], &keys).await? {
            let (op_id, version) = (cells.text()?, cells.version()?);
            let Some(loaded) = places.get(&op_id).and_then(|&place| loaded.get_mut(place)) else { continue };
            // A reader may see an entry that is newer than the row it read.
            if version <= loaded.record.version {
                loaded.record.facts.extend(cells.json::<Vec<Fact>>()?);
            }
        }
        Ok(loaded)
    }

    /// Which operations belong to these intents.
    pub(crate) async fn operation_ids_of_intents(&mut self, intents: &[&str]) -> Result<Vec<OperationId>, LedgerError> {
        let rows =
            self.fetch_for_keys(IDS_OF_INTENTS, &[WORKSPACE.into()], &text_keys(intents.iter().copied())).await?;
        ids(rows)
    }

    /// Which operations undo these.
    pub(crate) async fn operation_ids_by_compensates(&mut self, of: &[&str]) -> Result<Vec<OperationId>, LedgerError> {
        ids(self.fetch_for_keys(IDS_BY_COMPENSATES, &[WORKSPACE.into()], &text_keys(of.iter().copied())).await?)
    }

    /// Which operations belong to this workflow; the first fifty.
    pub(crate) async fn operation_ids_by_workflow(&mut self, workflow: &str) -> Result<Vec<OperationId>, LedgerError> {
        ids(self.fetch(IDS_BY_WORKFLOW, vec![WORKSPACE.into(), workflow.into()]).await?)
    }

    /// Which operations have these operation keys.
    pub(crate) async fn operation_ids_by_key(
        &mut self,
        keys: &[&str],
    ) -> Result<HashMap<String, OperationId>, LedgerError> {
        let rows = self.fetch_for_keys(IDS_BY_KEY, &[WORKSPACE.into()], &text_keys(keys.iter().copied())).await?;
        rows.into_iter().map(|mut cells| Ok((cells.text()?, cells.parsed(OperationId::parse)?))).collect()
    }

    /// The journal of one operation up to a version.
    pub(crate) async fn journal_entries(&mut self, id: &str, upto: u64) -> Result<Vec<JournalEntry>, LedgerError> {
        let rows = self.fetch(ENTRIES, vec![WORKSPACE.into(), id.into(), upto.into()]).await?;
        rows.into_iter().map(|mut cells| JournalEntry::read(&mut cells)).collect()
    }

    /// Writes rows and journal entries. A row that is not at its expected version (or that is there already) makes
    /// the whole unit of work [`LedgerError::Contended`]: it is undone and decided anew.
    pub(crate) async fn operations_write(&mut self, writes: &[OperationWrite<'_>]) -> Result<(), LedgerError> {
        let mut new_rows = Vec::new();
        let mut entries = Vec::new();
        for write in writes {
            let Some(last) = write.entries.last() else { continue };
            let values = row::values(write.head, last.version, last.hash, write.row)?;
            if write.expected_version == 0 {
                new_rows.push(std::iter::once(WORKSPACE.into()).chain(values).collect());
            } else {
                self.operation_update(write, last, values).await?;
            }
            entries.extend(write.entries.iter().map(JournalEntry::values));
            self.tell_operation(write.head, last.version, write.row);
        }
        self.insert_later(&OPERATION, new_rows).await?;
        self.insert_later(&JOURNAL, entries).await?;
        for write in writes {
            self.workflow_touch(write).await?;
        }
        Ok(())
    }

    async fn operation_update(
        &mut self,
        write: &OperationWrite<'_>,
        last: &JournalEntry,
        values: Vec<Value>,
    ) -> Result<(), LedgerError> {
        let mut args: Vec<Value> = vec![last.version.into(), last.hash.into()];
        args.extend(values.into_iter().skip(row::HEAD_COLUMNS));
        args.extend([WORKSPACE.into(), write.head.id.as_str().into(), write.expected_version.into()]);
        self.change_one_later(OPERATION.name, AssertSqlSafe(Arc::clone(&UPDATE)), args).await
    }
}

fn with_intents((before, after): (&str, &str), end: &str) -> &'static str {
    let sql = format!(
        "SELECT {} FROM operation WHERE workspace_id = $1 AND intent_id {before}SELECT asked.intent_id
            FROM operation AS asked WHERE asked.workspace_id = $1 AND asked.op_id IN ({{keys}}){after}{end}",
        *LISTED
    );
    sql.leak()
}

pub(super) fn ids(rows: Vec<Cells>) -> Result<Vec<OperationId>, LedgerError> {
    let mut ids: Vec<OperationId> =
        rows.into_iter().map(|mut cells| cells.parsed(OperationId::parse)).collect::<Result<_, _>>()?;
    ids.sort();
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use tallystick_domain::name::OperationKey;

    use super::*;
    use crate::store::Store;
    use crate::store::entry::{Changes, NO_HASH, Occasion};
    use crate::store::migrate::settle_schema;
    use crate::store::row::tests::{head, row};

    /// Writes version `expected + 1` of an operation.
    async fn write(store: &Store, id: &'static str, expected: u64) -> Result<(), LedgerError> {
        store
            .write(move |tx| {
                Box::pin(async move {
                    let mut head = head(id);
                    head.key = OperationKey::parse(id).unwrap();
                    let actor = crate::people::system_actor();
                    let occasion = Occasion { at: head.recorded_at, actor: &actor, command: "record", rules: &[] };
                    let changes = Changes::between(Some(&head), None, &row())?;
                    let entry = JournalEntry::new(id, expected + 1, &occasion, &[], &changes, NO_HASH.into())?;
                    let row = row();
                    let write =
                        OperationWrite { head: &head, expected_version: expected, row: &row, entries: &[entry] };
                    tx.operations_write(&[write]).await
                })
            })
            .await
    }

    #[tokio::test]
    async fn a_row_that_is_not_at_the_expected_version_is_stale_and_nothing_is_written() {
        let store = Store::open("sqlite::memory:").await.unwrap();
        settle_schema(&store, true).await.unwrap();
        write(&store, "a", 0).await.unwrap();
        for expected in [0, 2] {
            let stale = write(&store, "a", expected).await.unwrap_err();
            assert!(matches!(stale, LedgerError::Contended), "{stale}");
        }
        write(&store, "a", 1).await.unwrap();
        let loaded = store.read(|tx| Box::pin(tx.operations_load(&["a"]))).await.unwrap();
        assert_eq!(loaded[0].record.version, 2);
        let entries = store.read(|tx| Box::pin(tx.journal_entries("a", 9))).await.unwrap();
        assert_eq!(entries.len(), 2);
    }
}

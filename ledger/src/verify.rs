//! `tallystick verify`: replays the journal and compares it with the rows.

use std::collections::BTreeMap;

use tallystick_domain::fingerprint::Hash;
use tallystick_domain::operation::{Head, Projection};

use crate::store::entry::{Changes, JournalEntry, NO_HASH, Replay};
use crate::store::row;
use crate::store::value::{Cells, Value};
use crate::{Ledger, LedgerError};

/// How many operations are read at once.
const BATCH: u32 = 200;
/// Above every id.
const END: &str = "~";
/// A record that is this broken need not be listed to the end.
const DISCREPANCY_LIMIT: usize = 1000;

/// One thing that does not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discrepancy {
    /// Which operation.
    pub operation_id: String,
    /// Which journal version, where it is one.
    pub version: Option<u64>,
    /// Table and column, or `journal`.
    pub place: String,
    /// What was expected and what is there.
    pub text: String,
}

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Operations read.
    pub operations: u64,
    /// Journal entries read.
    pub entries: u64,
    /// What does not agree.
    pub discrepancies: Vec<Discrepancy>,
}

impl Ledger {
    /// Replays the whole journal, never judging anew, and compares chain, order and every projected column.
    pub async fn verify(&self) -> Result<Verification, LedgerError> {
        let mut found = Verification::default();
        let mut after = String::new();
        loop {
            let start = after.clone();
            let batch = self.store().read(move |tx| {
                let start = start.clone();
                Box::pin(async move {
                    let rows = tx.verify_operations(&start, BATCH).await?;
                    let is_last = rows.len() < BATCH as usize;
                    let upto =
                        if is_last { END.to_owned() } else { rows.last().map(|row| id_of(row)).unwrap_or_default() };
                    let journal = tx.verify_journal(&start, &upto).await?;
                    Ok((rows, journal, upto))
                })
            });
            let (rows, journal, upto) = batch.await?;
            check_batch(&mut found, rows, journal);
            if upto == END || found.discrepancies.len() >= DISCREPANCY_LIMIT {
                return Ok(found);
            }
            after = upto;
        }
    }
}

fn id_of(row: &[Value]) -> String {
    match row.first() {
        Some(Value::Text(Some(id))) => id.clone(),
        _ => String::new(),
    }
}

fn check_batch(found: &mut Verification, rows: Vec<Vec<Value>>, journal: Vec<Cells>) {
    let mut entries: BTreeMap<String, Vec<Result<JournalEntry, LedgerError>>> = BTreeMap::new();
    for mut cells in journal {
        found.entries += 1;
        let values = cells_copy(&mut cells);
        let id = id_of(&values);
        entries.entry(id).or_default().push(JournalEntry::read(&mut Cells::new(values)));
    }
    for row in rows {
        found.operations += 1;
        let id = id_of(&row);
        let entries = entries.remove(&id).unwrap_or_default();
        Check { found, id: &id }.operation(&row, entries);
    }
    for (id, _) in entries {
        Check { found, id: &id }.note(None, "operation", "the journal speaks of it, but its row is missing");
    }
}

fn cells_copy(cells: &mut Cells) -> Vec<Value> {
    std::mem::replace(cells, Cells::new(Vec::new())).rest()
}

/// One operation's row against its journal.
struct Check<'c> {
    found: &'c mut Verification,
    id: &'c str,
}

impl Check<'_> {
    fn note(&mut self, version: Option<u64>, place: &str, text: impl Into<String>) {
        let operation_id = self.id.to_owned();
        self.found.discrepancies.push(Discrepancy { operation_id, version, place: place.into(), text: text.into() });
    }

    fn operation(&mut self, row: &[Value], entries: Vec<Result<JournalEntry, LedgerError>>) {
        let mut replay = Replayed::default();
        for entry in entries {
            match entry {
                Ok(entry) => self.entry(&mut replay, &entry),
                Err(error) => self.note(None, "journal", error.to_string()),
            }
        }
        self.row(row, &replay);
    }

    fn entry(&mut self, replay: &mut Replayed, entry: &JournalEntry) {
        let expected = replay.version + 1;
        if entry.version != expected {
            self.note(
                Some(expected),
                "journal",
                format!("version {expected} is missing; the next on record is {}", entry.version),
            );
        } else if entry.prev_hash != replay.hash {
            self.note(Some(entry.version), "journal.prev_hash", "does not name the entry before it");
        }
        if entry.chained() != entry.hash {
            self.note(Some(entry.version), "journal.hash", "does not fit what the entry holds");
        }
        (replay.version, replay.hash) = (entry.version, entry.hash);
        match serde_json::from_str::<Changes>(&entry.changes) {
            Ok(changes) => {
                replay.head = changes.head.clone().or(replay.head.take());
                match replay.members.take(&changes) {
                    Ok(row) => replay.row = Some(row),
                    Err(error) => self.note(Some(entry.version), "journal.changes", error.to_string()),
                }
            }
            Err(error) => self.note(Some(entry.version), "journal.changes", error.to_string()),
        }
    }

    /// Compares every projected column with what the journal comes to.
    fn row(&mut self, row: &[Value], replay: &Replayed) {
        let (Some(head), Some(projection)) = (&replay.head, &replay.row) else {
            return self.note(None, "journal", "the operation has a row but its journal does not tell of it");
        };
        let expected = match row::values(head, replay.version, replay.hash, projection) {
            Ok(expected) => expected,
            Err(error) => return self.note(None, "journal", error.to_string()),
        };
        for ((column, expected), is) in row::COLUMNS.iter().zip(&expected).zip(row) {
            if *column == "version" && !is.is_same(expected) {
                // A row ahead of its journal: the last entries are gone. Behind: the row was not written.
                self.note(
                    Some(replay.version + 1),
                    "journal",
                    format!("the row is at version {is}, the journal ends at {expected}"),
                );
            }
            if !is.is_same(expected) {
                let text = format!("the journal comes to {expected}, the row holds {is}");
                self.note(None, &format!("operation.{column}"), text);
            }
        }
    }
}

struct Replayed {
    version: u64,
    hash: Hash,
    head: Option<Head>,
    members: Replay,
    row: Option<Projection>,
}

impl Default for Replayed {
    fn default() -> Self {
        Self { version: 0, hash: Hash::from(NO_HASH), head: None, members: Replay::default(), row: None }
    }
}

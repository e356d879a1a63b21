//! Bulk actions as rows: the frozen list, written once, and how far each has come.

use std::sync::LazyLock;

use tallystick_domain::bulk::{Bulk, Item, Life, Started, Stop};
use tallystick_domain::name::{ActionKey, BulkId, OperationId};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;

use super::table::Table;
use super::value::{Cells, known, to_json};
use super::{Conn, Tx, WORKSPACE, postgres};
use crate::LedgerError;
use crate::actions::ActionStatus;
use crate::bulk::{Answer, BulkOfOperation};

static BULK: Table = Table {
    name: "bulk",
    columns: &[
        "workspace_id",
        "bulk_id",
        "input",
        "origin",
        "items",
        "eligible",
        "list_hash",
        "made_by",
        "made_at",
        "state",
    ],
    on_conflict: "",
};
static ITEM: Table = Table {
    name: "bulk_item",
    columns: &["workspace_id", "bulk_id", "place", "op_id", "seen_version", "action_key", "skip"],
    on_conflict: "",
};

/// Index: primary key.
const BY_ID: &str = "SELECT bulk_id, input, origin, items, eligible, list_hash, made_by, made_at, state, reason,
        started_at, ended_at, why
     FROM bulk WHERE workspace_id = $1 AND bulk_id = $2";
static BY_ID_LOCKED: LazyLock<&'static str> = LazyLock::new(|| format!("{BY_ID}{}", postgres::LOCK_ROWS).leak());
/// Index: primary key.
pub(super) const NEWEST: &str =
    "SELECT bulk_id, input, origin, items, eligible, list_hash, made_by, made_at, state, reason,
        started_at, ended_at, why
     FROM bulk WHERE workspace_id = $1 AND started_at IS NOT NULL ORDER BY bulk_id DESC LIMIT $2";
/// Index: primary key. Only a life that is still the known one goes on.
const SET_LIFE: &str = "UPDATE bulk SET state = $1, reason = $2, started_at = $3, ended_at = $4, why = $5
     WHERE workspace_id = $6 AND bulk_id = $7 AND state = $8";
/// Index: primary key.
const TAKE: &str = "UPDATE bulk SET taken_by = $1, taken_until = $2
     WHERE workspace_id = $3 AND bulk_id = $4 AND state = 'running'
       AND (taken_until IS NULL OR taken_until <= $5 OR taken_by = $1)";
const GIVE_BACK: &str = "UPDATE bulk SET taken_until = NULL WHERE workspace_id = $1 AND taken_by = $2
     AND state = 'running'";
/// Index: `bulk_running`.
pub(super) const RUNNING: &str = "SELECT bulk_id FROM bulk WHERE workspace_id = $1 AND state = 'running'
       AND (taken_until IS NULL OR taken_until <= $2 OR taken_by = $3)
     ORDER BY bulk_id LIMIT $4";
/// Index: primary key of `bulk_item`, then that of `operator_action`.
pub(super) const ITEMS: &str = "SELECT i.op_id, i.seen_version, i.skip, a.action_key, a.status, a.refusal,
        a.settled_at, a.made_version
     FROM bulk_item AS i
     LEFT JOIN operator_action AS a ON a.workspace_id = i.workspace_id AND a.action_key = i.action_key
     WHERE i.workspace_id = $1 AND i.bulk_id = $2 ORDER BY i.place";
/// Index: primary key of `bulk_item`, then that of `operator_action`.
pub(super) const WAITING: &str = "SELECT i.op_id, i.seen_version, i.skip FROM bulk_item AS i
     WHERE i.workspace_id = $1 AND i.bulk_id = $2 AND i.skip IS NULL AND NOT EXISTS (SELECT 1 FROM operator_action AS a
         WHERE a.workspace_id = i.workspace_id AND a.action_key = i.action_key)
     ORDER BY i.place LIMIT $3";
/// Index: `bulk_item_by_operation`.
pub(super) const OF_OPERATION: &str = "SELECT b.bulk_id, b.input, b.made_at FROM bulk_item AS i
     JOIN bulk AS b ON b.workspace_id = i.workspace_id AND b.bulk_id = i.bulk_id
     WHERE i.workspace_id = $1 AND i.op_id = $2 AND b.started_at IS NOT NULL ORDER BY i.bulk_id DESC LIMIT $3";
/// Index: `bulk_previewed`.
pub(super) const OLD_PREVIEWS: &str = "SELECT bulk_id FROM bulk
     WHERE workspace_id = $1 AND state = 'previewed' AND made_at <= $2 ORDER BY made_at, bulk_id LIMIT $3";
const FORGET: &str = "DELETE FROM bulk WHERE workspace_id = $1 AND bulk_id = $2 AND state = 'previewed'";
const FORGET_ITEMS: &str = "DELETE FROM bulk_item WHERE workspace_id = $1 AND bulk_id = $2";

impl Tx {
    /// Keeps a preview with its list.
    pub(crate) async fn bulk_insert(&mut self, bulk: &Bulk, items: &[Item]) -> Result<(), LedgerError> {
        let row = vec![
            WORKSPACE.into(),
            bulk.id.as_str().into(),
            to_json(&bulk.input)?.into(),
            to_json(&bulk.origin)?.into(),
            bulk.items.into(),
            bulk.eligible.into(),
            bulk.hash.into(),
            to_json(&bulk.by)?.into(),
            bulk.made_at.into(),
            bulk.life.name().into(),
        ];
        self.insert(&BULK, vec![row]).await?;
        let mut rows = Vec::with_capacity(items.len());
        for (place, item) in (0_i64..).zip(items) {
            let key = bulk.item_key(&item.operation).map_err(|error| corrupt(&error))?;
            rows.push(vec![
                WORKSPACE.into(),
                bulk.id.as_str().into(),
                place.into(),
                item.operation.as_str().into(),
                item.seen_version.into(),
                key.as_str().into(),
                item.skip.as_ref().map(to_json).transpose()?.into(),
            ]);
        }
        self.insert(&ITEM, rows).await?;
        self.tell("bulk", bulk.id.as_str(), 1);
        Ok(())
    }

    /// A bulk action. In a write transaction its row stays locked until the end.
    pub(crate) async fn bulk_find(&mut self, id: &BulkId) -> Result<Option<Bulk>, LedgerError> {
        let sql = match self.conn {
            Conn::Postgres(_) => *BY_ID_LOCKED,
            Conn::Sqlite(_) | Conn::SqliteReader(_) | Conn::PostgresReader(_) => BY_ID,
        };
        let row = self.fetch_one(sql, vec![WORKSPACE.into(), id.as_str().into()]).await?;
        row.map(|mut cells| read(&mut cells)).transpose()
    }

    /// Bulk actions that were started, the newest first.
    pub(crate) async fn bulks_newest(&mut self, limit: u32) -> Result<Vec<Bulk>, LedgerError> {
        let rows = self.fetch(NEWEST, vec![WORKSPACE.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| read(&mut cells)).collect()
    }

    /// Its next life, where it still has the one that `bulk` has.
    pub(crate) async fn bulk_set_life(&mut self, bulk: &Bulk, next: &Life) -> Result<(), LedgerError> {
        let (ended_at, why) = match next {
            Life::Previewed | Life::Running(_) => (None, None),
            Life::Done { at, .. } => (Some(*at), None),
            Life::Aborted { at, why, .. } => (Some(*at), Some(to_json(why)?)),
        };
        let started = next.started();
        let args = vec![
            next.name().into(),
            started.map(|started| started.reason.as_str()).into(),
            started.map(|started| started.at).into(),
            ended_at.into(),
            why.into(),
            WORKSPACE.into(),
            bulk.id.as_str().into(),
            bulk.life.name().into(),
        ];
        if self.execute(SET_LIFE, args).await? != 1 {
            return Err(LedgerError::Contended);
        }
        self.tell("bulk", bulk.id.as_str(), if next.is_over() { 3 } else { 2 });
        Ok(())
    }

    /// Takes or renews the work on a running bulk action; false if somebody else has it.
    pub(crate) async fn bulk_take(
        &mut self,
        id: &BulkId,
        runner: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, LedgerError> {
        let args = vec![runner.into(), until.into(), WORKSPACE.into(), id.as_str().into(), now.into()];
        Ok(self.execute(TAKE, args).await? == 1)
    }

    /// Gives back what this runner has taken.
    pub(crate) async fn bulks_give_back(&mut self, runner: &str) -> Result<(), LedgerError> {
        self.execute(GIVE_BACK, vec![WORKSPACE.into(), runner.into()]).await.map(|_| ())
    }

    /// Running bulk actions that this runner may work on.
    pub(crate) async fn bulks_running(
        &mut self,
        runner: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<BulkId>, LedgerError> {
        let rows = self.fetch(RUNNING, vec![WORKSPACE.into(), now.into(), runner.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.parsed(BulkId::parse)).collect()
    }

    /// The whole list, with the answer of each item that has one.
    pub(crate) async fn bulk_items(&mut self, id: &BulkId) -> Result<Vec<(Item, Option<Answer>)>, LedgerError> {
        let rows = self.fetch(ITEMS, vec![WORKSPACE.into(), id.as_str().into()]).await?;
        rows.into_iter().map(|mut cells| Ok((read_item(&mut cells)?, read_answer(&mut cells)?))).collect()
    }

    /// The first items that are to be done and have no answer yet.
    pub(crate) async fn bulk_items_waiting(&mut self, id: &BulkId, limit: u32) -> Result<Vec<Item>, LedgerError> {
        let rows = self.fetch(WAITING, vec![WORKSPACE.into(), id.as_str().into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| read_item(&mut cells)).collect()
    }

    /// Bulk actions that were started and name this operation, the newest first.
    pub(crate) async fn bulks_of_operation(
        &mut self,
        id: &str,
        limit: u32,
    ) -> Result<Vec<BulkOfOperation>, LedgerError> {
        let rows = self.fetch(OF_OPERATION, vec![WORKSPACE.into(), id.into(), limit.into()]).await?;
        rows.into_iter()
            .map(|mut cells| {
                let (id, input) = (cells.parsed(BulkId::parse)?, cells.json()?);
                Ok(BulkOfOperation { id, input, made_at: cells.at()? })
            })
            .collect()
    }

    /// Previews that were made up to then and never started.
    pub(crate) async fn bulks_unstarted(&mut self, made: Timestamp, limit: u32) -> Result<Vec<BulkId>, LedgerError> {
        let rows = self.fetch(OLD_PREVIEWS, vec![WORKSPACE.into(), made.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.parsed(BulkId::parse)).collect()
    }

    /// Forgets a preview that was never started.
    pub(crate) async fn bulk_forget(&mut self, id: &BulkId) -> Result<(), LedgerError> {
        if self.execute(FORGET, vec![WORKSPACE.into(), id.as_str().into()]).await? == 1 {
            self.execute(FORGET_ITEMS, vec![WORKSPACE.into(), id.as_str().into()]).await?;
        }
        Ok(())
    }
}

fn read(cells: &mut Cells) -> Result<Bulk, LedgerError> {
    Ok(Bulk {
        id: cells.parsed(BulkId::parse)?,
        input: cells.json()?,
        origin: cells.json()?,
        items: cells.count()?,
        eligible: cells.count()?,
        hash: cells.hash()?,
        by: cells.json()?,
        made_at: cells.at()?,
        life: read_life(cells)?,
    })
}

fn read_life(cells: &mut Cells) -> Result<Life, LedgerError> {
    let (state, reason, at) = (cells.text()?, cells.text_opt()?, cells.at_opt()?);
    let (ended_at, why) = (cells.at_opt()?, cells.text_opt()?);
    let started = reason.zip(at).map(|(reason, at)| Started { at, reason });
    let why: Option<Stop> = why.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| corrupt(&error))?;
    let life = match (state.as_str(), started, ended_at, why) {
        ("previewed", None, None, None) => Some(Life::Previewed),
        ("running", Some(started), None, None) => Some(Life::Running(started)),
        ("done", Some(started), Some(at), None) => Some(Life::Done { started, at }),
        ("aborted", started, Some(at), Some(why)) => Some(Life::Aborted { started, at, why }),
        _ => None,
    };
    life.ok_or_else(|| corrupt(&format!("{state:?} does not go with its times")))
}

fn read_item(cells: &mut Cells) -> Result<Item, LedgerError> {
    let (operation, seen_version) = (cells.parsed(OperationId::parse)?, cells.version()?);
    let skip = cells.text_opt()?.map(|text| serde_json::from_str(&text)).transpose();
    Ok(Item { operation, seen_version, skip: skip.map_err(|error| corrupt(&error))? })
}

fn read_answer(cells: &mut Cells) -> Result<Option<Answer>, LedgerError> {
    let Some(key) = cells.parsed_opt(ActionKey::parse)? else { return Ok(None) };
    let status = cells.parsed(known(ActionStatus::parse))?;
    let refusal: Option<Refusal> =
        cells.text_opt()?.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| corrupt(&error))?;
    let settled_at = cells.at_opt()?;
    let made_version = cells.int_opt()?.and_then(|version| version.try_into().ok());
    Ok(Some(Answer { key, status, refusal, settled_at, made_version }))
}

fn corrupt(error: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Corrupt { what: format!("a bulk action: {error}") }
}

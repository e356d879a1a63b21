//! What execution keeps: candidates for work, the bytes that go out, sends without an end, destinations, workers.

use std::sync::LazyLock;

use tallystick_domain::budget::{Budget, Shortage, Token};
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::lease::Scope;
use tallystick_domain::name::{DestinationName, OperationId, OperationKey};
use tallystick_domain::time::Timestamp;

use super::catalog::Known;
use super::table::Table;
use super::value::{Cells, to_json};
use super::{Conn, Tx, WORKSPACE, postgres};
use crate::LedgerError;
use crate::destinations::{Destination, RefusedDispatch};
use crate::executing::SeenWorker;

static WIRE: Table = Table {
    name: "wire",
    columns: &["workspace_id", "op_id", "args_version", "bytes", "wire_hash", "made_at"],
    on_conflict: "",
};
static SENDING: Table = Table {
    name: "sending",
    columns: &["workspace_id", "op_id", "epoch", "incarnation", "destination", "dispatched_at", "token"],
    on_conflict: "",
};

static BUDGET_REFUSAL: Table = Table {
    name: "budget_refusal",
    columns: &["workspace_id", "destination", "at", "op_id", "epoch", "why"],
    on_conflict: "",
};

/// Index: `operation_by_claim`. `$4`: whether the destination's budget admits further sends.
pub(super) const CLAIMABLE: &str = "SELECT op_id FROM operation
     WHERE workspace_id = $1 AND tool = $2 AND claim_at <= $3 AND (attempts = 0 OR $4)
     ORDER BY claim_at, op_id LIMIT $5";
static CLAIMABLE_SKIPPING: LazyLock<&'static str> =
    LazyLock::new(|| format!("{CLAIMABLE}{} SKIP LOCKED", postgres::LOCK_ROWS).leak());
/// Index: `operation_by_look_up`, then the primary key of `looking`.
pub(super) const TO_LOOK_UP: &str = "SELECT op_id FROM operation
     WHERE workspace_id = $1 AND tool = $2 AND look_up_at <= $3 AND NOT EXISTS (SELECT 1 FROM looking
         WHERE looking.workspace_id = operation.workspace_id AND looking.op_id = operation.op_id AND until > $3)
     ORDER BY look_up_at, op_id LIMIT $4";
/// Index: primary key of looking.
const TAKE_LOOK: &str = "INSERT INTO looking (workspace_id, op_id, until) VALUES ($1, $2, $3)
     ON CONFLICT (workspace_id, op_id) DO UPDATE SET until = excluded.until WHERE looking.until <= $4";
const END_LOOK: &str = "DELETE FROM looking WHERE workspace_id = $1 AND op_id = $2";
/// Index: primary key of wire.
pub(super) const KEPT_WIRE: &str = "SELECT bytes, wire_hash FROM wire
     WHERE workspace_id = $1 AND op_id = $2 AND args_version = $3";
/// Index: primary key of sending.
pub(super) const END_SENDING: &str = "DELETE FROM sending WHERE workspace_id = $1 AND op_id = $2 AND epoch = $3
     RETURNING destination, token";
/// Index: `sending_by_incarnation`.
pub(super) const SENT_BY: &str = "SELECT op_id FROM sending WHERE workspace_id = $1 AND incarnation = $2
     ORDER BY op_id LIMIT $3";
const FORGET_SENT_BY: &str = "DELETE FROM sending WHERE workspace_id = $1 AND incarnation = $2 AND op_id = $3";
/// Index: `sending_by_incarnation`.
const SENDERS: &str =
    "SELECT DISTINCT incarnation FROM sending WHERE workspace_id = $1 ORDER BY incarnation LIMIT 1000";
/// Index: primary key of destination.
const DESTINATION: &str = "SELECT name, version, scope, is_paused, budget, short_since, short_until FROM destination
     WHERE workspace_id = $1 AND name = $2";
static DESTINATION_LOCKED: LazyLock<&'static str> =
    LazyLock::new(|| format!("{DESTINATION}{}", postgres::LOCK_ROWS).leak());
const DESTINATIONS: &str = "SELECT name, version, scope, is_paused, budget, short_since, short_until FROM destination
     WHERE workspace_id = $1 ORDER BY name LIMIT 10000";
const SAVE_DESTINATION: &str = "INSERT INTO destination (workspace_id, name, version, scope, is_paused, changed_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (workspace_id, name) DO UPDATE
     SET version = excluded.version, scope = excluded.scope, is_paused = excluded.is_paused,
         changed_at = excluded.changed_at";
const SAVE_BUDGET: &str = "UPDATE destination SET budget = $1, short_since = $2, short_until = $3
     WHERE workspace_id = $4 AND name = $5";
/// Index: `operation_by_claim`.
pub(super) const DUE_RETRIES: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM operation
     WHERE workspace_id = $1 AND tool = $2 AND claim_at <= $3 AND attempts > 0 LIMIT $4) AS due";
/// Index: primary key of `budget_refusal`.
pub(super) const REFUSED: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM budget_refusal
     WHERE workspace_id = $1 AND destination = $2 AND at >= $3 LIMIT $4) AS refused";
/// Indexes: primary keys of `budget_refusal`, from its end, and of operation.
pub(super) const NEWEST_REFUSED: &str = "SELECT r.op_id, o.operation_key, r.at, r.why FROM budget_refusal AS r
     JOIN operation AS o ON o.workspace_id = r.workspace_id AND o.op_id = r.op_id
     WHERE r.workspace_id = $1 AND r.destination = $2 ORDER BY r.at DESC, r.op_id DESC, r.epoch DESC LIMIT $3";
const SEE_WORKER: &str = "INSERT INTO worker (workspace_id, name, incarnation, seen_at, offset_micros)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (workspace_id, name) DO UPDATE
     SET incarnation = excluded.incarnation, seen_at = excluded.seen_at, offset_micros = excluded.offset_micros";
const WORKERS: &str = "SELECT name, incarnation, seen_at, offset_micros FROM worker
     WHERE workspace_id = $1 ORDER BY seen_at DESC, name LIMIT 200";

/// A send whose end was not on record.
pub(crate) struct Unended {
    pub(crate) destination: Option<String>,
    pub(crate) token: Option<Token>,
}

impl Tx {
    /// Operations of a tool that may be claimed, what waits longest first. Rows that another process holds are passed over.
    pub(crate) async fn claimable(
        &mut self,
        tool: &str,
        now: Timestamp,
        may_repeat: bool,
        limit: u32,
    ) -> Result<Vec<OperationId>, LedgerError> {
        let sql = match self.conn {
            Conn::Postgres(_) => *CLAIMABLE_SKIPPING,
            Conn::Sqlite(_) | Conn::SqliteReader(_) | Conn::PostgresReader(_) => CLAIMABLE,
        };
        let rows = self.fetch(sql, vec![WORKSPACE.into(), tool.into(), now.into(), may_repeat.into(), limit.into()]);
        ids(rows.await?)
    }

    /// Operations of a tool that are to be looked up, and that nobody looks up now.
    pub(crate) async fn look_ups_due(
        &mut self,
        tool: &str,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OperationId>, LedgerError> {
        ids(self.fetch(TO_LOOK_UP, vec![WORKSPACE.into(), tool.into(), now.into(), limit.into()]).await?)
    }

    /// Takes a look-up; false if somebody else has it.
    pub(crate) async fn look_take(&mut self, id: &str, now: Timestamp, until: Timestamp) -> Result<bool, LedgerError> {
        let taken = self.execute(TAKE_LOOK, vec![WORKSPACE.into(), id.into(), until.into(), now.into()]).await?;
        Ok(taken == 1)
    }

    /// Gives a look-up back.
    pub(crate) async fn look_end(&mut self, id: &str) -> Result<(), LedgerError> {
        self.execute(END_LOOK, vec![WORKSPACE.into(), id.into()]).await.map(|_| ())
    }

    /// The request that is kept for one version of the arguments.
    pub(crate) async fn wire(&mut self, id: &str, args_version: u32) -> Result<Option<(Vec<u8>, Hash)>, LedgerError> {
        let row = self.fetch_one(KEPT_WIRE, vec![WORKSPACE.into(), id.into(), args_version.into()]).await?;
        row.map(|mut cells| Ok((cells.bytes()?, cells.hash()?))).transpose()
    }

    /// Keeps a request.
    pub(crate) async fn wire_insert(
        &mut self,
        id: &str,
        args_version: u32,
        bytes: Vec<u8>,
        hash: Hash,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = vec![WORKSPACE.into(), id.into(), args_version.into(), bytes.into(), hash.into(), now.into()];
        self.insert_later(&WIRE, vec![row]).await
    }

    /// Notes a send whose end is to come.
    pub(crate) async fn sending_insert(
        &mut self,
        id: &str,
        epoch: u64,
        incarnation: &str,
        destination: Option<&str>,
        token: Option<&Token>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = vec![
            WORKSPACE.into(),
            id.into(),
            epoch.into(),
            incarnation.into(),
            destination.into(),
            now.into(),
            token.map(to_json).transpose()?.into(),
        ];
        self.insert_later(&SENDING, vec![row]).await
    }

    /// Takes the note of a send away, once.
    pub(crate) async fn sending_end(&mut self, id: &str, epoch: u64) -> Result<Option<Unended>, LedgerError> {
        let key = vec![WORKSPACE.into(), id.into(), epoch.into()];
        let Some(mut cells) = self.fetch_one(END_SENDING, key).await? else { return Ok(None) };
        let destination = cells.text_opt()?;
        let token = cells.text_opt()?.and_then(|text| serde_json::from_str(&text).ok());
        Ok(Some(Unended { destination, token }))
    }

    /// Operations that a process sent and whose end is not on record.
    pub(crate) async fn sent_by(&mut self, incarnation: &str, limit: u32) -> Result<Vec<OperationId>, LedgerError> {
        ids(self.fetch(SENT_BY, vec![WORKSPACE.into(), incarnation.into(), limit.into()]).await?)
    }

    /// Forgets that a process was sending an operation.
    pub(crate) async fn sent_by_end(&mut self, incarnation: &str, id: &str) -> Result<(), LedgerError> {
        self.execute(FORGET_SENT_BY, vec![WORKSPACE.into(), incarnation.into(), id.into()]).await.map(|_| ())
    }

    /// Processes that have sends without an end.
    pub(crate) async fn senders(&mut self) -> Result<Vec<String>, LedgerError> {
        let rows = self.fetch(SENDERS, vec![WORKSPACE.into()]).await?;
        rows.into_iter().map(|mut cells| cells.text()).collect()
    }

    /// A destination. In a write transaction of PostgreSQL its row stays locked until the end where `to_spend`.
    pub(crate) async fn destination(&mut self, name: &str, to_spend: bool) -> Result<Option<Destination>, LedgerError> {
        let sql = match self.conn {
            Conn::Postgres(_) if to_spend => *DESTINATION_LOCKED,
            _ => DESTINATION,
        };
        if !to_spend && let Some(seen) = self.seen.destinations.get(name) {
            return Ok(seen.clone());
        }
        let row = self.fetch_one(sql, vec![WORKSPACE.into(), name.into()]).await?;
        let found = row.map(|mut cells| read_destination(&mut cells)).transpose()?;
        self.seen.destinations.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// The scope of a destination as configured now.
    pub(crate) async fn destination_scope(&mut self, name: &str) -> Result<Option<Scope>, LedgerError> {
        if let Some(standing) = &self.seen.standing
            && let Known::Read(scope) = standing.scope(name)
        {
            return Ok(scope);
        }
        let scope = self.destination(name, false).await?.map(|found| found.scope);
        if let Some(standing) = &self.seen.standing {
            standing.keep_scope(name, scope.as_ref());
        }
        Ok(scope)
    }

    /// Every destination, by name.
    pub(crate) async fn destinations(&mut self) -> Result<Vec<Destination>, LedgerError> {
        let rows = self.fetch(DESTINATIONS, vec![WORKSPACE.into()]).await?;
        rows.into_iter().map(|mut cells| read_destination(&mut cells)).collect()
    }

    /// Saves a destination, its budget aside.
    pub(crate) async fn destination_save(&mut self, one: &Destination, now: Timestamp) -> Result<(), LedgerError> {
        let args = vec![
            WORKSPACE.into(),
            one.name.as_str().into(),
            one.version.into(),
            to_json(&one.scope)?.into(),
            one.is_paused.into(),
            now.into(),
        ];
        self.declares();
        self.seen.destinations.remove(one.name.as_str());
        self.execute(SAVE_DESTINATION, args).await?;
        self.tell("destination", one.name.as_str(), one.version);
        Ok(())
    }

    /// Saves a destination's budget, and with it when it paid for no retry; `last` is what was known of that before.
    pub(crate) async fn budget_save(
        &mut self,
        name: &str,
        budget: &Budget,
        last: Option<Shortage>,
    ) -> Result<(), LedgerError> {
        let shortage = budget.shortage(last, self.now().await?);
        let args = vec![
            to_json(budget)?.into(),
            shortage.map(|shortage| shortage.since).into(),
            shortage.and_then(|shortage| shortage.until).into(),
            WORKSPACE.into(),
            name.into(),
        ];
        self.seen.destinations.remove(name);
        self.execute_later("destination", SAVE_BUDGET, args).await
    }

    /// Notes a dispatch that a destination's budget refused.
    pub(crate) async fn budget_refusal_insert(
        &mut self,
        destination: &str,
        id: &OperationId,
        epoch: u64,
        why: &str,
    ) -> Result<(), LedgerError> {
        let now = self.now().await?;
        let row = vec![WORKSPACE.into(), destination.into(), now.into(), id.as_str().into(), epoch.into(), why.into()];
        self.insert_later(&BUDGET_REFUSAL, vec![row]).await
    }

    /// How many dispatches a destination's budget refused since a time, up to `limit`.
    pub(crate) async fn budget_refusals(
        &mut self,
        destination: &str,
        since: Timestamp,
        limit: u32,
    ) -> Result<u32, LedgerError> {
        let args = vec![WORKSPACE.into(), destination.into(), since.into(), limit.into()];
        self.fetch_one(REFUSED, args).await?.map_or(Ok(0), |mut cells| cells.count())
    }

    /// The newest dispatches that a destination's budget refused.
    pub(crate) async fn budget_refusals_newest(
        &mut self,
        destination: &str,
        limit: u32,
    ) -> Result<Vec<RefusedDispatch>, LedgerError> {
        let rows = self.fetch(NEWEST_REFUSED, vec![WORKSPACE.into(), destination.into(), limit.into()]).await?;
        rows.into_iter()
            .map(|mut cells| {
                Ok(RefusedDispatch {
                    operation_id: cells.parsed(OperationId::parse)?,
                    operation_key: cells.parsed(OperationKey::parse)?,
                    at: cells.at()?,
                    why: cells.text()?,
                })
            })
            .collect()
    }

    /// How many retries of a tool are due, up to `limit`.
    pub(crate) async fn retries_due(&mut self, tool: &str, now: Timestamp, limit: u32) -> Result<u32, LedgerError> {
        let args = vec![WORKSPACE.into(), tool.into(), now.into(), limit.into()];
        self.fetch_one(DUE_RETRIES, args).await?.map_or(Ok(0), |mut cells| cells.count())
    }

    /// Notes that a worker spoke.
    pub(crate) async fn worker_see(&mut self, worker: &SeenWorker) -> Result<(), LedgerError> {
        let args = vec![
            WORKSPACE.into(),
            worker.name.as_str().into(),
            worker.incarnation.as_str().into(),
            worker.seen_at.into(),
            worker.offset_micros.into(),
        ];
        self.execute_later("worker", SEE_WORKER, args).await
    }

    /// Workers, the last that spoke first.
    pub(crate) async fn workers(&mut self) -> Result<Vec<SeenWorker>, LedgerError> {
        let rows = self.fetch(WORKERS, vec![WORKSPACE.into()]).await?;
        rows.into_iter()
            .map(|mut cells| {
                Ok(SeenWorker {
                    name: cells.text()?,
                    incarnation: cells.text()?,
                    seen_at: cells.at()?,
                    offset_micros: cells.int_opt()?,
                })
            })
            .collect()
    }
}

fn read_destination(cells: &mut Cells) -> Result<Destination, LedgerError> {
    let (name, version) = (cells.parsed(DestinationName::parse)?, cells.version()?);
    let scope: Scope = cells.json()?;
    let is_paused = cells.bool()?;
    let budget = cells.text_opt()?;
    let budget = budget.map(|text| serde_json::from_str(&text)).transpose();
    let budget = budget.map_err(|error| LedgerError::Corrupt { what: format!("budget of {name}: {error}") })?;
    let (since, until) = (cells.at_opt()?, cells.at_opt()?);
    let shortage = since.map(|since| Shortage { since, until });
    Ok(Destination { name, version, scope, is_paused, budget, shortage })
}

fn ids(rows: Vec<Cells>) -> Result<Vec<OperationId>, LedgerError> {
    rows.into_iter().map(|mut cells| cells.parsed(OperationId::parse)).collect()
}

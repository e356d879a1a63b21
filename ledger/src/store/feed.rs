//! The change feed: what a transaction tells, and reading what came after a number.

use tallystick_domain::operation::{Head, Projection};

use super::table::Table;
use super::value::Value;
use super::{Tx, WORKSPACE, postgres, sqlite};
use crate::LedgerError;
use crate::changes::{CatchUp, Change};

/// Stands for "too many to tell one by one".
pub(crate) const RESYNC_TOPIC: &str = "resync";
/// How many changes one transaction can tell: PostgreSQL numbers have 14 bits for the place in it.
const TOLD_LIMIT: usize = (1 << 14) - 2;
/// The feed keeps at least this many numbers; whoever is further behind reads everything again.
const KEPT: i64 = 200_000;
/// How many changes one transaction cuts: after a large import there are many, and others want to write too.
const CUT_LIMIT: i64 = 20_000;
const HORIZON: &str = "feed_cut_to";

static OUTBOX: Table = Table {
    name: "outbox",
    columns: &["workspace_id", "topic", "subject", "version", "needs_attention"],
    on_conflict: "",
};
static NUMBERED_OUTBOX: Table = Table {
    name: "outbox",
    columns: &["sequence", "workspace_id", "topic", "subject", "version", "needs_attention"],
    on_conflict: "",
};

/// Index: primary key of setting.
const CUT_TO: &str = "SELECT value FROM setting WHERE workspace_id = $1 AND name = $2";
const SET_CUT: &str = "INSERT INTO setting (workspace_id, name, value, version) VALUES ($1, $2, $3, 1)
     ON CONFLICT (workspace_id, name) DO UPDATE SET value = excluded.value";
/// Index: primary key of outbox.
const IS_SURPLUS: &str = "SELECT 1 FROM outbox WHERE sequence < $1 LIMIT 1";
/// Index: primary key of outbox. Where a cut ends that takes no more than so many.
const CUT_END: &str = "SELECT sequence FROM outbox WHERE sequence < $1 ORDER BY sequence LIMIT 1 OFFSET $2";
/// Index: primary key of outbox.
const CUT: &str = "DELETE FROM outbox WHERE sequence < $1";

impl Tx {
    /// Notes that an operation changed; written at the end of the unit of work.
    pub(crate) fn tell_operation(&mut self, head: &Head, version: u64, row: &Projection) {
        self.feed.push(Change {
            sequence: 0,
            topic: "operation".into(),
            id: head.id.as_str().into(),
            version,
            needs_attention: row.attention.is_some(),
        });
    }

    /// Notes any other change.
    pub(crate) fn tell(&mut self, topic: &str, subject: &str, version: u64) {
        self.feed.push(Change {
            sequence: 0,
            topic: topic.into(),
            id: subject.into(),
            version,
            needs_attention: false,
        });
    }

    /// Forgets what an undone unit of work noted.
    pub(crate) fn forget_feed(&mut self) {
        self.feed.clear();
    }

    /// Writes what was noted, and what waited, at the end of the unit of work.
    pub(crate) async fn finish(&mut self) -> Result<(), LedgerError> {
        self.flush_feed().await?;
        self.send_waiting().await
    }

    async fn flush_feed(&mut self) -> Result<(), LedgerError> {
        let mut changes = std::mem::take(&mut self.feed);
        if changes.is_empty() {
            return Ok(());
        }
        if changes.len() > TOLD_LIMIT {
            changes.truncate(0);
            changes.push(Change {
                sequence: 0,
                topic: RESYNC_TOPIC.into(),
                id: "*".into(),
                version: 0,
                needs_attention: false,
            });
        }
        if !self.is_postgres() {
            let rows = changes.iter().map(values).collect();
            return self.insert_later(&OUTBOX, rows).await;
        }
        let mut rows = Vec::with_capacity(changes.len());
        for change in &changes {
            let place = self.told;
            self.told += 1;
            rows.push(std::iter::once(place.into()).chain(values(change)).collect());
        }
        self.insert_added_later(&NUMBERED_OUTBOX, postgres::TRANSACTION_NUMBER, rows).await
    }

    /// The newest number that is final.
    pub(crate) async fn newest_sequence(&mut self) -> Result<i64, LedgerError> {
        let row = self.fetch_one(self.pick(sqlite::NEWEST_SEQUENCE, postgres::NEWEST_SEQUENCE), Vec::new()).await?;
        row.map_or(Ok(0), |mut cells| cells.int())
    }

    /// What came after a number.
    pub(crate) async fn changes_after(&mut self, sequence: i64, limit: u32) -> Result<CatchUp, LedgerError> {
        let args = vec![sequence.into(), limit.into()];
        let rows = self.fetch(self.pick(sqlite::CHANGES_AFTER, postgres::CHANGES_AFTER), args).await?;
        let mut changes = Vec::with_capacity(rows.len());
        for mut cells in rows {
            changes.push(Change {
                sequence: cells.int()?,
                topic: cells.text()?,
                id: cells.text()?,
                version: cells.version()?,
                needs_attention: cells.bool()?,
            });
        }
        let newest = self.newest_sequence().await?;
        let is_of_another_record = sequence > newest;
        let must_resync = is_of_another_record
            || sequence < self.feed_cut_to().await?
            || changes.iter().any(|change| change.topic == RESYNC_TOPIC);
        Ok(if must_resync { CatchUp::Resync { sequence: newest } } else { CatchUp::Changes(changes) })
    }

    async fn feed_cut_to(&mut self) -> Result<i64, LedgerError> {
        let row = self.fetch_one(CUT_TO, vec![WORKSPACE.into(), HORIZON.into()]).await?;
        let text = row.map(|mut cells| cells.text()).transpose()?;
        Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// The newest number up to which the feed is known to be short enough; `None` if it holds more than it keeps.
    /// `known` is the last such number. Where counting means reading (PostgreSQL) it is done again only after many more.
    pub(crate) async fn feed_short_at(&mut self, known: i64) -> Result<Option<i64>, LedgerError> {
        let newest = self.newest_sequence().await?;
        let worth_looking = if self.is_postgres() { postgres::FEED_STEP } else { sqlite::FEED_STEP };
        if newest.saturating_sub(known) < worth_looking {
            return Ok(Some(known));
        }
        Ok(if self.feed_horizon().await?.is_some() { None } else { Some(newest) })
    }

    /// Cuts the feed at its old end, up to a limit; whether more is left to be cut.
    pub(crate) async fn feed_cut(&mut self) -> Result<bool, LedgerError> {
        let Some(horizon) = self.feed_horizon().await? else { return Ok(false) };
        let end = self.fetch_one(CUT_END, vec![horizon.into(), CUT_LIMIT.into()]).await?;
        let end = end.map(|mut cells| cells.int()).transpose()?;
        let cut_to = end.unwrap_or(horizon);
        let args = vec![WORKSPACE.into(), HORIZON.into(), cut_to.to_string().into()];
        self.execute(SET_CUT, args).await?;
        self.execute(CUT, vec![cut_to.into()]).await?;
        Ok(end.is_some())
    }

    /// The oldest number that stays, if there are older ones.
    async fn feed_horizon(&mut self) -> Result<Option<i64>, LedgerError> {
        let row = self.fetch_one(self.pick(sqlite::FEED_HORIZON, postgres::FEED_HORIZON), vec![KEPT.into()]).await?;
        let Some(horizon) = row.map(|mut cells| cells.int()).transpose()? else { return Ok(None) };
        Ok(self.fetch_one(IS_SURPLUS, vec![horizon.into()]).await?.map(|_| horizon))
    }
}

fn values(change: &Change) -> Vec<Value> {
    vec![
        WORKSPACE.into(),
        change.topic.as_str().into(),
        change.id.as_str().into(),
        change.version.into(),
        change.needs_attention.into(),
    ]
}

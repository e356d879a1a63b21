//! Lists: pages of operations, the queue and the counts above it. Filters are put together here and nowhere else:
//! every piece of text is ours, every value is bound.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use sqlx::AssertSqlSafe;
use tallystick_domain::operation::Reason;
use tallystick_domain::query::{OperationQuery, PAGE_LIMIT, PAGE_SIZE, QueueQuery};
use tallystick_domain::time::Timestamp;

use super::operation::LISTED;
use super::value::Value;
use super::{Tx, WORKSPACE, row};
use crate::LedgerError;
use crate::operations::Listed;

/// A search that finds more than this is answered by reading the newest first; fewer are found by their indexes.
#[cfg(not(feature = "test-clock"))]
const NARROW: i64 = 10_000;
/// Tests need not record ten thousand operations to meet the other way.
#[cfg(feature = "test-clock")]
const NARROW: i64 = 1000;
/// Counts stop here.
const COUNT_LIMIT: i64 = 1000;
/// How many names a filter offers.
const NAMES_LIMIT: i64 = 200;

/// A statement under construction.
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) args: Vec<Value>,
}

impl Statement {
    /// Rows of operations of the workspace.
    fn listing() -> Self {
        Self { sql: format!("SELECT {} FROM operation WHERE workspace_id = $1", *LISTED), args: vec![WORKSPACE.into()] }
    }

    /// Adds a condition in which each `?` stands for the next of the values.
    fn and(&mut self, condition: &'static str, values: Vec<Value>) {
        self.sql.push_str(" AND ");
        let mut values = values.into_iter();
        for (at, piece) in condition.split('?').enumerate() {
            if at > 0 {
                self.args.extend(values.next());
                let _ = write!(self.sql, "${}", self.args.len());
            }
            self.sql.push_str(piece);
        }
    }

    fn and_text(&mut self, condition: &'static str, value: Option<&String>) {
        if let Some(value) = value {
            self.and(condition, vec![value.as_str().into()]);
        }
    }

    /// Ends the statement.
    fn order(&mut self, order: &'static str, limit: i64) {
        self.args.push(limit.into());
        let _ = write!(self.sql, " ORDER BY {order} LIMIT ${}", self.args.len());
    }
}

/// Indexes: primary key, `operation_key_once`, `operation_by_receipt`, `name_by_name`. `$2` the text, `$3` the end of
/// its range.
macro_rules! found {
    ($text:literal, $end:literal) => {
        concat!(
            "SELECT op_id FROM operation WHERE workspace_id = $1 AND op_id = ",
            $text,
            " UNION SELECT op_id FROM operation WHERE workspace_id = $1 AND operation_key >= ",
            $text,
            " AND operation_key < ",
            $end,
            " UNION SELECT op_id FROM operation WHERE workspace_id = $1 AND receipt = ",
            $text,
            " UNION SELECT op_id FROM operation_name WHERE workspace_id = $1 AND name = ",
            $text
        )
    };
}
pub(super) const PREFIX_COUNT: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM operation
     WHERE workspace_id = $1 AND operation_key >= $2 AND operation_key < $3 LIMIT $4) AS found";
const IN_FOUND: &str = concat!("op_id IN (", found!("?", "?"), ")");
/// Reads by the order of the page and filters; the concatenation keeps the planner from sorting a large range.
const IS_FOUND: &str = "(((operation_key || '') >= ? AND (operation_key || '') < ?) OR receipt = ?
     OR op_id IN (SELECT op_id FROM operation_name WHERE workspace_id = $1 AND name = ?))";

/// Index: `attention_by_rank`, and nothing but it; PostgreSQL may take another `attention_by_` one, each holds just what
/// waits.
pub(super) const COUNT: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM operation WHERE workspace_id = $1
     AND attention_rank IS NOT NULL LIMIT $2) AS waiting";
/// Index: `attention_by_reason`, one short scan a reason.
pub(super) static COUNTS: LazyLock<Arc<str>> = LazyLock::new(|| {
    let counts = Reason::ALL.iter().map(|reason| {
        let name = reason.name();
        format!(
            "SELECT '{name}' AS reason, COUNT(*) AS waiting FROM (SELECT 1 FROM operation WHERE workspace_id = $1 \
             AND attention_reason = '{name}' AND attention_rank IS NOT NULL LIMIT $2) AS {name}"
        )
    });
    counts.collect::<Vec<_>>().join(" UNION ALL ").into()
});
/// Index: `attention_by_since`.
pub(super) const OLDEST: &str = "SELECT since FROM operation WHERE workspace_id = $1 AND attention_rank IS NOT NULL
     ORDER BY since LIMIT 1";
/// Index: `attention_by_key_end`.
pub(super) const LOSING: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM operation WHERE workspace_id = $1
     AND attention_rank IS NOT NULL AND key_until > $2 AND key_until <= $3 LIMIT $4) AS losing";
/// Index: `operation_by_tool`; hops from name to name instead of reading every row.
pub(super) const TOOLS: &str = "WITH RECURSIVE hop (name) AS (
        SELECT MIN(tool) FROM operation WHERE workspace_id = $1 AND tool IS NOT NULL
        UNION ALL
        SELECT (SELECT MIN(tool) FROM operation WHERE workspace_id = $1 AND tool > hop.name) FROM hop
        WHERE hop.name IS NOT NULL)
     SELECT name FROM hop WHERE name IS NOT NULL LIMIT $2";
/// Index: `operation_by_destination`.
pub(super) const DESTINATIONS: &str = "WITH RECURSIVE hop (name) AS (
        SELECT MIN(destination) FROM operation WHERE workspace_id = $1 AND destination IS NOT NULL
        UNION ALL
        SELECT (SELECT MIN(destination) FROM operation WHERE workspace_id = $1 AND destination > hop.name) FROM hop
        WHERE hop.name IS NOT NULL)
     SELECT name FROM hop WHERE name IS NOT NULL LIMIT $2";
/// Index: `operation_by_change`.
pub(super) const DUE: &str = "SELECT op_id FROM operation WHERE workspace_id = $1 AND next_change_at <= $2
     ORDER BY next_change_at, op_id LIMIT $3";
/// Index: `operation_by_tool`.
pub(super) const IDS_OF_TOOL: &str = "SELECT op_id FROM operation WHERE workspace_id = $1 AND tool = $2 AND op_id > $3
     ORDER BY op_id LIMIT $4";

/// How many operations a search finds by the beginning of their keys.
#[derive(Clone, Copy)]
pub(super) enum Breadth {
    /// Few: find them, then sort.
    Narrow,
    /// Many: read the newest and leave out what does not match.
    Wide,
}

/// Beyond this text none with that beginning sorts (byte order in both engines).
fn end_of(text: &str) -> String {
    format!("{text}\u{10FFFF}")
}

pub(super) fn page_statement(query: &OperationQuery, breadth: Breadth) -> Statement {
    let mut statement = Statement::listing();
    if let Some(text) = query.search.as_deref() {
        let end = end_of(text);
        match breadth {
            Breadth::Narrow => {
                statement.and(IN_FOUND, vec![text.into(), text.into(), end.into(), text.into(), text.into()]);
            }
            Breadth::Wide => statement.and(IS_FOUND, vec![text.into(), end.into(), text.into(), text.into()]),
        }
    }
    statement.and_text("state = ?", query.state.as_ref());
    statement.and_text("tool = ?", query.tool.as_ref());
    statement.and_text("destination = ?", query.destination.as_ref());
    if let Some(mode) = query.mode {
        statement.and("mode = ?", vec![mode.name().into()]);
    }
    if query.without_key {
        statement.and("key_given = FALSE", Vec::new());
    }
    statement.and_text("op_id < ?", query.after.as_ref());
    statement.order("op_id DESC", i64::from(page_size(query.limit)) + 1);
    statement
}

pub(super) fn queue_statement(query: &QueueQuery, assignee: Option<&str>, after: Option<(i64, &str)>) -> Statement {
    let mut statement = Statement::listing();
    statement.and("attention_rank IS NOT NULL", Vec::new());
    if let Some(reason) = query.reason {
        statement.and("attention_reason = ?", vec![reason.name().into()]);
    }
    if let Some(assignee) = assignee {
        statement.and("assignee = ?", vec![assignee.into()]);
    }
    if let Some((rank, id)) = after {
        statement.and("(attention_rank, op_id) > (?, ?)", vec![rank.into(), id.into()]);
    }
    statement.order("attention_rank, op_id", i64::from(page_size(query.limit)) + 1);
    statement
}

/// How many rows a page has.
pub(crate) fn page_size(asked: Option<u32>) -> u32 {
    asked.unwrap_or(PAGE_SIZE).clamp(1, PAGE_LIMIT)
}

impl Tx {
    /// Operations, newest first: one row more than a page, if there are more.
    ///
    /// Index: the primary key, or that of the most telling filter (`operation_by_state`, `_by_tool`,
    /// `_by_destination`, `_by_mode`, `operation_without_key`).
    pub(crate) async fn operations_page(&mut self, query: &OperationQuery) -> Result<Vec<Listed>, LedgerError> {
        let breadth = match &query.search {
            Some(text) => self.search_breadth(text).await?,
            None => Breadth::Narrow,
        };
        self.listed(page_statement(query, breadth)).await
    }

    async fn search_breadth(&mut self, text: &str) -> Result<Breadth, LedgerError> {
        let args = vec![WORKSPACE.into(), text.into(), end_of(text).into(), (NARROW + 1).into()];
        let count = self.fetch_one(PREFIX_COUNT, args).await?.map_or(Ok(0), |mut cells| cells.int())?;
        Ok(if count > NARROW { Breadth::Wide } else { Breadth::Narrow })
    }

    /// What waits for a person, most urgent first: one row more than a page, if there are more.
    ///
    /// Index: `attention_by_rank`, `attention_by_reason` or `attention_by_assignee`.
    pub(crate) async fn queue_page(
        &mut self,
        query: &QueueQuery,
        assignee: Option<&str>,
        after: Option<(i64, &str)>,
    ) -> Result<Vec<Listed>, LedgerError> {
        self.listed(queue_statement(query, assignee, after)).await
    }

    async fn listed(&mut self, statement: Statement) -> Result<Vec<Listed>, LedgerError> {
        let rows = self.fetch(AssertSqlSafe(statement.sql), statement.args).await?;
        rows.into_iter().map(|mut cells| row::read(&mut cells).map(|(listed, _)| listed)).collect()
    }

    /// How many wait, up to 1000.
    pub(crate) async fn queue_count(&mut self) -> Result<u32, LedgerError> {
        let row = self.fetch_one(COUNT, vec![WORKSPACE.into(), COUNT_LIMIT.into()]).await?;
        row.map_or(Ok(0), |mut cells| cells.count())
    }

    /// How many wait, by reason, each up to 1000.
    pub(crate) async fn queue_counts(&mut self) -> Result<BTreeMap<Reason, u32>, LedgerError> {
        let args = vec![WORKSPACE.into(), COUNT_LIMIT.into()];
        let rows = self.fetch(AssertSqlSafe(Arc::clone(&COUNTS)), args).await?;
        let mut counts = BTreeMap::new();
        for mut cells in rows {
            let (reason, count) = (Reason::parse(&cells.text()?), cells.count()?);
            counts.extend(reason.filter(|_| count > 0).map(|reason| (reason, count)));
        }
        Ok(counts)
    }

    /// Since when the oldest waits.
    pub(crate) async fn queue_oldest(&mut self) -> Result<Option<Timestamp>, LedgerError> {
        let row = self.fetch_one(OLDEST, vec![WORKSPACE.into()]).await?;
        row.map(|mut cells| cells.at()).transpose()
    }

    /// How many of what waits lose their key window between two times, up to 1000.
    pub(crate) async fn queue_losing(&mut self, from: Timestamp, until: Timestamp) -> Result<u32, LedgerError> {
        let row = self.fetch_one(LOSING, vec![WORKSPACE.into(), from.into(), until.into(), COUNT_LIMIT.into()]).await?;
        row.map_or(Ok(0), |mut cells| cells.count())
    }

    /// Names of tools, and of destinations, that occur.
    pub(crate) async fn names_in_use(&mut self) -> Result<(Vec<String>, Vec<String>), LedgerError> {
        let mut names = Vec::new();
        for sql in [TOOLS, DESTINATIONS] {
            let rows = self.fetch(sql, vec![WORKSPACE.into(), NAMES_LIMIT.into()]).await?;
            names.push(rows.into_iter().map(|mut cells| cells.text()).collect::<Result<Vec<_>, _>>()?);
        }
        let destinations = names.pop().unwrap_or_default();
        Ok((names.pop().unwrap_or_default(), destinations))
    }

    /// Operations whose answer changes by time, and whose time has come.
    pub(crate) async fn operation_ids_due(&mut self, now: Timestamp, limit: u32) -> Result<Vec<String>, LedgerError> {
        let rows = self.fetch(DUE, vec![WORKSPACE.into(), now.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.text()).collect()
    }

    /// A batch of a tool's operations.
    pub(crate) async fn operation_ids_of_tool(
        &mut self,
        tool: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, LedgerError> {
        let rows = self.fetch(IDS_OF_TOOL, vec![WORKSPACE.into(), tool.into(), after.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.text()).collect()
    }
}

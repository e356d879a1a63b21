//! Lists: pages of operations, the queue and the counts above it. Filters are put together here and nowhere else:
//! every piece of text is ours, every value is bound.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use sqlx::AssertSqlSafe;
use tallystick_domain::name::OperationId;
use tallystick_domain::operation::Reason;
use tallystick_domain::query::{OperationQuery, PAGE_LIMIT, PAGE_SIZE, QueueOrder, QueueQuery, UNTOLD};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::sums::Dimension;
use tallystick_domain::time::Timestamp;

use super::operation::LISTED;
use super::value::{Cells, Value, known};
use super::{Tx, WORKSPACE, row};
use crate::LedgerError;
use crate::operations::{Listed, QueueGroup, QueueGroups};

/// How many keys with the searched beginning one page looks through for those that its other filters let pass.
#[cfg(not(feature = "test-clock"))]
const SEARCHED: i64 = 2000;
/// Tests need not record thousands of operations to meet the end of what one page looks through.
#[cfg(feature = "test-clock")]
const SEARCHED: i64 = 100;
/// How many operations with exactly the searched receipt or name are found, the newest.
const EXACT_LIMIT: i64 = 1000;
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
        self.push(" AND ", Vec::new());
        self.push(condition, values);
    }

    /// Adds a piece in which each `?` stands for the next of the values.
    fn push(&mut self, text: &'static str, values: Vec<Value>) {
        let mut values = values.into_iter();
        for (at, piece) in text.split('?').enumerate() {
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

    fn and_filters(&mut self, query: &OperationQuery) {
        self.and_text("state = ?", query.state.as_ref());
        self.and_text("tool = ?", query.tool.as_ref());
        self.and_text("destination = ?", query.destination.as_ref());
        if let Some(mode) = query.mode {
            self.and("mode = ?", vec![mode.name().into()]);
        }
        if query.without_key {
            self.and("key_given = FALSE", Vec::new());
        }
        if query.is_of_counted() {
            let (since, until) = window(query);
            self.and(IS_COUNTED, vec![since.into(), until.into()]);
        }
        for (dimension, name) in attempted(query) {
            self.and(HAS_ATTEMPT, vec![dimension.name().into(), name.into()]);
        }
    }

    fn and_counted_filters(&mut self, query: &OperationQuery) {
        let filters =
            [("c.state = ?", &query.state), ("c.tool = ?", &query.tool), ("c.destination = ?", &query.destination)];
        for (condition, value) in filters {
            if let Some(value) = value {
                self.and(condition, vec![told(value).into()]);
            }
        }
        if let Some(mode) = query.mode {
            self.and("operation.mode = ?", vec![mode.name().into()]);
        }
        if query.without_key {
            self.and("operation.key_given = FALSE", Vec::new());
        }
    }

    /// What waits for a person, as the queue is filtered.
    fn and_waits(&mut self, query: &QueueQuery, assignee: Option<&str>) {
        self.and("attention_rank IS NOT NULL", Vec::new());
        if let Some(reason) = query.reason {
            self.and("attention_reason = ?", vec![reason.name().into()]);
        }
        if let Some(assignee) = assignee {
            self.and("assignee = ?", vec![assignee.into()]);
        }
        self.and_text_or_none(["tool = ?", "tool IS NULL"], query.tool.as_ref());
        self.and_text_or_none(["destination = ?", "destination IS NULL"], query.destination.as_ref());
        self.and_text_or_none(["cause = ?", "cause IS NULL"], query.cause.as_ref());
    }

    fn and_text_or_none(&mut self, [is, is_none]: [&'static str; 2], value: Option<&String>) {
        match value.map(String::as_str) {
            None => {}
            Some(UNTOLD) => self.and(is_none, Vec::new()),
            Some(text) => self.and(is, vec![text.into()]),
        }
    }

    /// Ends the statement, or a part of it.
    fn order(&mut self, order: &'static str, limit: i64) {
        self.args.push(limit.into());
        let _ = write!(self.sql, " ORDER BY {order} LIMIT ${}", self.args.len());
    }
}

/// What a text names exactly, each bounded. Indexes: primary key, `operation_by_receipt`, `name_by_name`.
const EXACTLY: &str = "SELECT op_id FROM operation WHERE workspace_id = $1 AND op_id = ?
     UNION ALL SELECT op_id FROM (SELECT op_id FROM operation WHERE workspace_id = $1 AND receipt = ?
        ORDER BY op_id DESC LIMIT ?) AS receipts
     UNION ALL SELECT op_id FROM (SELECT op_id FROM operation_name WHERE workspace_id = $1 AND name = ?
        LIMIT ?) AS names";

/// Indexes: primary keys of `outcome_operation` and `outcome_attempt`.
const IS_COUNTED: &str = "EXISTS (SELECT 1 FROM outcome_operation AS c WHERE c.workspace_id = operation.workspace_id
     AND c.op_id = operation.op_id AND c.first_at >= ? AND c.first_at < ?)";
const HAS_ATTEMPT: &str = "EXISTS (SELECT 1 FROM outcome_attempt AS a WHERE a.workspace_id = operation.workspace_id
     AND a.op_id = operation.op_id AND a.dimension = ? AND a.name = ?)";

/// The times between which the first attempt must lie; without one of them, the end of time on that side.
fn window(query: &OperationQuery) -> (Timestamp, Timestamp) {
    let ends = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
    (query.since.unwrap_or(ends.0), query.until.unwrap_or(ends.1))
}

/// What an attempt must be counted under.
fn attempted(query: &OperationQuery) -> impl Iterator<Item = (Dimension, &str)> {
    let layer = query.layer.as_deref().map(|layer| (Dimension::Layer, told(layer)));
    layer.into_iter().chain(query.mark.map(|mark| (Dimension::Mark, mark.name())))
}

/// A name as the sums have it: empty where none is told.
fn told(name: &str) -> &str {
    if name == UNTOLD { "" } else { name }
}

/// A page of what the sums count, the last first attempt first. Read from what was counted, so that it shows what a sum
/// is the sum of; the rows themselves are as they are now.
pub(super) fn counted_statement(query: &OperationQuery, after: Option<(Timestamp, &str)>) -> Statement {
    let columns = LISTED.split(", ").map(|column| format!("operation.{column}")).collect::<Vec<_>>().join(", ");
    let mut statement = Statement { sql: format!("SELECT {columns} FROM "), args: vec![WORKSPACE.into()] };
    let mut attempted = attempted(query);
    let first = attempted.next();
    // The order of the tables is ours: SQLite keeps it in a CROSS JOIN, and walks the first by its index.
    if let Some((dimension, name)) = first {
        let text = "outcome_attempt AS a CROSS JOIN outcome_operation AS c CROSS JOIN operation
            WHERE a.workspace_id = $1 AND a.dimension = ? AND a.name = ? AND c.workspace_id = a.workspace_id
            AND c.op_id = a.op_id AND operation.workspace_id = c.workspace_id AND operation.op_id = c.op_id";
        statement.push(text, vec![dimension.name().into(), name.into()]);
    } else {
        let text = "outcome_operation AS c CROSS JOIN operation WHERE c.workspace_id = $1
            AND operation.workspace_id = c.workspace_id AND operation.op_id = c.op_id";
        statement.push(text, Vec::new());
    }
    for (dimension, name) in attempted {
        statement.and(HAS_ATTEMPT, vec![dimension.name().into(), name.into()]);
    }
    statement.and_counted_filters(query);
    let (since, until) = window(query);
    let (between, before, order) = if first.is_some() {
        ("a.first_at >= ? AND a.first_at < ?", "(a.first_at, a.op_id) < (?, ?)", "a.first_at DESC, a.op_id DESC")
    } else {
        ("c.first_at >= ? AND c.first_at < ?", "(c.first_at, c.op_id) < (?, ?)", "c.first_at DESC, c.op_id DESC")
    };
    statement.and(between, vec![since.into(), until.into()]);
    if let Some((at, id)) = after {
        statement.and(before, vec![at.into(), id.into()]);
    }
    statement.order(order, i64::from(page_size(query.limit)) + 1);
    statement
}

/// Where a search goes on: the keys with its beginning that were not shown yet, in their order.
struct KeyRange<'q> {
    from: &'q str,
    /// Whether `from` itself belongs to it.
    is_closed: bool,
    end: String,
}

impl<'q> KeyRange<'q> {
    fn of(text: &'q str, after: Option<&'q str>) -> Self {
        // Beyond this end no key with that beginning sorts (byte order in both engines).
        let end = format!("{text}\u{10FFFF}");
        match after {
            Some(after) if after >= text => Self { from: after, is_closed: false, end },
            Some(_) | None => Self { from: text, is_closed: true, end },
        }
    }

    /// Only one lower bound: SQLite seeks by one and reads on to the other.
    fn condition(&self) -> &'static str {
        if self.is_closed {
            "operation_key >= ? AND operation_key < ?"
        } else {
            "operation_key > ? AND operation_key < ?"
        }
    }

    fn values(&self) -> Vec<Value> {
        vec![self.from.into(), self.end.as_str().into()]
    }
}

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

/// Index: `operation_by_mode`.
pub(super) const IDS_GUARDED: &str = "SELECT op_id FROM operation
     WHERE workspace_id = $1 AND mode = 'guarded' AND op_id > $2 ORDER BY op_id LIMIT $3";

/// The last of the keys that one page of a search looks through, if there are more. Index: `operation_key_once`, and
/// nothing but it.
pub(super) fn searched_to_statement(text: &str, after: Option<&str>) -> Statement {
    let range = KeyRange::of(text, after);
    let sql = "SELECT operation_key FROM operation WHERE workspace_id = $1".to_owned();
    let mut statement = Statement { sql, args: vec![WORKSPACE.into()] };
    statement.and(range.condition(), range.values());
    statement.push(" ORDER BY operation_key LIMIT 1 OFFSET ?", vec![SEARCHED.into()]);
    statement
}

/// A page of what a text finds, in the order of the keys: what it names exactly, and the keys that begin with it. As
/// many of these are looked at as the page has rows; where other filters leave some out, up to `searched_to`.
pub(super) fn search_statement(query: &OperationQuery, text: &str, searched_to: Option<&str>) -> Statement {
    let limit = i64::from(page_size(query.limit)) + 1;
    let range = KeyRange::of(text, query.after.as_deref());
    let mut statement = Statement::listing();
    statement.push(" AND op_id IN (", Vec::new());
    let exactly = vec![text.into(), text.into(), EXACT_LIMIT.into(), text.into(), EXACT_LIMIT.into()];
    statement.push(EXACTLY, exactly);
    statement
        .push(" UNION ALL SELECT op_id FROM (SELECT op_id FROM operation WHERE workspace_id = $1 AND ", Vec::new());
    statement.push(range.condition(), range.values());
    let looked_at = if narrows(query) { SEARCHED + 1 } else { limit };
    statement.push(" ORDER BY operation_key LIMIT ?) AS keys)", vec![looked_at.into()]);
    statement.and_filters(query);
    statement.and_text("operation_key > ?", query.after.as_ref());
    if let Some(searched_to) = searched_to {
        statement.and("operation_key <= ?", vec![searched_to.into()]);
    }
    // Not the bare column: a planner would rather read all keys in their order than sort the few that were found.
    statement.order("(operation_key || '')", limit);
    statement
}

/// Whether filters beside the search may leave out what it finds.
fn narrows(query: &OperationQuery) -> bool {
    let OperationQuery { state, tool, destination, mode, without_key, .. } = query;
    let is_filtered = state.is_some() || tool.is_some() || destination.is_some() || mode.is_some() || *without_key;
    is_filtered || query.is_of_counted()
}

/// A page of all operations, newest first.
pub(super) fn page_statement(query: &OperationQuery) -> Statement {
    let mut statement = Statement::listing();
    statement.and_filters(query);
    statement.and_text("op_id < ?", query.after.as_ref());
    statement.order("op_id DESC", i64::from(page_size(query.limit)) + 1);
    statement
}

/// The first value of a cursor of the queue is what it is ordered by.
pub(super) fn queue_statement(query: &QueueQuery, assignee: Option<&str>, after: Option<(i64, &str)>) -> Statement {
    let mut statement = Statement::listing();
    statement.and_waits(query, assignee);
    let (beyond, order) = match query.order {
        QueueOrder::Urgency => ("(attention_rank, op_id) > (?, ?)", "attention_rank, op_id"),
        QueueOrder::Age => ("(since, op_id) > (?, ?)", "since, op_id"),
        QueueOrder::Stake => {
            ("(COALESCE(impact_amount, -1), op_id) < (?, ?)", "COALESCE(impact_amount, -1) DESC, op_id DESC")
        }
    };
    if let Some((place, id)) = after {
        statement.and(beyond, vec![place.into(), id.into()]);
    }
    statement.order(order, i64::from(page_size(query.limit)) + 1);
    statement
}

/// Groups of the most urgent that wait; no row is read for it. Index: `attention_by_group`.
pub(super) fn groups_statement(query: &QueueQuery, assignee: Option<&str>) -> Statement {
    let sql = "SELECT tool, destination, attention_reason, cause, COUNT(*), MIN(since), MAX(last_fact_at) FROM (
         SELECT tool, destination, attention_reason, cause, since, last_fact_at, attention_rank FROM operation
         WHERE workspace_id = $1"
        .to_owned();
    let mut statement = Statement { sql, args: vec![WORKSPACE.into()] };
    statement.and_waits(query, assignee);
    statement.order("attention_rank", i64::from(QueueGroups::OPERATIONS));
    statement.push(") AS waiting GROUP BY tool, destination, attention_reason, cause", Vec::new());
    statement.order("MIN(attention_rank), COUNT(*) DESC", i64::from(QueueGroups::GROUPS));
    statement
}

/// Where the page of operations after this row starts.
pub(crate) fn page_cursor(query: &OperationQuery, row: &Listed) -> String {
    match row.row.first_dispatched_at.filter(|_| query.is_of_counted()) {
        Some(first_at) => format!("{}.{}", first_at.as_micros(), row.head.id),
        None => row.head.id.to_string(),
    }
}

fn read_counted_cursor(cursor: &str) -> Result<(Timestamp, &str), Refusal> {
    let read = cursor.split_once('.').and_then(|(at, id)| Some((Timestamp::from_micros(at.parse().ok()?), id)));
    read.ok_or_else(|| Refusal::BadField {
        field: "after".into(),
        problem: format!("{cursor:?} is not where a page of these operations starts"),
    })
}

/// How many rows a page has.
pub(crate) fn page_size(asked: Option<u32>) -> u32 {
    asked.unwrap_or(PAGE_SIZE).clamp(1, PAGE_LIMIT)
}

impl Tx {
    /// Operations, newest first: one row more than a page, if there are more. What the sums count comes by its first
    /// attempt, the last one first.
    ///
    /// Index: the primary key, or that of the most telling filter (`operation_by_state`, `_by_tool`,
    /// `_by_destination`, `_by_mode`, `operation_without_key`).
    pub(crate) async fn operations_page(&mut self, query: &OperationQuery) -> Result<Vec<Listed>, LedgerError> {
        if !query.is_of_counted() {
            return self.listed(page_statement(query)).await;
        }
        let after = query.after.as_deref().map(read_counted_cursor).transpose()?;
        self.listed(counted_statement(query, after)).await
    }

    /// What a text finds, by key: one row more than a page, if there are more. Beside it the key up to which was
    /// searched, if that is not the last: fewer rows than a page are then not all there are.
    pub(crate) async fn operations_search(
        &mut self,
        query: &OperationQuery,
        text: &str,
    ) -> Result<(Vec<Listed>, Option<String>), LedgerError> {
        let searched_to = if narrows(query) {
            let Statement { sql, args } = searched_to_statement(text, query.after.as_deref());
            self.fetch_one(AssertSqlSafe(sql), args).await?.map(|mut cells| cells.text()).transpose()?
        } else {
            None
        };
        let rows = self.listed(search_statement(query, text, searched_to.as_deref())).await?;
        Ok((rows, searched_to))
    }

    /// What waits for a person, most urgent first: one row more than a page, if there are more.
    ///
    /// Index: `attention_by_rank`, `_by_reason`, `_by_assignee`, `_by_cause`, `_by_age` or `_by_stake`.
    pub(crate) async fn queue_page(
        &mut self,
        query: &QueueQuery,
        assignee: Option<&str>,
        after: Option<(i64, &str)>,
    ) -> Result<Vec<Listed>, LedgerError> {
        self.listed(queue_statement(query, assignee, after)).await
    }

    /// What waits for a person in groups, the group with the most urgent first. Operations without a cause on record are
    /// together.
    pub(crate) async fn queue_groups(
        &mut self,
        query: &QueueQuery,
        assignee: Option<&str>,
    ) -> Result<Vec<QueueGroup>, LedgerError> {
        let Statement { sql, args } = groups_statement(query, assignee);
        let rows = self.fetch(AssertSqlSafe(sql), args).await?;
        let group = |mut cells: Cells| {
            Ok(QueueGroup {
                tool: cells.text_opt()?,
                destination: cells.text_opt()?,
                reason: cells.parsed(known(Reason::parse))?,
                cause: cells.text_opt()?,
                count: cells.count()?,
                first: cells.at()?,
                last: cells.at()?,
            })
        };
        rows.into_iter().map(group).collect()
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

    /// A batch of the guarded operations.
    pub(crate) async fn operation_ids_guarded(
        &mut self,
        after: &str,
        limit: u32,
    ) -> Result<Vec<OperationId>, LedgerError> {
        let rows = self.fetch(IDS_GUARDED, vec![WORKSPACE.into(), after.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.parsed(OperationId::parse)).collect()
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

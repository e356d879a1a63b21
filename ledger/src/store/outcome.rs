//! Sums over operations and what they were counted from: reading both, and moving them together.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use sqlx::AssertSqlSafe;
use tallystick_domain::name::OperationId;
use tallystick_domain::operation::Mark;
use tallystick_domain::sums::{Counted, Dimension, Repeat, Sum, Times, Took, pieces};
use tallystick_domain::time::Timestamp;

use super::table::{Table, text_keys};
use super::value::{Cells, Value, known};
use super::{Tx, WORKSPACE};
use crate::LedgerError;

static OPERATION: Table = Table {
    name: "outcome_operation",
    columns: &[
        "workspace_id",
        "op_id",
        "version",
        "first_at",
        "tool",
        "destination",
        "state",
        "attempts",
        "effects",
        "took",
    ],
    on_conflict: "ON CONFLICT (workspace_id, op_id) DO UPDATE
     SET version = excluded.version, first_at = excluded.first_at, tool = excluded.tool,
         destination = excluded.destination, state = excluded.state, attempts = excluded.attempts,
         effects = excluded.effects, took = excluded.took",
};
static ATTEMPT: Table = Table {
    name: "outcome_attempt",
    columns: &["workspace_id", "op_id", "dimension", "name", "first_at", "attempts"],
    on_conflict: "",
};
static SUM: Table = Table {
    name: "outcome_sum",
    columns: &[
        "workspace_id",
        "dimension",
        "span_s",
        "starts_at",
        "name",
        "operations",
        "attempts",
        "uncertain",
        "effects",
        "surplus",
    ],
    on_conflict: "ON CONFLICT (workspace_id, dimension, span_s, starts_at, name) DO UPDATE
     SET operations = outcome_sum.operations + excluded.operations,
         attempts = outcome_sum.attempts + excluded.attempts,
         uncertain = outcome_sum.uncertain + excluded.uncertain,
         effects = outcome_sum.effects + excluded.effects, surplus = outcome_sum.surplus + excluded.surplus",
};
static TIME: Table = Table {
    name: "outcome_time",
    columns: &["workspace_id", "span_s", "starts_at", "tool", "took", "operations"],
    on_conflict: "ON CONFLICT (workspace_id, span_s, starts_at, tool, took) DO UPDATE
     SET operations = outcome_time.operations + excluded.operations",
};
static REPEAT: Table =
    Table { name: "outcome_repeat", columns: &["workspace_id", "repeat_id", "kind", "at"], on_conflict: "" };

/// Index: primary key of `outcome_progress`.
const PROGRESS: &str = "SELECT version, sequence, read_to, moved_at FROM outcome_progress WHERE workspace_id = $1";
const BEGIN: &str = "INSERT INTO outcome_progress (workspace_id, version, sequence, read_to, moved_at)
     VALUES ($1, 1, $2, '', $3) ON CONFLICT (workspace_id) DO NOTHING";
const MOVE: &str = "UPDATE outcome_progress SET version = version + 1, sequence = $1, read_to = $2, moved_at = $3
     WHERE workspace_id = $4 AND version = $5";
/// Index: primary key of operation.
pub(super) const IDS_AFTER: &str =
    "SELECT op_id FROM operation WHERE workspace_id = $1 AND op_id > $2 ORDER BY op_id LIMIT $3";
/// Index: primary key of `outcome_operation`.
pub(super) const COUNTED: &str =
    "SELECT op_id, version, first_at, tool, destination, state, attempts, effects, took FROM outcome_operation
     WHERE workspace_id = $1 AND op_id IN ({keys})";
/// Index: primary key of `outcome_attempt`.
pub(super) const ATTEMPTS: &str = "SELECT op_id, dimension, name, attempts FROM outcome_attempt
     WHERE workspace_id = $1 AND op_id IN ({keys})";
/// Index: primary key of `outcome_attempt`.
const FORGET_ATTEMPTS: &str = "DELETE FROM outcome_attempt WHERE workspace_id = $1 AND op_id IN ({keys})";
/// Index: primary key of `outcome_operation`.
const FORGET_OPERATIONS: &str = "DELETE FROM outcome_operation WHERE workspace_id = $1 AND op_id IN ({keys})";
/// Index: primary key of `outcome_repeat`.
pub(super) const REPEATS: &str =
    "SELECT repeat_id, kind, at FROM outcome_repeat WHERE workspace_id = $1 ORDER BY repeat_id LIMIT $2";
const FORGET_REPEATS: &str = "DELETE FROM outcome_repeat WHERE workspace_id = $1 AND repeat_id IN ({keys})";
/// Index: primary key of outbox.
const BEHIND: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM outbox WHERE sequence > $1 AND topic = 'operation'
     ORDER BY sequence LIMIT $2) AS behind";
/// Index: primary key of `outcome_sum`.
pub(super) const BY_QUARTER: &str =
    "SELECT starts_at, operations, attempts, uncertain, effects, surplus FROM outcome_sum
     WHERE workspace_id = $1 AND dimension = 'all' AND span_s = 900 AND starts_at >= $2 AND starts_at < $3
     ORDER BY starts_at";

/// Over the five pieces of a window; arguments 2 to 16 are the spans and ends of the pieces. Each piece is a search of its
/// own, because a planner does not find five ranges in one condition. Index: primary key of the table.
fn over_pieces(table: &str, key: &str, figures: &str, condition: &str) -> Arc<str> {
    let pieces = (0..5).map(|piece| {
        let first = 2 + piece * 3;
        format!(
            "SELECT {key}, {figures} FROM {table} WHERE workspace_id = $1{condition} \
             AND span_s = ${first} AND starts_at >= ${} AND starts_at < ${}",
            first + 1,
            first + 2
        )
    });
    let sums: Vec<_> = figures.split(", ").map(|figure| format!("CAST(SUM({figure}) AS BIGINT)")).collect();
    format!(
        "SELECT {key}, {} FROM ({}) AS pieces GROUP BY {key} ORDER BY {key}",
        sums.join(", "),
        pieces.collect::<Vec<_>>().join(" UNION ALL ")
    )
    .into()
}

pub(super) static BY_NAME: LazyLock<Arc<str>> = LazyLock::new(|| {
    over_pieces("outcome_sum", "name", "operations, attempts, uncertain, effects, surplus", " AND dimension = $17")
});
pub(super) static BY_TIME: LazyLock<Arc<str>> =
    LazyLock::new(|| over_pieces("outcome_time", "tool, took", "operations", ""));

/// How far the sums have come.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    /// Rises with every move.
    pub(crate) version: u64,
    /// The newest change that they show.
    pub(crate) sequence: i64,
    /// The operation up to which the record was read, while it is read from its beginning.
    pub(crate) read_to: Option<String>,
    /// When they last moved.
    pub(crate) moved_at: Timestamp,
}

/// One move of the sums.
#[derive(Debug, Clone, Default)]
pub(crate) struct Move {
    /// The version that the progress must have.
    pub(crate) seen: u64,
    /// Where it comes to.
    pub(crate) sequence: i64,
    /// Where reading from the beginning comes to.
    pub(crate) read_to: Option<String>,
    /// What is counted of operations from now on, with the version that it was read from; nothing where nothing is.
    pub(crate) operations: Vec<(OperationId, u64, Option<Counted>)>,
    /// What is added to sums: by dimension, length of the span, its beginning, and name.
    pub(crate) sums: BTreeMap<(Dimension, i64, Timestamp, String), Sum>,
    /// What is added to the histograms: by length of the span, its beginning, tool, and part.
    pub(crate) times: BTreeMap<(i64, Timestamp, String, Took), i64>,
    /// Repeats that are counted with it.
    pub(crate) repeats: Vec<String>,
}

impl Tx {
    /// How far the sums have come; nothing before anybody began to count.
    pub(crate) async fn outcome_progress(&mut self) -> Result<Option<Progress>, LedgerError> {
        let row = self.fetch_one(PROGRESS, vec![WORKSPACE.into()]).await?;
        row.map(|mut cells| {
            Ok(Progress {
                version: cells.version()?,
                sequence: cells.int()?,
                read_to: cells.text_opt()?,
                moved_at: cells.at()?,
            })
        })
        .transpose()
    }

    /// Begins to count, after the change with this number; what was there before is read from the beginning.
    pub(crate) async fn outcome_begin(&mut self, sequence: i64) -> Result<(), LedgerError> {
        let now = self.now().await?;
        self.execute(BEGIN, vec![WORKSPACE.into(), sequence.into(), now.into()]).await.map(|_| ())
    }

    /// A batch of the operations, by id.
    pub(crate) async fn operation_ids_after(&mut self, after: &str, limit: u32) -> Result<Vec<String>, LedgerError> {
        let rows = self.fetch(IDS_AFTER, vec![WORKSPACE.into(), after.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.text()).collect()
    }

    /// What was counted of these operations, with the version that it was read from.
    pub(crate) async fn outcome_counted(
        &mut self,
        ids: &[&str],
    ) -> Result<HashMap<String, (u64, Counted)>, LedgerError> {
        let keys = text_keys(ids.iter().copied());
        let mut counted = HashMap::new();
        for mut cells in self.fetch_for_keys(COUNTED, &[WORKSPACE.into()], &keys).await? {
            let (id, version) = (cells.text()?, cells.version()?);
            counted.insert(id, (version, read_counted(&mut cells)?));
        }
        for mut cells in self.fetch_for_keys(ATTEMPTS, &[WORKSPACE.into()], &keys).await? {
            let (id, dimension) = (cells.text()?, cells.parsed(known(Dimension::parse))?);
            let Some((_, of)) = counted.get_mut(&id) else { continue };
            if dimension == Dimension::Mark {
                of.by_mark.insert(cells.parsed(known(Mark::parse))?, cells.count()?);
            } else {
                of.by_layer.insert(cells.text()?, cells.count()?);
            }
        }
        Ok(counted)
    }

    /// Notes that something came again. `id` is new.
    pub(crate) async fn note_repeat(&mut self, id: &str, kind: Repeat, at: Timestamp) -> Result<(), LedgerError> {
        let row = vec![WORKSPACE.into(), id.into(), kind.name().into(), at.into()];
        self.insert(&REPEAT, vec![row]).await.map(|_| ())
    }

    /// Repeats that nobody counted yet.
    pub(crate) async fn repeats(&mut self, limit: u32) -> Result<Vec<(String, Repeat, Timestamp)>, LedgerError> {
        let rows = self.fetch(REPEATS, vec![WORKSPACE.into(), limit.into()]).await?;
        rows.into_iter()
            .map(|mut cells| Ok((cells.text()?, cells.parsed(known(Repeat::parse))?, cells.at()?)))
            .collect()
    }

    /// Moves the sums, with what they were counted from; false, and nothing is moved, if somebody else moved them since.
    pub(crate) async fn outcome_move(&mut self, by: &Move) -> Result<bool, LedgerError> {
        let now = self.now().await?;
        let to = vec![by.sequence.into(), by.read_to.as_deref().into(), now.into(), WORKSPACE.into(), by.seen.into()];
        // First, so that on PostgreSQL a second process waits here and then sees that it came too late.
        if self.execute(MOVE, to).await? != 1 {
            return Ok(false);
        }
        let zero_free = by.sums.iter().filter(|(_, sum)| !sum.is_zero());
        self.insert(&SUM, zero_free.map(|(key, sum)| sum_row(key, *sum)).collect()).await?;
        let times = by.times.iter().filter(|(_, count)| **count != 0);
        self.insert(&TIME, times.map(|(key, count)| time_row(key, *count)).collect()).await?;
        let ids = text_keys(by.operations.iter().map(|(id, ..)| id.as_str()));
        self.execute_for_keys(FORGET_ATTEMPTS, &[WORKSPACE.into()], &ids).await?;
        let (mut rows, mut attempts, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for (id, version, counted) in &by.operations {
            match counted {
                Some(counted) => {
                    rows.push(counted_row(id, *version, counted));
                    attempts.extend(attempt_rows(id, counted));
                }
                None => gone.push(Value::from(id.as_str())),
            }
        }
        self.insert(&OPERATION, rows).await?;
        self.insert(&ATTEMPT, attempts).await?;
        self.execute_for_keys(FORGET_OPERATIONS, &[WORKSPACE.into()], &gone).await?;
        let repeats = text_keys(by.repeats.iter().map(String::as_str));
        self.execute_for_keys(FORGET_REPEATS, &[WORKSPACE.into()], &repeats).await?;
        Ok(true)
    }

    /// How many changes of operations came after a number, up to `limit`.
    pub(crate) async fn outcome_behind(&mut self, sequence: i64, limit: u32) -> Result<u32, LedgerError> {
        let row = self.fetch_one(BEHIND, vec![sequence.into(), limit.into()]).await?;
        row.map_or(Ok(0), |mut cells| cells.count())
    }

    /// The sums of every quarter of a window in which something counts.
    pub(crate) async fn outcome_quarters(
        &mut self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<(Timestamp, Sum)>, LedgerError> {
        let rows = self.fetch(BY_QUARTER, vec![WORKSPACE.into(), since.into(), until.into()]).await?;
        rows.into_iter().map(|mut cells| Ok((cells.at()?, read_sum(&mut cells)?))).collect()
    }

    /// The sums of a window by name, in the order of the names.
    pub(crate) async fn outcome_by(
        &mut self,
        dimension: Dimension,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<(String, Sum)>, LedgerError> {
        let mut args = piece_args(since, until);
        args.push(dimension.name().into());
        let rows = self.fetch(AssertSqlSafe(Arc::clone(&BY_NAME)), args).await?;
        let mut by_name = Vec::with_capacity(rows.len());
        for mut cells in rows {
            let (name, sum) = (cells.text()?, read_sum(&mut cells)?);
            by_name.extend(Some((name, sum)).filter(|(_, sum)| !sum.is_zero()));
        }
        Ok(by_name)
    }

    /// How long it took until outcomes were known, by tool.
    pub(crate) async fn outcome_times(
        &mut self,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<BTreeMap<String, Times>, LedgerError> {
        let mut by_tool: BTreeMap<String, Times> = BTreeMap::new();
        for mut cells in self.fetch(AssertSqlSafe(Arc::clone(&BY_TIME)), piece_args(since, until)).await? {
            let (tool, took, count) = (cells.text()?, cells.count()?, cells.int()?);
            if let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0) {
                by_tool.entry(tool).or_default().add(Took::from_number(took), count);
            }
        }
        Ok(by_tool)
    }
}

pub(super) fn piece_args(since: Timestamp, until: Timestamp) -> Vec<Value> {
    let ends = pieces(since, until).into_iter();
    let ends = ends.flat_map(|piece| [piece.span_s.into(), piece.since.into(), piece.until.into()]);
    std::iter::once(WORKSPACE.into()).chain(ends).collect()
}

fn read_sum(cells: &mut Cells) -> Result<Sum, LedgerError> {
    Ok(Sum {
        operations: cells.int()?,
        attempts: cells.int()?,
        uncertain: cells.int()?,
        effects: cells.int()?,
        surplus: cells.int()?,
    })
}

/// Without its attempts, which are rows of their own.
fn read_counted(cells: &mut Cells) -> Result<Counted, LedgerError> {
    Ok(Counted {
        first_at: cells.at()?,
        tool: cells.text()?,
        destination: cells.text()?,
        state: cells.text()?,
        attempts: cells.count()?,
        effects: cells.count()?,
        resolved_in: cells.count_opt()?.map(Took::from_number),
        by_layer: BTreeMap::new(),
        by_mark: BTreeMap::new(),
    })
}

fn counted_row(id: &OperationId, version: u64, counted: &Counted) -> Vec<Value> {
    vec![
        WORKSPACE.into(),
        id.as_str().into(),
        version.into(),
        counted.first_at.into(),
        counted.tool.as_str().into(),
        counted.destination.as_str().into(),
        counted.state.as_str().into(),
        counted.attempts.into(),
        counted.effects.into(),
        counted.resolved_in.map(Took::number).into(),
    ]
}

fn attempt_rows(id: &OperationId, counted: &Counted) -> Vec<Vec<Value>> {
    let layers = counted.by_layer.iter().map(|(layer, count)| (Dimension::Layer, layer.as_str(), *count));
    let marks = counted.by_mark.iter().map(|(mark, count)| (Dimension::Mark, mark.name(), *count));
    let row = |(dimension, name, count): (Dimension, &str, u32)| {
        vec![
            WORKSPACE.into(),
            id.as_str().into(),
            dimension.name().into(),
            name.into(),
            counted.first_at.into(),
            count.into(),
        ]
    };
    layers.chain(marks).map(row).collect()
}

fn sum_row((dimension, span_s, starts_at, name): &(Dimension, i64, Timestamp, String), sum: Sum) -> Vec<Value> {
    vec![
        WORKSPACE.into(),
        dimension.name().into(),
        (*span_s).into(),
        (*starts_at).into(),
        name.as_str().into(),
        sum.operations.into(),
        sum.attempts.into(),
        sum.uncertain.into(),
        sum.effects.into(),
        sum.surplus.into(),
    ]
}

fn time_row((span_s, starts_at, tool, took): &(i64, Timestamp, String, Took), count: i64) -> Vec<Value> {
    vec![
        WORKSPACE.into(),
        (*span_s).into(),
        (*starts_at).into(),
        tool.as_str().into(),
        took.number().into(),
        count.into(),
    ]
}

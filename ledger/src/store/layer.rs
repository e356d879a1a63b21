//! What retry layers declared of themselves, and which of them made a tool's attempts.

use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{DestinationName, NameError, OperationId, SourceName};
use tallystick_domain::time::Timestamp;

use super::table::Table;
use super::{Tx, WORKSPACE};
use crate::LedgerError;

static LAYER_LINE: Table = Table {
    name: "layer_line",
    columns: &["workspace_id", "received_at", "source", "line_hash"],
    on_conflict: "ON CONFLICT (workspace_id, received_at, source, line_hash) DO NOTHING",
};

/// Index: primary keys of `layer_line`, from its end, and of `source_line`.
pub(super) const NEWEST: &str = "SELECT s.source, s.bytes FROM layer_line AS l CROSS JOIN source_line AS s
     WHERE l.workspace_id = $1 AND s.workspace_id = l.workspace_id AND s.source = l.source AND s.line_hash = l.line_hash
     ORDER BY l.received_at DESC, l.source DESC, l.line_hash DESC LIMIT $2";
/// Index: `outcome_by_attempts`.
pub(super) const MOST: &str = "SELECT op_id, attempts, destination FROM outcome_operation
     WHERE workspace_id = $1 AND tool = $2 ORDER BY attempts DESC, op_id DESC LIMIT 1";
/// Index: `outcome_by_tool`, and the primary key of `outcome_attempt`.
pub(super) const SEEN: &str = "SELECT a.name, CAST(SUM(a.attempts) AS BIGINT) FROM
     (SELECT op_id FROM outcome_operation WHERE workspace_id = $1 AND tool = $2
        ORDER BY first_at DESC, op_id DESC LIMIT $3) AS newest
     CROSS JOIN outcome_attempt AS a
     WHERE a.workspace_id = $1 AND a.op_id = newest.op_id AND a.dimension = 'layer' GROUP BY a.name ORDER BY a.name";

/// The operation of a tool with the most attempts.
#[derive(Debug, Clone)]
pub(crate) struct Most {
    pub(crate) operation: OperationId,
    pub(crate) attempts: u32,
    /// Where it went, where that is told.
    pub(crate) destination: Option<DestinationName>,
}

impl Tx {
    /// Notes which lines are declarations of layers.
    pub(crate) async fn layer_lines_insert(
        &mut self,
        source: &SourceName,
        lines: Vec<Hash>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = |hash: Hash| vec![WORKSPACE.into(), now.into(), source.as_str().into(), hash.into()];
        self.insert(&LAYER_LINE, lines.into_iter().map(row).collect()).await.map(|_| ())
    }

    /// The lines that may be declarations of layers, the newest first, as they were received.
    pub(crate) async fn layer_lines(&mut self, limit: u32) -> Result<Vec<(SourceName, Vec<u8>)>, LedgerError> {
        let rows = self.fetch(NEWEST, vec![WORKSPACE.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| Ok((cells.parsed(SourceName::parse)?, cells.bytes()?))).collect()
    }

    /// The operation of a tool with the most attempts, as far as they are counted.
    pub(crate) async fn most_attempts(&mut self, tool: &str) -> Result<Option<Most>, LedgerError> {
        let row = self.fetch_one(MOST, vec![WORKSPACE.into(), tool.into()]).await?;
        row.map(|mut cells| {
            Ok(Most {
                operation: cells.parsed(OperationId::parse)?,
                attempts: cells.count()?,
                destination: cells.parsed(|text| {
                    Ok::<_, NameError>(if text.is_empty() { None } else { Some(DestinationName::parse(text)?) })
                })?,
            })
        })
        .transpose()
    }

    /// Which layers made the attempts of a tool's newest operations, and how many; an empty name where none is told.
    pub(crate) async fn layers_seen(&mut self, tool: &str, newest: u32) -> Result<Vec<(String, i64)>, LedgerError> {
        let rows = self.fetch(SEEN, vec![WORKSPACE.into(), tool.into(), newest.into()]).await?;
        rows.into_iter().map(|mut cells| Ok((cells.text()?, cells.int()?))).collect()
    }
}

//! Reading everything once, in order, for verification. Rows come undecoded: what cannot be read must be named, too.

use std::sync::LazyLock;

use super::operation::LISTED;
use super::value::Value;
use super::{Tx, WORKSPACE};
use crate::LedgerError;

/// Index: primary key.
static OPERATIONS: LazyLock<&'static str> = LazyLock::new(|| {
    let sql =
        format!("SELECT {} FROM operation WHERE workspace_id = $1 AND op_id > $2 ORDER BY op_id LIMIT $3", *LISTED);
    sql.leak()
});
/// Index: primary key of journal.
const JOURNAL: &str = "SELECT op_id, version, at, actor_id, actor_name, actor_role, command, rules_version, rules,
        facts, changes, prev_hash, hash
     FROM journal WHERE workspace_id = $1 AND op_id > $2 AND op_id <= $3 ORDER BY op_id, version";

impl Tx {
    /// A batch of operation rows after an id, as values.
    pub(crate) async fn verify_operations(&mut self, after: &str, limit: u32) -> Result<Vec<Vec<Value>>, LedgerError> {
        let rows = self.fetch(*OPERATIONS, vec![WORKSPACE.into(), after.into(), limit.into()]).await?;
        Ok(rows.into_iter().map(super::value::Cells::rest).collect())
    }

    /// The journal of a range of operations, also of those that have no row.
    pub(crate) async fn verify_journal(
        &mut self,
        after: &str,
        upto: &str,
    ) -> Result<Vec<super::value::Cells>, LedgerError> {
        self.fetch(JOURNAL, vec![WORKSPACE.into(), after.into(), upto.into()]).await
    }
}

//! Workflows: who undoes them and who owns them, which are to be looked at, and the operations of one.

use tallystick_domain::name::{OperationId, PrincipalId};
use tallystick_domain::operation::Mode;
use tallystick_domain::time::Timestamp;
use tallystick_domain::workflow::Unwinds;

use super::operation::{Loaded, OperationWrite, ids};
use super::table::{Table, text_keys};
use super::value::{Cells, Value, known};
use super::{Tx, WORKSPACE};
use crate::LedgerError;
use crate::workflows::Declared;

static WORKFLOW: Table = Table {
    name: "workflow",
    columns: &["workspace_id", "name", "unwinds", "begun_at", "changed_at"],
    on_conflict: "ON CONFLICT (workspace_id, name) DO NOTHING",
};
static DUE: Table =
    Table { name: "workflow_due", columns: &["workspace_id", "name", "op_id", "version"], on_conflict: "" };

/// Index: primary key of workflow.
pub(super) const ONE: &str =
    "SELECT name, unwinds, owner, begun_at FROM workflow WHERE workspace_id = $1 AND name = $2";
/// Index: `workflow_newest`.
pub(super) const NEWEST: &str = "SELECT name, unwinds, owner, begun_at FROM workflow
     WHERE workspace_id = $1 AND (begun_at < $2 OR (begun_at = $2 AND name < $3))
     ORDER BY begun_at DESC, name DESC LIMIT $4";
const DECLARE: &str = "INSERT INTO workflow (workspace_id, name, unwinds, owner, begun_at, changed_at)
     VALUES ($1, $2, $3, $4, $5, $5)
     ON CONFLICT (workspace_id, name) DO UPDATE
     SET unwinds = excluded.unwinds, owner = excluded.owner, changed_at = excluded.changed_at";
/// Index: `operation_by_workflow`.
pub(super) const MEMBERS: &str = "SELECT op_id FROM operation
     WHERE workspace_id = $1 AND workflow = $2 ORDER BY op_id LIMIT $3";
/// Index: `operation_by_workflow`.
pub(super) const MEMBERS_OF: &str =
    "SELECT workflow, op_id FROM operation WHERE workspace_id = $1 AND workflow IN ({keys})";
/// Index: primary key of `workflow_due`.
const SOME_DUE: &str = "SELECT DISTINCT name FROM workflow_due WHERE workspace_id = $1 ORDER BY name LIMIT $2";
const END_DUE: &str = "DELETE FROM workflow_due WHERE workspace_id = $1 AND name = $2";

impl Tx {
    /// Notes the workflow of an operation that is written: that it is there, and that it is to be looked at.
    pub(super) async fn workflow_touch(&mut self, write: &OperationWrite<'_>) -> Result<(), LedgerError> {
        let head = write.head;
        let Some(name) = head.workflow.as_deref() else { return Ok(()) };
        if write.expected_version == 0 {
            let (at, unwinds) = (Value::from(head.recorded_at), Unwinds::ByPeople.name());
            let row = vec![WORKSPACE.into(), name.into(), unwinds.into(), at.clone(), at];
            self.insert_later(&WORKFLOW, vec![row]).await?;
        }
        // What others send waits for nobody here, and is undone by people alone.
        let is_ours = head.mode == Mode::Guarded && (head.step.is_some() || head.compensates.is_some());
        if let (true, Some(last)) = (is_ours, write.entries.last()) {
            let row = vec![WORKSPACE.into(), name.into(), head.id.as_str().into(), last.version.into()];
            self.insert_later(&DUE, vec![row]).await?;
        }
        Ok(())
    }

    /// A workflow by name.
    pub(crate) async fn workflow(&mut self, name: &str) -> Result<Option<Declared>, LedgerError> {
        let row = self.fetch_one(ONE, vec![WORKSPACE.into(), name.into()]).await?;
        row.map(|mut cells| read(&mut cells)).transpose()
    }

    /// Workflows, the newest first, older than this one.
    pub(crate) async fn workflows_page(
        &mut self,
        (begun_at, name): (Timestamp, &str),
        limit: u32,
    ) -> Result<Vec<Declared>, LedgerError> {
        let rows = self.fetch(NEWEST, vec![WORKSPACE.into(), begun_at.into(), name.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| read(&mut cells)).collect()
    }

    /// Says who undoes a workflow and who owns it.
    /// `id` is new: it makes the note of it one of its own.
    pub(crate) async fn workflow_declare(
        &mut self,
        declared: &Declared,
        id: &str,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let owner = declared.owner.as_ref().map(PrincipalId::as_str);
        let row = vec![
            WORKSPACE.into(),
            declared.name.as_str().into(),
            declared.unwinds.name().into(),
            owner.into(),
            now.into(),
        ];
        self.execute(DECLARE, row).await?;
        let due = vec![WORKSPACE.into(), declared.name.as_str().into(), id.into(), 0_i64.into()];
        self.insert(&DUE, vec![due]).await.map(|_| ())
    }

    /// The operations of a workflow, undos included.
    pub(crate) async fn workflow_members(&mut self, name: &str, limit: u32) -> Result<Vec<OperationId>, LedgerError> {
        ids(self.fetch(MEMBERS, vec![WORKSPACE.into(), name.into(), limit.into()]).await?)
    }

    /// The operations of several workflows, with whose each is.
    pub(crate) async fn members_of_workflows(
        &mut self,
        names: &[&str],
    ) -> Result<Vec<(String, OperationId)>, LedgerError> {
        let rows = self.fetch_for_keys(MEMBERS_OF, &[WORKSPACE.into()], &text_keys(names.iter().copied())).await?;
        rows.into_iter().map(|mut cells| Ok((cells.text()?, cells.parsed(OperationId::parse)?))).collect()
    }

    /// Records to look at, not to write: on PostgreSQL their rows are not locked.
    pub(crate) async fn operations_look(&mut self, ids: &[&str]) -> Result<Vec<Loaded>, LedgerError> {
        self.operations_read(ids, false).await
    }

    /// Workflows that are to be looked at.
    pub(crate) async fn workflows_due(&mut self, limit: u32) -> Result<Vec<String>, LedgerError> {
        let rows = self.fetch(SOME_DUE, vec![WORKSPACE.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.text()).collect()
    }

    /// A workflow is being looked at. Called before its operations are read.
    pub(crate) async fn workflow_look(&mut self, name: &str) -> Result<(), LedgerError> {
        self.execute(END_DUE, vec![WORKSPACE.into(), name.into()]).await.map(|_| ())
    }
}

fn read(cells: &mut Cells) -> Result<Declared, LedgerError> {
    Ok(Declared {
        name: cells.text()?,
        unwinds: cells.parsed(known(Unwinds::parse))?,
        owner: cells.parsed_opt(PrincipalId::parse)?,
        begun_at: cells.at()?,
    })
}

//! Operator actions as rows.

use tallystick_domain::action::Action;
use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{ActionKey, OperationId};
use tallystick_domain::operation::State;

use super::table::Table;
use super::value::{Cells, Value, to_json};
use super::{Tx, WORKSPACE};
use crate::LedgerError;
use crate::actions::{ActionRecord, ActionStatus};

static OPERATOR_ACTION: Table = Table {
    name: "operator_action",
    columns: &[
        "workspace_id",
        "action_key",
        "action_id",
        "fingerprint",
        "op_id",
        "completes",
        "action",
        "act",
        "status",
        "second",
        "refusal",
        "at",
        "settled_at",
        "from_state",
        "to_state",
        "made_version",
        "created_op",
    ],
    on_conflict: "",
};

macro_rules! listed {
    () => {
        "SELECT a.action_id, a.action_key, a.op_id, o.operation_key, a.act, a.status, a.second, a.refusal, a.at,
            a.settled_at, a.from_state, a.to_state, a.made_version, a.created_op, a.fingerprint, a.completes
         FROM operator_action AS a
         LEFT JOIN operation AS o ON o.workspace_id = a.workspace_id AND o.op_id = a.op_id
         WHERE a.workspace_id = $1"
    };
}
/// Index: primary key.
const BY_KEY: &str = concat!(listed!(), " AND a.action_key = $2");
// A press that completed another act is seen on that act; a press that was refused is seen by itself.
/// Index: `action_newest`.
pub(super) const NEWEST: &str = concat!(
    listed!(),
    " AND (a.completes IS NULL OR a.status = 'refused') AND a.action_id < $2 ORDER BY a.action_id DESC LIMIT $3"
);
/// Index: `action_by_operation`.
pub(super) const OF_OPERATION: &str = concat!(
    listed!(),
    " AND (a.completes IS NULL OR a.status = 'refused') AND a.action_id < $2 AND a.op_id = $4
      ORDER BY a.action_id DESC LIMIT $3"
);
/// Index: `action_by_kind`.
pub(super) const OF_KIND: &str = concat!(
    listed!(),
    " AND (a.completes IS NULL OR a.status = 'refused') AND a.action_id < $2 AND a.action = $4
      ORDER BY a.action_id DESC LIMIT $3"
);
/// Index: `action_by_operation`.
pub(super) const OF_OPERATION_AND_KIND: &str = concat!(
    listed!(),
    " AND (a.completes IS NULL OR a.status = 'refused') AND a.action_id < $2 AND a.op_id = $4 AND a.action = $5
      ORDER BY a.action_id DESC LIMIT $3"
);
/// Index: primary key. Only an act that still waits can be settled.
const SETTLE: &str = "UPDATE operator_action SET status = $1, second = $2, settled_at = $3, from_state = $4,
        to_state = $5, made_version = $6, created_op = $7
     WHERE workspace_id = $8 AND action_key = $9 AND status = 'awaits_second_person'";

/// An action's row with what only the store needs.
pub(crate) struct StoredAction {
    /// Sorts newest first.
    pub(crate) action_id: String,
    pub(crate) record: ActionRecord,
    pub(crate) fingerprint: Hash,
    /// The act that this press completes or declines.
    pub(crate) completes: Option<String>,
}

impl Tx {
    /// The action with this key.
    pub(crate) async fn action_find(&mut self, key: &str) -> Result<Option<StoredAction>, LedgerError> {
        let row = self.fetch_one(BY_KEY, vec![WORKSPACE.into(), key.into()]).await?;
        row.map(|mut cells| read(&mut cells)).transpose()
    }

    /// Keeps an action with its answer.
    pub(crate) async fn action_insert(&mut self, action: &StoredAction) -> Result<(), LedgerError> {
        let record = &action.record;
        let row = vec![
            WORKSPACE.into(),
            record.key.as_str().into(),
            action.action_id.as_str().into(),
            action.fingerprint.into(),
            record.operation_id.as_str().into(),
            action.completes.as_deref().into(),
            record.act.input.action().name().into(),
            to_json(&record.act)?.into(),
            record.status.name().into(),
            json_opt(record.second.as_ref())?,
            json_opt(record.refusal.as_ref())?,
            record.at.into(),
            record.settled_at.into(),
            record.from.map(|state| state.to_string()).into(),
            record.to.map(|state| state.to_string()).into(),
            Value::Int(record.made_version.and_then(|version| version.try_into().ok())),
            record.created.as_ref().map(OperationId::as_str).into(),
        ];
        self.insert_later(&OPERATOR_ACTION, vec![row]).await?;
        self.tell("action", record.key.as_str(), record.made_version.unwrap_or(0));
        Ok(())
    }

    /// Settles an act that waited for a second person.
    pub(crate) async fn action_settle(&mut self, record: &ActionRecord) -> Result<(), LedgerError> {
        let args = vec![
            record.status.name().into(),
            json_opt(record.second.as_ref())?,
            record.settled_at.into(),
            record.from.map(|state| state.to_string()).into(),
            record.to.map(|state| state.to_string()).into(),
            Value::Int(record.made_version.and_then(|version| version.try_into().ok())),
            record.created.as_ref().map(OperationId::as_str).into(),
            WORKSPACE.into(),
            record.key.as_str().into(),
        ];
        if self.execute(SETTLE, args).await? != 1 {
            return Err(LedgerError::Contended);
        }
        self.tell("action", record.key.as_str(), record.made_version.unwrap_or(0));
        Ok(())
    }

    /// A page of actions, newest first, with the ids they sort by.
    pub(crate) async fn actions_page(
        &mut self,
        operation: Option<&OperationId>,
        action: Option<Action>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<StoredAction>, LedgerError> {
        // Above every id: ids are made of hexadecimal digits.
        let after = after.unwrap_or("~");
        let mut args: Vec<Value> = vec![WORKSPACE.into(), after.into(), limit.into()];
        let sql = match (operation, action) {
            (None, None) => NEWEST,
            (Some(_), None) => OF_OPERATION,
            (None, Some(_)) => OF_KIND,
            (Some(_), Some(_)) => OF_OPERATION_AND_KIND,
        };
        args.extend(operation.map(|id| Value::from(id.as_str())));
        args.extend(action.map(|action| Value::from(action.name())));
        let rows = self.fetch(sql, args).await?;
        rows.into_iter().map(|mut cells| read(&mut cells)).collect()
    }
}

fn read(cells: &mut Cells) -> Result<StoredAction, LedgerError> {
    let action_id = cells.text()?;
    let record = ActionRecord {
        key: cells.parsed(ActionKey::parse)?,
        operation_id: cells.parsed(OperationId::parse)?,
        operation_key: cells.text_opt()?.unwrap_or_default(),
        act: cells.json()?,
        status: cells.parsed(super::value::known(ActionStatus::parse))?,
        second: read_json(cells)?,
        refusal: read_json(cells)?,
        at: cells.at()?,
        settled_at: cells.at_opt()?,
        from: read_state(cells)?,
        to: read_state(cells)?,
        made_version: cells.int_opt()?.and_then(|version| version.try_into().ok()),
        created: cells.parsed_opt(OperationId::parse)?,
    };
    Ok(StoredAction { action_id, record, fingerprint: cells.hash()?, completes: cells.text_opt()? })
}

fn read_json<T: serde::de::DeserializeOwned>(cells: &mut Cells) -> Result<Option<T>, LedgerError> {
    cells.parsed_opt(|text| serde_json::from_str(&text))
}

fn read_state(cells: &mut Cells) -> Result<Option<State>, LedgerError> {
    cells.parsed_opt(|text| State::all().find(|state| state.to_string() == text).ok_or(text))
}

fn json_opt(value: Option<&impl serde::Serialize>) -> Result<Value, LedgerError> {
    Ok(Value::Text(value.map(to_json).transpose()?))
}

//! What intake keeps: received lines, the names sources give operations, arguments, and destination keys in use.

use std::collections::HashSet;

use tallystick_domain::fingerprint::Hash;
use tallystick_domain::name::{OperationId, SourceName, SourceOperation};
use tallystick_domain::operation::{Arguments, Record};
use tallystick_domain::time::Timestamp;

use super::table::{Table, text_keys};
use super::value::Value;
use super::{Tx, WORKSPACE};
use crate::LedgerError;

/// A plain insert: a line that another transaction took meanwhile makes this one decide anew.
static SOURCE_LINE: Table = Table {
    name: "source_line",
    columns: &["workspace_id", "source", "line_hash", "bytes", "received_at", "op_id", "link_key"],
    on_conflict: "",
};
static OPERATION_NAME: Table = Table {
    name: "operation_name",
    columns: &["workspace_id", "source", "name", "op_id", "first_at"],
    on_conflict: "",
};
static OPERATION_SOURCE: Table = Table {
    name: "operation_source",
    columns: &["workspace_id", "source", "op_id"],
    on_conflict: "ON CONFLICT (workspace_id, source, op_id) DO NOTHING",
};
static KEY_USE: Table = Table {
    name: "key_use",
    columns: &["workspace_id", "destination_key", "op_id", "destination", "first_seen_at"],
    on_conflict: "ON CONFLICT (workspace_id, destination_key, op_id) DO NOTHING",
};
static ARGUMENT: Table = Table {
    name: "argument",
    columns: &[
        "workspace_id",
        "op_id",
        "args_version",
        "standing",
        "bytes",
        "size_bytes",
        "identity_hash",
        "args_hash",
        "intent_hash",
        "received_at",
    ],
    on_conflict: "ON CONFLICT (workspace_id, op_id, args_version) DO NOTHING",
};

/// Index: primary key of `source_line`.
pub(super) const KNOWN_LINES: &str = "SELECT line_hash FROM source_line
     WHERE workspace_id = $1 AND source = $2 AND line_hash IN ({keys})";
/// Index: primary key of `operation_name`.
pub(super) const IDS_BY_NAME: &str = "SELECT name, op_id FROM operation_name
     WHERE workspace_id = $1 AND source = $2 AND name IN ({keys})";
/// Index: `name_by_operation`.
pub(super) const NAMES_OF: &str = "SELECT source, name FROM operation_name
     WHERE workspace_id = $1 AND op_id = $2 ORDER BY first_at, source, name LIMIT 50";
/// Index: primary key of `key_use`.
pub(super) const KEY_USES: &str = "SELECT destination_key, op_id, destination FROM key_use
     WHERE workspace_id = $1 AND destination_key IN ({keys}) ORDER BY destination_key, op_id";
/// Index: `line_by_link_key`.
pub(super) const LINKED_LINES: &str = "SELECT link_key, source, bytes FROM source_line
     WHERE workspace_id = $1 AND link_key IN ({keys})";
/// Index: primary key of argument.
pub(super) const FIRST_ARGUMENTS: &str = "SELECT bytes FROM argument
     WHERE workspace_id = $1 AND op_id = $2 AND args_version = 1 AND size_bytes <= $3";
/// Index: primary key of argument. Several versions may be equal but for their spelling; the last that was taken is in force.
pub(super) const ARGUMENTS_BY_HASH: &str = "SELECT bytes FROM argument
     WHERE workspace_id = $1 AND op_id = $2 AND args_hash = $3 AND size_bytes <= $4 AND standing <> 'conflict'
     ORDER BY args_version DESC LIMIT 1";
/// Index: primary key of argument.
pub(super) const ARGUMENTS_START: &str = "SELECT substr(bytes, 1, CAST($4 AS INTEGER)) FROM argument
     WHERE workspace_id = $1 AND op_id = $2 AND args_hash = $3 AND standing <> 'conflict'
     ORDER BY args_version DESC LIMIT 1";
/// Index: primary key of argument.
pub(super) const NEWEST_ARGUMENTS: &str = "SELECT COALESCE(MAX(args_version), 0) FROM argument
     WHERE workspace_id = $1 AND op_id = $2";
/// Index: `argument_by_intent`. Ids rise with time.
pub(super) const IDS_OF_INTENT: &str = "SELECT op_id FROM argument
     WHERE workspace_id = $1 AND intent_hash = $2 AND standing = 'recorded' AND op_id < $3 ORDER BY op_id DESC LIMIT $4";
/// Index: primary key of `operation_source`.
pub(super) const IDS_OF_SOURCE: &str = "SELECT op_id FROM operation_source
     WHERE workspace_id = $1 AND source = $2 AND op_id > $3 ORDER BY op_id LIMIT $4";

/// A line to be kept.
pub(crate) struct KeptLine {
    pub(crate) hash: Hash,
    pub(crate) bytes: Vec<u8>,
    pub(crate) op_id: Option<OperationId>,
    pub(crate) link_key: Option<String>,
}

/// A line that waits under a link key, or was linked by it before.
pub(crate) struct LinkedLine {
    pub(crate) link_key: String,
    pub(crate) source: SourceName,
    pub(crate) bytes: Vec<u8>,
}

/// That an operation was sent under a key.
pub(crate) struct KeyUse {
    pub(crate) key: String,
    pub(crate) op_id: OperationId,
    /// Empty where it is not known.
    pub(crate) destination: String,
}

/// What kept arguments are to their operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// What it was recorded with: the first.
    Recorded,
    /// What it was changed to (T36).
    Changed,
    /// A proposal that was not taken (T1).
    Conflict,
}

impl Standing {
    const fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Changed => "changed",
            Self::Conflict => "conflict",
        }
    }
}

/// Arguments to be kept. Their number counts what is kept; which of them are in force the facts say, by hash.
pub(crate) struct KeptArguments {
    pub(crate) op_id: OperationId,
    pub(crate) version: u32,
    pub(crate) standing: Standing,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hashes: Arguments,
}

impl Tx {
    /// Which of these lines are there already.
    pub(crate) async fn lines_known(
        &mut self,
        source: &SourceName,
        hashes: impl Iterator<Item = Hash>,
    ) -> Result<HashSet<Hash>, LedgerError> {
        let keys: Vec<Value> = hashes.map(Value::from).collect();
        let rows = self.fetch_for_keys(KNOWN_LINES, &[WORKSPACE.into(), source.as_str().into()], &keys).await?;
        rows.into_iter().map(|mut cells| cells.hash()).collect()
    }

    /// Keeps lines.
    pub(crate) async fn lines_insert(
        &mut self,
        source: &SourceName,
        lines: Vec<KeptLine>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = |line: KeptLine| {
            vec![
                WORKSPACE.into(),
                source.as_str().into(),
                line.hash.into(),
                line.bytes.into(),
                now.into(),
                line.op_id.as_ref().map(OperationId::as_str).into(),
                line.link_key.into(),
            ]
        };
        self.insert_later(&SOURCE_LINE, lines.into_iter().map(row).collect()).await
    }

    /// Deliveries that name one of these keys.
    pub(crate) async fn lines_by_link_key(&mut self, keys: &[&str]) -> Result<Vec<LinkedLine>, LedgerError> {
        let rows = self.fetch_for_keys(LINKED_LINES, &[WORKSPACE.into()], &text_keys(keys.iter().copied())).await?;
        let mut lines = Vec::with_capacity(rows.len());
        for mut cells in rows {
            let (link_key, source) = (cells.text()?, cells.parsed(SourceName::parse)?);
            lines.push(LinkedLine { link_key, source, bytes: cells.bytes()? });
        }
        lines.sort_by(|a, b| (&a.link_key, &a.source, &a.bytes).cmp(&(&b.link_key, &b.source, &b.bytes)));
        Ok(lines)
    }

    /// Which operations a source means by these names.
    pub(crate) async fn names_find(
        &mut self,
        source: &SourceName,
        names: &[&str],
    ) -> Result<Vec<(String, OperationId)>, LedgerError> {
        let first = [WORKSPACE.into(), source.as_str().into()];
        let rows = self.fetch_for_keys(IDS_BY_NAME, &first, &text_keys(names.iter().copied())).await?;
        rows.into_iter().map(|mut cells| Ok((cells.text()?, cells.parsed(OperationId::parse)?))).collect()
    }

    /// Remembers names.
    pub(crate) async fn names_insert(
        &mut self,
        source: &SourceName,
        names: Vec<(SourceOperation, OperationId)>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = |(name, id): (SourceOperation, OperationId)| {
            vec![WORKSPACE.into(), source.as_str().into(), name.as_str().into(), id.as_str().into(), now.into()]
        };
        self.insert_later(&OPERATION_NAME, names.into_iter().map(row).collect()).await
    }

    /// What sources call an operation, the first name first.
    pub(crate) async fn names_of(&mut self, id: &str) -> Result<Vec<(SourceOperation, String)>, LedgerError> {
        let rows = self.fetch(NAMES_OF, vec![WORKSPACE.into(), id.into()]).await?;
        rows.into_iter()
            .map(|mut cells| {
                let source = cells.text()?;
                Ok((cells.parsed(SourceOperation::parse)?, source))
            })
            .collect()
    }

    /// Remembers that sources said something about operations.
    pub(crate) async fn sources_insert(
        &mut self,
        pairs: impl Iterator<Item = (SourceName, OperationId)>,
    ) -> Result<(), LedgerError> {
        let rows = pairs.map(|(source, id)| vec![WORKSPACE.into(), source.as_str().into(), id.as_str().into()]);
        self.insert_later(&OPERATION_SOURCE, rows.collect()).await
    }

    /// A batch of the operations that a source spoke about.
    pub(crate) async fn operation_ids_of_source(
        &mut self,
        source: &str,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, LedgerError> {
        let rows = self.fetch(IDS_OF_SOURCE, vec![WORKSPACE.into(), source.into(), after.into(), limit.into()]).await?;
        rows.into_iter().map(|mut cells| cells.text()).collect()
    }

    /// Which operations were sent under these keys.
    pub(crate) async fn key_uses(&mut self, keys: &[&str]) -> Result<Vec<KeyUse>, LedgerError> {
        let rows = self.fetch_for_keys(KEY_USES, &[WORKSPACE.into()], &text_keys(keys.iter().copied())).await?;
        rows.into_iter()
            .map(|mut cells| {
                Ok(KeyUse { key: cells.text()?, op_id: cells.parsed(OperationId::parse)?, destination: cells.text()? })
            })
            .collect()
    }

    /// Remembers keys in use.
    pub(crate) async fn key_uses_insert(&mut self, uses: &[KeyUse], now: Timestamp) -> Result<(), LedgerError> {
        let row = |key_use: &KeyUse| {
            vec![
                WORKSPACE.into(),
                key_use.key.as_str().into(),
                key_use.op_id.as_str().into(),
                key_use.destination.as_str().into(),
                now.into(),
            ]
        };
        self.insert_later(&KEY_USE, uses.iter().map(row).collect()).await
    }

    /// Keeps arguments as received.
    pub(crate) async fn arguments_insert(
        &mut self,
        arguments: Vec<KeptArguments>,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = |kept: KeptArguments| {
            vec![
                WORKSPACE.into(),
                kept.op_id.as_str().into(),
                kept.version.into(),
                kept.standing.name().into(),
                kept.bytes.into(),
                kept.hashes.size_bytes.into(),
                kept.hashes.identity_hash.into(),
                kept.hashes.args_hash.into(),
                kept.hashes.intent_hash.into(),
                now.into(),
            ]
        };
        self.insert_later(&ARGUMENT, arguments.into_iter().map(row).collect()).await
    }

    /// Operations before this one whose arguments name the same business object, the newest first.
    pub(crate) async fn operation_ids_by_intent_hash(
        &mut self,
        hash: Hash,
        before: &OperationId,
        limit: i64,
    ) -> Result<Vec<OperationId>, LedgerError> {
        let arguments = vec![WORKSPACE.into(), hash.into(), before.as_str().into(), limit.into()];
        let rows = self.fetch(IDS_OF_INTENT, arguments).await?;
        rows.into_iter().map(|mut cells| cells.parsed(OperationId::parse)).collect()
    }

    /// The arguments in force, unless they are larger than that; the first where the facts tell no hash.
    pub(crate) async fn arguments_in_force(
        &mut self,
        record: &Record,
        limit: i64,
    ) -> Result<Option<Vec<u8>>, LedgerError> {
        let id = record.head.id.as_str();
        let Some(arguments) = record.arguments() else { return self.arguments_first(id, limit).await };
        let key = vec![WORKSPACE.into(), id.into(), arguments.args_hash.into(), limit.into()];
        let row = self.fetch_one(ARGUMENTS_BY_HASH, key).await?;
        row.map(|mut cells| cells.bytes()).transpose()
    }

    /// The first bytes of the arguments in force; nothing where the facts tell of none.
    pub(crate) async fn arguments_start(
        &mut self,
        record: &Record,
        count: i64,
    ) -> Result<Option<Vec<u8>>, LedgerError> {
        let Some(arguments) = record.arguments() else { return Ok(None) };
        let key = vec![WORKSPACE.into(), record.head.id.as_str().into(), arguments.args_hash.into(), count.into()];
        let row = self.fetch_one(ARGUMENTS_START, key).await?;
        row.map(|mut cells| cells.bytes()).transpose()
    }

    /// The number that the next arguments of this operation get.
    pub(crate) async fn arguments_next_version(&mut self, id: &str) -> Result<u32, LedgerError> {
        let row = self.fetch_one(NEWEST_ARGUMENTS, vec![WORKSPACE.into(), id.into()]).await?;
        Ok(row.map(|mut cells| cells.count()).transpose()?.unwrap_or(0) + 1)
    }

    /// The arguments an operation was recorded with, unless they are larger than that.
    pub(crate) async fn arguments_first(&mut self, id: &str, limit: i64) -> Result<Option<Vec<u8>>, LedgerError> {
        let row = self.fetch_one(FIRST_ARGUMENTS, vec![WORKSPACE.into(), id.into(), limit.into()]).await?;
        row.map(|mut cells| cells.bytes()).transpose()
    }
}

//! Tools, sources, and the work of folding again after one of them changed.

use tallystick_domain::evidence::Trust;
use tallystick_domain::name::{PrincipalId, SourceName};
use tallystick_domain::permission::Actor;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

use super::catalog::{Known, Standing};
use super::table::Table;
use super::value::{Cells, known, to_json};
use super::{Tx, WORKSPACE};
use crate::LedgerError;
use crate::tools::{Declaration, Source};

static TOOL_VERSION: Table = Table {
    name: "tool_version",
    columns: &["workspace_id", "name", "version", "body", "declared_at", "declared_by"],
    on_conflict: "",
};
static REFOLD: Table = Table {
    name: "refold",
    columns: &["workspace_id", "refold_id", "kind", "subject", "after_op_id", "made_at"],
    on_conflict: "",
};

/// Index: primary key.
const TOOL: &str = "SELECT body FROM tool WHERE workspace_id = $1 AND name = $2";
const TOOLS: &str = "SELECT body FROM tool WHERE workspace_id = $1 ORDER BY name LIMIT 10000";
/// Index: primary key of `tool_version`.
pub(super) const TOOL_VERSIONS: &str = "SELECT declared_at, body FROM tool_version
     WHERE workspace_id = $1 AND name = $2 ORDER BY version LIMIT 1000";
/// Index: primary key of `tool_version`, from its end.
pub(super) const NEWEST_VERSIONS: &str = "SELECT declared_at, declared_by, body FROM tool_version
     WHERE workspace_id = $1 AND name = $2 ORDER BY version DESC LIMIT $3";
const SAVE_TOOL: &str = "INSERT INTO tool (workspace_id, name, version, body) VALUES ($1, $2, $3, $4)
     ON CONFLICT (workspace_id, name) DO UPDATE SET version = excluded.version, body = excluded.body";
const SOURCES: &str = "SELECT name, trust, declared_at, declared_by FROM source
     WHERE workspace_id = $1 ORDER BY name LIMIT 10000";
const SAVE_SOURCE: &str = "INSERT INTO source (workspace_id, name, trust, version, declared_at, declared_by)
     VALUES ($1, $2, $3, 1, $4, $5)
     ON CONFLICT (workspace_id, name) DO UPDATE
     SET trust = excluded.trust, version = source.version + 1, declared_at = excluded.declared_at,
         declared_by = excluded.declared_by";
static FIRST_SEEN: Table = Table {
    name: "source",
    columns: &["workspace_id", "name", "trust", "version", "declared_at", "declared_by"],
    on_conflict: "ON CONFLICT (workspace_id, name) DO NOTHING",
};
/// Index: primary key of refold.
const NEXT_REFOLD: &str = "SELECT refold_id, kind, subject, after_op_id FROM refold
     WHERE workspace_id = $1 ORDER BY refold_id LIMIT 1";
const MOVE_REFOLD: &str = "UPDATE refold SET after_op_id = $1
     WHERE workspace_id = $2 AND refold_id = $3 AND after_op_id = $4";
const END_REFOLD: &str = "DELETE FROM refold WHERE workspace_id = $1 AND refold_id = $2";

/// The kind of refold that reads the deliveries of a tool's destination again, before its operations look for them.
pub(crate) const DELIVERIES: &str = "deliveries";

/// Operations that must be folded again, and how far that has come.
pub(crate) struct Refold {
    pub(crate) id: String,
    /// `tool`, `source` or [`DELIVERIES`].
    pub(crate) kind: String,
    pub(crate) subject: String,
    pub(crate) after: String,
}

impl Tx {
    /// A tool as declared.
    pub(crate) async fn tool_find(&mut self, name: &str) -> Result<Option<Tool>, LedgerError> {
        if let Some(tool) = self.seen.tools.get(name) {
            return Ok(tool.clone());
        }
        if let Some(standing) = &self.seen.standing
            && let Known::Read(tool) = standing.tool(name)
        {
            return Ok(tool);
        }
        let row = self.fetch_one(TOOL, vec![WORKSPACE.into(), name.into()]).await?;
        let tool: Option<Tool> = row.map(|mut cells| cells.json()).transpose()?;
        match &self.seen.standing {
            Some(standing) => standing.keep_tool(name, tool.as_ref()),
            None => {
                self.seen.tools.insert(name.to_owned(), tool.clone());
            }
        }
        Ok(tool)
    }

    /// Every tool, by name.
    pub(crate) async fn tools(&mut self) -> Result<Vec<Tool>, LedgerError> {
        let rows = self.fetch(TOOLS, vec![WORKSPACE.into()]).await?;
        rows.into_iter().map(|mut cells| cells.json()).collect()
    }

    /// Every declaration of a tool, oldest first, with its time.
    pub(crate) async fn tool_versions(&mut self, name: &str) -> Result<Vec<(Timestamp, Tool)>, LedgerError> {
        let rows = self.fetch(TOOL_VERSIONS, vec![WORKSPACE.into(), name.into()]).await?;
        rows.into_iter().map(|mut cells| Ok((cells.at()?, cells.json()?))).collect()
    }

    /// The newest declarations of a tool, the last one first.
    pub(crate) async fn tool_declarations(&mut self, name: &str, limit: u32) -> Result<Vec<Declaration>, LedgerError> {
        let rows = self.fetch(NEWEST_VERSIONS, vec![WORKSPACE.into(), name.into(), limit.into()]).await?;
        rows.into_iter()
            .map(|mut cells| {
                Ok(Declaration { at: cells.at()?, by: cells.parsed(PrincipalId::parse)?, tool: cells.json()? })
            })
            .collect()
    }

    /// Saves a tool and keeps the version.
    pub(crate) async fn tool_save(&mut self, tool: &Tool, by: &Actor, now: Timestamp) -> Result<(), LedgerError> {
        self.declares();
        self.seen.tools.remove(tool.name.as_str());
        let body = to_json(tool)?;
        let args = vec![WORKSPACE.into(), tool.name.as_str().into(), tool.version.into(), body.as_str().into()];
        self.execute(SAVE_TOOL, args).await?;
        let version = vec![
            WORKSPACE.into(),
            tool.name.as_str().into(),
            tool.version.into(),
            body.into(),
            now.into(),
            by.id.as_str().into(),
        ];
        self.insert(&TOOL_VERSION, vec![version]).await?;
        self.tell("tool", tool.name.as_str(), tool.version);
        Ok(())
    }

    /// Every source, by name.
    pub(crate) async fn sources(&mut self) -> Result<Vec<Source>, LedgerError> {
        if let Some(sources) = &self.seen.sources {
            return Ok(sources.clone());
        }
        if let Some(sources) = self.seen.standing.as_ref().and_then(Standing::sources) {
            return Ok(sources);
        }
        let rows = self.fetch(SOURCES, vec![WORKSPACE.into()]).await?;
        let sources: Vec<Source> =
            rows.into_iter().map(|mut cells| read_source(&mut cells)).collect::<Result<_, _>>()?;
        match &self.seen.standing {
            Some(standing) => standing.keep_sources(&sources),
            None => self.seen.sources = Some(sources.clone()),
        }
        Ok(sources)
    }

    /// Saves how far a source is believed.
    pub(crate) async fn source_save(&mut self, source: &Source) -> Result<(), LedgerError> {
        self.declares();
        self.seen.sources = None;
        let args = vec![
            WORKSPACE.into(),
            source.name.as_str().into(),
            source.trust.name().into(),
            source.declared_at.into(),
            source.declared_by.as_str().into(),
        ];
        self.execute(SAVE_SOURCE, args).await?;
        self.tell("source", source.name.as_str(), 0);
        Ok(())
    }

    /// Puts a source on record as unknown, unless it is there.
    pub(crate) async fn source_note(
        &mut self,
        name: &SourceName,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = vec![
            WORKSPACE.into(),
            name.as_str().into(),
            Trust::Unknown.name().into(),
            0_i64.into(),
            now.into(),
            by.name.as_str().into(),
        ];
        if self.insert(&FIRST_SEEN, vec![row]).await? > 0 {
            self.declares();
            self.seen.sources = None;
            self.tell("source", name.as_str(), 0);
        }
        Ok(())
    }

    /// Notes that operations must be folded again.
    pub(crate) async fn refold_insert(
        &mut self,
        id: &str,
        kind: &str,
        subject: &str,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let row = vec![WORKSPACE.into(), id.into(), kind.into(), subject.into(), "".into(), now.into()];
        self.insert(&REFOLD, vec![row]).await.map(|_| ())
    }

    /// The oldest refold that is not done.
    pub(crate) async fn refold_next(&mut self) -> Result<Option<Refold>, LedgerError> {
        let row = self.fetch_one(NEXT_REFOLD, vec![WORKSPACE.into()]).await?;
        row.map(|mut cells| {
            Ok(Refold { id: cells.text()?, kind: cells.text()?, subject: cells.text()?, after: cells.text()? })
        })
        .transpose()
    }

    /// Notes how far a refold has come, or that it is done.
    pub(crate) async fn refold_advance(&mut self, refold: &Refold, upto: Option<&str>) -> Result<(), LedgerError> {
        let Some(upto) = upto else {
            return self.execute(END_REFOLD, vec![WORKSPACE.into(), refold.id.as_str().into()]).await.map(|_| ());
        };
        let args = vec![upto.into(), WORKSPACE.into(), refold.id.as_str().into(), refold.after.as_str().into()];
        match self.execute(MOVE_REFOLD, args).await? {
            1 => Ok(()),
            // Another process did the same batch.
            _ => Err(LedgerError::Contended),
        }
    }
}

fn read_source(cells: &mut Cells) -> Result<Source, LedgerError> {
    Ok(Source {
        name: cells.parsed(SourceName::parse)?,
        trust: cells.parsed(known(Trust::parse))?,
        declared_at: cells.at()?,
        declared_by: cells.text()?,
    })
}

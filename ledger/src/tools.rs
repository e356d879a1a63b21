//! Tools and sources: what is declared about them, by whom.

use std::sync::Arc;

use tallystick_domain::evidence::Trust;
use tallystick_domain::name::{PrincipalId, SourceName, ToolName};
use tallystick_domain::permission::{Actor, Permission};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

use crate::audit::{Note, audit};
use crate::port::Ids;
use crate::store::Tx;
use crate::store::tool::DELIVERIES;
use crate::{Ledger, LedgerError};

/// A source with its trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: SourceName,
    /// How far it is believed.
    pub trust: Trust,
    /// When that was last said, and by whom.
    pub declared_at: Timestamp,
    /// Who said it.
    pub declared_by: String,
}

/// One declaration of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// What was declared.
    pub tool: Tool,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: PrincipalId,
}

impl Ledger {
    /// Declares a tool; its version rises when anything changed, and its operations are folded again.
    ///
    /// The folding is work that outlives this call: it goes on here until it is done, and in [`Ledger::sweep`] if
    /// this process ends before.
    pub async fn declare_tool(&self, by: &Actor, tool: Tool) -> Result<Tool, LedgerError> {
        self.permit(by, Permission::DeclareTools, tool.name.as_str()).await?;
        let (ids, actor) = (self.ids(), by.clone());
        let declared = self.store().write(move |tx| {
            let (ids, by, tool) = (Arc::clone(&ids), actor.clone(), tool.clone());
            Box::pin(async move { declare_tool(tx, ids.as_ref(), &by, tool).await })
        });
        let tool = declared.await?;
        self.note_change();
        self.finish_refolds().await?;
        Ok(tool)
    }

    /// One tool as declared.
    pub async fn tool(&self, by: &Actor, name: &ToolName) -> Result<Option<Tool>, LedgerError> {
        self.permit(by, Permission::Read, name.as_str()).await?;
        let name = name.clone();
        self.store()
            .read(move |tx| {
                let name = name.clone();
                Box::pin(async move { tx.tool_find(name.as_str()).await })
            })
            .await
    }

    /// The newest declarations of a tool, the last one first, at most `limit`.
    pub async fn tool_declarations(
        &self,
        by: &Actor,
        name: &ToolName,
        limit: u32,
    ) -> Result<Vec<Declaration>, LedgerError> {
        self.permit(by, Permission::Read, name.as_str()).await?;
        let name = name.clone();
        self.store()
            .read(move |tx| {
                let name = name.clone();
                Box::pin(async move { tx.tool_declarations(name.as_str(), limit).await })
            })
            .await
    }

    /// Every declared tool, by name.
    pub async fn tools(&self, by: &Actor) -> Result<Vec<Tool>, LedgerError> {
        self.permit(by, Permission::Read, "tools").await?;
        self.store().read(|tx| Box::pin(tx.tools())).await
    }

    /// Says how far a source is believed (a recorded act); its operations are folded again.
    pub async fn declare_source(&self, by: &Actor, name: &SourceName, trust: Trust) -> Result<Source, LedgerError> {
        self.permit(by, Permission::DeclareSources, name.as_str()).await?;
        refuse_own(name)?;
        let (ids, actor, name) = (self.ids(), by.clone(), name.clone());
        let declared = self.store().write(move |tx| {
            let (ids, by, name) = (Arc::clone(&ids), actor.clone(), name.clone());
            Box::pin(async move { declare_source(tx, ids.as_ref(), &by, name, trust).await })
        });
        let source = declared.await?;
        self.note_change();
        self.finish_refolds().await?;
        Ok(source)
    }

    /// Every source on record, by name.
    pub async fn sources(&self, by: &Actor) -> Result<Vec<Source>, LedgerError> {
        self.permit(by, Permission::Read, "sources").await?;
        self.store().read(|tx| Box::pin(tx.sources())).await
    }
}

/// Our own executor and reader are trusted by their names.
pub(crate) fn refuse_own(name: &SourceName) -> Result<(), Refusal> {
    if !name.is_own() {
        return Ok(());
    }
    let problem = format!("names that begin with {:?} are our own; choose another", SourceName::OWN);
    Err(Refusal::BadField { field: "source".into(), problem })
}

async fn declare_tool(tx: &mut Tx, ids: &dyn Ids, by: &Actor, tool: Tool) -> Result<Tool, LedgerError> {
    tx.lock_names([tool.name.as_str()].into_iter()).await?;
    let now = tx.now().await?;
    let before = tx.tool_find(tool.name.as_str()).await?;
    let version = before.as_ref().map_or(0, |tool| tool.version);
    let as_before = Tool { declared: true, version, ..tool };
    if before.as_ref() == Some(&as_before) {
        return Ok(as_before);
    }
    let tool = Tool { version: version + 1, ..as_before };
    tx.tool_save(&tool, by, now).await?;
    let read_as = |tool: &Tool| (tool.deliveries.clone(), tool.destination.clone());
    if tool.deliveries.is_some() && before.as_ref().map(read_as) != Some(read_as(&tool)) {
        tx.refold_insert(&ids.new_id(now), DELIVERIES, tool.name.as_str(), now).await?;
    }
    tx.refold_insert(&ids.new_id(now), "tool", tool.name.as_str(), now).await?;
    let detail = serde_json::json!({ "version": tool.version, "class": tool.class.name() });
    let note = Note { verb: "declare_tool", subject: tool.name.as_str(), status: "done", detail };
    audit(tx, ids, now, by, note).await?;
    Ok(tool)
}

async fn declare_source(
    tx: &mut Tx,
    ids: &dyn Ids,
    by: &Actor,
    name: SourceName,
    trust: Trust,
) -> Result<Source, LedgerError> {
    tx.lock_names([name.as_str()].into_iter()).await?;
    let now = tx.now().await?;
    let before = tx.sources().await?.into_iter().find(|source| source.name == name);
    if let Some(source) = before.as_ref().filter(|source| source.trust == trust) {
        return Ok(source.clone());
    }
    let source = Source { name, trust, declared_at: now, declared_by: by.name.clone() };
    tx.source_save(&source).await?;
    if trust != before.as_ref().map_or(Trust::default(), |source| source.trust) {
        tx.refold_insert(&ids.new_id(now), "source", source.name.as_str(), now).await?;
    }
    let before = before.map_or(Trust::default(), |source| source.trust);
    let detail = serde_json::json!({ "before": before.name(), "after": trust.name() });
    let note = Note { verb: "declare_source", subject: source.name.as_str(), status: "done", detail };
    audit(tx, ids, now, by, note).await?;
    Ok(source)
}

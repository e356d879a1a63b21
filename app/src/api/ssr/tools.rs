//! Tools in the pages' words.

use tallystick_domain::name::ToolName;
use tallystick_domain::view::layers::{SeenStack, layer_row};
use tallystick_domain::view::tools::{ToolPage, ToolView, tool_page, tool_view, versions};
use tallystick_ledger::layers::ToolLayers;

use super::{Reader, not_found, told};
use crate::api::ApiError;

/// How many declarations a tool's page shows.
const VERSIONS_SHOWN: u32 = 30;

/// A tool's layers as its row and its findings are made from.
pub(super) fn stack(one: &ToolLayers) -> SeenStack<'_> {
    SeenStack {
        tool: &one.tool,
        layers: &one.layers,
        declared: one.declared,
        seen: &one.seen,
        most: one.most.as_ref().map(|(id, count)| (id, *count)),
    }
}

impl Reader {
    /// Every declared tool.
    pub async fn tools(&self) -> Result<Vec<ToolView>, ApiError> {
        let tools = self.ledger.tools(&self.actor).await.map_err(told)?;
        Ok(tools.iter().map(tool_view).collect())
    }

    /// One tool, also one that nobody declared but that is in use.
    pub async fn tool(&self, name: &str) -> Result<ToolPage, ApiError> {
        let name = ToolName::parse(name).map_err(|_| not_found("tool"))?;
        let found = self.ledger.layers_of_tool(&self.actor, &name).await.map_err(told)?;
        let (layers, sequence) = found.ok_or_else(|| not_found("tool"))?;
        // One more than is shown: what the oldest shown made different is told too.
        let declared = self.ledger.tool_declarations(&self.actor, &name, VERSIONS_SHOWN + 1).await.map_err(told)?;
        let now = self.ledger.now().await.map_err(told)?;
        let names = self.names().await;
        let declared: Vec<_> = declared.iter().map(|one| (&one.tool, one.at, &one.by)).collect();
        let versions = versions(&declared, VERSIONS_SHOWN as usize, &self.lens(now, &names));
        Ok(tool_page(&layers.tool, layer_row(&stack(&layers)), versions, sequence.to_string()))
    }
}

//! Retry layers in the pages' words.

use tallystick_domain::view::layers::{LayersView, SeenStack, declaration_line, layer_row, layers_view};
use tallystick_ledger::layers::{LOOKED_AT, ToolLayers};

use super::{Reader, told};
use crate::api::ApiError;

impl Reader {
    /// Every tool with the layers above it.
    pub async fn layers(&self) -> Result<LayersView, ApiError> {
        let layers = self.ledger.layers(&self.actor).await.map_err(told)?;
        let names = std::collections::BTreeMap::new();
        let lens = self.lens(layers.now, &names);
        let row = |one: &ToolLayers| {
            layer_row(&SeenStack {
                tool: &one.tool,
                layers: &one.layers,
                declared: one.declared,
                seen: &one.seen,
                most: one.most.as_ref().map(|(id, count)| (id, *count)),
            })
        };
        let declarations = layers.declarations.iter();
        let lines =
            declarations.map(|told| declaration_line(&told.declaration, told.source.as_str(), told.trust, &lens));
        let rows = layers.tools.iter().map(row).collect();
        Ok(layers_view(rows, lines.collect(), LOOKED_AT, layers.sequence.to_string()))
    }
}

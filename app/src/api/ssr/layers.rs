//! Retry layers in the pages' words.

use tallystick_domain::view::layers::{LayersView, declaration_line, layer_row, layers_view};
use tallystick_ledger::layers::LOOKED_AT;

use super::tools::stack;
use super::{Reader, told};
use crate::api::ApiError;

impl Reader {
    /// Every tool with the layers above it.
    pub async fn layers(&self) -> Result<LayersView, ApiError> {
        let layers = self.ledger.layers(&self.actor).await.map_err(told)?;
        let names = std::collections::BTreeMap::new();
        let lens = self.lens(layers.now, &names);
        let declarations = layers.declarations.iter();
        let lines =
            declarations.map(|told| declaration_line(&told.declaration, told.source.as_str(), told.trust, &lens));
        let rows = layers.tools.iter().map(|one| layer_row(&stack(one))).collect();
        Ok(layers_view(rows, lines.collect(), LOOKED_AT, layers.sequence.to_string()))
    }
}

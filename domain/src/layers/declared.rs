//! What layers declare about themselves (cases §0, `layer.declared`), and what of it is in force.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Attempts, Layer, known_layer};
use crate::name::{DestinationName, LayerName, ToolName};
use crate::time::Timestamp;

/// One `layer.declared` line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// When it was declared.
    pub at: Timestamp,
    /// The layer that speaks of itself.
    pub layer: LayerName,
    /// The destination it is about; every one where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<DestinationName>,
    /// The tool it is about; every one where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// How many sends one call of it can become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Attempts>,
    /// On what it retries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// How long it waits for one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

impl Declaration {
    fn is_about(&self, destination: Option<&DestinationName>, tool: Option<&ToolName>) -> bool {
        let names_tool = self.tool.is_none() || self.tool.as_ref() == tool;
        let names_destination = self.destination.is_none() || self.destination.as_ref() == destination;
        names_tool && names_destination
    }

    /// What decides between declarations of one layer: the narrower, then the later, then the more cautious.
    fn weight(&self) -> (bool, bool, Timestamp, Option<Attempts>, Option<Duration>, &[String]) {
        let narrow = (self.tool.is_some(), self.destination.is_some());
        (narrow.0, narrow.1, self.at, self.attempts, self.timeout, &self.on)
    }
}

/// The layers above one tool or destination at `at`, by name. The order in which the lines arrived does not matter.
/// A known layer that does not tell its attempts is taken as it comes.
pub fn layers_in_force<'a>(
    declarations: impl IntoIterator<Item = &'a Declaration>,
    destination: Option<&DestinationName>,
    tool: Option<&ToolName>,
    at: Timestamp,
) -> Vec<Layer> {
    let mut by_name: BTreeMap<&LayerName, &Declaration> = BTreeMap::new();
    for declaration in declarations {
        if declaration.at > at || !declaration.is_about(destination, tool) {
            continue;
        }
        let standing = by_name.entry(&declaration.layer).or_insert(declaration);
        if standing.weight() < declaration.weight() {
            *standing = declaration;
        }
    }
    by_name.into_values().map(Layer::from).collect()
}

impl From<&Declaration> for Layer {
    fn from(declaration: &Declaration) -> Self {
        let as_it_comes = known_layer(declaration.layer.as_str()).and_then(|known| known.default);
        Self {
            name: declaration.layer.clone(),
            attempts: declaration.attempts.or(as_it_comes),
            on: declaration.on.clone(),
            timeout: declaration.timeout,
        }
    }
}

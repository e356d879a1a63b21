//! Tools and sources: what is declared about them, by whom.

use tallystick_domain::evidence::Trust;
use tallystick_domain::name::{SourceName, ToolName};
use tallystick_domain::permission::Actor;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;

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

impl Ledger {
    /// Declares a tool; its version rises when anything changed, and its operations are folded again.
    pub async fn declare_tool(&self, by: &Actor, tool: Tool) -> Result<Tool, LedgerError> {
        let _ = (by, tool);
        todo!()
    }

    /// One tool as declared.
    pub async fn tool(&self, by: &Actor, name: &ToolName) -> Result<Option<Tool>, LedgerError> {
        let _ = (by, name);
        todo!()
    }

    /// Every declared tool, by name.
    pub async fn tools(&self, by: &Actor) -> Result<Vec<Tool>, LedgerError> {
        let _ = by;
        todo!()
    }

    /// Says how far a source is believed (a recorded act); its operations are folded again.
    pub async fn declare_source(&self, by: &Actor, name: &SourceName, trust: Trust) -> Result<Source, LedgerError> {
        let _ = (by, name, trust);
        todo!()
    }

    /// Every source on record, by name.
    pub async fn sources(&self, by: &Actor) -> Result<Vec<Source>, LedgerError> {
        let _ = by;
        todo!()
    }
}

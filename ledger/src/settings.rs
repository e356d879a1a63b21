//! The workspace's settings.

use tallystick_domain::permission::Actor;

use crate::{Ledger, LedgerError};

/// What can be set for the whole workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// An IANA zone name; times are shown in it.
    pub zone: String,
    /// Counts changes, for optimistic forms.
    pub version: u64,
}

impl Ledger {
    /// The settings in force (cached; a change is seen through the change feed).
    pub async fn settings(&self) -> Result<Settings, LedgerError> {
        todo!()
    }

    /// Sets the workspace zone. The name is checked by the caller against the zone database.
    pub async fn set_zone(&self, by: &Actor, zone: &str, seen_version: u64) -> Result<Settings, LedgerError> {
        let _ = (by, zone, seen_version);
        todo!()
    }
}

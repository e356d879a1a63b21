//! The change feed: what live views hear.

use tokio::sync::watch;

use crate::{Ledger, LedgerError};

/// One change, without content: who sees it refetches through the function that first filled the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Rises with every change; not gapless.
    pub sequence: i64,
    /// What kind of thing: `operation`, `action`, `tool`, `source`, `settings`.
    pub topic: String,
    /// Which one.
    pub id: String,
    /// Its version after the change.
    pub version: u64,
    /// Whether it waits for a person after the change (topic `operation`).
    pub needs_attention: bool,
}

/// What came after a sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatchUp {
    /// These, in order; possibly none.
    Changes(Vec<Change>),
    /// The number is too old (or from another record): read everything again from `sequence`.
    Resync {
        /// The newest number now.
        sequence: i64,
    },
}

impl Ledger {
    /// The newest sequence number that is safe to show.
    pub async fn newest_sequence(&self) -> Result<i64, LedgerError> {
        todo!()
    }

    /// What came after `sequence`, at most `limit`. On PostgreSQL it reads only below the oldest running
    /// transaction, because there sequence order is not commit order.
    pub async fn changes_after(&self, sequence: i64, limit: u32) -> Result<CatchUp, LedgerError> {
        let _ = (sequence, limit);
        todo!()
    }

    /// Wakes when something may have changed: a commit here, a notification from another process, or the
    /// back-up poll.
    pub fn wake(&self) -> watch::Receiver<u64> {
        todo!()
    }
}

//! What only tests may do: move the clock (semantics 4.7), end the disk, read the planners' plans. Compiled only with
//! the feature `test-clock`.

use tallystick_domain::time::Timestamp;

pub use crate::store::plans::Plan;
use crate::{Ledger, LedgerError};

impl Ledger {
    /// Lets the record's clock run ahead of the database's (or behind) by so many microseconds.
    pub async fn set_clock_offset(&self, micros: i64) -> Result<(), LedgerError> {
        self.store().write(move |tx| Box::pin(tx.clock_set(micros, None))).await
    }

    /// Stops the record's clock at a time.
    pub async fn set_clock(&self, at: Timestamp) -> Result<(), LedgerError> {
        self.store().write(move |tx| Box::pin(tx.clock_set(0, Some(at)))).await
    }

    /// Lets the database have so many pages and no more, as if the disk ended there (SQLite only).
    pub async fn limit_pages(&self, pages: u32) -> Result<(), LedgerError> {
        self.store().write(move |tx| Box::pin(tx.limit_pages(pages))).await
    }

    /// The plans of all statements that read tables that grow.
    pub async fn plans(&self) -> Result<Vec<Plan>, LedgerError> {
        self.store().read(|tx| Box::pin(tx.plans())).await
    }
}

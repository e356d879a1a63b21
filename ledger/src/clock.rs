//! The clock that tests may move (semantics 4.7). Compiled only with the feature `test-clock`.

use tallystick_domain::time::Timestamp;

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
}

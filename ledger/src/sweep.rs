//! The sweeper: decisions that change by time alone are made again when their time has come.

use crate::{Ledger, LedgerError};

impl Ledger {
    /// Folds again up to `limit` operations whose `next_change_at` has passed; how many changed.
    pub async fn sweep(&self, limit: u32) -> Result<u32, LedgerError> {
        let _ = limit;
        todo!()
    }
}

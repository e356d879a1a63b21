//! `tallystick verify`: replays the journal and compares it with the rows.

use crate::{Ledger, LedgerError};

/// One thing that does not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discrepancy {
    /// Which operation.
    pub operation_id: String,
    /// Which journal version, where it is one.
    pub version: Option<u64>,
    /// Table and column, or `journal`.
    pub place: String,
    /// What was expected and what is there.
    pub text: String,
}

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Operations read.
    pub operations: u64,
    /// Journal entries read.
    pub entries: u64,
    /// What does not agree.
    pub discrepancies: Vec<Discrepancy>,
}

impl Ledger {
    /// Replays the whole journal, never judging anew, and compares chain, order and every projected column.
    pub async fn verify(&self) -> Result<Verification, LedgerError> {
        todo!()
    }
}

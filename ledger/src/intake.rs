//! What already happened elsewhere: events, idempotent per line.

use tallystick_domain::name::SourceName;
use tallystick_domain::permission::Actor;

use crate::{Ledger, LedgerError};

/// The most bytes one line may have: arguments of 8 MiB and some room.
pub const LINE_LIMIT_BYTES: usize = 8 * 1024 * 1024 + 64 * 1024;

/// A line that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub number: u64,
    /// What is wrong, and where.
    pub reason: String,
}

/// What came of a batch of lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntakeReport {
    /// Lines that changed the record.
    pub recorded: u64,
    /// Lines that were there already, byte for byte.
    pub repeated: u64,
    /// Lines that were kept and linked to no operation (yet): deliveries without a match, layer declarations.
    pub unlinked: u64,
    /// Lines that were not taken.
    pub bad: Vec<BadLine>,
    /// Operations that were made.
    pub operations: u64,
    /// Proposals that conflict with one on record.
    pub conflicts: u64,
}

impl Ledger {
    /// Takes a batch of lines from one source in one transaction. `first_number` is the number of the
    /// first line. Bad lines are reported and the rest goes on. The batch is all or nothing against a crash.
    pub async fn import_lines(
        &self,
        by: &Actor,
        source: &SourceName,
        first_number: u64,
        lines: &[&[u8]],
    ) -> Result<IntakeReport, LedgerError> {
        let _ = (by, source, first_number, lines);
        todo!()
    }
}

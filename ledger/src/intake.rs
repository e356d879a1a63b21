//! What already happened elsewhere: events, idempotent per line.

use std::collections::HashSet;
use std::sync::Arc;

use tallystick_domain::fingerprint::Hash;
use tallystick_domain::intake::{About, Line, Says};
use tallystick_domain::name::{DestinationKey, OperationKey, SourceName, SourceOperation};
use tallystick_domain::permission::{Actor, Permission};

use crate::store::Tx;
use crate::tools::refuse_own;
use crate::{Ledger, LedgerError};

mod batch;

use self::batch::Batch;

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

/// A line that was understood.
pub(crate) struct ReadLine {
    bytes: Vec<u8>,
    hash: Hash,
    line: Line,
}

impl Ledger {
    /// Takes a batch of lines from one source in one transaction. `first_number` is the number of the
    /// first line. Bad lines are reported and the rest goes on. The batch is all or nothing against a crash.
    ///
    /// Lines are taken in the order of their times, so that a batch reads the same however it was shuffled.
    pub async fn import_lines(
        &self,
        by: &Actor,
        source: &SourceName,
        first_number: u64,
        lines: &[&[u8]],
    ) -> Result<IntakeReport, LedgerError> {
        self.permit(by, Permission::Report, source.as_str()).await?;
        refuse_own(source)?;
        let (mut read, bad) = read_lines(source, first_number, lines);
        read.sort_by(|a, b| (a.line.at, &a.bytes).cmp(&(b.line.at, &b.bytes)));
        let repeated_here = drop_repeated(&mut read);
        if read.is_empty() {
            return Ok(IntakeReport { repeated: repeated_here, bad, ..IntakeReport::default() });
        }
        let (ids, by, source, read) = (self.ids(), by.clone(), source.clone(), Arc::new(read));
        let report = self.store().write(move |tx| {
            let (ids, by, source, read) = (Arc::clone(&ids), by.clone(), source.clone(), Arc::clone(&read));
            Box::pin(async move { take_lines(tx, ids.as_ref(), &by, &source, &read).await })
        });
        let mut report = report.await?;
        report.repeated += repeated_here;
        report.bad = bad;
        self.note_change();
        // The batch is recorded; that the feed stays long is no reason to say otherwise.
        if let Err(error) = self.cut_long_feed().await {
            tracing::warn!(%error, "The change feed could not be cut; the next sweep tries again: {error}");
        }
        Ok(report)
    }
}

fn read_lines(source: &SourceName, first_number: u64, lines: &[&[u8]]) -> (Vec<ReadLine>, Vec<BadLine>) {
    let (mut read, mut bad) = (Vec::with_capacity(lines.len()), Vec::new());
    for (number, bytes) in (first_number..).zip(lines) {
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            continue;
        }
        if bytes.len() > LINE_LIMIT_BYTES {
            let reason = format!("line: has {} bytes; the limit is {LINE_LIMIT_BYTES}", bytes.len());
            bad.push(BadLine { number, reason });
            continue;
        }
        match Line::parse(bytes, source) {
            Ok(line) => read.push(ReadLine { bytes: bytes.to_vec(), hash: Hash::of(bytes), line }),
            Err(error) => bad.push(BadLine { number, reason: error.to_string() }),
        }
    }
    (read, bad)
}

/// Byte-equal lines are one fact; how many were more than that.
fn drop_repeated(read: &mut Vec<ReadLine>) -> u64 {
    let before = read.len();
    let mut seen = HashSet::with_capacity(before);
    read.retain(|line| seen.insert(line.hash));
    (before - read.len()) as u64
}

async fn take_lines(
    tx: &mut Tx,
    ids: &dyn crate::port::Ids,
    by: &Actor,
    source: &SourceName,
    read: &[ReadLine],
) -> Result<IntakeReport, LedgerError> {
    tx.lock_names(read.iter().flat_map(|line| names_in(&line.line))).await?;
    let now = tx.now().await?;
    let known = tx.lines_known(source, read.iter().map(|line| line.hash)).await?;
    let fresh: Vec<&ReadLine> = read.iter().filter(|line| !known.contains(&line.hash)).collect();
    let mut report = IntakeReport { repeated: known.len() as u64, ..IntakeReport::default() };
    if !fresh.is_empty() {
        tx.source_note(source, by, now).await?;
        Batch::take(tx, ids, now, by, source, &fresh, &mut report).await?;
    }
    Ok(report)
}

/// Everything by which two lines can mean the same operation.
fn names_in(line: &Line) -> Vec<&str> {
    match &line.says {
        Says::Operation { name, key, about, .. } => {
            let mut names = vec![name.as_str()];
            names.extend(key.as_ref().map(OperationKey::as_str));
            match about {
                About::Report(report) => names.extend(report.dest_key.as_ref().map(DestinationKey::as_str)),
                About::CompensationProposed { compensates, .. } => names.push(compensates.as_str()),
                About::Proposed(_) | About::Fact(_) => {}
            }
            names
        }
        Says::Delivery { key, .. } => key.as_deref().into_iter().collect(),
        Says::Acted { names, .. } => names.iter().map(SourceOperation::as_str).collect(),
        Says::LayerDeclared(_) => Vec::new(),
    }
}

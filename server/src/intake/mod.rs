//! Events from outside, line by line (NDJSON), from a file or a request. Lines are cut and gathered into batches here;
//! what a line means is decided in `domain`, and a batch is one transaction of the ledger. Beside them deliveries: whether
//! one was signed with a secret of ours is found out here, what it says is not.

pub mod lines;
pub mod signature;
pub mod webhooks;

use tallystick_domain::intake::Line;
use tallystick_domain::name::SourceName;
use tallystick_domain::permission::Actor;
use tallystick_ledger::intake::{BadLine, IntakeReport, LINE_LIMIT_BYTES};
use tallystick_ledger::{Ledger, LedgerError};

use lines::CutLine;

/// The most lines of one transaction.
const BATCH_LINES: usize = 500;
/// The most bytes of one transaction, so that long lines do not gather in memory.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How many bad lines are named; more are only counted.
pub const NAMED_BAD_LINES: usize = 1000;

/// What a bad line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBadLine {
    /// It is reported and the rest goes on.
    GoOn,
    /// Nothing after it is taken.
    Stop,
}

/// What came of all lines so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Total {
    /// Lines read, blank ones excepted.
    pub lines: u64,
    /// As the ledger counts them; of the bad lines at most [`NAMED_BAD_LINES`] are named.
    pub report: IntakeReport,
    /// How many lines were not taken.
    pub bad_count: u64,
    /// Whether a bad line stopped it.
    pub stopped: bool,
}

/// Gathers lines and hands them to the ledger.
pub struct Intake {
    ledger: Ledger,
    by: Actor,
    source: SourceName,
    on_bad: OnBadLine,
    batch: Vec<Vec<u8>>,
    batch_bytes: usize,
    first_number: u64,
    total: Total,
}

impl Intake {
    /// An intake of one source's lines.
    pub fn new(ledger: Ledger, by: Actor, source: SourceName, on_bad: OnBadLine) -> Self {
        Self { ledger, by, source, on_bad, batch: Vec::new(), batch_bytes: 0, first_number: 1, total: Total::default() }
    }

    /// What came of it so far. Lines that still gather are not in it.
    pub const fn total(&self) -> &Total {
        &self.total
    }

    /// Takes one line. After a bad line that stops it, further lines are ignored.
    pub async fn take(&mut self, line: CutLine) -> Result<(), LedgerError> {
        if self.total.stopped {
            return Ok(());
        }
        match line.content {
            Ok(content) => {
                // The ledger passes over blank lines; they only keep the numbers right.
                if !content.iter().all(u8::is_ascii_whitespace) {
                    self.total.lines += 1;
                }
                self.add(line.number, content).await
            }
            Err(too_long) => {
                self.flush().await?;
                if !self.total.stopped {
                    self.total.lines += 1;
                    self.note(BadLine { number: line.number, reason: too_long.to_string() });
                }
                Ok(())
            }
        }
    }

    /// Hands over what still gathers, and tells what came of it all.
    pub async fn finish(mut self) -> Result<Total, LedgerError> {
        self.flush().await?;
        Ok(self.total)
    }

    async fn add(&mut self, number: u64, content: Vec<u8>) -> Result<(), LedgerError> {
        // Found before it is handed over: what stands after it must not be in the same transaction.
        if self.on_bad == OnBadLine::Stop
            && !content.iter().all(u8::is_ascii_whitespace)
            && let Err(error) = Line::parse(&content, &self.source)
        {
            self.flush().await?;
            if !self.total.stopped {
                self.note(BadLine { number, reason: error.to_string() });
            }
            return Ok(());
        }
        if self.batch.is_empty() {
            self.first_number = number;
        }
        self.batch_bytes += content.len();
        self.batch.push(content);
        if self.batch.len() >= BATCH_LINES || self.batch_bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), LedgerError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let lines: Vec<&[u8]> = self.batch.iter().map(Vec::as_slice).collect();
        let report = self.ledger.import_lines(&self.by, &self.source, self.first_number, &lines).await?;
        self.batch.clear();
        self.batch_bytes = 0;
        let total = &mut self.total.report;
        total.recorded += report.recorded;
        total.repeated += report.repeated;
        total.unlinked += report.unlinked;
        total.operations += report.operations;
        total.conflicts += report.conflicts;
        report.bad.into_iter().for_each(|bad| self.note(bad));
        Ok(())
    }

    fn note(&mut self, bad: BadLine) {
        self.total.bad_count += 1;
        if self.total.report.bad.len() < NAMED_BAD_LINES {
            self.total.report.bad.push(bad);
        }
        if self.on_bad == OnBadLine::Stop {
            self.total.stopped = true;
        }
    }
}

/// A line longer than any may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line: it is longer than {LINE_LIMIT_BYTES} bytes, the most a line may have")]
pub struct LineTooLong;

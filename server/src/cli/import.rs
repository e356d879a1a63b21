//! `tallystick import`: events from a file or standard input, with progress for long ones. Bad lines are reported and the
//! rest goes on; a run that was cut off may be repeated: lines on record count as repeated.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::SourceName;
use tallystick_ledger::people::system_actor;
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::{CliError, open};
use crate::config::Config;
use crate::intake::lines::Lines;
use crate::intake::{Intake, OnBadLine, Total};

const PIECE_BYTES: usize = 256 * 1024;
/// How many lines pass between two lines of progress.
const PROGRESS_LINES: u64 = 10_000;
/// How many bad lines are printed.
const PRINTED_BAD_LINES: usize = 100;

/// Reads what already happened elsewhere (NDJSON) into the record.
#[derive(Debug, Args)]
pub struct Import {
    /// The file; `-` is standard input
    file: PathBuf,
    /// Where the events come from
    #[arg(long, default_value = "import")]
    source: String,
    /// Say how far that source is believed: unknown, declared or verified
    #[arg(long, value_parser = read_trust)]
    trust: Option<Trust>,
    /// Stop at the first bad line and exit with 1
    #[arg(long)]
    strict: bool,
}

/// A trust by its name.
pub(super) fn read_trust(name: &str) -> Result<Trust, String> {
    Trust::parse(name).ok_or_else(|| "use unknown, declared or verified".to_owned())
}

pub(super) async fn run(config: &Config, command: &Import) -> Result<ExitCode, CliError> {
    let source = SourceName::parse(command.source.as_str())
        .map_err(|error| CliError::BadInput(format!("--source: {error}; nothing was imported")))?;
    let (input, size) = open_input(&command.file).await?;
    let ledger = open(config).await?;
    if let Some(trust) = command.trust {
        ledger.declare_source(&system_actor(), &source, trust).await?;
    }
    let on_bad = if command.strict { OnBadLine::Stop } else { OnBadLine::GoOn };
    let intake = Intake::new(ledger.clone(), system_actor(), source, on_bad);
    let total = read_all(intake, input, &command.file, size).await?;
    ledger.close().await;
    report(&total);
    Ok(if total.stopped { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

type Input = Box<dyn AsyncRead + Unpin + Send>;

async fn open_input(path: &Path) -> Result<(Input, Option<u64>), CliError> {
    if path == Path::new("-") {
        return Ok((Box::new(tokio::io::stdin()), None));
    }
    let failed = |source| CliError::Read { path: path.to_path_buf(), source };
    let file = File::open(path).await.map_err(failed)?;
    let size = file.metadata().await.map_err(failed)?.len();
    Ok((Box::new(file), Some(size)))
}

async fn read_all(mut intake: Intake, mut input: Input, path: &Path, size: Option<u64>) -> Result<Total, CliError> {
    let mut lines = Lines::default();
    let mut piece = vec![0; PIECE_BYTES];
    let (mut read, mut next_progress) = (0_u64, PROGRESS_LINES);
    loop {
        let length =
            input.read(&mut piece).await.map_err(|source| CliError::Read { path: path.to_path_buf(), source })?;
        if length == 0 || intake.total().stopped {
            break;
        }
        read += length as u64;
        for line in lines.push(piece.get(..length).unwrap_or_default()) {
            intake.take(line).await?;
        }
        if intake.total().lines >= next_progress {
            show_progress(intake.total().lines, read, size);
            next_progress = intake.total().lines + PROGRESS_LINES;
        }
    }
    if let Some(line) = lines.finish() {
        intake.take(line).await?;
    }
    Ok(intake.finish().await?)
}

fn show_progress(lines: u64, read: u64, size: Option<u64>) {
    let share = size.filter(|size| *size > 0).map(|size| format!(" ({} %)", read * 100 / size)).unwrap_or_default();
    if std::io::stderr().is_terminal() {
        eprint!("\r{lines} lines{share} ");
    } else {
        eprintln!("{lines} lines{share}");
    }
}

fn report(total: &Total) {
    let report = &total.report;
    for bad in report.bad.iter().take(PRINTED_BAD_LINES) {
        eprintln!("line {}: not taken: {}", bad.number, bad.reason);
    }
    let unnamed = total.bad_count.saturating_sub(PRINTED_BAD_LINES as u64);
    if unnamed > 0 {
        eprintln!("and {unnamed} further lines were not taken");
    }
    println!(
        "{} lines: {} recorded, {} repeated, {} not linked yet, {} not taken; {} operations made, {} conflicting proposals",
        total.lines,
        report.recorded,
        report.repeated,
        report.unlinked,
        total.bad_count,
        report.operations,
        report.conflicts
    );
    if total.stopped {
        println!("Stopped at the first bad line; nothing after it was taken. Correct it and import the file again.");
    }
}

//! `tallystick export`: every operation as NDJSON, newest first. Times are UTC.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tallystick_domain::query::{OperationQuery, PAGE_LIMIT};
use tallystick_ledger::Ledger;
use tallystick_ledger::people::system_actor;

use super::{CliError, open};
use crate::config::Config;
use crate::http::v1::document::OperationSummary;

/// Writes every operation as NDJSON.
#[derive(Debug, Args)]
pub struct Export {
    /// The file; `-` is standard output
    #[arg(default_value = "-")]
    file: PathBuf,
}

pub(super) async fn run(config: &Config, command: &Export) -> Result<ExitCode, CliError> {
    let ledger = open(config).await?;
    let mut out: Box<dyn Write + Send> = if command.file.as_os_str() == "-" {
        Box::new(std::io::BufWriter::new(std::io::stdout()))
    } else {
        Box::new(std::io::BufWriter::new(std::fs::File::create(&command.file).map_err(CliError::Write)?))
    };
    let count = write_all(&ledger, out.as_mut()).await?;
    out.flush().map_err(CliError::Write)?;
    ledger.close().await;
    eprintln!("{count} operations");
    Ok(ExitCode::SUCCESS)
}

async fn write_all(ledger: &Ledger, out: &mut (dyn Write + Send)) -> Result<u64, CliError> {
    let mut query = OperationQuery { limit: Some(PAGE_LIMIT), ..OperationQuery::default() };
    let mut count = 0;
    loop {
        let page = ledger.operations(&system_actor(), &query).await?;
        for listed in &page.rows {
            let line = serde_json::to_string(&OperationSummary::of_listed(listed))
                .map_err(|error| CliError::Write(error.into()))?;
            writeln!(out, "{line}").map_err(CliError::Write)?;
            count += 1;
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(count),
        }
    }
}

//! `tallystick migrate`: brings the record's schema up to date and ends.

use std::process::ExitCode;

use super::{CliError, open};
use crate::config::Config;

pub(super) async fn run(config: &Config) -> Result<ExitCode, CliError> {
    let ledger = open(config).await?;
    ledger.check_ready().await?;
    ledger.close().await;
    println!("The record's schema is up to date.");
    Ok(ExitCode::SUCCESS)
}

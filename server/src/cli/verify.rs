//! `tallystick verify`: rebuilds the projection from the journal, compares, and names what does not agree.

use std::process::ExitCode;

use super::{CliError, open};
use crate::config::Config;

pub(super) async fn run(config: &Config) -> Result<ExitCode, CliError> {
    let ledger = open(config).await?;
    let found = ledger.verify().await?;
    ledger.close().await;
    for discrepancy in &found.discrepancies {
        let version = discrepancy.version.map(|version| format!(" version {version}")).unwrap_or_default();
        println!("operation {}{version}, {}: {}", discrepancy.operation_id, discrepancy.place, discrepancy.text);
    }
    println!(
        "{} operations and {} journal entries read; {} do not agree",
        found.operations,
        found.entries,
        found.discrepancies.len()
    );
    Ok(if found.discrepancies.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

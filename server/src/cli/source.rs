//! `tallystick source trust`: says how far a source is believed. An act on record.

use std::process::ExitCode;

use clap::Subcommand;
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::SourceName;
use tallystick_ledger::people::system_actor;

use super::{CliError, open};
use crate::config::Config;

/// Where events come from.
#[derive(Debug, Subcommand)]
pub enum Source {
    /// Say how far a source is believed
    Trust {
        /// Its name
        name: String,
        /// unknown, declared or verified
        #[arg(value_parser = super::import::read_trust)]
        level: Trust,
    },
    /// List every source
    List,
}

pub(super) async fn run(config: &Config, command: Source) -> Result<ExitCode, CliError> {
    let ledger = open(config).await?;
    match command {
        Source::Trust { name, level } => {
            let name =
                SourceName::parse(name).map_err(|error| CliError::BadInput(format!("{error}; nothing was done")))?;
            let source = ledger.declare_source(&system_actor(), &name, level).await?;
            println!("{} is {}", source.name, source.trust.name());
        }
        Source::List => {
            for source in ledger.sources(&system_actor()).await? {
                println!("{}\t{}", source.name, source.trust.name());
            }
        }
    }
    ledger.close().await;
    Ok(ExitCode::SUCCESS)
}

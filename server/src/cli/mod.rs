//! The commands. Each is one file; each says in one sentence what was not done when it fails, and exits with 1.

mod demo;
mod explain;
mod export;
mod import;
mod migrate;
mod restored;
mod serve;
mod source;
mod token;
mod tool;
mod user;
mod verify;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tallystick_ledger::{Ledger, LedgerError, OpenOptions};

use crate::auth::link::LinkError;
use crate::auth::password::PasswordError;
use crate::auth::token::NoRandomness;
use crate::config::{CommonArgs, Config, ConfigError, ServeArgs};
use crate::telemetry;

/// The operator console and reconciliation system for automations that act in other people's systems.
#[derive(Debug, Parser)]
#[command(name = "tallystick", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the console and the API
    Serve(serve::Serve),
    /// Serve with demo data and print an address that signs you in
    Demo(demo::Demo),
    /// Read what already happened elsewhere (NDJSON) into the record
    Import(import::Import),
    /// Write every operation as NDJSON
    Export(export::Export),
    /// Print what the rules say after each line of a file, without a database or a server
    Explain(explain::Explain),
    /// Rebuild the projection from the journal and compare
    Verify,
    /// Bring the record's schema up to date
    Migrate,
    /// Say that the record was restored from a backup
    Restored(restored::Restored),
    /// People and automations
    #[command(subcommand)]
    User(user::User),
    /// API tokens
    #[command(subcommand)]
    Token(token::Token),
    /// Where events come from
    #[command(subcommand)]
    Source(source::Source),
    /// Tools and their contracts
    #[command(subcommand)]
    Tool(tool::Tool),
}

/// Why a command did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The record cannot be opened.
    #[error("the record at {url} cannot be opened; nothing was done. {advice}")]
    Open {
        /// Where, without a password.
        url: String,
        /// What to do.
        advice: &'static str,
        /// The ledger's error.
        #[source]
        source: LedgerError,
    },
    /// A use case failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The port is taken.
    #[error("cannot listen on {address}; nothing was started. {advice}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What to do.
        advice: &'static str,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// Serving failed.
    #[error("serving ended with an error")]
    Serve(#[source] std::io::Error),
    /// A file cannot be read.
    #[error("cannot read {}; nothing after that point was taken. Check its name and rights.", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The output is gone.
    #[error("cannot write the output; it is not complete")]
    Write(#[source] std::io::Error),
    /// Something that was given cannot be used.
    #[error("{0}")]
    BadInput(String),
    /// The router.
    #[error(transparent)]
    Build(#[from] crate::BuildError),
    /// A password.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// A token.
    #[error(transparent)]
    Token(#[from] NoRandomness),
    /// A sign-in link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Demo data.
    #[error("the demo data could not be written")]
    Demo(#[from] crate::demo::DemoError),
}

impl Cli {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CliError> {
        if let Command::Explain(command) = &self.command {
            // It has no settings and keeps nothing.
            return explain::run(command);
        }
        let serve = match &self.command {
            Command::Serve(serve) => serve.args.clone(),
            Command::Demo(demo) => demo.args.clone(),
            _ => ServeArgs::default(),
        };
        let config = Config::load(&self.common, &serve)?;
        telemetry::start(config.log_format);
        match self.command {
            Command::Serve(command) => serve::run(&config, &command).await,
            Command::Demo(_) => demo::run(&config).await,
            Command::Import(command) => import::run(&config, &command).await,
            Command::Export(command) => export::run(&config, &command).await,
            Command::Explain(command) => explain::run(&command),
            Command::Verify => verify::run(&config).await,
            Command::Migrate => migrate::run(&config).await,
            Command::Restored(command) => restored::run(&config, &command).await,
            Command::User(command) => user::run(&config, command).await,
            Command::Token(command) => token::run(&config, command).await,
            Command::Source(command) => source::run(&config, command).await,
            Command::Tool(command) => tool::run(&config, command).await,
        }
    }
}

/// Opens the record, bringing its schema up to date.
async fn open(config: &Config) -> Result<Ledger, CliError> {
    let options = OpenOptions { url: config.database.clone(), migrate: true };
    Ledger::open(&options).await.map_err(|source| CliError::Open {
        url: without_password(&config.database),
        advice: advice_on(&source),
        source,
    })
}

const fn advice_on(error: &LedgerError) -> &'static str {
    match error {
        LedgerError::StoreUnavailable { .. } => {
            "Check the address, that the database runs, and that its folder may be written to."
        }
        LedgerError::Schema { .. } => "Use the version of Tallystick that wrote it, or a newer one.",
        LedgerError::Refused(_) | LedgerError::Contended | LedgerError::TookTooLong | LedgerError::Corrupt { .. } => {
            "See the cause."
        }
    }
}

/// The address as it may be printed.
fn without_password(url: &str) -> String {
    match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?))) {
        None => url.to_owned(),
        Some((scheme, (who, place))) => {
            let user = who.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{place}")
        }
    }
}

/// An error with its causes, each said once.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let further = error.to_string();
        if !text.contains(&further) {
            text = format!("{text} (cause: {further})");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_password_in_the_address_is_not_printed() {
        assert_eq!(without_password("postgres://tally:secret@db/tally"), "postgres://tally@db/tally");
        assert_eq!(without_password("sqlite:tally.db"), "sqlite:tally.db");
    }
}

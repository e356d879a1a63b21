//! `tallystick token new`: an API token for a person or an automation. It is printed once; the record keeps its hash.

use std::process::ExitCode;

use clap::Subcommand;
use tallystick_ledger::people::system_actor;

use super::{CliError, open};
use crate::auth::token;
use crate::config::Config;

/// API tokens.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token and print it once
    New {
        /// Whose it is: a login
        #[arg(long = "for", value_name = "LOGIN")]
        login: String,
        /// What it is for
        #[arg(long, default_value = "made on the command line")]
        label: String,
    },
}

pub(super) async fn run(config: &Config, command: Token) -> Result<ExitCode, CliError> {
    let Token::New { login, label } = command;
    let ledger = open(config).await?;
    let found = ledger.credentials(&login).await?;
    let (owner, _) = found.ok_or_else(|| {
        CliError::BadInput(format!(
            "there is nobody with the login {login:?}; no token was made. Add one with `tallystick user add {login} --role automation`."
        ))
    })?;
    let secret = token::new_token()?;
    ledger.add_token(&system_actor(), &owner.id, token::hash(&secret), &label, None).await?;
    ledger.close().await;
    println!("{secret}");
    Ok(ExitCode::SUCCESS)
}

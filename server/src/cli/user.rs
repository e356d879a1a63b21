//! `tallystick user add|list`: people and automations. A person without a password signs in by a one-time address first.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use clap::Subcommand;
use secrecy::{ExposeSecret, SecretString};
use tallystick_domain::permission::Role;
use tallystick_ledger::people::{NewPrincipal, system_actor};

use super::{CliError, open};
use crate::auth::{link, password};
use crate::config::Config;

/// People and automations.
#[derive(Debug, Subcommand)]
pub enum User {
    /// Add a person or an automation
    Add {
        /// What a person types to sign in
        login: String,
        /// As shown; the login where it is missing
        #[arg(long)]
        name: Option<String>,
        /// viewer, operator, approver, administrator or automation
        #[arg(long, value_parser = read_role)]
        role: Role,
        /// Read the password from standard input; without it, a one-time sign-in address is printed
        #[arg(long)]
        password_stdin: bool,
    },
    /// Print a one-time address that signs a person in
    Link {
        /// Whom
        login: String,
    },
    /// List everyone
    List,
}

fn read_role(name: &str) -> Result<Role, String> {
    Role::parse(name).ok_or_else(|| "use viewer, operator, approver, administrator or automation".to_owned())
}

pub(super) async fn run(config: &Config, command: User) -> Result<ExitCode, CliError> {
    let ledger = open(config).await?;
    match command {
        User::Add { login, name, role, password_stdin } => {
            let password = if password_stdin { Some(read_password()?) } else { None };
            let password_hash = password.as_ref().map(password::hash_new).transpose()?;
            let needs_link = password_hash.is_none() && role != Role::Automation;
            let name = name.unwrap_or_else(|| login.clone());
            let added =
                ledger.add_principal(&system_actor(), NewPrincipal { login, name, role, password_hash }).await?;
            println!("Added {} ({})", added.login, added.role.name());
            if needs_link {
                super::serve::print_link(&link::make(&ledger, &added.id, &config.base_url(config.listen)).await?);
            }
        }
        User::Link { login } => {
            let found = ledger.credentials(&login).await?;
            let (person, _) = found.ok_or_else(|| {
                CliError::BadInput(format!("there is nobody with the login {login:?}; no link was made"))
            })?;
            super::serve::print_link(&link::make(&ledger, &person.id, &config.base_url(config.listen)).await?);
        }
        User::List => {
            for person in ledger.principals(&system_actor()).await? {
                println!("{}\t{}\t{}\t{}", person.login, person.role.name(), person.name, person.id);
            }
        }
    }
    ledger.close().await;
    Ok(ExitCode::SUCCESS)
}

fn read_password() -> Result<SecretString, CliError> {
    if std::io::stdin().is_terminal() {
        eprintln!("Type the password (it is shown) and press Enter:");
    }
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|source| CliError::Read { path: "standard input".into(), source })?;
    let password = SecretString::from(line.trim_end_matches(['\r', '\n']));
    drop(line);
    if password.expose_secret().is_empty() {
        return Err(CliError::BadInput("no password was given; nobody was added".into()));
    }
    Ok(password)
}

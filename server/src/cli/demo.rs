//! `tallystick demo`: an empty record gets the demo data; then it is served, with one address that signs the person in.

use std::process::ExitCode;

use clap::Args;
use secrecy::SecretString;
use tallystick_domain::permission::Role;
use tallystick_ledger::Ledger;
use tallystick_ledger::people::system_actor;

use super::serve::{listen, print_link, serve};
use super::{CliError, open};
use crate::auth::{link, password};
use crate::config::{Config, ServeArgs};
use crate::{demo, tasks};

/// What both people of the demo type to sign in. It protects nothing: the demo holds no real data.
const DEMO_PASSWORD: &str = "tallystick-demo";

/// Serves with demo data.
#[derive(Debug, Args)]
pub struct Demo {
    #[command(flatten)]
    pub(super) args: ServeArgs,
}

pub(super) async fn run(config: &Config) -> Result<ExitCode, CliError> {
    let end = tasks::signal_to_end().map_err(CliError::Serve)?;
    let listener = listen(config.listen).await?;
    let address = listener.local_addr().map_err(CliError::Serve)?;
    let ledger = open(config).await?;
    if !ledger.has_people().await? {
        let now = ledger.now().await?;
        let password = password::hash_new(&SecretString::from(DEMO_PASSWORD))
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        demo::seed(&ledger, now, demo::Size::default(), &password).await?;
    }
    println!("People of the demo: noor (operator) and ida (administrator), password {DEMO_PASSWORD}");
    print_link(&sign_in_link(&ledger, &config.base_url(address)).await?);
    serve(config, ledger, listener, end).await
}

/// A link for the person with most to do.
async fn sign_in_link(ledger: &Ledger, base_url: &str) -> Result<String, CliError> {
    let people = ledger.principals(&system_actor()).await?;
    let strongest = people.iter().filter(|person| person.role != Role::Automation).max_by_key(|person| person.role);
    let person = strongest.ok_or_else(|| {
        CliError::BadInput(
            "nobody can sign in to this record; nothing was served. Add one with `tallystick user add`.".into(),
        )
    })?;
    Ok(link::make(ledger, &person.id, base_url).await?)
}

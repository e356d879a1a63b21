//! `tallystick demo`: an empty record gets the demo data; then it is served, with one address that signs the person in.

use std::process::ExitCode;

use clap::Args;
use tallystick_domain::permission::Role;
use tallystick_ledger::Ledger;
use tallystick_ledger::people::system_actor;

use super::serve::{listen, print_link, serve};
use super::{CliError, open};
use crate::auth::link;
use crate::config::{Config, ServeArgs};
use crate::{demo, tasks};

/// Serves with demo data.
#[derive(Debug, Args)]
pub struct Demo {
    #[command(flatten)]
    pub(super) args: ServeArgs,
}

pub(super) async fn run(config: &Config) -> Result<ExitCode, CliError> {
    let listener = listen(config.listen).await?;
    let address = listener.local_addr().map_err(CliError::Serve)?;
    let ledger = open(config).await?;
    if !ledger.has_people().await? {
        let now = ledger.now().await?;
        demo::seed(&ledger, now).await?;
    }
    print_link(&sign_in_link(&ledger, &config.base_url(address)).await?);
    serve(config, ledger, listener, tasks::wait_for_signal()).await
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

//! `tallystick restored`: says that the record is a copy of an earlier time, and later that a person has read what is gone.

use std::process::ExitCode;

use clap::Args;
use tallystick_domain::time::Timestamp;
use tallystick_ledger::people::system_actor;

use super::{CliError, open};
use crate::config::Config;

/// After a restore from a backup, or a failover that may have lost commits: nothing is sent until it is acknowledged.
#[derive(Debug, Args)]
pub struct Restored {
    /// The time of the copy, such as 2026-10-05T09:00:00Z
    #[arg(long, value_name = "TIME", required_unless_present_any = ["acknowledge", "senders_ended"])]
    backup_at: Option<String>,
    /// Operations, approvals and sends after that time are gone from the record, and this was read: go on sending
    #[arg(long, conflicts_with = "backup_at")]
    acknowledge: bool,
    /// Every process from before the restore has ended, and this proves it, such as "the old machine is off": what a look-up
    /// does not find afterwards was not sent
    #[arg(long, value_name = "PROOF", conflicts_with_all = ["backup_at", "acknowledge"])]
    senders_ended: Option<String>,
}

pub(super) async fn run(config: &Config, command: &Restored) -> Result<ExitCode, CliError> {
    let ledger = open(config).await?;
    if let Some(text) = &command.backup_at {
        let backup_at = Timestamp::parse_rfc3339(text).ok_or_else(|| {
            CliError::BadInput(format!("{text:?} is not a time such as 2026-10-05T09:00:00Z; nothing was done"))
        })?;
        let count = ledger.declare_restored(&system_actor(), backup_at).await?;
        println!(
            "Nothing is sent any more. {count} guarded operations may have been sent after {backup_at} and are uncertain now. \
             Gone from the record are operations, approvals and sends after that time; what they did is found by look-ups, \
             deliveries, or a repeat under the same key. When that was read: tallystick restored --acknowledge"
        );
    } else if let Some(proof) = &command.senders_ended {
        let count = ledger.senders_before_restore_gone(&system_actor(), proof).await?;
        println!("{count} operations learnt that no process from before the restore sends any more.");
    } else {
        let restore = ledger.acknowledge_restore(&system_actor(), None).await?;
        println!("Sending goes on over the record as of {}.", restore.backup_at);
    }
    ledger.close().await;
    Ok(ExitCode::SUCCESS)
}

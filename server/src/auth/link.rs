//! One-time sign-in links: made by the command line, good once, for a short while.

use std::time::Duration;

use tallystick_domain::name::PrincipalId;
use tallystick_ledger::{Ledger, LedgerError, people};

use super::token::{self, NoRandomness};

/// How long a link is good.
pub const GOOD_FOR: Duration = Duration::from_hours(1);

/// A link could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No randomness.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
    /// The record did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Makes a link for a person: its address under `base_url`.
pub async fn make(ledger: &Ledger, owner: &PrincipalId, base_url: &str) -> Result<String, LinkError> {
    let secret = token::new_link_secret()?;
    let expires_at = ledger.now().await?.plus(GOOD_FOR);
    ledger
        .add_token(&people::system_actor(), owner, token::hash(&secret), "one-time sign-in link", Some(expires_at))
        .await?;
    Ok(format!("{base_url}/sign-in/link/{secret}"))
}

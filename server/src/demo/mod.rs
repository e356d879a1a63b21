//! The demo data: two people, and what happened to them.

use tallystick_domain::permission::Role;
use tallystick_domain::time::Timestamp;
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tallystick_ledger::{Ledger, LedgerError};

/// The demo data could not be written.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The record did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Writes the demo data into an empty record, with times that lead up to `now`.
pub async fn seed(ledger: &Ledger, now: Timestamp) -> Result<(), DemoError> {
    let _ = now;
    for (login, name, role) in [("noor", "Noor Haddad", Role::Operator), ("ida", "Ida Lindqvist", Role::Administrator)]
    {
        let new = NewPrincipal { login: login.into(), name: name.into(), role, password_hash: None };
        ledger.add_principal(&system_actor(), new).await?;
    }
    Ok(())
}

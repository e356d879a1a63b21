//! People, automations and their tokens.

use tallystick_domain::name::PrincipalId;
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::time::Timestamp;

use crate::{Ledger, LedgerError};

/// A person or an automation, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Its id.
    pub id: PrincipalId,
    /// What a person types to sign in; an automation's name.
    pub login: String,
    /// As shown.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
}

impl Principal {
    /// As an actor.
    pub fn actor(&self) -> Actor {
        Actor { id: self.id.clone(), name: self.name.clone(), role: self.role }
    }
}

/// A principal to be made.
#[derive(Debug, Clone)]
pub struct NewPrincipal {
    /// What a person types to sign in.
    pub login: String,
    /// As shown.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The argon2id hash of the password; none for an automation, or until a first sign-in link is used.
    pub password_hash: Option<String>,
}

impl Ledger {
    /// Makes a principal; the login must be free.
    pub async fn add_principal(&self, by: &Actor, new: NewPrincipal) -> Result<Principal, LedgerError> {
        let _ = (by, new);
        todo!()
    }

    /// Everyone, by name.
    pub async fn principals(&self, by: &Actor) -> Result<Vec<Principal>, LedgerError> {
        let _ = by;
        todo!()
    }

    /// Whether anybody can sign in yet.
    pub async fn has_people(&self) -> Result<bool, LedgerError> {
        todo!()
    }

    /// The principal with this id, for a session.
    pub async fn principal(&self, id: &PrincipalId) -> Result<Option<Principal>, LedgerError> {
        let _ = id;
        todo!()
    }

    /// The principal with this login and the password hash, for signing in.
    pub async fn credentials(&self, login: &str) -> Result<Option<(Principal, Option<String>)>, LedgerError> {
        let _ = login;
        todo!()
    }

    /// Keeps a token's hash for a principal (an API token, or a one-time sign-in link that ends at `expires_at`).
    pub async fn add_token(
        &self,
        by: &Actor,
        owner: &PrincipalId,
        token_hash: [u8; 32],
        label: &str,
        expires_at: Option<Timestamp>,
    ) -> Result<(), LedgerError> {
        let _ = (by, owner, token_hash, label, expires_at);
        todo!()
    }

    /// Whose API token this is, if it is one that lives.
    pub async fn token_holder(&self, token_hash: [u8; 32]) -> Result<Option<Principal>, LedgerError> {
        let _ = token_hash;
        todo!()
    }

    /// Uses a one-time sign-in link: whose it was, once.
    pub async fn redeem_sign_in_link(&self, token_hash: [u8; 32]) -> Result<Option<Principal>, LedgerError> {
        let _ = token_hash;
        todo!()
    }
}

/// The actor that stands for the process itself: first set-up, sweeps, the local command line.
pub fn system_actor() -> Actor {
    todo!()
}

//! People, automations and their tokens.

use std::sync::Arc;

use tallystick_domain::name::{PrincipalId, check_name};
use tallystick_domain::permission::{Actor, Permission, Role};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;

use crate::audit::{Note, audit};
use crate::port::Ids;
use crate::store::Tx;
use crate::store::people::{NewToken, TokenKind};
use crate::{Ledger, LedgerError};

/// The most characters a login, a name or a label may have.
const NAME_LIMIT: usize = 120;

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
        self.permit(by, Permission::Administer, &new.login).await?;
        check_field("login", &new.login)?;
        check_field("name", &new.name)?;
        let (ids, by) = (self.ids(), by.clone());
        self.store()
            .write(move |tx| {
                let (ids, by, new) = (Arc::clone(&ids), by.clone(), new.clone());
                Box::pin(async move { add_principal(tx, ids.as_ref(), &by, new).await })
            })
            .await
    }

    /// Sets the hash of a principal's password (argon2id). A person sets their own, an administrator anybody's.
    pub async fn set_password(&self, by: &Actor, id: &PrincipalId, password_hash: String) -> Result<(), LedgerError> {
        if by.id != *id {
            self.permit(by, Permission::Administer, id.as_str()).await?;
        }
        let (ids, by, id) = (self.ids(), by.clone(), id.clone());
        self.store()
            .write(move |tx| {
                let (ids, by, id, hash) = (Arc::clone(&ids), by.clone(), id.clone(), password_hash.clone());
                Box::pin(async move {
                    let now = tx.now().await?;
                    if !tx.principal_set_password(id.as_str(), &hash).await? {
                        return Err(unknown("principal", id.as_str()));
                    }
                    let detail = serde_json::json!({});
                    let note = Note { verb: "set_password", subject: id.as_str(), status: "done", detail };
                    audit(tx, ids.as_ref(), now, &by, note).await
                })
            })
            .await
    }

    /// Everyone, by name.
    pub async fn principals(&self, by: &Actor) -> Result<Vec<Principal>, LedgerError> {
        self.permit(by, Permission::Read, "principals").await?;
        self.store().read(|tx| Box::pin(tx.principals())).await
    }

    /// Whether anybody can sign in yet.
    pub async fn has_people(&self) -> Result<bool, LedgerError> {
        self.store().read(|tx| Box::pin(tx.principal_exists())).await
    }

    /// The principal with this id, for a session.
    pub async fn principal(&self, id: &PrincipalId) -> Result<Option<Principal>, LedgerError> {
        let id = id.clone();
        let read = self.store().read(move |tx| {
            let id = id.clone();
            Box::pin(async move { tx.principal_by_id(id.as_str()).await })
        });
        Ok(read.await?.map(|(principal, _)| principal))
    }

    /// The principal with this login and the password hash, for signing in.
    pub async fn credentials(&self, login: &str) -> Result<Option<(Principal, Option<String>)>, LedgerError> {
        let login = login.to_owned();
        self.store()
            .read(move |tx| {
                let login = login.clone();
                Box::pin(async move { tx.principal_by_login(&login).await })
            })
            .await
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
        self.permit(by, Permission::Administer, owner.as_str()).await?;
        check_field("label", label)?;
        let (ids, by, owner, label) = (self.ids(), by.clone(), owner.clone(), label.to_owned());
        self.store()
            .write(move |tx| {
                let (ids, by, owner, label) = (Arc::clone(&ids), by.clone(), owner.clone(), label.clone());
                Box::pin(async move {
                    let now = tx.now().await?;
                    if tx.principal_by_id(owner.as_str()).await?.is_none() {
                        return Err(unknown("principal", owner.as_str()));
                    }
                    let kind = if expires_at.is_some() { TokenKind::SignIn } else { TokenKind::Api };
                    let token = NewToken { hash: &token_hash, owner: &owner, kind, label: &label, expires_at };
                    tx.token_insert(&token, now).await?;
                    let detail = serde_json::json!({ "label": label, "is_sign_in_link": expires_at.is_some() });
                    let note = Note { verb: "add_token", subject: owner.as_str(), status: "done", detail };
                    audit(tx, ids.as_ref(), now, &by, note).await
                })
            })
            .await
    }

    /// Whose API token this is, if it is one that lives.
    pub async fn token_holder(&self, token_hash: [u8; 32]) -> Result<Option<Principal>, LedgerError> {
        self.store()
            .read(move |tx| {
                Box::pin(async move {
                    let now = tx.now().await?;
                    tx.token_holder(&token_hash, TokenKind::Api, now).await
                })
            })
            .await
    }

    /// Uses a one-time sign-in link: whose it was, once.
    pub async fn redeem_sign_in_link(&self, token_hash: [u8; 32]) -> Result<Option<Principal>, LedgerError> {
        let ids = self.ids();
        self.store()
            .write(move |tx| {
                let ids = Arc::clone(&ids);
                Box::pin(async move { redeem(tx, ids.as_ref(), &token_hash).await })
            })
            .await
    }
}

async fn add_principal(tx: &mut Tx, ids: &dyn Ids, by: &Actor, new: NewPrincipal) -> Result<Principal, LedgerError> {
    tx.lock_names([new.login.as_str()].into_iter()).await?;
    let now = tx.now().await?;
    if tx.principal_by_login(&new.login).await?.is_some() {
        let problem = "is taken; choose another".to_owned();
        return Err(Refusal::BadField { field: "login".into(), problem }.into());
    }
    let id = PrincipalId::parse(ids.new_id(now)).map_err(|error| LedgerError::Corrupt { what: error.to_string() })?;
    let principal = Principal { id, login: new.login, name: new.name, role: new.role, created_at: now };
    tx.principal_insert(&principal, new.password_hash).await?;
    let detail = serde_json::json!({ "login": principal.login, "role": principal.role.name() });
    let note = Note { verb: "add_principal", subject: principal.id.as_str(), status: "done", detail };
    audit(tx, ids, now, by, note).await?;
    Ok(principal)
}

async fn redeem(tx: &mut Tx, ids: &dyn Ids, token_hash: &[u8]) -> Result<Option<Principal>, LedgerError> {
    let now = tx.now().await?;
    let Some(principal) = tx.token_holder(token_hash, TokenKind::SignIn, now).await? else { return Ok(None) };
    if !tx.token_use(token_hash, now).await? {
        return Ok(None);
    }
    let detail = serde_json::json!({});
    let note = Note { verb: "redeem_sign_in_link", subject: principal.id.as_str(), status: "done", detail };
    audit(tx, ids, now, &principal.actor(), note).await?;
    Ok(Some(principal))
}

fn check_field(field: &str, text: &str) -> Result<(), Refusal> {
    check_name(field, text, NAME_LIMIT)
        .map_err(|error| Refusal::BadField { field: field.into(), problem: error.to_string() })
}

/// There is no such thing.
pub(crate) fn unknown(what: &str, name: &str) -> LedgerError {
    Refusal::Unknown { what: what.into(), name: name.into() }.into()
}

/// The actor that stands for the process itself: first set-up, sweeps, the local command line.
///
/// # Panics
/// Never: `system` is a valid id.
pub fn system_actor() -> Actor {
    #[expect(clippy::expect_used, reason = "six letters are a valid id")]
    let id = PrincipalId::parse("system").expect("a valid id");
    Actor { id, name: "Tallystick".into(), role: Role::Administrator }
}

/// The actor that stands for our own executor and our own look-ups.
///
/// # Panics
/// Never: `executor` is a valid id.
pub fn executor_actor() -> Actor {
    #[expect(clippy::expect_used, reason = "eight letters are a valid id")]
    let id = PrincipalId::parse("executor").expect("a valid id");
    Actor { id, name: "Executor".into(), role: Role::Automation }
}

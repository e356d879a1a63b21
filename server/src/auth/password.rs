//! Passwords: argon2id (m = 19 MiB, t = 2, p = 1), off the async threads, few at a time, and as slow for a login that does
//! not exist as for one that does.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

/// Each hash takes 19 MiB and a core for a while.
const AT_ONCE: usize = 2;
/// The most bytes a password may have.
pub const LIMIT: usize = 1024;
/// The fewest characters a new password may have.
pub const SHORTEST: usize = 12;

/// A hash could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// Not a password that we take.
    #[error("the password must have {SHORTEST} characters to {LIMIT} bytes; nothing was done")]
    BadLength,
    /// The hasher failed.
    #[error("the password could not be hashed ({0}); nothing was done")]
    Failed(String),
}

/// Checks passwords, a few at a time.
#[derive(Debug, Clone)]
pub struct Passwords {
    places: Arc<Semaphore>,
    /// The hash of nobody's password; it is checked where a login does not exist.
    nobody: Arc<str>,
}

impl Passwords {
    /// Makes the hash that stands for nobody.
    pub fn new() -> Result<Self, PasswordError> {
        let secret = super::token::new_link_secret().map_err(|error| PasswordError::Failed(error.to_string()))?;
        Ok(Self { places: Arc::new(Semaphore::new(AT_ONCE)), nobody: hash_now(secret.as_bytes())?.into() })
    }

    /// Whether the password belongs to the hash. Takes as long without a hash.
    pub async fn matches(&self, password: SecretString, hash: Option<String>) -> bool {
        let Ok(place) = self.places.clone().acquire_owned().await else { return false };
        let nobody = self.nobody.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let _place = place;
            let is_right = verify(password.expose_secret(), hash.as_deref().unwrap_or(&nobody));
            is_right && hash.is_some()
        });
        checked.await.unwrap_or(false)
    }
}

fn verify(password: &str, hash: &str) -> bool {
    if password.len() > LIMIT {
        return false;
    }
    PasswordHash::new(hash).is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

/// The hash of a new password. Slow; for the command line and set-up.
pub fn hash_new(password: &SecretString) -> Result<String, PasswordError> {
    let text = password.expose_secret();
    if text.chars().count() < SHORTEST || text.len() > LIMIT {
        return Err(PasswordError::BadLength);
    }
    hash_now(text.as_bytes())
}

fn hash_now(password: &[u8]) -> Result<String, PasswordError> {
    let hash = Argon2::default().hash_password(password);
    hash.map(|hash| hash.to_string()).map_err(|error| PasswordError::Failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_matches_and_nobody_never_does() {
        let passwords = Passwords::new().unwrap();
        let hash = hash_new(&"correct horse battery".into()).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(passwords.matches("correct horse battery".into(), Some(hash.clone())).await);
        assert!(!passwords.matches("wrong".into(), Some(hash)).await);
        assert!(!passwords.matches("correct horse battery".into(), None).await);
    }

    #[test]
    fn a_short_password_is_not_taken() {
        assert!(matches!(hash_new(&"short".into()), Err(PasswordError::BadLength)));
    }
}

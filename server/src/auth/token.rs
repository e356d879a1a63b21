//! Secrets that are shown once and kept as hashes: API tokens and one-time sign-in links.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// What every API token begins with, so that a leaked one is recognised.
pub const PREFIX: &str = "ts_";
const SECRET_BYTES: usize = 32;

/// The system has no randomness to give.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes ({0}); no secret was made")]
pub struct NoRandomness(getrandom::Error);

/// A new API token: 256 random bits.
pub fn new_token() -> Result<String, NoRandomness> {
    Ok(format!("{PREFIX}{}", random_hex::<SECRET_BYTES>()?))
}

/// A new secret for a one-time link.
pub fn new_link_secret() -> Result<String, NoRandomness> {
    random_hex::<SECRET_BYTES>()
}

/// Random bytes in hexadecimal digits.
pub fn random_hex<const N: usize>() -> Result<String, NoRandomness> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(NoRandomness)?;
    Ok(bytes.iter().fold(String::with_capacity(2 * N), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    }))
}

/// What is kept of a secret. It is long and random, so no salt or slow hash is needed.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The token of an `Authorization: Bearer ts_…` header.
pub fn from_header(value: &str) -> Option<String> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && token.starts_with(PREFIX)).then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bearer_tokens_of_ours_are_read() {
        assert_eq!(from_header("bearer ts_1"), Some("ts_1".into()));
        assert_eq!(from_header("Basic ts_1"), None);
        assert_eq!(from_header("Bearer other"), None);
    }

    #[test]
    fn two_tokens_differ_and_carry_256_bits() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), PREFIX.len() + 64);
        assert_ne!(hash(&one), hash(&other));
    }
}

//! Credentials: configured as references, read when something is sent, so that a rotated secret counts at once.

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

/// Where the secret stands in the header's value.
const PLACE: &str = "{credential}";

/// A credential that cannot be read. It names the reference, never what stands behind it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credential {reference} cannot be read: {problem}")]
pub struct CredentialError {
    reference: String,
    problem: String,
}

enum Source {
    Environment(String),
    File(PathBuf),
}

/// A header that carries a secret.
pub(super) struct Credential {
    reference: String,
    source: Source,
    header: String,
    format: String,
}

impl Credential {
    /// By a reference: `env:NAME` or `file:PATH`.
    pub(super) fn new(reference: &str, header: &str, format: &str) -> Result<Self, String> {
        let source = match reference.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Source::Environment(name.to_owned()),
            Some(("file", path)) if !path.is_empty() => Source::File(path.into()),
            _ => return Err("it is not a reference".to_owned()),
        };
        if format.matches(PLACE).count() != 1 {
            return Err(format!("its format must hold {PLACE} once"));
        }
        let reference = reference.to_owned();
        Ok(Self { reference, source, header: header.to_ascii_lowercase(), format: format.to_owned() })
    }

    /// The header as it is kept and shown: with the reference where the secret goes.
    pub(super) fn header(&self) -> (String, String) {
        (self.header.clone(), self.format.replace(PLACE, &format!("{{{}}}", self.reference)))
    }

    /// The header's name, and the value that goes out.
    pub(super) fn filled(&self) -> Result<(&str, SecretString), CredentialError> {
        let failed = |problem: String| CredentialError { reference: self.reference.clone(), problem };
        let secret: SecretString = match &self.source {
            Source::Environment(name) => std::env::var(name).map_err(|error| failed(error.to_string()))?.into(),
            Source::File(path) => std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?.into(),
        };
        let secret = secret.expose_secret().trim();
        if secret.is_empty() || !secret.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(failed("it is empty, or holds what a header cannot carry".to_owned()));
        }
        Ok((&self.header, self.format.replace(PLACE, secret).into()))
    }
}

//! Credentials: configured as references, read when something is sent, so that a rotated secret counts at once.

use std::fmt;
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

/// Where a secret is kept: `env:NAME` or `file:PATH`.
pub struct Reference {
    text: String,
    source: Source,
}

impl Reference {
    /// Reads a reference; none where it is something else, such as the secret itself.
    pub fn parse(text: &str) -> Option<Self> {
        let source = match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Source::Environment(name.to_owned()),
            Some(("file", path)) if !path.is_empty() => Source::File(path.into()),
            _ => return None,
        };
        Some(Self { text: text.to_owned(), source })
    }

    /// What stands behind it now, without space around it.
    pub fn read(&self) -> Result<SecretString, CredentialError> {
        let secret: SecretString = match &self.source {
            Source::Environment(name) => std::env::var(name).map_err(|error| self.failed(error.to_string()))?.into(),
            Source::File(path) => std::fs::read_to_string(path).map_err(|error| self.failed(error.to_string()))?.into(),
        };
        match secret.expose_secret().trim() {
            "" => Err(self.failed("it is empty".to_owned())),
            trimmed => Ok(trimmed.into()),
        }
    }

    fn failed(&self, problem: String) -> CredentialError {
        CredentialError { reference: self.text.clone(), problem }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A header that carries a secret.
pub(super) struct Credential {
    reference: Reference,
    header: String,
    format: String,
}

impl Credential {
    /// By a reference: `env:NAME` or `file:PATH`.
    pub(super) fn new(reference: &str, header: &str, format: &str) -> Result<Self, String> {
        let reference = Reference::parse(reference).ok_or_else(|| "it is not a reference".to_owned())?;
        if format.matches(PLACE).count() != 1 {
            return Err(format!("its format must hold {PLACE} once"));
        }
        Ok(Self { reference, header: header.to_ascii_lowercase(), format: format.to_owned() })
    }

    /// The header as it is kept and shown: with the reference where the secret goes.
    pub(super) fn header(&self) -> (String, String) {
        (self.header.clone(), self.format.replace(PLACE, &format!("{{{}}}", self.reference)))
    }

    /// The header's name, and the value that goes out.
    pub(super) fn filled(&self) -> Result<(&str, SecretString), CredentialError> {
        let secret = self.reference.read()?;
        let secret = secret.expose_secret();
        if !secret.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(self.reference.failed("it holds what a header cannot carry".to_owned()));
        }
        Ok((&self.header, self.format.replace(PLACE, secret).into()))
    }
}

//! Webhooks as they are configured: which destination each belongs to, how its deliveries are signed, and where the secrets
//! are kept. Secrets are read at every delivery, so that one that was rotated counts at once; two may be valid meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use tallystick_domain::delivery::Scheme;
use tallystick_domain::name::{DestinationName, WebhookName};
use tallystick_domain::time::Timestamp;

use super::signature::{SignatureError, Signed, is_usable};
use crate::config::{ConfigError, WebhookConfig};
use crate::destination::Reference;

/// The most secrets that one webhook has: the old one and the new.
const SECRETS: usize = 2;

/// Every webhook that is configured, by name. A cheap handle.
#[derive(Clone, Default)]
pub struct Webhooks {
    by_name: Arc<BTreeMap<String, Webhook>>,
}

/// One webhook.
pub struct Webhook {
    /// Its name, the last part of its address.
    pub name: WebhookName,
    /// How its deliveries are signed.
    pub scheme: Scheme,
    /// The destination that delivers here.
    pub destination: DestinationName,
    secrets: Vec<Reference>,
}

/// Why a delivery is turned away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// Its signature does not hold.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// No secret can be read: nothing can be said about the delivery.
    #[error("no secret of this webhook can be read and used")]
    NoSecret,
}

impl Webhooks {
    /// Those of the configuration.
    pub fn from_config(configured: &[WebhookConfig]) -> Result<Self, ConfigError> {
        let mut by_name = BTreeMap::new();
        for one in configured {
            let webhook = Webhook::from_config(one)?;
            if by_name.insert(one.name.clone(), webhook).is_some() {
                return Err(ConfigError::BadValue {
                    what: format!("the webhook {:?} is configured twice", one.name),
                    advice: "Give each its own name.",
                });
            }
        }
        Ok(Self { by_name: Arc::new(by_name) })
    }

    /// The one with this name.
    pub fn get(&self, name: &str) -> Option<&Webhook> {
        self.by_name.get(name)
    }
}

impl Webhook {
    fn from_config(one: &WebhookConfig) -> Result<Self, ConfigError> {
        let WebhookConfig { name, scheme, destination, secrets } = one;
        let bad = |what: String, advice: &'static str| ConfigError::BadValue { what, advice };
        let parsed = WebhookName::parse(name.as_str()).map_err(|error| {
            bad(format!("the webhook {name:?} has no usable name ({error})"), "Give it a short name.")
        })?;
        let scheme = Scheme::parse(scheme).ok_or_else(|| {
            bad(format!("the scheme {scheme:?} of webhook {name:?} is not known"), "Write stripe, github or standard.")
        })?;
        let destination = DestinationName::parse(destination.as_str()).map_err(|error| {
            bad(format!("the webhook {name:?} names no usable destination ({error})"), "Name a destination.")
        })?;
        if secrets.is_empty() || secrets.len() > SECRETS {
            let what = format!("the webhook {name:?} has {} secrets", secrets.len());
            return Err(bad(what, "Give it one, or two while one of them is rotated."));
        }
        let references: Option<Vec<Reference>> = secrets.iter().map(|text| Reference::parse(text)).collect();
        let secrets = references.ok_or_else(|| {
            let what = format!("a secret of webhook {name:?} is not a reference");
            bad(what, "Write env:NAME or file:PATH, never the secret itself.")
        })?;
        Ok(Self { name: parsed, scheme, destination, secrets })
    }

    /// Whether the bytes came from whoever knows a secret of ours. `now` is asked for only once the signature holds.
    pub async fn verify<'h, E: From<Unverified>>(
        &self,
        header: impl Fn(&str) -> Option<&'h str>,
        body: &[u8],
        now: impl Future<Output = Result<Timestamp, E>>,
    ) -> Result<(), E> {
        let signed = Signed::read(self.scheme, header).map_err(Unverified::from)?;
        let secrets = self.readable_secrets();
        if secrets.is_empty() {
            return Err(Unverified::NoSecret.into());
        }
        signed.verify(secrets.iter().map(ExposeSecret::expose_secret), body).map_err(Unverified::from)?;
        signed.check_time(now.await?).map_err(Unverified::from)?;
        Ok(())
    }

    fn readable_secrets(&self) -> Vec<SecretString> {
        let mut readable = Vec::with_capacity(self.secrets.len());
        for reference in &self.secrets {
            match reference.read() {
                Ok(secret) if is_usable(self.scheme, secret.expose_secret()) => readable.push(secret),
                Ok(_) => tracing::warn!(
                    webhook = %self.name,
                    "The secret {reference} of webhook {} is none of its scheme; it is passed over",
                    self.name
                ),
                Err(error) => tracing::warn!(
                    webhook = %self.name, %error,
                    "A secret of webhook {} is passed over: {error}",
                    self.name
                ),
            }
        }
        readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(text: &str) -> Result<Webhooks, String> {
        let one: WebhookConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        Webhooks::from_config(&[one]).map_err(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_name_and_never_shows_a_secret() {
        let text = |scheme: &str, secrets: &str| {
            format!("name = \"psp\"\nscheme = {scheme:?}\ndestination = \"psp\"\nsecrets = {secrets}")
        };
        assert!(configured(&text("stripe", r#"["env:A", "file:/run/b"]"#)).is_ok());
        for (text, words) in [
            (text("svix", r#"["env:A"]"#), "is not known"),
            (text("stripe", "[]"), "has 0 secrets"),
            (text("stripe", r#"["env:A", "env:B", "env:C"]"#), "has 3 secrets"),
            (text("stripe", r#"["whsec_open"]"#), "is not a reference"),
            (text("stripe", r#"["env:"]"#), "is not a reference"),
            (text("github", r#"["env:A"]"#).replace("\"psp\"", "\"\""), "no usable name"),
            (text("github", r#"["env:A"]"#) + "\nsecret = \"x\"", "unknown field"),
        ] {
            let error = configured(&text).err().unwrap();
            assert!(error.contains(words), "{words}: {error}");
            assert!(!error.contains("whsec_open"), "{error}");
        }
    }
}

//! Systems outside that this process may send to: the declared ones and no others.

mod address;
mod counted;
mod credential;
mod reply;
mod sender;
mod tls;

pub use address::Forbidden;
pub use credential::{CredentialError, Reference};
pub use reply::{Reading, end_of};
pub use sender::{Reply, Stage, send};

use std::collections::BTreeMap;
use std::sync::Arc;

use tallystick_domain::budget::BudgetKind;
use tallystick_domain::lease::Scope;
use tallystick_domain::name::DestinationName;
use tallystick_domain::request::Face;
use tallystick_ledger::destinations::Configured;

use crate::config::{ConfigError, Destination};
use credential::Credential;

/// Every destination that is configured, by name. A cheap handle.
#[derive(Clone, Default)]
pub struct Destinations {
    by_name: Arc<BTreeMap<String, Arc<Target>>>,
}

/// One destination, ready to be sent to.
pub struct Target {
    /// Its name.
    pub name: DestinationName,
    /// How requests to it begin.
    pub face: Face,
    /// In what its keys are unique.
    pub scope: Scope,
    budget_kind: Option<BudgetKind>,
    host: String,
    port: u16,
    tls: Option<tls::Client>,
    private_allowed: bool,
    credential: Option<Credential>,
}

impl Destinations {
    /// Those of the configuration. Fails on an address or a certificate that cannot be used; credentials are read when
    /// something is sent.
    pub fn from_config(configured: &[Destination]) -> Result<Self, ConfigError> {
        let mut by_name = BTreeMap::new();
        for one in configured {
            let target = Target::from_config(one)?;
            if by_name.insert(one.name.clone(), Arc::new(target)).is_some() {
                return Err(ConfigError::BadValue {
                    what: format!("the destination {:?} is configured twice", one.name),
                    advice: "Give each its own name.",
                });
            }
        }
        Ok(Self { by_name: Arc::new(by_name) })
    }

    /// The one with this name.
    pub fn get(&self, name: &DestinationName) -> Option<&Arc<Target>> {
        self.by_name.get(name.as_str())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How requests to each begin, for previews.
    pub fn faces(&self) -> BTreeMap<String, Face> {
        self.by_name.iter().map(|(name, target)| (name.clone(), target.face.clone())).collect()
    }

    /// What the record knows of them.
    pub fn for_the_record(&self) -> Vec<Configured> {
        let known = |target: &Arc<Target>| Configured {
            name: target.name.clone(),
            scope: target.scope.clone(),
            budget_kind: target.budget_kind,
        };
        self.by_name.values().map(known).collect()
    }
}

impl Target {
    fn from_config(configured: &Destination) -> Result<Self, ConfigError> {
        let bad = |what: String, advice: &'static str| ConfigError::BadValue { what, advice };
        let Destination { name, base_url, .. } = configured;
        let advice = "Write it with its scheme, such as https://api.example.com/v1.";
        let uri: axum::http::Uri = base_url
            .parse()
            .map_err(|_| bad(format!("the address of destination {name:?} is not a web address"), advice))?;
        let (is_tls, default_port) = match uri.scheme_str() {
            Some("https") => (true, 443),
            Some("http") => (false, 80),
            _ => return Err(bad(format!("the address of destination {name:?} is neither http nor https"), advice)),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let Some(authority) = authority.filter(|_| uri.query().is_none()) else {
            let what = format!("the address of destination {name:?} holds a user, a password or a query");
            return Err(bad(what, "Put a secret into the credential, as env:NAME or file:PATH."));
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let credential = configured
            .credential
            .as_deref()
            .map(|reference| Credential::new(reference, &configured.credential_header, &configured.credential_format));
        let credential = credential.transpose().map_err(|what| {
            bad(format!("the credential of destination {name:?}: {what}"), "Write env:NAME or file:PATH.")
        })?;
        let tls = is_tls.then(|| tls::Client::new(&host, configured.ca_file.as_deref())).transpose();
        let tls =
            tls.map_err(|what| bad(format!("the certificates of destination {name:?}: {what}"), "Check ca_file."))?;
        Ok(Self {
            name: DestinationName::parse(name.as_str()).map_err(|error| {
                bad(format!("the destination {name:?} has no usable name ({error})"), "Shorten it.")
            })?,
            face: Face {
                host: authority.as_str().to_owned(),
                base_path: uri.path().trim_end_matches('/').to_owned(),
                credential: credential.as_ref().map(Credential::header),
            },
            scope: Scope {
                account: configured.account.clone(),
                region: configured.region.clone(),
                endpoint: Some(base_url.trim_end_matches('/').to_owned()),
                // A rotated secret is the same credential for as long as it stands behind the same reference.
                credential: configured.credential_identity.clone().or_else(|| configured.credential.clone()),
            },
            budget_kind: configured.budget,
            port: authority.port_u16().unwrap_or(default_port),
            host,
            tls,
            private_allowed: configured.private_allowed,
            credential,
        })
    }
}

#[cfg(test)]
mod tests;

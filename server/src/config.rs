//! What the process is told at its start: flags first, then the environment, then one TOML file, then defaults.
//! Read once; nothing here changes while the process runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use tallystick_domain::budget::BudgetKind;

/// Where the record is kept unless told otherwise.
pub const DEFAULT_DATABASE: &str = "sqlite:tallystick.db";
/// Where the process listens unless told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8642";

/// Flags that every command understands. Each has an environment variable of the same meaning.
#[derive(Debug, Clone, Default, Args)]
pub struct CommonArgs {
    /// The record: `sqlite:PATH`, `sqlite::memory:` or `postgres://…`
    #[arg(long = "db", env = "TALLYSTICK_DB", value_name = "URL", global = true, hide_env_values = true)]
    pub database: Option<String>,
    /// A TOML file with the same settings and the destinations
    #[arg(long, env = "TALLYSTICK_CONFIG", value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// How log lines look: text or json
    #[arg(long, env = "TALLYSTICK_LOG_FORMAT", value_name = "FORMAT", global = true)]
    pub log_format: Option<LogFormat>,
}

/// Flags of the commands that serve.
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// The address to listen on; port 0 takes a free one
    #[arg(long, env = "TALLYSTICK_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// The address that browsers use, if a proxy stands before the process: `https://tally.example.com`
    #[arg(long, env = "TALLYSTICK_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// Everything that was told, put together.
#[derive(Debug, Clone)]
pub struct Config {
    /// The record's address.
    pub database: String,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The address that browsers use, where it is not the one we listen on.
    pub public_url: Option<String>,
    /// Sizes and times that are never exceeded.
    pub limits: Limits,
    /// Systems that tools act on.
    pub destinations: Vec<Destination>,
    /// Places to which destinations deliver.
    pub webhooks: Vec<WebhookConfig>,
    /// What sends and looks up.
    pub executor: Executor,
    /// How log lines look.
    pub log_format: LogFormat,
}

/// Sizes and times that are never exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The most bytes an operation's arguments may have.
    pub arguments_bytes: usize,
    /// The most bytes another body may have.
    pub body_bytes: usize,
    /// The most bytes one stream of events may have; it is read in pieces.
    pub events_bytes: u64,
    /// How long a request may take, in seconds. Streams are excepted.
    pub request_s: u64,
    /// How long a browser session lasts, in seconds.
    pub session_s: u64,
    /// How long requests in flight are awaited at the end, in seconds.
    pub shutdown_s: u64,
    /// How long sends under way are awaited at the end, in seconds.
    pub drain_s: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            arguments_bytes: 8 * 1024 * 1024,
            body_bytes: 1024 * 1024,
            events_bytes: 4 * 1024 * 1024 * 1024,
            request_s: 30,
            session_s: 12 * 3600,
            shutdown_s: 10,
            drain_s: 60,
        }
    }
}

/// A system that tools act on. Tools name it and never a host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// What tools call it.
    pub name: String,
    /// Where it is.
    pub base_url: String,
    /// Whether its address may be a private one.
    #[serde(default)]
    pub private_allowed: bool,
    /// Where its credential is kept: `env:NAME` or `file:PATH`; never the credential itself. Read at every send.
    #[serde(default)]
    pub credential: Option<String>,
    /// The header that carries the credential.
    #[serde(default = "default_credential_header")]
    pub credential_header: String,
    /// The header's value, with `{credential}` where the secret goes.
    #[serde(default = "default_credential_format")]
    pub credential_format: String,
    /// A name for whose credential it is, where keys are unique per credential; its reference, if nothing is said.
    #[serde(default)]
    pub credential_identity: Option<String>,
    /// What its retries are paid from: `bucket` (tokens that successes bring back) or `ratio` (a share of the first tries).
    #[serde(default)]
    pub budget: Option<BudgetKind>,
    /// The account there, where keys are unique per account.
    #[serde(default)]
    pub account: Option<String>,
    /// The region there, where keys are unique per region.
    #[serde(default)]
    pub region: Option<String>,
    /// Certificates (PEM) to trust instead of the public authorities'.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
}

impl Destination {
    /// A destination at a public address that takes no credential.
    pub fn at(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            private_allowed: false,
            credential: None,
            credential_header: default_credential_header(),
            credential_format: default_credential_format(),
            credential_identity: None,
            budget: None,
            account: None,
            region: None,
            ca_file: None,
        }
    }
}

fn default_credential_header() -> String {
    "Authorization".to_owned()
}

fn default_credential_format() -> String {
    "Bearer {credential}".to_owned()
}

/// A place to which a destination delivers: `POST /webhooks/{name}`. What its deliveries mean is declared with the tools of
/// the destination.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// The last part of its address.
    pub name: String,
    /// How deliveries are signed: `stripe`, `github` or `standard`.
    pub scheme: String,
    /// The destination that delivers here, by its name.
    pub destination: String,
    /// Where the secrets are kept: `env:NAME` or `file:PATH`; never the secret itself. Read at every delivery. Two may be
    /// valid at once, so that one can be rotated.
    pub secrets: Vec<String>,
}

/// The executor in this process: it sends what is authorised and looks up what is uncertain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Executor {
    /// Whether it works here; other processes on the same record may.
    pub enabled: bool,
    /// How many sends it has under way at most.
    pub sends: u32,
    /// How many look-ups it has under way at most.
    pub look_ups: u32,
    /// Where processes of this machine keep the locks by which the others know that they ended; beside the record's file,
    /// if nothing is said, and nowhere for a record elsewhere. Must be local to the machine.
    pub lock_folder: Option<PathBuf>,
}

impl Default for Executor {
    fn default() -> Self {
        Self { enabled: true, sends: 8, look_ups: 4, lock_folder: None }
    }
}

/// The file's own shape.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    database: Option<String>,
    listen: Option<SocketAddr>,
    public_url: Option<String>,
    log_format: Option<LogFormat>,
    limits: Limits,
    executor: Executor,
    #[serde(rename = "destination")]
    destinations: Vec<Destination>,
    #[serde(rename = "webhook")]
    webhooks: Vec<WebhookConfig>,
}

/// Why the process cannot start as it was told.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}; nothing was started. Check its name and rights.", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The file does not say what we understand.
    #[error("the configuration file {} is not understood; nothing was started. Correct it.", path.display())]
    NotUnderstood {
        /// Which file.
        path: PathBuf,
        /// Where and what.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A value cannot be used.
    #[error("{what}; nothing was started. {advice}")]
    BadValue {
        /// Which value, and why.
        what: String,
        /// What to do.
        advice: &'static str,
    },
}

impl Config {
    /// Puts flags, environment, file and defaults together.
    pub fn load(common: &CommonArgs, serve: &ServeArgs) -> Result<Self, ConfigError> {
        let file = common.config.as_deref().map(read).transpose()?.unwrap_or_default();
        let config = Self {
            database: common.database.clone().or(file.database).unwrap_or_else(|| DEFAULT_DATABASE.to_owned()),
            listen: serve.listen.or(file.listen).map_or_else(default_listen, Ok)?,
            public_url: serve.public_url.clone().or(file.public_url),
            limits: file.limits,
            destinations: file.destinations,
            webhooks: file.webhooks,
            executor: file.executor,
            log_format: common.log_format.or(file.log_format).unwrap_or_default(),
        };
        config.check()?;
        Ok(config)
    }

    /// The defaults over a record; for tests.
    pub fn over(database: &str) -> Result<Self, ConfigError> {
        Self::load(&CommonArgs { database: Some(database.to_owned()), ..CommonArgs::default() }, &ServeArgs::default())
    }

    /// Whether browsers reach us over TLS; then cookies are `Secure` and carry the `__Host-` prefix.
    pub fn is_over_tls(&self) -> bool {
        self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }

    /// The address to print in links, given the one that we listen on.
    pub fn base_url(&self, listening: SocketAddr) -> String {
        self.public_url
            .as_deref()
            .map_or_else(|| format!("http://{listening}"), |url| url.trim_end_matches('/').to_owned())
    }

    fn check(&self) -> Result<(), ConfigError> {
        if let Some(url) = &self.public_url
            && !(url.starts_with("https://") || url.starts_with("http://"))
        {
            return Err(ConfigError::BadValue {
                what: format!("the public address {url:?} is not a web address"),
                advice: "Write it with its scheme, such as https://tally.example.com.",
            });
        }
        for destination in &self.destinations {
            check_destination(destination)?;
        }
        Ok(())
    }
}

fn check_destination(destination: &Destination) -> Result<(), ConfigError> {
    let name = &destination.name;
    if let Err(error) = tallystick_domain::name::DestinationName::parse(name.as_str()) {
        return Err(ConfigError::BadValue {
            what: format!("the destination {name:?} has no usable name ({error})"),
            advice: "Give it a short name.",
        });
    }
    let credential = destination.credential.as_deref();
    if credential.is_some_and(|text| !text.starts_with("env:") && !text.starts_with("file:")) {
        return Err(ConfigError::BadValue {
            what: format!("the credential of destination {name:?} is not a reference"),
            advice: "Write env:NAME or file:PATH, never the secret itself.",
        });
    }
    Ok(())
}

fn default_listen() -> Result<SocketAddr, ConfigError> {
    DEFAULT_LISTEN.parse().map_err(|_| ConfigError::BadValue {
        what: format!("{DEFAULT_LISTEN} is not an address"),
        advice: "Give one with --listen.",
    })
}

fn read(path: &Path) -> Result<File, ConfigError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_path_buf(), source })?;
    toml::from_str(&text)
        .map_err(|source| ConfigError::NotUnderstood { path: path.to_path_buf(), source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_setting_is_refused_by_name() {
        let error = toml::from_str::<File>("listne = \"127.0.0.1:1\"").unwrap_err();
        assert!(error.to_string().contains("listne"), "{error}");
    }

    #[test]
    fn a_secret_in_the_file_is_refused() {
        let text = "[[destination]]\nname = \"psp\"\nbase_url = \"https://psp.example\"\ncredential = \"sk_live\"";
        let file: File = toml::from_str(text).unwrap();
        let error = check_destination(&file.destinations[0]).unwrap_err();
        assert!(error.to_string().contains("not a reference"), "{error}");
        assert!(!error.to_string().contains("sk_live"));
    }

    #[test]
    fn only_a_public_https_address_makes_cookies_secure() {
        let mut config = Config::over("sqlite::memory:").unwrap();
        assert!(!config.is_over_tls());
        config.public_url = Some("https://tally.example.com/".into());
        assert!(config.is_over_tls());
        assert_eq!(config.base_url(config.listen), "https://tally.example.com");
    }
}

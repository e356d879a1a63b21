//! Retry layers: who may retry what, and what they multiply to (semantics 4.5, I19).
//!
//! Each tool has exactly one owner for each class of failure that is retried. Everything here reads declarations and
//! what was seen, and returns findings; it changes no operation.

mod audit;
mod declared;
mod hidden;
mod known;
mod seen;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::PROOFS;

pub use audit::{Audit, Practice, Stack, audit};
pub use declared::{Declaration, layers_in_force};
pub use hidden::{RetrySignal, find_hidden_retry};
pub use known::{KNOWN_LAYERS, KnownLayer, SourceTag, known_layer};
pub use seen::{contradicts_contract, hidden_sends, with_seen};

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contract::LayerRetries;
use crate::name::LayerName;
use crate::operation::named;

named! {
    /// The kinds of layer, nearest to the wire first.
    LayerKind {
        /// The client that opens connections.
        Transport = "transport",
        /// What speaks one destination's language.
        Adapter = "adapter",
        /// What carries work across restarts.
        Workflow = "workflow",
        /// What decides what to do at all.
        Agent = "agent",
    }
}

named! {
    /// What kind of failure is retried.
    RetryClass {
        /// No connection came about, so nothing was sent.
        Connection = "connection",
        /// The destination throttles, or fails for the moment.
        Temporary = "temporary",
        /// The process that sent it is gone.
        Restart = "restart",
        /// The tool said no for a reason; other arguments may help. A new proposal, not a repeat.
        Replanning = "replanning",
    }
}

impl RetryClass {
    /// The kind of layer that owns it.
    pub const fn owner(self) -> LayerKind {
        match self {
            Self::Connection => LayerKind::Transport,
            Self::Temporary => LayerKind::Adapter,
            Self::Restart => LayerKind::Workflow,
            Self::Replanning => LayerKind::Agent,
        }
    }

    /// In words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Connection => "connections",
            Self::Temporary => "throttling and temporary errors",
            Self::Restart => "restarts",
            Self::Replanning => "re-planning",
        }
    }

    /// The class to which a signal belongs, as sources write it: `429`, `timeout`, `connect`. What is not known is
    /// temporary, because that is what most layers repeat.
    pub fn of_signal(signal: &str) -> Self {
        match signal.to_ascii_lowercase().as_str() {
            "connect" | "connection" | "connect-failure" | "connection_refused" | "connect_timeout" | "dns" | "tls"
            | "refused_stream" | "refused-stream" | "goaway" => Self::Connection,
            "restart" | "crash" | "crashed" | "abandoned" | "lost" | "heartbeat_timeout" | "recovery" => Self::Restart,
            "semantic" | "validation" | "is_error" | "iserror" | "replanning" => Self::Replanning,
            _ => Self::Temporary,
        }
    }
}

impl LayerKind {
    /// The class that a layer of this kind owns.
    pub const fn class(self) -> RetryClass {
        match self {
            Self::Transport => RetryClass::Connection,
            Self::Adapter => RetryClass::Temporary,
            Self::Workflow => RetryClass::Restart,
            Self::Agent => RetryClass::Replanning,
        }
    }
}

/// How many sends one call of a layer can become, the first included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempts {
    /// At most so many.
    Fixed(u64),
    /// No limit.
    Unlimited,
}

impl Attempts {
    /// From a setting that counts attempts, as schedulers do: −1 is no limit; 0 is not a number of attempts.
    pub fn from_attempts(setting: i64) -> Option<Self> {
        match setting {
            -1 => Some(Self::Unlimited),
            count => u64::try_from(count).ok().filter(|count| *count > 0).map(Self::Fixed),
        }
    }

    /// From a setting that counts retries, as client libraries do: 2 retries are 3 sends; −1 is no limit.
    pub fn from_retries(setting: i64) -> Option<Self> {
        match setting {
            -1 => Some(Self::Unlimited),
            count => u64::try_from(count).ok().map(|count| Self::Fixed(count.saturating_add(1))),
        }
    }

    /// One layer above another: their product.
    #[must_use]
    pub const fn times(self, other: Self) -> Self {
        match (self, other) {
            (Self::Fixed(one), Self::Fixed(two)) => Self::Fixed(one.saturating_mul(two)),
            (Self::Unlimited, _) | (_, Self::Unlimited) => Self::Unlimited,
        }
    }

    /// Whether anything is sent again.
    pub const fn is_retrying(self) -> bool {
        !matches!(self, Self::Fixed(0 | 1))
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(count) => write!(f, "{count}"),
            Self::Unlimited => f.write_str("∞"),
        }
    }
}

/// One retry layer in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name.
    pub name: LayerName,
    /// How many sends one call can become; unknown when nobody says and it is no known layer.
    pub attempts: Option<Attempts>,
    /// The signals on which it retries, as its source writes them.
    pub on: Vec<String>,
    /// How long it waits for one attempt.
    pub timeout: Option<Duration>,
}

impl Layer {
    /// What kind it is, where its name tells.
    pub fn kind(&self) -> Option<LayerKind> {
        let name = self.name.as_str();
        LayerKind::parse(name).or_else(|| known_layer(name).map(|known| known.kind))
    }

    /// Whether it is known to send again.
    pub fn is_retrying(&self) -> bool {
        self.attempts.is_some_and(Attempts::is_retrying)
    }

    /// What it retries. A layer that retries and does not say on what owns what its kind owns; without a kind, all but
    /// re-planning.
    pub fn classes(&self) -> BTreeSet<RetryClass> {
        if !self.is_retrying() {
            return BTreeSet::new();
        }
        if !self.on.is_empty() {
            return self.on.iter().map(|signal| RetryClass::of_signal(signal)).collect();
        }
        match self.kind() {
            Some(kind) => [kind.class()].into(),
            None => [RetryClass::Connection, RetryClass::Temporary, RetryClass::Restart].into(),
        }
    }
}

/// The most sends that one operation can become through all its layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorstCase {
    /// The product over the layers whose attempts are known.
    pub sends: Attempts,
    /// Whether there is a layer whose attempts are not known, so that it can be more.
    pub is_at_least: bool,
}

impl WorstCase {
    /// The product over these layers: 3 × 3 × 3 = 27.
    pub fn of(layers: &[Layer]) -> Self {
        let known = layers.iter().filter_map(|layer| layer.attempts);
        Self {
            sends: known.fold(Attempts::Fixed(1), Attempts::times),
            is_at_least: layers.iter().any(|layer| layer.attempts.is_none()),
        }
    }
}

impl fmt::Display for WorstCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.sends, self.is_at_least) {
            (Attempts::Fixed(count), true) => write!(f, "≥ {count}"),
            (sends, _) => write!(f, "{sends}"),
        }
    }
}

/// Whether something below `sender` retries, so that an error it reports may describe a second try (3.4.1). The order
/// of layers is not declared; any other one may be below.
pub fn retries_beside(layers: &[Layer], sender: Option<&LayerName>) -> Option<LayerRetries> {
    let others: Vec<_> = layers.iter().filter(|layer| Some(&layer.name) != sender).collect();
    if others.iter().any(|layer| layer.is_retrying()) {
        return Some(LayerRetries::On);
    }
    let is_told = !others.is_empty() && others.iter().all(|layer| layer.attempts.is_some());
    is_told.then_some(LayerRetries::Off)
}

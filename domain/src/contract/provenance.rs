//! Where a promise is known from, and how well: per field, with the contract's own words as the default
//! (semantics 2.2, 3.7.7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{Contract, Verification};
use crate::name::PrincipalId;
use crate::time::Timestamp;
use crate::tool::Class;

/// The fields that `key_protects` stands on (semantics 3.7).
pub const KEY_STANDS_ON: [&str; 7] =
    ["stores", "on_in_flight", "on_mismatch", "key_retention_s", "retention_rule", "scope", "key_location"];

/// How well one promise is known, and by whom or what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Verified {
    /// Somebody says so.
    Claimed,
    /// Seen on the stand-in of this name.
    TestedStandIn(String),
    /// Seen at the destination itself.
    TestedLive {
        /// Who tested it.
        by: String,
        /// On which day.
        on: String,
    },
}

impl Verified {
    /// How well that is.
    pub const fn level(&self) -> Verification {
        match self {
            Self::Claimed => Verification::Claimed,
            Self::TestedStandIn(_) => Verification::TestedStandIn,
            Self::TestedLive { .. } => Verification::TestedLive,
        }
    }
}

/// An administrator took a promise as it stands although it is not tested well enough.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Told")]
pub struct Acceptance {
    by: PrincipalId,
    at: Timestamp,
    reason: String,
}

/// An acceptance as it comes in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    by: PrincipalId,
    at: Timestamp,
    reason: String,
}

/// An acceptance without a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an acceptance needs a reason")]
pub struct ReasonMissing;

impl Acceptance {
    /// An acceptance needs a reason.
    pub fn new(by: PrincipalId, at: Timestamp, reason: impl Into<String>) -> Result<Self, ReasonMissing> {
        let reason = reason.into();
        if reason.trim().is_empty() { Err(ReasonMissing) } else { Ok(Self { by, at, reason }) }
    }

    /// Who took it.
    pub const fn by(&self) -> &PrincipalId {
        &self.by
    }

    /// When.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl TryFrom<Told> for Acceptance {
    type Error = ReasonMissing;
    fn try_from(told: Told) -> Result<Self, ReasonMissing> {
        Self::new(told.by, told.at, told.reason)
    }
}

/// Where one promise is known from, and how well.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// How well it is known.
    pub verification: Verified,
    /// Where it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// When it was last checked, as a date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<String>,
    /// Who took it as it stands, if anybody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Acceptance>,
}

impl Provenance {
    /// What stands for a tester, a day or a stand-in that the contract as a whole does not name.
    pub const NOT_RECORDED: &str = "not recorded";

    /// Whether it is known well enough for a key to protect an operation of this class (semantics 2.2).
    pub fn suffices(&self, class: Class) -> bool {
        self.accepted.is_some() || self.verification.level() >= class.needs_verification()
    }

    /// For which classes it suffices: the higher, the more. An accepted promise suffices for all.
    const fn rank(&self) -> u8 {
        match (&self.accepted, self.verification.level()) {
            (None, Verification::Claimed) => 0,
            (None, Verification::TestedStandIn) => 1,
            (None, Verification::TestedLive) => 2,
            (Some(_), _) => 3,
        }
    }

    /// By rank, then by content, so that of any two one is the lower.
    pub(super) fn order(self) -> (u8, Self) {
        (self.rank(), self)
    }

    /// The one that suffices for less.
    pub(super) fn weaker(self, other: Self) -> Self {
        self.order().min(other.order()).1
    }
}

/// Provenance by field.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Provenance>", into = "BTreeMap<String, Provenance>")]
pub struct ByField(BTreeMap<String, Provenance>);

/// A name that no promise has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("provenance: {0:?} is not a promise of a contract")]
pub struct UnknownField(pub String);

impl ByField {
    /// What is recorded of this field.
    pub fn get(&self, field: &str) -> Option<&Provenance> {
        self.0.get(field)
    }

    /// Every field of which something is recorded.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Provenance)> {
        self.0.iter().map(|(field, provenance)| (field.as_str(), provenance))
    }

    /// Those of `entries` that differ from the default; `None` where all are alike.
    pub(super) fn apart_from(
        default: &Provenance,
        entries: impl Iterator<Item = (&'static str, Provenance)>,
    ) -> Option<Self> {
        let apart: BTreeMap<_, _> =
            entries.filter(|(_, entry)| entry != default).map(|(field, entry)| (field.to_owned(), entry)).collect();
        (!apart.is_empty()).then_some(Self(apart))
    }
}

impl TryFrom<BTreeMap<String, Provenance>> for ByField {
    type Error = UnknownField;
    fn try_from(entries: BTreeMap<String, Provenance>) -> Result<Self, UnknownField> {
        match entries.keys().find(|name| Contract::promises().all(|promise| promise != name.as_str())) {
            Some(unknown) => Err(UnknownField(unknown.clone())),
            None => Ok(Self(entries)),
        }
    }
}

impl From<ByField> for BTreeMap<String, Provenance> {
    fn from(by_field: ByField) -> Self {
        by_field.0
    }
}

impl Contract {
    /// What holds for every field of which nothing else is recorded.
    pub(super) fn default_provenance(&self) -> Provenance {
        let on = || self.checked_at.clone().unwrap_or_else(|| Provenance::NOT_RECORDED.into());
        Provenance {
            verification: match self.verification() {
                Verification::Claimed => Verified::Claimed,
                Verification::TestedStandIn => Verified::TestedStandIn(Provenance::NOT_RECORDED.into()),
                Verification::TestedLive => Verified::TestedLive { by: Provenance::NOT_RECORDED.into(), on: on() },
            },
            source_url: self.source_url.clone(),
            checked_at: self.checked_at.clone(),
            accepted: None,
        }
    }

    /// Where a field is known from, and how well.
    pub fn provenance_of(&self, field: &str) -> Provenance {
        let recorded = self.provenance.as_ref().and_then(|entries| entries.get(field));
        recorded.cloned().unwrap_or_else(|| self.default_provenance())
    }

    /// The declared fields under a key that are not known well enough for this class (semantics 3.7.7).
    pub fn unverified_for(&self, class: Class) -> Vec<&'static str> {
        let told = KEY_STANDS_ON.into_iter().filter(|field| self.tells(field));
        told.filter(|field| !self.provenance_of(field).suffices(class)).collect()
    }

    /// The same contract with every promise taken as it stands.
    #[must_use]
    pub fn accepted(self, acceptance: &Acceptance) -> Self {
        let entries = Self::promises()
            .filter(|field| self.tells(field))
            .map(|field| (field, Provenance { accepted: Some(acceptance.clone()), ..self.provenance_of(field) }));
        let provenance = ByField::apart_from(&self.default_provenance(), entries);
        Self { provenance, ..self }
    }

    /// The provenance of `self.or(other)`: each field keeps that of the side it comes from.
    pub(super) fn provenance_with(&self, other: &Self) -> Option<ByField> {
        let about =
            |contract: &'_ Self| (contract.verification, contract.source_url.clone(), contract.checked_at.clone());
        if self.provenance.is_none() && other.provenance.is_none() && about(self) == about(other) {
            return None;
        }
        let whole = Self {
            verification: self.verification.or(other.verification),
            source_url: self.source_url.clone().or_else(|| other.source_url.clone()),
            checked_at: self.checked_at.clone().or_else(|| other.checked_at.clone()),
            ..Self::default()
        };
        let entries = Self::promises().filter_map(|field| {
            let side = if self.tells(field) { self } else { other };
            side.tells(field).then(|| (field, side.provenance_of(field)))
        });
        ByField::apart_from(&whole.default_provenance(), entries)
    }
}

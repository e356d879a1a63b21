//! A tool: a named kind of action, its side-effect class, and what it puts at stake.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{Contract, Verification};
use crate::delivery::DeliveryTemplate;
use crate::layers::RetryClass;
use crate::look_up::LookUpTemplate;
use crate::name::{DestinationName, LayerName, ToolName};
use crate::request::RequestTemplate;

/// Side-effect classes (semantics §6). Everything undeclared is `Irreversible`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// R: no side effect.
    Read,
    /// N: naturally idempotent or conditional write.
    Idempotent,
    /// V: reversible, not idempotent.
    Reversible,
    /// X: money out, message sent, delete.
    Irreversible,
}

impl Class {
    /// Every class, safest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Idempotent, Self::Reversible, Self::Irreversible];

    /// The letter of semantics §6.
    pub const fn letter(self) -> char {
        match self {
            Self::Read => 'R',
            Self::Idempotent => 'N',
            Self::Reversible => 'V',
            Self::Irreversible => 'X',
        }
    }

    /// Its name in bodies and the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Reversible => "reversible",
            Self::Irreversible => "irreversible",
        }
    }

    /// The class with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// How well a contract must be verified before a key protects (semantics 2.2).
    pub const fn needs_verification(self) -> Verification {
        match self {
            Self::Read | Self::Idempotent => Verification::Claimed,
            Self::Reversible => Verification::TestedStandIn,
            Self::Irreversible => Verification::TestedLive,
        }
    }
}

/// Which arguments tell what is at stake. Each is the name of a top-level member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stake {
    /// The member that holds an amount in minor units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_minor: Option<String>,
    /// The member that holds the currency code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The member that holds how many people it reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<String>,
}

/// What `PUT /tools/{name}` declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: ToolName,
    /// What kind of side effect it has.
    pub class: Class,
    /// Where it acts; the name of a destination, never a host.
    pub destination: Option<DestinationName>,
    /// What the destination promises.
    pub contract: Contract,
    /// What is at stake.
    #[serde(default)]
    pub stake: Stake,
    /// The amount in minor units from which two people are needed for class V (O5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual_threshold_minor: Option<i64>,
    /// Whether a guarded operation of this tool could be sent by us. Adopting needs it.
    #[serde(default)]
    pub executable: bool,
    /// The request that we send for it. Without one only an executor outside can send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestTemplate>,
    /// How we look the truth up. Without it only others can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_up: Option<LookUpTemplate>,
    /// How what the destination tells by itself is read. Without it its deliveries are kept and say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliveries: Option<DeliveryTemplate>,
    /// Which layer owns each class of retries (4.5); a class that is not here has no declared owner.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retry_owners: BTreeMap<RetryClass, LayerName>,
    /// Whether policy approves by itself what this tool proposes; counts for classes R and N alone (T2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_approve: bool,
    /// Whether anybody declared it; an undeclared tool is class X, no key, no look-up.
    #[serde(default)]
    pub declared: bool,
    /// Counts declarations; the guard epoch of semantics 4.6.
    #[serde(default)]
    pub version: u64,
}

impl Tool {
    /// What is assumed of a tool that nobody declared (semantics 2.2).
    pub fn undeclared(name: ToolName) -> Self {
        Self {
            name,
            class: Class::Irreversible,
            destination: None,
            contract: Contract::default(),
            stake: Stake::default(),
            dual_threshold_minor: None,
            executable: false,
            request: None,
            look_up: None,
            deliveries: None,
            retry_owners: BTreeMap::new(),
            auto_approve: false,
            declared: false,
            version: 0,
        }
    }
}

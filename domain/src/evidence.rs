//! Evidence: facts about the outcome that no attempt returned, and how strong a fact can be.

use serde::{Deserialize, Serialize};

use crate::attempt::ReceiptFault;
use crate::name::{DestinationKey, Receipt, SourceName};
use crate::operation::named;
use crate::time::Timestamp;

/// How strong a fact is, weakest first (semantics 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Strength {
    /// Proves nothing.
    #[serde(rename = "hint")]
    Hint,
    /// A person states it. Never counts as proof for a later guard.
    P0,
    /// A transport guarantee.
    P1,
    /// A signal that the contract declares.
    P2,
    /// A receipt by authenticated read, verified delivery or valid response.
    P3,
}

impl Strength {
    /// Its name on chips and in the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::P0 => "P0",
            Self::P1 => "P1",
            Self::P2 => "P2",
            Self::P3 => "P3",
        }
    }
}

/// How far a source is believed (semantics 4.0). It caps the strength of all it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Nobody vouches for it: hints only.
    #[default]
    Unknown,
    /// A person vouches for the feed: at most P2.
    Declared,
    /// A signature or our own authenticated read: at most P3.
    Verified,
}

impl Trust {
    /// Every trust, least first.
    pub const ALL: [Self; 3] = [Self::Unknown, Self::Declared, Self::Verified];

    /// Its name in bodies and the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Declared => "declared",
            Self::Verified => "verified",
        }
    }

    /// The trust with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trust| trust.name() == name)
    }

    /// How far one of our own sources is believed: our executor and our reads by themselves, a webhook because a signature
    /// was verified before anything was recorded under its name (4.0, I22). Nothing for anybody else's name.
    pub fn of_own(source: &SourceName) -> Option<Self> {
        let is_own =
            *source == SourceName::own_executor() || *source == SourceName::own_reader() || source.is_webhook();
        is_own.then_some(Self::Verified)
    }

    /// The strongest that a source so trusted can be (I38).
    pub const fn cap(self) -> Strength {
        match self {
            Self::Unknown => Strength::Hint,
            Self::Declared => Strength::P2,
            Self::Verified => Strength::P3,
        }
    }
}

named! {
    /// How a fact was linked to the operation (semantics 1.9).
    LinkedBy {
        /// By the key that was sent.
        Key = "key",
        /// By the receipt.
        Receipt = "receipt",
        /// By an operation id that we wrote into the destination's metadata.
        Metadata = "metadata",
        /// By business fields; at most "likely".
        NaturalKey = "natural_key",
        /// By a person.
        Manual = "manual",
    }
}

/// What a fact says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "claim", rename_all = "snake_case")]
pub enum Claim {
    /// The object exists.
    Executed {
        /// The destination's name for it.
        receipt: Receipt,
    },
    /// The object failed, was reversed or is gone.
    Reversed {
        /// Which object.
        receipt: Receipt,
    },
    /// The object under our key is another than ours: of another amount, from a test system (semantics 7.18). No effect
    /// of this operation; a signature proves who sent it and nothing more.
    NotOurs {
        /// Which object.
        receipt: Receipt,
        /// What is wrong with it.
        fault: ReceiptFault,
    },
    /// A look-up found nothing. A hint, unless closer K6 admits it.
    Absent,
    /// A look-up found something that may be ours.
    Likely,
    /// A look-up could not be made.
    Unavailable,
    /// A look-up found several candidates.
    Ambiguous,
    /// A cancel by key was answered (K7).
    CancelledByKey {
        /// Whether something was there to cancel; without it the cancel was a no-op.
        found: bool,
    },
}

/// What kind of object a receipt names, and to which other object of the same effect it belongs. Counts only where the
/// contract declares that kind as an alias (semantics 3.1, receipt identity).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PartOf {
    /// The kind: `charge`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The other object's receipt: that of the payment intent.
    pub part_of: Receipt,
}

/// One fact about the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its identity: equal ids are one fact however often they arrive (I22).
    pub id: String,
    /// Who says it.
    pub source: SourceName,
    /// What it says.
    #[serde(flatten)]
    pub claim: Claim,
    /// What its receipt belongs to, where that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<PartOf>,
    /// How it was linked.
    pub linked_by: LinkedBy,
    /// The key by which it was linked, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<DestinationKey>,
    /// When we received it; for imported lines their `ts`.
    pub at: Timestamp,
    /// When it happened by the destination's clock, if that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_time: Option<Timestamp>,
    /// When we sent the look-up, if it is one. Absence is judged at this time (K6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

impl Evidence {
    /// The destination's time, for which ours stands where none is told.
    pub fn happened_at(&self) -> Timestamp {
        self.provider_time.unwrap_or(self.at)
    }
}

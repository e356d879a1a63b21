//! The operation: its identity, the facts recorded about it, its states, and what its row shows.

mod fact;
mod row;
mod state;

pub use fact::{Arguments, Fact, FieldChange, Impact, Proposal, Resolution, ResolutionKind, Stop};
pub use row::{Attention, Chip, Finding, KeyWindow, Mark, Notch, Projection, Reason, Severity};
pub use state::{Contradiction, Doubt, Failure, NothingOpen, State, SuccessBasis};

use serde::{Deserialize, Serialize};

use crate::action::AwaitedAct;
use crate::attempt::Report;
use crate::evidence::Evidence;
use crate::facts::Facts;
use crate::name::{DestinationKey, DestinationName, IntentId, OperationId, OperationKey, ToolName};
use crate::time::Timestamp;
use crate::workflow::Place;

macro_rules! named {
    ($(#[$doc:meta])* $enum:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $enum { $($(#[$vdoc])* #[serde(rename = $name)] $variant,)* }

        impl $enum {
            /// All of them, in their order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in URLs and the record.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The one with this name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

pub(crate) use named;

named! {
    /// Who decides and sends (semantics 4.0). Set when first recorded; never changes.
    Mode {
        /// Tallystick authorises and sends.
        Guarded = "guarded",
        /// Somebody else did; never claimable, never sent.
        Observed = "observed",
    }
}

/// What is fixed when an operation is first recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its row id.
    pub id: OperationId,
    /// Who decides and sends.
    pub mode: Mode,
    /// The root of its chain; itself when there is none.
    pub intent_id: IntentId,
    /// The business name; for a stream without one, the source's name for it.
    pub key: OperationKey,
    /// Whether the key came with the operation. If not, it is listed under "writes without a key".
    pub key_given: bool,
    /// The tool, where one is told.
    pub tool: Option<ToolName>,
    /// The destination, where one is told.
    pub destination: Option<DestinationName>,
    /// The observed operation that this one adopts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopts: Option<OperationId>,
    /// The operation that this one runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries_of: Option<OperationId>,
    /// The operation that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<OperationId>,
    /// The operation that this one undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensates: Option<OperationId>,
    /// The workflow it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Its place there, where it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Place>,
    /// When it was recorded by our clock.
    pub recorded_at: Timestamp,
}

/// Everything recorded about one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What is fixed.
    pub head: Head,
    /// How many journal entries it has.
    pub version: u64,
    /// The facts, as recorded. No rule depends on their order.
    pub facts: Facts,
    /// What its row shows, once it has one.
    pub row: Option<Projection>,
}

impl Record {
    /// An operation that is about to be recorded.
    pub fn new(head: Head) -> Self {
        Self { head, version: 0, facts: Facts::new(), row: None }
    }

    /// The destination keys under which it was sent, each once.
    pub fn destination_keys(&self) -> Vec<&DestinationKey> {
        let mut keys: Vec<_> = self.reports().filter_map(|report| report.dest_key.as_ref()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// The reports among its facts.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.facts.reports()
    }

    /// The evidence among its facts.
    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.facts.evidence()
    }

    /// The proposals among its facts, conflicting ones aside.
    pub fn proposals(&self) -> impl Iterator<Item = &Proposal> {
        self.facts.acts().filter_map(|fact| match fact {
            Fact::Proposed(proposal) => Some(proposal),
            _ => None,
        })
    }

    /// Every proposal, also one that changed the arguments (T36).
    pub fn all_proposals(&self) -> impl Iterator<Item = &Proposal> {
        self.facts.acts().filter_map(|fact| match fact {
            Fact::Proposed(proposal) | Fact::ArgumentsChanged { proposal, .. } => Some(proposal),
            _ => None,
        })
    }

    /// Which version of the arguments is in force, from 1.
    pub fn args_version(&self) -> u32 {
        let changes = self.facts.acts().filter(|fact| matches!(fact, Fact::ArgumentsChanged { .. })).count();
        u32::try_from(changes).unwrap_or(u32::MAX - 1) + 1
    }

    /// The arguments in force: those of the latest change, else the first that were told.
    pub fn arguments(&self) -> Option<&Arguments> {
        let changed = self.facts.acts().rev().find_map(|fact| match fact {
            Fact::ArgumentsChanged { proposal, .. } => Some(proposal.arguments.as_ref()),
            _ => None,
        });
        changed.unwrap_or_else(|| self.proposals().find_map(|proposal| proposal.arguments.as_ref()))
    }

    /// What is at stake with the arguments in force.
    pub fn impact(&self) -> Option<&Impact> {
        let changed = self.facts.acts().rev().find_map(|fact| match fact {
            Fact::ArgumentsChanged { proposal, .. } => Some(proposal.impact.as_ref()),
            _ => None,
        });
        changed.unwrap_or_else(|| self.proposals().find_map(|proposal| proposal.impact.as_ref()))
    }

    /// The operation of which nobody has said whether it is the same intent (4.4.3).
    pub fn unanswered_question(&self) -> Option<&OperationId> {
        let answered = |id: &OperationId| {
            self.facts.acts().any(|fact| matches!(fact, Fact::SameIntentAnswered { other, .. } if other == id))
        };
        let asked = self.facts.acts().filter_map(|fact| match fact {
            Fact::SameIntentAsked { other, .. } => Some(other),
            _ => None,
        });
        asked.into_iter().find(|other| !answered(other))
    }

    /// How it was stopped, if it was: the latest by version (F16).
    pub fn stop(&self) -> Option<(Stop, Timestamp)> {
        let stops = self.facts.acts().filter_map(|fact| match fact {
            Fact::Stopped { how, at, version, .. } => Some((*version, *how, *at)),
            _ => None,
        });
        stops.max_by_key(|(version, ..)| *version).map(|(_, how, at)| (how, at))
    }

    /// The resolution in force: the latest by version (semantics 3.6).
    pub fn resolution(&self) -> Option<&Resolution> {
        let resolutions = self.facts.acts().filter_map(|fact| match fact {
            Fact::Resolved(resolution) => Some(resolution),
            _ => None,
        });
        resolutions.max_by_key(|resolution| resolution.version)
    }

    /// Whether two people decided to leave its effect though it was to be undone (T33): without naming a receipt, or by
    /// the one that stands. A surplus effect that was waived is another matter (T27).
    pub fn is_undo_waived(&self) -> bool {
        let standing = self.row.as_ref().and_then(|row| row.receipt.as_ref());
        self.facts.acts().any(|fact| match fact {
            Fact::Waived { receipt, .. } => receipt.is_none() || receipt.as_ref() == standing,
            _ => false,
        })
    }

    /// The dual act that waits for a second person, if one does: asked, and neither made nor declined since.
    pub fn awaited_act(&self) -> Option<&AwaitedAct> {
        let mut awaited: Option<&AwaitedAct> = None;
        for fact in self.facts.acts() {
            match fact {
                Fact::SecondPersonAsked(asked) => awaited = Some(asked),
                Fact::SecondPersonDeclined { act, .. } if awaited.is_some_and(|a| a.act.key == *act) => awaited = None,
                Fact::Resolved(_)
                | Fact::Adopted { .. }
                | Fact::Granted { .. }
                | Fact::SuccessorMade { .. }
                | Fact::Waived { .. }
                | Fact::CompensationProposed { .. } => awaited = None,
                _ => {}
            }
        }
        awaited
    }
}

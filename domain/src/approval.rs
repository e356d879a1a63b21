//! Approvals: an authorization of one effect, bound to exact arguments, by a person (semantics 4.1, T2, 4.4.2).

use serde::{Deserialize, Serialize};

use crate::fingerprint::Hash;
use crate::name::{ActionKey, DestinationName, PrincipalId, ToolName};
use crate::operation::{Fact, Record};
use crate::permission::Actor;
use crate::time::{Timestamp, span_in_words};
use crate::tool::{Class, Tool};

/// Who authorised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// A person.
    Person(Actor),
    /// The tool's policy; classes R and N only (T2).
    Policy,
}

/// An authorization of one effect, not of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The action that granted it; its identity.
    pub id: ActionKey,
    /// Which version of the arguments.
    pub args_version: u32,
    /// Exactly these arguments.
    pub args_hash: Hash,
    /// With this tool.
    pub tool: Option<ToolName>,
    /// At this destination.
    pub destination: Option<DestinationName>,
    /// As this class: a correction of the contract voids it only if class or destination changed.
    pub class: Class,
    /// The tool's declaration that was in force; shown, not compared.
    pub contract_version: u64,
    /// Who.
    pub approver: Approver,
    /// Whether the approver is also the proposer, under the recorded override "no second person exists" (4.4.9).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// When.
    pub granted_at: Timestamp,
    /// Until when, exclusive.
    pub expires_at: Timestamp,
}

/// Why no approval is live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// There never was one for these arguments.
    Never,
    /// It ran out of time.
    Expired(Timestamp),
    /// It was taken back.
    Revoked,
    /// It covers other arguments, another tool or destination, or another class.
    CoversOther,
}

impl Lack {
    /// In words, for a guard.
    pub fn text(&self, now: Timestamp) -> String {
        match self {
            Self::Never => "nobody has approved these arguments".into(),
            Self::Expired(at) => format!("the approval ran out {} ago", span_in_words(now.since(*at))),
            Self::Revoked => "the approval was taken back".into(),
            Self::CoversOther => "the approval covers other arguments, or another tool, destination or class".into(),
        }
    }
}

impl Record {
    /// The approvals among its facts.
    pub fn approvals(&self) -> impl Iterator<Item = &Approval> {
        self.facts.acts().filter_map(|fact| match fact {
            Fact::Approved(approval) => Some(approval),
            _ => None,
        })
    }

    /// Whether it was taken back.
    pub(crate) fn is_revoked(&self, approval: &Approval) -> bool {
        self.facts.acts().any(|fact| matches!(fact, Fact::Revoked { approval: id, .. } if *id == approval.id))
    }

    /// The approval that covers the current arguments at `now`, or why there is none.
    pub fn live_approval(&self, tool: &Tool, now: Timestamp) -> Result<&Approval, Lack> {
        let hash = self.arguments().map(|arguments| arguments.args_hash);
        let mut lack = Lack::Never;
        for approval in self.approvals() {
            let covers = Some(approval.args_hash) == hash
                && approval.args_version == self.args_version()
                && approval.class == tool.class
                && approval.tool == self.head.tool
                && approval.destination == self.head.destination;
            let next = if !covers {
                Lack::CoversOther
            } else if self.is_revoked(approval) {
                Lack::Revoked
            } else if now >= approval.expires_at {
                Lack::Expired(approval.expires_at)
            } else {
                return Ok(approval);
            };
            lack = telling(lack, next);
        }
        Err(lack)
    }

    /// Who proposed it, so that somebody else approves.
    pub fn is_proposed_by(&self, id: &PrincipalId) -> bool {
        self.all_proposals().any(|proposal| proposal.by.as_ref() == Some(id))
    }
}

/// Of two lacks the one that tells an operator more: what ran out or was taken back, before what covers other things.
fn telling(one: Lack, other: Lack) -> Lack {
    let rank = |lack: &Lack| match lack {
        Lack::Never => (0, None),
        Lack::CoversOther => (1, None),
        Lack::Revoked => (2, None),
        Lack::Expired(at) => (3, Some(*at)),
    };
    if rank(&other) > rank(&one) { other } else { one }
}

//! The one enum of operator actions (semantics §6), used by server, pages, API and roles alike.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::{ActionKey, PrincipalId, Receipt};
use crate::permission::Actor;
use crate::time::Timestamp;

macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $label:literal;)*) => {
        /// Everything a person (or an automation, where it may) can do about an operation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Action { $($(#[$doc])* $variant,)* }

        impl Action {
            /// Every action, in the order of semantics §6.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in URLs, bodies and the record: `mark_succeeded`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What a button says.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }
    };
}

actions! {
    /// Ask the destination; a read.
    LookUp, "look_up", "Look up";
    /// Send again under the same destination key.
    RerunSameKey, "rerun_same_key", "Rerun with the same key";
    /// A new operation of the same intent, under a new key.
    RerunNew, "rerun_new", "Rerun as a new operation";
    /// Take an observed operation over as a guarded one.
    Adopt, "adopt", "Adopt";
    /// State that the effect happened.
    MarkSucceeded, "mark_succeeded", "Mark succeeded";
    /// State that the effect did not happen.
    MarkFailed, "mark_failed", "Mark failed";
    /// Propose other arguments.
    ChangeArguments, "change_arguments", "Change arguments";
    /// Authorise one effect with these arguments.
    Approve, "approve", "Approve";
    /// Refuse a proposal.
    Deny, "deny", "Deny";
    /// Authorise again after an approval ran out.
    Renew, "renew", "Renew the approval";
    /// Take an approval back.
    Revoke, "revoke", "Revoke the approval";
    /// Stop what was never sent.
    Cancel, "cancel", "Cancel";
    /// Allow further attempts or a later deadline.
    GrantAttempts, "grant_attempts", "Grant attempts";
    /// Add a fact that was found elsewhere.
    AttachEvidence, "attach_evidence", "Attach evidence";
    /// Settle a contradiction.
    PickVerdict, "pick_verdict", "Pick the verdict";
    /// Undo a proven effect by an operation of its own.
    Compensate, "compensate", "Compensate";
    /// Accept that something is not undone.
    Waive, "waive", "Waive";
    /// Call the owner or the next line.
    Escalate, "escalate", "Escalate";
    /// Give the operation an owner.
    Assign, "assign", "Assign";
    /// Leave a remark.
    Comment, "comment", "Comment";
    /// Put a finding away.
    DismissFinding, "dismiss_finding", "Dismiss a finding";
}

impl Action {
    /// The action with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.name() == name)
    }

    /// Whether it leads to a send or a question, so that something can follow it at the destination.
    pub const fn leads_to_destination(self) -> bool {
        matches!(self, Self::LookUp | Self::RerunSameKey | Self::Approve | Self::Renew)
    }

    /// Whether a reason must be written. Looking up and assigning explain themselves.
    pub const fn needs_reason(self) -> bool {
        !matches!(self, Self::LookUp | Self::Assign)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which way a contradiction is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// The effect stands.
    Succeeded,
    /// It does not.
    Failed,
}

/// What the form of an action carries, beside key, version and reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum ActionInput {
    /// See [`Action::MarkSucceeded`]. Without receipt and reference the verdict is stricter (O6).
    MarkSucceeded {
        /// The destination's own name for the object.
        #[serde(default)]
        receipt: Option<Receipt>,
        /// A ticket, a statement line, a dashboard link.
        #[serde(default)]
        reference: Option<String>,
    },
    /// See [`Action::MarkFailed`].
    MarkFailed {},
    /// See [`Action::Adopt`].
    Adopt {
        /// The typed statement that the other system sends no more.
        statement: String,
    },
    /// See [`Action::PickVerdict`].
    PickVerdict {
        /// Which way.
        pick: Pick,
        /// The receipt that stands, when the pick is success.
        #[serde(default)]
        receipt: Option<Receipt>,
    },
    /// See [`Action::Assign`]; `None` gives the operation back.
    Assign {
        /// The new owner.
        #[serde(default)]
        to: Option<PrincipalId>,
    },
    /// See [`Action::Comment`].
    Comment {},
    /// See [`Action::Escalate`].
    Escalate {},
    /// See [`Action::LookUp`].
    LookUp {},
    /// See [`Action::RerunSameKey`].
    RerunSameKey {},
    /// See [`Action::RerunNew`].
    RerunNew {},
    /// See [`Action::ChangeArguments`].
    ChangeArguments {
        /// The arguments from now on: a JSON object, exactly as it is to be kept.
        arguments: String,
    },
    /// See [`Action::Approve`].
    Approve {},
    /// See [`Action::Deny`].
    Deny {},
    /// See [`Action::Renew`].
    Renew {},
    /// See [`Action::Revoke`].
    Revoke {},
    /// See [`Action::Cancel`].
    Cancel {},
    /// See [`Action::GrantAttempts`].
    GrantAttempts {
        /// How many more.
        attempts: u32,
        /// A later deadline, if one is given.
        #[serde(default)]
        deadline: Option<Timestamp>,
    },
    /// See [`Action::AttachEvidence`]. A hint until a look-up confirms it.
    AttachEvidence {
        /// The destination's name for the object, if one was found.
        #[serde(default)]
        receipt: Option<Receipt>,
    },
    /// See [`Action::Compensate`].
    Compensate {
        /// Which effect; the only one, if none is named.
        #[serde(default)]
        receipt: Option<Receipt>,
    },
    /// See [`Action::Waive`].
    Waive {
        /// Which effect stays; none where a compensation is given up.
        #[serde(default)]
        receipt: Option<Receipt>,
    },
    /// See [`Action::DismissFinding`]. Dismissing `same_intent_question` answers it: separate (4.4.3).
    DismissFinding {
        /// Its kind.
        code: String,
    },
}

impl ActionInput {
    /// The action that this is the input of.
    pub const fn action(&self) -> Action {
        match self {
            Self::MarkSucceeded { .. } => Action::MarkSucceeded,
            Self::MarkFailed {} => Action::MarkFailed,
            Self::Adopt { .. } => Action::Adopt,
            Self::PickVerdict { .. } => Action::PickVerdict,
            Self::Assign { .. } => Action::Assign,
            Self::Comment {} => Action::Comment,
            Self::Escalate {} => Action::Escalate,
            Self::LookUp {} => Action::LookUp,
            Self::RerunSameKey {} => Action::RerunSameKey,
            Self::RerunNew {} => Action::RerunNew,
            Self::ChangeArguments { .. } => Action::ChangeArguments,
            Self::Approve {} => Action::Approve,
            Self::Deny {} => Action::Deny,
            Self::Renew {} => Action::Renew,
            Self::Revoke {} => Action::Revoke,
            Self::Cancel {} => Action::Cancel,
            Self::GrantAttempts { .. } => Action::GrantAttempts,
            Self::AttachEvidence { .. } => Action::AttachEvidence,
            Self::Compensate { .. } => Action::Compensate,
            Self::Waive { .. } => Action::Waive,
            Self::DismissFinding { .. } => Action::DismissFinding,
        }
    }
}

/// One press of a button, as it reaches the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// The key made when the form was rendered.
    pub key: ActionKey,
    /// What was asked.
    pub input: ActionInput,
    /// Who asked.
    pub actor: Actor,
    /// Why, in their words.
    pub reason: String,
    /// What they typed to confirm, where the verdict asks for it.
    pub confirmation: Option<String>,
    /// The version of the operation they saw.
    pub seen_version: u64,
}

/// A dual act that one person has asked for and another must complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedAct {
    /// What the first person asked.
    pub act: Act,
    /// When.
    pub asked_at: Timestamp,
}

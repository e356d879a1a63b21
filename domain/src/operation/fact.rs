//! Everything that can be recorded about one operation.

use serde::{Deserialize, Serialize};

use crate::action::AwaitedAct;
use crate::approval::Approval;
use crate::attempt::{AttemptRef, Report};
use crate::contract::Contract;
use crate::difference::Likeness;
use crate::evidence::Evidence;
use crate::fingerprint::Hash;
use crate::lease::Claim;
use crate::name::{ActionKey, OperationId, PrincipalId, Receipt, SourceName, SourceOperation};
use crate::operation::named;
use crate::permission::Actor;
use crate::time::Timestamp;

/// The arguments of one version: hashes here, bytes in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// Over the arguments without volatile fields: sameness at intake (J7).
    pub identity_hash: Hash,
    /// Over all arguments: what an approval binds to (J7).
    pub args_hash: Hash,
    /// Over what names the business object, to ask "same intent?" under another key (4.4.3); none where nothing names
    /// one, for reads, and on what was recorded before this was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_hash: Option<Hash>,
    /// How many bytes were received.
    pub size_bytes: u64,
}

/// A proposal as it arrived: the first one makes the operation, later ones are aliases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// When.
    pub at: Timestamp,
    /// Who says so.
    pub source: SourceName,
    /// The source's name for it.
    pub name: SourceOperation,
    /// Its arguments, where they are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arguments>,
    /// What the stream declares about the tool's contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Box<Contract>>,
    /// When it must be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What is at stake, read from the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
    /// The tool call that proposed it; correlation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The principal that proposed it, for guarded operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<PrincipalId>,
}

/// What is at stake.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Impact {
    /// An amount in minor units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_minor: Option<i64>,
    /// Its currency code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many people it reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<i64>,
}

/// One field that differs between two sets of arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChange {
    /// A JSON pointer.
    pub path: String,
    /// The stored value as written, or nothing.
    pub before: Option<String>,
    /// The other value as written, or nothing.
    pub after: Option<String>,
    /// Why the two look alike or mean the same, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Likeness>,
}

named! {
    /// The kinds of resolution.
    ResolutionKind {
        /// Marked succeeded.
        Succeeded = "succeeded",
        /// Marked failed.
        Failed = "failed",
        /// A contradiction settled as success.
        PickSucceeded = "pick_succeeded",
        /// A contradiction settled as failure.
        PickFailed = "pick_failed",
    }
}

/// A person's statement about the outcome (P0), or the settling of a contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// Which way, and whether it settles a contradiction.
    pub kind: ResolutionKind,
    /// The receipt it cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Another reference it cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Ids of the evidence the person had seen; only what lies outside reopens (I39).
    pub acknowledged: Vec<String>,
    /// The receipts the person had seen: a redelivery of one of them is nothing new.
    pub acknowledged_receipts: Vec<Receipt>,
    /// One person, or two under dual control.
    pub actors: Vec<Actor>,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// The action that made it.
    pub action_key: ActionKey,
    /// The version it made; the latest is in force.
    pub version: u64,
}

/// Everything that can be recorded about an operation. Facts are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// It was proposed, first or again.
    Proposed(Proposal),
    /// It was proposed under the same key with other arguments. Changes nothing else.
    Conflict {
        /// The proposal that was not taken.
        proposal: Proposal,
        /// How it differs.
        changes: Vec<FieldChange>,
    },
    /// A source says that it was authorised. History only.
    AuthorizedElsewhere {
        /// When.
        at: Timestamp,
        /// Who, in the source's words.
        by: Option<String>,
        /// Until when.
        expires_at: Option<Timestamp>,
        /// The arguments it covered.
        args_hash: Option<Hash>,
    },
    /// Something about one send.
    Report(Report),
    /// A claim was refused at the source.
    ClaimRefused {
        /// When.
        at: Timestamp,
        /// Which claim.
        claim: String,
        /// Why, in the source's words.
        reason: Option<String>,
    },
    /// Something about the outcome.
    Evidence(Evidence),
    /// An operator's act at the source. History only.
    ActedElsewhere {
        /// When.
        at: Timestamp,
        /// The act's own key; equal keys are one act.
        act: String,
        /// What it was called.
        verb: String,
        /// Who, in the source's words.
        by: Option<String>,
    },
    /// A compensation of this operation was proposed.
    CompensationProposed {
        /// When.
        at: Timestamp,
        /// By which operation.
        child: OperationId,
    },
    /// A person resolved it.
    Resolved(Resolution),
    /// A dual act waits for a second person.
    SecondPersonAsked(AwaitedAct),
    /// A second person declined a dual act.
    SecondPersonDeclined {
        /// The act that is not made.
        act: ActionKey,
        /// Who declined.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// It was taken over by a guarded operation.
    Adopted {
        /// Which one.
        child: OperationId,
        /// The statement that the other system sends no more.
        statement: String,
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// It got an owner, or lost one.
    Assigned {
        /// The owner.
        to: Option<PrincipalId>,
        /// Who said so.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why, if told.
        reason: String,
    },
    /// A person left a remark.
    Commented {
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// What.
        text: String,
    },
    /// A person called the next line.
    Escalated {
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// A person, or policy, authorised one effect with exactly these arguments (T2, T7, T38).
    Approved(Approval),
    /// An approval was taken back (T34).
    Revoked {
        /// Which one.
        approval: ActionKey,
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// A person refused the proposal, stopped it, or another operation took over (T3, T6, T5, T28).
    Stopped {
        /// Which of them.
        how: Stop,
        /// The operation that took over, for [`Stop::Superseded`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        successor: Option<OperationId>,
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
        /// The version it made; the latest is in force (F16).
        version: u64,
    },
    /// Another operation of the intent was made from this one: a rerun, or changed arguments (T5, T28, T29, T43).
    SuccessorMade {
        /// Which one.
        child: OperationId,
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// Other arguments before anything of the intent was sent: the next args version (T36).
    ArgumentsChanged {
        /// The arguments from now on.
        proposal: Proposal,
        /// How they differ from the version before.
        changes: Vec<FieldChange>,
        /// Why.
        reason: String,
    },
    /// A lease was taken (T8, T17).
    Claimed(Claim),
    /// A lease was made longer.
    LeaseRenewed {
        /// Which one.
        epoch: u64,
        /// Until when.
        until: Timestamp,
        /// When that was asked.
        at: Timestamp,
    },
    /// A lease was given back with nothing sent under it (T9, T11).
    Released {
        /// Which one.
        epoch: u64,
        /// When.
        at: Timestamp,
        /// Why: the guards that refused, or the worker's word.
        reason: String,
    },
    /// A process is proved to have ended, by something outside it: a supervisor, an operating system's lock (K6).
    SenderGone {
        /// Which process.
        incarnation: String,
        /// When that was known.
        at: Timestamp,
        /// How.
        proof: String,
    },
    /// Further attempts or a later deadline (T40).
    Granted {
        /// How many attempts more.
        attempts: u32,
        /// The new deadline, if one is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
        /// One person, or two.
        actors: Vec<Actor>,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// A person ordered the repeat that the class asks one for (T17).
    RepeatOrdered {
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// A person asked for a look-up.
    LookUpOrdered {
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
    },
    /// Two people accept that open attempts may still succeed, and permit a new operation (T29, T43).
    RiskAccepted {
        /// The open attempts, each by name.
        attempts: Vec<AttemptRef>,
        /// The operation it permits.
        permits: OperationId,
        /// The two.
        actors: Vec<Actor>,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// Another operation has equal intent fields: is it the same intent (4.4.3)?
    SameIntentAsked {
        /// Which one.
        other: OperationId,
        /// When.
        at: Timestamp,
    },
    /// A person answered it.
    SameIntentAnswered {
        /// Which one.
        other: OperationId,
        /// Whether it is.
        is_same: bool,
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// The record was restored from a copy: sends after it are forgotten (T45, 4.8).
    Restored {
        /// The time of the copy.
        backup_at: Timestamp,
        /// When it was declared.
        at: Timestamp,
        /// The epoch below which every lease died.
        epoch: u64,
    },
    /// Two people leave something standing: a surplus effect, or a compensation that does not get on (T27, T33).
    Waived {
        /// The effect, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<Receipt>,
        /// The two.
        actors: Vec<Actor>,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// A finding was put away; the facts stay.
    FindingDismissed {
        /// Its kind.
        code: String,
        /// Who.
        by: Actor,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
}

named! {
    /// How an operation was stopped (F16).
    Stop {
        /// A person refused the proposal.
        Denied = "denied",
        /// Stopped with nothing open.
        Cancelled = "cancelled",
        /// Another operation took over.
        Superseded = "superseded",
    }
}

impl Fact {
    /// When it was recorded or, for imported lines, their `ts`.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Proposed(proposal) | Self::Conflict { proposal, .. } | Self::ArgumentsChanged { proposal, .. } => {
                proposal.at
            }
            Self::Report(report) => report.at,
            Self::Evidence(evidence) => evidence.at,
            Self::Resolved(resolution) => resolution.at,
            Self::SecondPersonAsked(awaited) => awaited.asked_at,
            Self::AuthorizedElsewhere { at, .. }
            | Self::ClaimRefused { at, .. }
            | Self::ActedElsewhere { at, .. }
            | Self::CompensationProposed { at, .. }
            | Self::SecondPersonDeclined { at, .. }
            | Self::Adopted { at, .. }
            | Self::Assigned { at, .. }
            | Self::Commented { at, .. }
            | Self::Escalated { at, .. }
            | Self::Revoked { at, .. }
            | Self::Stopped { at, .. }
            | Self::SuccessorMade { at, .. }
            | Self::LeaseRenewed { at, .. }
            | Self::Released { at, .. }
            | Self::SenderGone { at, .. }
            | Self::Granted { at, .. }
            | Self::RepeatOrdered { at, .. }
            | Self::LookUpOrdered { at, .. }
            | Self::RiskAccepted { at, .. }
            | Self::SameIntentAsked { at, .. }
            | Self::SameIntentAnswered { at, .. }
            | Self::Restored { at, .. }
            | Self::Waived { at, .. }
            | Self::FindingDismissed { at, .. } => *at,
            Self::Approved(approval) => approval.granted_at,
            Self::Claimed(claim) => claim.at,
        }
    }
}

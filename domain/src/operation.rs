//! The operation: its identity, the facts recorded about it, its states, and what its row shows.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::action::{Action, AwaitedAct};
use crate::approval::Approval;
use crate::attempt::{AttemptRef, Report};
use crate::contract::Contract;
use crate::evidence::{Evidence, Strength};
use crate::facts::Facts;
use crate::fingerprint::Hash;
use crate::lease::Claim;
use crate::name::{
    ActionKey, DestinationKey, DestinationName, IntentId, OperationId, OperationKey, PrincipalId, Receipt, SourceName,
    SourceOperation, ToolName,
};
use crate::permission::Actor;
use crate::time::Timestamp;
use crate::tool::Class;

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

named! {
    /// Why an operation is uncertain, most telling first (F14).
    Doubt {
        /// The destination says the key belongs to another request.
        KeyMismatch = "key_mismatch",
        /// A stored error is replayed for ever.
        ReplayedError = "replayed_error",
        /// Some items applied.
        Partial = "partial",
        /// It was accepted and will be decided later.
        Accepted = "accepted",
        /// The destination says our key is being processed.
        InFlight = "in_flight",
        /// It looks like success but has no receipt.
        NoReceipt = "no_receipt",
        /// A signal of success without proof.
        Likely = "likely",
        /// The record was restored from a copy and may have forgotten sends.
        Restored = "restored",
        /// The sender died.
        Crashed = "crashed",
        /// A status whose meaning the contract does not declare.
        UndeclaredStatus = "undeclared_status",
        /// The destination or a hop before it failed.
        ServerError = "server_error",
        /// The connection broke.
        Reset = "reset",
        /// No answer in time.
        Timeout = "timeout",
        /// Nothing was ever heard of the send again.
        Lost = "lost",
    }
}

named! {
    /// On what a success stands.
    SuccessBasis {
        /// A receipt, P3.
        Receipt = "receipt",
        /// A person's word, P0.
        Attested = "attested",
        /// Some of several items.
        Partial = "partial",
    }
}

named! {
    /// What kind of failure is known (F11, F12, F17–F19).
    Failure {
        /// Refused for good.
        Permanent = "permanent",
        /// The destination ran it and said no.
        Business = "business",
        /// The deadline passed with nothing open.
        Deadline = "deadline",
        /// The attempts are used up with nothing open.
        Budget = "budget",
        /// Observed: every attempt on record was refused.
        Observed = "observed",
        /// A person's word, P0.
        Attested = "attested",
        /// A person's word that proof then confirmed.
        AttestedThenProved = "attested_then_proved",
    }
}

named! {
    /// How facts disagree (F3–F7, F9).
    Contradiction {
        /// Two effects of one intent.
        Duplicate = "duplicate",
        /// Two effects, one of them only likely.
        DuplicateLikely = "duplicate_likely",
        /// Evidence against a person's statement.
        Attestation = "attestation",
        /// The destination says the object failed afterwards.
        Reversed = "reversed",
        /// Success although every attempt was proved negative.
        ProofBroken = "proof_broken",
        /// Success of a guarded operation that has no attempt.
        EffectWithoutAttempt = "effect_without_attempt",
    }
}

/// The states of semantics 4.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Recorded; nothing sent, nothing authorised.
    Proposed,
    /// Authorised; nothing claimed. Observed: an authorisation is on record.
    Authorized,
    /// Guarded: a lease is held, nothing sent under it.
    Claimed,
    /// A send is running.
    Executing,
    /// Guarded: all attempts closed negative, waiting.
    RetryWait,
    /// An attempt is open.
    Uncertain(Doubt),
    /// The effect is there.
    Succeeded(SuccessBasis),
    /// There is no effect.
    Failed(Failure),
    /// Facts disagree.
    Contradicted(Contradiction),
    /// A person refused the proposal.
    Denied,
    /// The approval ran out.
    ApprovalExpired,
    /// Stopped before anything was open.
    Cancelled,
    /// Another operation took over.
    Superseded,
}

impl State {
    /// The states without anything behind their word.
    const PLAIN: [Self; 9] = [
        Self::Proposed,
        Self::Authorized,
        Self::Claimed,
        Self::Executing,
        Self::RetryWait,
        Self::Denied,
        Self::ApprovalExpired,
        Self::Cancelled,
        Self::Superseded,
    ];

    /// Every state word, for filters.
    pub const WORDS: [&'static str; 13] = [
        "uncertain",
        "contradicted",
        "executing",
        "claimed",
        "retry_wait",
        "proposed",
        "authorized",
        "approval_expired",
        "succeeded",
        "failed",
        "denied",
        "cancelled",
        "superseded",
    ];

    /// The state's word alone: `uncertain`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Authorized => "authorized",
            Self::Claimed => "claimed",
            Self::Executing => "executing",
            Self::RetryWait => "retry_wait",
            Self::Uncertain(_) => "uncertain",
            Self::Succeeded(_) => "succeeded",
            Self::Failed(_) => "failed",
            Self::Contradicted(_) => "contradicted",
            Self::Denied => "denied",
            Self::ApprovalExpired => "approval_expired",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
        }
    }

    /// The same in the five words of a life cycle: proposed, authorized, executing, completed, uncertain (semantics
    /// 4.2). What was stopped before anything was sent has none there.
    pub const fn lifecycle_word(self) -> Option<&'static str> {
        Some(match self {
            Self::Proposed => "proposed",
            Self::Authorized | Self::Claimed => "authorized",
            Self::Executing | Self::RetryWait => "executing",
            Self::Succeeded(_) | Self::Failed(_) => "completed",
            Self::Uncertain(_) | Self::Contradicted(_) => "uncertain",
            Self::Denied | Self::ApprovalExpired | Self::Cancelled | Self::Superseded => return None,
        })
    }

    /// The same in the four words of an outcome: pending, succeeded, failed, uncertain (semantics 4.2).
    pub const fn outcome_word(self) -> &'static str {
        match self {
            Self::Proposed | Self::Authorized | Self::Claimed | Self::Executing | Self::RetryWait => "pending",
            Self::Succeeded(_) => "succeeded",
            Self::Failed(_) | Self::Denied | Self::ApprovalExpired | Self::Cancelled | Self::Superseded => "failed",
            Self::Uncertain(_) | Self::Contradicted(_) => "uncertain",
        }
    }

    /// What stands behind the word, if anything: `timeout`, `permanent`, `duplicate`, `attested`.
    pub const fn detail(self) -> Option<&'static str> {
        match self {
            Self::Uncertain(doubt) => Some(doubt.name()),
            Self::Succeeded(basis) => Some(basis.name()),
            Self::Failed(failure) => Some(failure.name()),
            Self::Contradicted(contradiction) => Some(contradiction.name()),
            Self::Proposed
            | Self::Authorized
            | Self::Claimed
            | Self::Executing
            | Self::RetryWait
            | Self::Denied
            | Self::ApprovalExpired
            | Self::Cancelled
            | Self::Superseded => None,
        }
    }

    /// Reads word and detail back.
    pub fn from_parts(word: &str, detail: Option<&str>) -> Option<Self> {
        match (word, detail) {
            ("uncertain", Some(detail)) => Doubt::parse(detail).map(Self::Uncertain),
            ("succeeded", Some(detail)) => SuccessBasis::parse(detail).map(Self::Succeeded),
            ("failed", Some(detail)) => Failure::parse(detail).map(Self::Failed),
            ("contradicted", Some(detail)) => Contradiction::parse(detail).map(Self::Contradicted),
            (word, None) => Self::PLAIN.into_iter().find(|state| state.word() == word),
            (_, Some(_)) => None,
        }
    }

    /// Every state there is.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::PLAIN
            .into_iter()
            .chain(Doubt::ALL.iter().copied().map(Self::Uncertain))
            .chain(SuccessBasis::ALL.iter().copied().map(Self::Succeeded))
            .chain(Failure::ALL.iter().copied().map(Self::Failed))
            .chain(Contradiction::ALL.iter().copied().map(Self::Contradicted))
    }

    /// Whether nothing more is expected by itself. Shown with a solid outline.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Succeeded(_) | Self::Failed(_) | Self::Denied | Self::Cancelled | Self::Superseded => true,
            Self::Proposed
            | Self::Authorized
            | Self::Claimed
            | Self::Executing
            | Self::RetryWait
            | Self::Uncertain(_)
            | Self::Contradicted(_)
            | Self::ApprovalExpired => false,
        }
    }
}

impl fmt::Display for State {
    /// The names of semantics 4.2: `uncertain(timeout)`, `failed.proven(permanent)`, `succeeded.attested`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded(SuccessBasis::Attested) => f.write_str("succeeded.attested"),
            Self::Succeeded(SuccessBasis::Partial) => f.write_str("succeeded(partial)"),
            Self::Failed(Failure::Business) => f.write_str("failed.business"),
            Self::Failed(Failure::Attested) => f.write_str("failed.attested"),
            Self::Failed(failure) => write!(f, "failed.proven({})", failure.name()),
            Self::Uncertain(doubt) => write!(f, "uncertain({})", doubt.name()),
            Self::Contradicted(contradiction) => write!(f, "contradicted({})", contradiction.name()),
            plain => f.write_str(plain.word()),
        }
    }
}

impl Serialize for State {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::all()
            .find(|state| state.to_string() == text)
            .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a state")))
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
    /// When it was recorded by our clock.
    pub recorded_at: Timestamp,
}

/// The arguments of one version: hashes here, bytes in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// Over the arguments without volatile fields: sameness at intake (J7).
    pub identity_hash: Hash,
    /// Over all arguments: what an approval binds to (J7).
    pub args_hash: Hash,
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
    pub contract: Option<Contract>,
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
    /// What kind of difference it is, if it is one that does not meet the eye.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
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

/// Which layer made an attempt and what is known of it: one notch of the tally.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notch {
    /// The layer, where it is told.
    pub layer: Option<String>,
    /// How it is drawn.
    pub mark: Mark,
}

named! {
    /// How a notch is drawn.
    Mark {
        /// Running.
        Running = "running",
        /// Hatched: unknown.
        Unknown = "unknown",
        /// Hollow: never left.
        NotSent = "not_sent",
        /// Red: refused, or declined by the business.
        Refused = "refused",
        /// Green: confirmed.
        Confirmed = "confirmed",
    }
}

/// How long the destination key protects a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "window", rename_all = "snake_case")]
pub enum KeyWindow {
    /// No key was sent, or nothing was sent.
    NoKey,
    /// Retention is unknown: the key protects nothing.
    Unknown,
    /// It protects from the first send until then. Whether that time has passed is for the reader's `now`.
    Until {
        /// The first send under the key.
        from: Timestamp,
        /// The last moment.
        until: Timestamp,
    },
}

/// Evidence in a few words for a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chip {
    /// What it says: `receipt pi_A`, `absent ×2 over 22 h`.
    pub text: String,
    /// How strong it is.
    pub strength: Strength,
}

named! {
    /// Why an operation waits for a person; the chips above the queue, in their order.
    Reason {
        /// No answer in time.
        TimedOut = "timed_out",
        /// The sender died, or was never heard of again.
        Crashed = "crashed",
        /// The key no longer protects.
        KeyExpired = "key_expired",
        /// The destination is still at it.
        InFlight = "in_flight",
        /// Success without a receipt.
        NoReceipt = "no_receipt",
        /// The connection broke.
        Reset = "reset",
        /// The destination or a hop failed.
        ServerError = "server_error",
        /// A status nobody declared.
        UndeclaredStatus = "undeclared_status",
        /// The key belongs to another request.
        KeyMismatch = "key_mismatch",
        /// Accepted, to be decided later.
        Accepted = "accepted",
        /// Facts disagree.
        Contradicted = "contradicted",
        /// The approval ran out.
        ApprovalExpired = "approval_expired",
        /// Attempts used up.
        BudgetExhausted = "budget_exhausted",
        /// An undo does not get on.
        CompensationStuck = "compensation_stuck",
        /// Its deadline passed and nothing will advance it.
        Stalled = "stalled",
        /// A dual act waits for a second person.
        AwaitsSecondPerson = "awaits_second_person",
        /// A proposal waits for an approval.
        AwaitsApproval = "awaits_approval",
    }
}

impl Reason {
    /// What a chip says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::TimedOut => "Timed out",
            Self::Crashed => "Crashed or lost",
            Self::KeyExpired => "Key expired",
            Self::InFlight => "In flight",
            Self::NoReceipt => "No receipt",
            Self::Reset => "Connection lost",
            Self::ServerError => "Server error",
            Self::UndeclaredStatus => "Undeclared status",
            Self::KeyMismatch => "Key mismatch",
            Self::Accepted => "Accepted",
            Self::Contradicted => "Contradicted",
            Self::ApprovalExpired => "Approval expired",
            Self::BudgetExhausted => "Budget spent",
            Self::CompensationStuck => "Undo stuck",
            Self::Stalled => "Stalled",
            Self::AwaitsSecondPerson => "Second person",
            Self::AwaitsApproval => "Awaits approval",
        }
    }
}

/// That an operation waits for a person, and how urgently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Why.
    pub reason: Reason,
    /// Smaller is more urgent: what loses its safe option soonest, then impact, then age.
    pub rank: i64,
}

named! {
    /// How serious a finding is.
    Severity {
        /// Worth knowing.
        Notice = "notice",
        /// A rule of the house was broken at the source.
        Audit = "audit",
        /// Two facts cannot both be right, or an effect may have doubled.
        Integrity = "integrity",
    }
}

/// Something an auditor should see, beside the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind in the record: `effects_exceed_intent`.
    pub code: String,
    /// How serious it is.
    pub severity: Severity,
    /// What was found, in a sentence.
    pub text: String,
}

/// What the operation's row shows. Computed by the rules, stored beside the facts, and rebuilt and
/// compared by `tallystick verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Projection {
    /// The state.
    pub state: State,
    /// Since when, by the facts.
    pub since: Timestamp,
    /// Whether it waits for a person.
    pub attention: Option<Attention>,
    /// When the answer changes by time alone.
    pub next_change_at: Option<Timestamp>,
    /// Transport sends on record, possible sends included.
    pub attempts: u32,
    /// How many its source allows, where told.
    pub attempts_allowed: Option<u32>,
    /// Distinct P3 receipts of the intent.
    pub effects: u32,
    /// Distinct receipts of strength P2 that are not P3.
    pub effects_likely: u32,
    /// The receipt that stands, if one does.
    pub receipt: Option<Receipt>,
    /// The side-effect class in force.
    pub class: Class,
    /// One notch an attempt; the newest 60 where there are more.
    pub tally: Vec<Notch>,
    /// Evidence for the row.
    pub chips: Vec<Chip>,
    /// How long the key protects.
    pub key_window: KeyWindow,
    /// What is at stake.
    pub impact: Option<Impact>,
    /// The base row of semantics 6.1 that decides.
    pub row: String,
    /// The action recommended first.
    pub recommended: Action,
    /// Whose it is.
    pub assignee: Option<PrincipalId>,
    /// Findings, most serious first.
    pub findings: Vec<Finding>,
    /// The first send on record.
    pub first_dispatched_at: Option<Timestamp>,
    /// The latest fact on record.
    pub last_fact_at: Timestamp,
    /// Hash for sameness at intake; of the first arguments told.
    pub identity_hash: Option<Hash>,
    /// Hash of all arguments.
    pub args_hash: Option<Hash>,
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
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Report(report) => Some(report),
            _ => None,
        })
    }

    /// The evidence among its facts.
    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Evidence(evidence) => Some(evidence),
            _ => None,
        })
    }

    /// The proposals among its facts, conflicting ones aside.
    pub fn proposals(&self) -> impl Iterator<Item = &Proposal> {
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Proposed(proposal) => Some(proposal),
            _ => None,
        })
    }

    /// Every proposal, also one that changed the arguments (T36).
    pub fn all_proposals(&self) -> impl Iterator<Item = &Proposal> {
        self.facts.iter().filter_map(|fact| match fact {
            Fact::Proposed(proposal) | Fact::ArgumentsChanged { proposal, .. } => Some(proposal),
            _ => None,
        })
    }

    /// Which version of the arguments is in force, from 1.
    pub fn args_version(&self) -> u32 {
        let changes = self.facts.iter().filter(|fact| matches!(fact, Fact::ArgumentsChanged { .. })).count();
        u32::try_from(changes).unwrap_or(u32::MAX - 1) + 1
    }

    /// The arguments in force: those of the latest change, else the first that were told.
    pub fn arguments(&self) -> Option<&Arguments> {
        let changed = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::ArgumentsChanged { proposal, .. } => Some(proposal.arguments.as_ref()),
            _ => None,
        });
        changed.unwrap_or_else(|| self.proposals().find_map(|proposal| proposal.arguments.as_ref()))
    }

    /// What is at stake with the arguments in force.
    pub fn impact(&self) -> Option<&Impact> {
        let changed = self.facts.iter().rev().find_map(|fact| match fact {
            Fact::ArgumentsChanged { proposal, .. } => Some(proposal.impact.as_ref()),
            _ => None,
        });
        changed.unwrap_or_else(|| self.proposals().find_map(|proposal| proposal.impact.as_ref()))
    }

    /// The operation of which nobody has said whether it is the same intent (4.4.3).
    pub fn unanswered_question(&self) -> Option<&OperationId> {
        let answered = |id: &OperationId| {
            self.facts.iter().any(|fact| matches!(fact, Fact::SameIntentAnswered { other, .. } if other == id))
        };
        let asked = self.facts.iter().filter_map(|fact| match fact {
            Fact::SameIntentAsked { other, .. } => Some(other),
            _ => None,
        });
        asked.into_iter().find(|other| !answered(other))
    }

    /// How it was stopped, if it was: the latest by version (F16).
    pub fn stop(&self) -> Option<(Stop, Timestamp)> {
        let stops = self.facts.iter().filter_map(|fact| match fact {
            Fact::Stopped { how, at, version, .. } => Some((*version, *how, *at)),
            _ => None,
        });
        stops.max_by_key(|(version, ..)| *version).map(|(_, how, at)| (how, at))
    }

    /// The resolution in force: the latest by version (semantics 3.6).
    pub fn resolution(&self) -> Option<&Resolution> {
        let resolutions = self.facts.iter().filter_map(|fact| match fact {
            Fact::Resolved(resolution) => Some(resolution),
            _ => None,
        });
        resolutions.max_by_key(|resolution| resolution.version)
    }

    /// The dual act that waits for a second person, if one does: asked, and neither made nor declined since.
    pub fn awaited_act(&self) -> Option<&AwaitedAct> {
        let mut awaited: Option<&AwaitedAct> = None;
        for fact in &self.facts {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_in_the_words_of_both_vocabularies() {
        let words = |state: State| (state.lifecycle_word(), state.outcome_word());
        assert_eq!(words(State::Claimed), (Some("authorized"), "pending"));
        assert_eq!(words(State::RetryWait), (Some("executing"), "pending"));
        assert_eq!(words(State::Succeeded(SuccessBasis::Attested)), (Some("completed"), "succeeded"));
        assert_eq!(words(State::Failed(Failure::Business)), (Some("completed"), "failed"));
        assert_eq!(words(State::Contradicted(Contradiction::Duplicate)), (Some("uncertain"), "uncertain"));
        assert_eq!(words(State::ApprovalExpired), (None, "failed"), "everything that was sent closed negative");
    }

    #[test]
    fn every_state_is_read_back_from_its_parts_and_from_its_name() {
        for state in State::all() {
            assert_eq!(State::from_parts(state.word(), state.detail()), Some(state), "{state}");
            assert!(State::WORDS.contains(&state.word()));
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
        }
    }
}

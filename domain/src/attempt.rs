//! Attempts: what was reported about each send. Reports are facts and only ever added; an attempt is
//! what all reports about it say together, so their order of arrival does not matter.

mod end;
mod wire;

pub use end::{Circumstance, End, Phase, ReceiptFault, ReportedOutcome};
pub use wire::{GrpcStatus, H2, H2Code, Headers};

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Hash;
use crate::lease::Scope;
use crate::name::{ActionKey, DestinationKey, LayerName, SourceName, SourceOperation};
use crate::time::Timestamp;

/// What identifies an attempt: (operation, claim) or, where no claim is known, (operation, number)
/// (semantics 3.5). The operation is the source's own name, so that a send reported under an alias
/// stays a send of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptRef {
    /// The source's name for the operation.
    pub operation: SourceOperation,
    /// The claim under which it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its number; counts only where there is no claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

impl AttemptRef {
    /// The identity by claim if there is one, else by number.
    pub fn new(operation: SourceOperation, claim: Option<String>, number: Option<u32>) -> Self {
        let number = if claim.is_some() { None } else { Some(number.unwrap_or(1)) };
        Self { operation, claim, number }
    }

    /// The send of a guarded operation under one lease: its claim is the epoch.
    pub fn guarded(operation: SourceOperation, epoch: u64) -> Self {
        Self { operation, claim: Some(format!("epoch-{epoch}")), number: None }
    }

    /// The epoch, if it is the send of a guarded operation.
    pub fn epoch(&self) -> Option<u64> {
        self.claim.as_deref()?.strip_prefix("epoch-")?.parse().ok()
    }
}

impl fmt::Display for AttemptRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.claim, self.number) {
            (Some(claim), _) => write!(f, "{}/{claim}", self.operation),
            (None, number) => write!(f, "{}/{}", self.operation, number.unwrap_or(1)),
        }
    }
}

/// What a report says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum ReportKind {
    /// A claim was taken; by itself a *possible send*.
    Claimed {
        /// The lease, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_s: Option<u64>,
    },
    /// A send began.
    Started {
        /// Hash of the arguments that were sent, if the source shows them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args_hash: Option<Hash>,
        /// When the sender stops waiting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// A guarded send: the fenced write that stands before its first byte (T10).
    Dispatched(Dispatch),
    /// A send ended.
    Ended(End),
}

/// What the fenced write records about a guarded send (semantics 4.1, 4.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The epoch of the lease under which it was sent.
    pub epoch: u64,
    /// The process that sends.
    pub incarnation: String,
    /// When the sender stops waiting.
    pub deadline: Timestamp,
    /// Hash of the exact bytes that go out (J7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_hash: Option<Hash>,
    /// Where the key is unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The approval it stands on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ActionKey>,
    /// Which version of the arguments.
    pub args_version: u32,
}

/// One thing that was said about one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Which attempt.
    pub attempt: AttemptRef,
    /// When it was received; for imported lines their `ts`.
    pub at: Timestamp,
    /// When it happened by the destination's clock, if that is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_time: Option<Timestamp>,
    /// Who says it.
    pub source: SourceName,
    /// The number given, claim or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// The retry layer that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<LayerName>,
    /// The process that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<Arc<str>>,
    /// The key that went to the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dest_key: Option<DestinationKey>,
    /// How many attempts the source allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// What it says.
    #[serde(flatten)]
    pub kind: ReportKind,
}

impl Report {
    /// Whether it is the end of the send under this epoch of a guarded operation.
    pub fn ends_guarded(&self, epoch: u64) -> bool {
        matches!(self.kind, ReportKind::Ended(_)) && self.attempt.epoch() == Some(epoch)
    }
}

/// Mostly one, rarely several: the first needs no memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Few<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, more: Vec::new() }
    }
}

impl<T> Few<T> {
    /// The first, if there is any.
    pub const fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.more)
    }

    fn push(&mut self, one: T) {
        match self.first {
            None => self.first = Some(one),
            Some(_) => self.more.push(one),
        }
    }
}

/// An attempt, put together from all reports about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// Which one.
    pub id: &'a AttemptRef,
    /// The number its source gives it.
    pub number: Option<u32>,
    /// The retry layer that made it.
    pub owner: Option<&'a LayerName>,
    /// The process that made it.
    pub worker: Option<&'a Arc<str>>,
    /// The key that was sent, where it is told.
    pub dest_key: Option<&'a DestinationKey>,
    /// When it must be counted as sent: the earliest time in any report.
    pub dispatched_at: Timestamp,
    /// When it stops counting as running if no end is reported: lease end or deadline.
    pub runs_until: Timestamp,
    /// The lease its claim was given, in seconds, where that is told.
    pub lease_s: Option<u64>,
    /// Whether only a claim is known, so that the send itself is a guess.
    pub is_possible_send: bool,
    /// Hash of the arguments that were sent, if the source shows them.
    pub args_hash: Option<&'a Hash>,
    /// The ends reported, earliest first; several only if sources disagree.
    pub ends: Few<(&'a Report, &'a End)>,
    /// How many attempts its source allows, the largest figure told.
    pub budget: Option<u32>,
    /// The fenced write before it, for a guarded send.
    pub dispatch: Option<&'a Dispatch>,
    /// Who speaks of it.
    pub sources: Few<&'a SourceName>,
}

impl Attempt<'_> {
    /// Whether it is running: no end is known and its time has not run out.
    pub fn is_running(&self, now: Timestamp) -> bool {
        self.ends.is_empty() && now < self.runs_until
    }

    /// When its end was first reported, if it was.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.ends.first().map(|(report, _)| report.at)
    }
}

/// Puts attempts together from reports: ordered by first sight, then by identity.
pub fn gather<'a>(reports: impl Iterator<Item = &'a Report>, default_deadline: Duration) -> Vec<Attempt<'a>> {
    // By what differs soonest between two attempts: reports mostly come in this order already, and then this is one walk.
    let mut reports: Vec<&Report> = reports.collect();
    reports.sort_by_key(|report| (report.attempt.number, report.attempt.claim.as_deref(), &report.attempt.operation));
    let of_one =
        reports.chunk_by(|one, other| one.attempt.number == other.attempt.number && one.attempt == other.attempt);
    let mut attempts: Vec<_> = of_one.map(|reports| put_together(reports, default_deadline)).collect();
    attempts.sort_by_key(|attempt| (attempt.dispatched_at, attempt.id));
    attempts
}

fn put_together<'a>(reports: &[&'a Report], default_deadline: Duration) -> Attempt<'a> {
    let mut reports = Cow::Borrowed(reports);
    if reports.len() > 1 {
        // A total order over content, not over arrival: whatever comes twice or swapped reads the same.
        let text = |report: &Report| serde_json::to_string(report).unwrap_or_default();
        let several = reports.to_mut();
        several.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| text(a).cmp(&text(b))));
        several.dedup();
    }
    let (id, first_at) = (&reports[0].attempt, reports[0].at);
    let mut attempt = Attempt {
        id,
        number: None,
        owner: None,
        worker: None,
        dest_key: None,
        dispatched_at: first_at,
        runs_until: first_at.plus(default_deadline),
        lease_s: None,
        is_possible_send: true,
        args_hash: None,
        ends: Few::default(),
        budget: None,
        dispatch: None,
        sources: Few::default(),
    };
    let mut told_until: Option<Timestamp> = None;
    for report in reports.iter().copied() {
        attempt.number = attempt.number.or(report.number);
        attempt.owner = attempt.owner.or(report.owner.as_ref());
        attempt.worker = attempt.worker.or(report.worker.as_ref());
        attempt.dest_key = attempt.dest_key.or(report.dest_key.as_ref());
        attempt.budget = attempt.budget.max(report.budget);
        if attempt.sources.iter().all(|source| **source != report.source) {
            attempt.sources.push(&report.source);
        }
        told_until = told_until.max(take_in(&mut attempt, report, default_deadline));
    }
    attempt.runs_until = told_until.unwrap_or(attempt.runs_until);
    attempt
}

/// Takes one report's content in; returns until when the attempt runs, if the report tells.
fn take_in<'a>(attempt: &mut Attempt<'a>, report: &'a Report, default_deadline: Duration) -> Option<Timestamp> {
    match &report.kind {
        ReportKind::Claimed { lease_s } => {
            attempt.lease_s = attempt.lease_s.max(*lease_s);
            Some(report.at.plus(lease_s.map_or(default_deadline, Duration::from_secs)))
        }
        ReportKind::Started { args_hash, deadline } => {
            attempt.is_possible_send = false;
            attempt.args_hash = attempt.args_hash.or(args_hash.as_ref());
            Some(deadline.unwrap_or(report.at.plus(default_deadline)))
        }
        ReportKind::Dispatched(dispatch) => {
            attempt.is_possible_send = false;
            attempt.dispatch = attempt.dispatch.or(Some(dispatch));
            Some(dispatch.deadline)
        }
        ReportKind::Ended(end) => {
            attempt.is_possible_send = false;
            attempt.ends.push((report, end));
            None
        }
    }
}

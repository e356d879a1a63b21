//! The states of an operation (semantics 4.2), each in the words of both vocabularies.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::operation::named;
use crate::outcome::JudgedAttempt;

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

/// The witness that an operation waits with nothing open: only whoever looked at its attempts and found none open gets
/// one, so that no rule can make an operation wait for its next send while an earlier one may still arrive (F20).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NothingOpen(());

impl NothingOpen {
    /// A row that was stored: the fold that wrote it had the witness, and `tallystick verify` folds it again.
    const AS_STORED: Self = Self(());

    /// The witness, if none of these is open.
    pub(crate) fn among<'a>(attempts: impl IntoIterator<Item = &'a JudgedAttempt>) -> Option<Self> {
        attempts.into_iter().all(|attempt| attempt.closed.is_some()).then_some(Self(()))
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
    RetryWait(NothingOpen),
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
    /// The states without a detail behind their word.
    const PLAIN: [Self; 9] = [
        Self::Proposed,
        Self::Authorized,
        Self::Claimed,
        Self::Executing,
        Self::RetryWait(NothingOpen::AS_STORED),
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
            Self::RetryWait(_) => "retry_wait",
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
            Self::Executing | Self::RetryWait(_) => "executing",
            Self::Succeeded(_) | Self::Failed(_) => "completed",
            Self::Uncertain(_) | Self::Contradicted(_) => "uncertain",
            Self::Denied | Self::ApprovalExpired | Self::Cancelled | Self::Superseded => return None,
        })
    }

    /// The same in the four words of an outcome: pending, succeeded, failed, uncertain (semantics 4.2).
    pub const fn outcome_word(self) -> &'static str {
        match self {
            Self::Proposed | Self::Authorized | Self::Claimed | Self::Executing | Self::RetryWait(_) => "pending",
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
            | Self::RetryWait(_)
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
            | Self::RetryWait(_)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::retry_wait;

    #[test]
    fn states_in_the_words_of_both_vocabularies() {
        let words = |state: State| (state.lifecycle_word(), state.outcome_word());
        assert_eq!(words(State::Claimed), (Some("authorized"), "pending"));
        assert_eq!(words(retry_wait()), (Some("executing"), "pending"));
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

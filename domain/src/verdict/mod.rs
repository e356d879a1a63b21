//! One failure point or response → one verdict (semantics 3.1–3.4).
//!
//! An end is judged by its row (`transport` for 3.2, `answer` for 3.3), then whatever voids a proof is
//! applied (`voids`, 3.4), then the cap of its source. What it leaves open is for the fold.

mod answer;
mod late;
mod receipt;
mod rows;
#[cfg(test)]
pub(crate) mod tests;
mod transport;
mod voids;

pub use late::{Kept, keep_result};
pub use rows::{Proves, ROWS, VerdictRow, row, sides};
pub use voids::{VOIDS, VoidRow};

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::attempt::{End, ReportedOutcome};
use crate::contract::Contract;
use crate::evidence::{Strength, Trust};
use crate::operation::Doubt;
use crate::tool::Class;

/// What one attempt's answer proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "doubt", rename_all = "snake_case")]
pub enum Verdict {
    /// No application byte can have reached the destination.
    NotSent,
    /// The destination says it did not execute; trying again may help.
    RefusedRetryable,
    /// The destination says it did not execute, and would not if asked again.
    RefusedPermanent,
    /// A valid receipt for our operation.
    Executed,
    /// The destination ran it and says no as a matter of business.
    ExecutedNoEffect,
    /// Everything else, with the reason an operator is told.
    Unknown(Doubt),
}

impl Verdict {
    /// Its word: `not_sent`, `refused`, `executed`, `executed_no_effect`, `unknown`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::RefusedRetryable | Self::RefusedPermanent => "refused",
            Self::Executed => "executed",
            Self::ExecutedNoEffect => "executed_no_effect",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Whether it says that this attempt made no effect.
    pub const fn is_negative(self) -> bool {
        match self {
            Self::NotSent | Self::RefusedRetryable | Self::RefusedPermanent | Self::ExecutedNoEffect => true,
            Self::Executed | Self::Unknown(_) => false,
        }
    }

    /// Whether it is negative and trying again may help (the last paragraph of semantics 3.1).
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::NotSent | Self::RefusedRetryable => true,
            Self::RefusedPermanent | Self::ExecutedNoEffect | Self::Executed | Self::Unknown(_) => false,
        }
    }
}

/// A verdict with its ground.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What is proved.
    pub verdict: Verdict,
    /// The rule that says so: `E12`.
    pub rule: Cow<'static, str>,
    /// How strong the ground is, after the cap of its source.
    pub strength: Strength,
    /// In words, for a timeline.
    pub text: Cow<'static, str>,
}

impl Judgement {
    /// The judgement on an attempt of which no end is known.
    pub fn without_end(is_running: bool) -> Self {
        Self::by(if is_running { &rows::E17_RUNNING } else { &rows::E17_SILENT })
    }

    /// The judgement on a guarded send whose lease ended without a result (T16).
    pub fn crashed() -> Self {
        let text = "its lease ended and no result was saved; it may have happened";
        Self { verdict: Verdict::Unknown(Doubt::Crashed), text: text.into(), ..Self::by(&rows::E17_SILENT) }
    }

    /// The judgement on a send that a restored record may have forgotten (T45).
    pub fn restored() -> Self {
        let text = "the record was restored from a copy and may have forgotten a send";
        Self { verdict: Verdict::Unknown(Doubt::Restored), text: text.into(), ..Self::by(&rows::E17_SILENT) }
    }

    /// What the row says. Rows that leave the verdict to the content are never judged by themselves.
    fn by(row: &VerdictRow) -> Self {
        let (verdict, strength) = match row.proves {
            Proves::Verdict(verdict) => (verdict, row.strength),
            Proves::Content | Proves::NoAttempt => (Verdict::Unknown(Doubt::Lost), Strength::Hint),
        };
        Self { verdict, rule: row.id.into(), strength, text: row.reason.into() }
    }

    /// What the row says, with the status or code that it speaks of.
    fn naming(row: &VerdictRow, code: impl fmt::Display) -> Self {
        Self { text: format!("{code}: {}", row.reason).into(), ..Self::by(row) }
    }

    /// The same verdict, to which another row adds what it knows.
    fn under(self, row: &VerdictRow) -> Self {
        Self { text: format!("{}: {}", row.reason, self.text).into(), rule: row.id.into(), ..self }
    }

    /// The verdict given up for a doubt, with the reason.
    fn given_up(self, doubt: Doubt, because: &str) -> Self {
        Self { verdict: Verdict::Unknown(doubt), text: format!("{}; {because}", self.text).into(), ..self }
    }

    /// The sub-reason of what its row speaks of, once it proves nothing (semantics 3.6).
    fn doubt_of_content(&self) -> Doubt {
        match (self.verdict, self.rule.as_ref()) {
            (Verdict::Unknown(doubt), _) => doubt,
            (Verdict::NotSent, _) => Doubt::Reset,
            (Verdict::Executed, _) | (_, "E19") => Doubt::NoReceipt,
            (_, "E21" | "E22") => Doubt::ServerError,
            (Verdict::RefusedRetryable | Verdict::RefusedPermanent | Verdict::ExecutedNoEffect, _) => {
                Doubt::UndeclaredStatus
            }
        }
    }
}

/// Who counted the bytes of a send and saw its phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instrumentation {
    /// Our own executor: its phases count by themselves (I13).
    Own,
    /// Somebody else's: its phases count only with `layer_retries = off`.
    External,
}

/// What an end must be judged against.
#[derive(Debug, Clone, Copy)]
pub struct Grounds<'a> {
    /// What the destination promises.
    pub contract: &'a Contract,
    /// The side-effect class in force.
    pub class: Class,
    /// How far the source of the end is believed.
    pub trust: Trust,
    /// Whose instruments saw the send.
    pub instrumentation: Instrumentation,
    /// Whether an attempt that was dispatched earlier is open (E25, E28).
    pub earlier_open: bool,
}

/// Judges the end of one attempt, capped by the trust of its source.
pub fn judge(end: &End, grounds: Grounds<'_>) -> Judgement {
    let voided = voids::apply(by_row(end, grounds), end, grounds);
    let capped = cap(voided, grounds.trust);
    if is_replayed(end, grounds) && capped.rule != rows::E35.id { capped.under(&rows::E35) } else { capped }
}

fn by_row(end: &End, grounds: Grounds<'_>) -> Judgement {
    let content = match end.outcome {
        ReportedOutcome::Ok => answer::judge(end, grounds),
        ReportedOutcome::Abandoned => Judgement::by(&rows::E17_DIED),
        ReportedOutcome::Rejected
        | ReportedOutcome::Error
        | ReportedOutcome::Timeout
        | ReportedOutcome::ConnLost
        | ReportedOutcome::Throttled => transport::judge(end, grounds).unwrap_or_else(|| answer::judge(end, grounds)),
    };
    // I14: what a store says of an error is never more than the error said: unknown.
    let is_error = end.http.is_some_and(|status| status >= 500);
    if is_replayed(end, grounds) && (is_error || content.verdict == Verdict::Unknown(Doubt::ServerError)) {
        return Judgement::by(&rows::E35_ERROR);
    }
    content
}

fn is_replayed(end: &End, grounds: Grounds<'_>) -> bool {
    end.is_replayed(grounds.contract.replay_marker.as_deref())
}

/// I38: nothing is stronger than its source. What the cap takes away keeps the reason of its content.
fn cap(mut judgement: Judgement, trust: Trust) -> Judgement {
    judgement.strength = judgement.strength.min(trust.cap());
    let doubt = judgement.doubt_of_content();
    match judgement.verdict {
        // K1: success needs P3; at P2 the attempt stays open, "likely".
        Verdict::Executed if judgement.strength == Strength::P2 => {
            judgement.given_up(Doubt::Likely, "its source is only declared, so this is likely, not proved")
        }
        Verdict::Executed if judgement.strength < Strength::P2 => {
            judgement.given_up(doubt, "its source is not trusted, so this is a hint")
        }
        Verdict::Unknown(Doubt::Likely) if judgement.strength < Strength::P2 => {
            judgement.given_up(Doubt::UndeclaredStatus, "its source is not trusted, so this is a hint")
        }
        verdict if verdict.is_negative() && judgement.strength < Strength::P1 => {
            judgement.given_up(doubt, "its source is not trusted, so this proves nothing")
        }
        _ => judgement,
    }
}

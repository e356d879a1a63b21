//! Conditions that void a proof (semantics 3.4). What they void becomes unknown, and says why.

use crate::attempt::{Circumstance, End};
use crate::contract::LayerRetries;
use crate::evidence::Strength;
use crate::verdict::{Grounds, Instrumentation, Judgement, Verdict};

/// One condition that voids a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoidRow {
    /// Its number: `3.4.1`.
    pub id: &'static str,
    /// What must be in play.
    pub circumstance: Circumstance,
    /// Why that proves less, as a timeline says it.
    pub reason: &'static str,
}

macro_rules! voids {
    ($($id:literal $circumstance:ident => $reason:literal;)*) => {
        /// Every condition, in the order of their numbers.
        pub const VOIDS: &[VoidRow] =
            &[$(VoidRow { id: $id, circumstance: Circumstance::$circumstance, reason: $reason },)*];
    };
}

voids! {
    "3.4.1" HiddenRetry => "a layer below may have sent it before, and this tells of another try";
    "3.4.2" Intermediary => "that is known of the hop to the intermediary, not of the destination";
    "3.4.3" EarlyData => "request data went out before the handshake was done";
    "3.4.4" Hedging => "several copies were in flight, and this tells of one";
    "3.4.5" Failover => "it went to another account, region or endpoint too, and this tells of one";
    "3.4.6" ModeMix => "a test system and the live one were mixed up";
}

/// Gives up what a condition voids; the first that applies is named.
pub(super) fn apply(judgement: Judgement, end: &End, grounds: Grounds<'_>) -> Judgement {
    if let Verdict::Unknown(_) = judgement.verdict {
        // It proves nothing that could be given up.
        return judgement;
    }
    match VOIDS.iter().find(|row| is_void(row.circumstance, &judgement, end, grounds)) {
        Some(row) => {
            let doubt = judgement.doubt_of_content();
            let voided = judgement.given_up(doubt, &format!("but {} ({})", row.reason, row.id));
            Judgement { strength: Strength::Hint, ..voided }
        }
        None => judgement,
    }
}

fn is_void(circumstance: Circumstance, judgement: &Judgement, end: &End, grounds: Grounds<'_>) -> bool {
    let verdict = judgement.verdict;
    let in_play = end.is_in_play(circumstance);
    match circumstance {
        Circumstance::HiddenRetry => {
            verdict.is_negative() && in_play || verdict == Verdict::NotSent && may_retry_below(grounds)
        }
        // Only what reached the intermediary can have gone on from there. E2–E7 did not reach it.
        Circumstance::Intermediary => {
            verdict == Verdict::NotSent && judgement.rule == "E8" && (in_play || grounds.contract.has_intermediary())
        }
        // Nothing had been opened at E2 and E3, and at E7 the library vouches for it. 425 is the one
        // answer that speaks of early data itself.
        Circumstance::EarlyData => {
            let untouched = matches!(judgement.rule.as_ref(), "E2" | "E3" | "E7") || end.http == Some(425);
            verdict.is_negative() && in_play && !untouched
        }
        Circumstance::Hedging | Circumstance::Failover => verdict.is_negative() && in_play,
        Circumstance::ModeMix => (verdict.is_negative() || verdict == Verdict::Executed) && in_play,
    }
}

/// I13: whether the layer that saw the phase may have sent before. Unknown counts as yes, except for our
/// own executor, which counts the bytes it hands over.
fn may_retry_below(grounds: Grounds<'_>) -> bool {
    match (grounds.instrumentation, grounds.contract.layer_retries) {
        (_, Some(LayerRetries::Off)) | (Instrumentation::Own, None) => false,
        (_, Some(LayerRetries::On)) | (Instrumentation::External, None) => true,
    }
}

//! One failure point or response → one verdict (semantics 3.1–3.4, rows E1–E36).

use serde::{Deserialize, Serialize};

use crate::evidence::Strength;
use crate::operation::Doubt;

/// What one attempt's answer proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// A verdict with its ground.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What is proved.
    pub verdict: Verdict,
    /// The rule that says so: `E12`.
    pub rule: String,
    /// How strong the ground is, after the cap of its source.
    pub strength: Strength,
    /// In words, for a timeline.
    pub text: String,
}

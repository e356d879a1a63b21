//! What may be done now, and why (semantics §6). The page shows this; the POST evaluates it again.

mod other;
mod overlays;
mod rows;
mod situation;
mod words;

pub use rows::{BaseRow, ROWS};
pub use situation::{Child, LookUpKind, Situation};
pub(crate) use situation::{has_newer_guarded, standing_surplus, was_ever_sent};

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::evidence::Strength;
use crate::operation::Record;
use crate::outcome::{Outcome, Surroundings};
use crate::permission::Actor;
use crate::policy::SafetyRule;
use crate::time::Timestamp;
use crate::tool::Class;

/// The verdict on one action, least strict first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// S.
    Safe,
    /// C: typed confirmation and a reason.
    Confirm,
    /// D: a second person.
    Dual,
    /// F.
    Forbidden,
    /// –: does not concern this state; counts as forbidden.
    NotOffered,
}

impl Verdict {
    /// What a badge says.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Confirm => "confirm",
            Self::Dual => "second person",
            Self::Forbidden => "forbidden",
            Self::NotOffered => "not offered",
        }
    }
}

/// The verdict on one action with its grounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRuling {
    /// Which action.
    pub action: Action,
    /// What the rules say.
    pub verdict: Verdict,
    /// One sentence why.
    pub reason: String,
    /// Rows that forbid it, beside the deciding one.
    pub forbidden_by: Vec<String>,
    /// Overlays of 6.2 that made it stricter.
    pub overlays: Vec<String>,
    /// When the verdict changes by time alone: "until then, afterwards forbidden".
    pub expires_at: Option<Timestamp>,
}

/// A fact that the ruling stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroundFact {
    /// In words.
    pub text: String,
    /// How strong it is.
    pub strength: Strength,
    /// When it was learned.
    pub at: Timestamp,
}

/// All verdicts about one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// The deciding row of 6.1.
    pub row: String,
    /// Why, in the row's words.
    pub why: String,
    /// What to do first.
    pub recommended: Action,
    /// One an action, in the order of [`Action::ALL`].
    pub actions: Vec<ActionRuling>,
    /// What the ruling stands on.
    pub facts: Vec<GroundFact>,
    /// What is known, in a few sentences for a tired operator.
    pub known: Vec<String>,
}

impl Ruling {
    /// The ruling on one action.
    pub fn on(&self, action: Action) -> Option<&ActionRuling> {
        self.actions.iter().find(|ruling| ruling.action == action)
    }
}

/// Rules on every action for `actor`; `None` judges for a person without naming one.
pub fn rule(
    record: &Record,
    around: &Surroundings,
    outcome: &Outcome,
    actor: Option<&Actor>,
    now: Timestamp,
) -> Ruling {
    let situation = Situation::of(record, around, outcome, actor, now);
    let mut ruling = evaluate(&situation);
    words::explain(&mut ruling, &situation, record, outcome, now);
    let repeat = ruling.actions.iter_mut().find(|one| one.action == Action::RerunSameKey);
    if let Some(repeat) = repeat.filter(|one| one.verdict < Verdict::Forbidden && !outcome.open.is_empty()) {
        repeat.expires_at = repeat_ends(record, around, outcome, now);
    }
    ruling
}

/// Until when a repeat beside something open stays permitted: the key protects no longer (3.7.6), or the approval runs
/// out (row 7), whichever is first.
fn repeat_ends(record: &Record, around: &Surroundings, outcome: &Outcome, now: Timestamp) -> Option<Timestamp> {
    let class = around.tool.class;
    let by_key = matches!(class, Class::Reversible | Class::Irreversible);
    let key_ends = outcome.key_protects_until.filter(|_| by_key);
    let approval = record.live_approval(&around.tool, now).ok().filter(|_| class != Class::Read);
    key_ends.into_iter().chain(approval.map(|approval| approval.expires_at)).min()
}

/// The evaluation order of semantics §6: the first matching row, what other rows forbid, overlays, the
/// other actions, and last the recommendation.
pub fn evaluate(situation: &Situation) -> Ruling {
    let matching: Vec<&BaseRow> = ROWS.iter().filter(|row| (row.holds)(situation)).collect();
    // The table is total (I33); should it ever not be, nothing but a person's call is offered.
    let winner = matching.first().copied().unwrap_or(&rows::NOTHING_MATCHES);
    let mut actions: Vec<ActionRuling> = Action::ALL.iter().map(|&action| base_ruling(winner, action)).collect();
    for other in matching.iter().skip(1) {
        forbid_what_it_forbids(&mut actions, other);
    }
    let mut recommended = winner.recommended;
    overlays::apply(&mut actions, &mut recommended, situation);
    other::apply(&mut actions, situation);
    overlays::apply_to_automations(&mut actions, situation);
    switched_off(&mut actions, situation);
    if is_out(&actions, recommended) {
        // (5): a recommendation that may not be followed moves on.
        recommended = if is_out(&actions, Action::Adopt) { Action::Escalate } else { Action::Adopt };
    }
    Ruling { row: winner.id.into(), why: winner.why.into(), recommended, actions, facts: Vec::new(), known: Vec::new() }
}

/// What a test that switches a safety rule off lets through. With every rule in force nothing.
fn switched_off(actions: &mut [ActionRuling], s: &Situation) {
    let open = |rule, state: bool| !s.policy.keeps(rule) && state;
    let doubtful = s.is_uncertain() && s.is_guarded();
    for ruling in actions {
        let let_through = match ruling.action {
            Action::RerunNew => open(SafetyRule::NewKeyNeedsProof, doubtful),
            Action::Compensate => open(SafetyRule::UndoWaitsResolution, doubtful),
            _ => false,
        };
        if let_through {
            ruling.verdict = Verdict::Safe;
        }
    }
}

fn base_ruling(row: &BaseRow, action: Action) -> ActionRuling {
    let verdict = row.verdict(action).unwrap_or(Verdict::NotOffered);
    ActionRuling {
        action,
        verdict,
        reason: String::new(),
        forbidden_by: Vec::new(),
        overlays: Vec::new(),
        expires_at: None,
    }
}

/// (2): what any other matching row forbids is forbidden, and names that row.
fn forbid_what_it_forbids(actions: &mut [ActionRuling], other: &BaseRow) {
    for ruling in actions {
        if other.verdict(ruling.action) == Some(Verdict::Forbidden) && ruling.verdict < Verdict::Forbidden {
            ruling.verdict = Verdict::Forbidden;
            ruling.forbidden_by.push(other.id.into());
        }
    }
}

fn is_out(actions: &[ActionRuling], action: Action) -> bool {
    actions.iter().any(|ruling| ruling.action == action && ruling.verdict >= Verdict::Forbidden)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::PROOFS;

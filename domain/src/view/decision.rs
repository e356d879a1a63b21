//! What may be done now, for a page: the ruling as it was made, with the reader's role, in the order to read it.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::rules::{RuleLine, rules_of_action};
use super::{Lens, Moment};
use crate::action::Action;
use crate::decision::{ActionRuling, GroundFact, Ruling, Verdict};
use crate::evidence::Strength;
use crate::name::OperationId;
use crate::operation::Record;
use crate::permission::{Actor, Permission};

/// The most facts that a decision is shown to stand on.
const FACTS_SHOWN: usize = 12;

/// The whole decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionView {
    /// The deciding row of the table: `row 15`.
    pub row: String,
    /// Why, in the row's words.
    pub why: String,
    /// What is known.
    pub known: Vec<String>,
    /// What it stands on.
    pub facts: Vec<FactView>,
    /// That there are more facts than are shown.
    pub more_facts: Option<String>,
    /// The actions that concern the state, the recommended one first.
    pub actions: Vec<ActionView>,
    /// Labels of those that do not.
    pub not_offered: Vec<String>,
    /// A dual act that waits for a second person.
    pub awaited: Option<AwaitedView>,
}

/// A fact with its strength and age.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactView {
    /// In words.
    pub text: String,
    /// How strong.
    pub strength: Strength,
    /// When it was learned.
    pub at: Moment,
    /// How long ago.
    pub age: String,
}

/// One action with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionView {
    /// Its name in URLs.
    pub name: String,
    /// What the button says.
    pub label: String,
    /// The verdict.
    pub verdict: Verdict,
    /// One sentence why.
    pub reason: String,
    /// Rows and overlays behind it: `row 15`, `overlay O4`.
    pub grounds: Vec<String>,
    /// The same with their sentences.
    pub rules: Vec<RuleLine>,
    /// When the verdict changes by time alone.
    pub expires: Option<Moment>,
    /// Whether to do this first.
    pub is_recommended: bool,
    /// Where its form is, when it may be pressed.
    pub href: Option<String>,
    /// Why it may not be pressed, when it may not.
    pub obstacle: Option<String>,
}

/// A dual act that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedView {
    /// Its key.
    pub key: String,
    /// What was asked.
    pub label: String,
    /// By whom.
    pub by: String,
    /// When.
    pub at: Moment,
    /// Why.
    pub reason: String,
    /// Whether the reader may be the second person.
    pub is_for_reader: bool,
}

/// The decision as this reader sees it.
pub fn decision_view(record: &Record, ruling: &Ruling, reader: &Actor, lens: &Lens<'_>) -> DecisionView {
    let concerns = |ruling: &&ActionRuling| ruling.verdict != Verdict::NotOffered;
    let mut concerned: Vec<&ActionRuling> = ruling.actions.iter().filter(concerns).collect();
    // The sort is stable: within a group the order of semantics §6 stays.
    let can_be_pressed = |one: &ActionRuling| obstacle(one, reader).is_none();
    concerned
        .sort_by_key(|one| (one.action != ruling.recommended, one.verdict == Verdict::Forbidden, !can_be_pressed(one)));
    let not_offered = ruling.actions.iter().filter(|one| !concerns(one)).map(|one| one.action.label().into()).collect();
    DecisionView {
        row: row_name(&ruling.row),
        why: ruling.why.clone(),
        known: ruling.known.clone(),
        facts: telling(&ruling.facts).into_iter().map(|fact| fact_view(fact, lens)).collect(),
        more_facts: (ruling.facts.len() > FACTS_SHOWN).then(|| {
            format!("The strongest and newest {FACTS_SHOWN} of {}. The timeline has all.", ruling.facts.len())
        }),
        actions: concerned.into_iter().map(|one| action_view(&record.head.id, one, ruling, reader, lens)).collect(),
        not_offered,
        awaited: awaited_view(record, reader, lens),
    }
}

/// Of very many facts the strongest, and among equals the newest; the newest first.
fn telling(facts: &[GroundFact]) -> Vec<&GroundFact> {
    let mut chosen: Vec<&GroundFact> = facts.iter().collect();
    chosen.sort_by_key(|fact| (Reverse(fact.strength), Reverse(fact.at)));
    chosen.truncate(FACTS_SHOWN);
    chosen.sort_by_key(|fact| Reverse(fact.at));
    chosen
}

fn fact_view(fact: &GroundFact, lens: &Lens<'_>) -> FactView {
    FactView { text: fact.text.clone(), strength: fact.strength, at: lens.moment(fact.at), age: lens.age(fact.at) }
}

fn action_view(id: &OperationId, one: &ActionRuling, ruling: &Ruling, reader: &Actor, lens: &Lens<'_>) -> ActionView {
    let obstacle = obstacle(one, reader);
    let mut grounds = vec![row_name(&ruling.row)];
    grounds.extend(one.forbidden_by.iter().filter(|row| **row != ruling.row).map(|row| row_name(row)));
    grounds.extend(one.overlays.iter().map(|overlay| format!("overlay {overlay}")));
    ActionView {
        name: one.action.name().into(),
        label: one.action.label().into(),
        verdict: one.verdict,
        reason: one.reason.clone(),
        grounds,
        rules: rules_of_action(&ruling.row, one),
        expires: one.expires_at.map(|at| lens.moment(at)),
        is_recommended: one.action == ruling.recommended,
        href: obstacle.is_none().then(|| format!("/operations/{id}/{}", one.action.name())),
        obstacle,
    }
}

/// Why an action may not be pressed: the verdict, then the role.
pub fn obstacle(one: &ActionRuling, reader: &Actor) -> Option<String> {
    let is_open = matches!(one.verdict, Verdict::Safe | Verdict::Confirm | Verdict::Dual);
    if !is_open {
        return Some(one.reason.clone());
    }
    (!reader.role.allows(Permission::Act(one.action)))
        .then(|| format!("Your role, {}, does not admit this.", reader.role.name()))
}

/// `row 15`, whether the table said `15` or `row 15`.
pub fn row_name(row: &str) -> String {
    if row.starts_with("row") || row.starts_with("overlay") { row.to_owned() } else { format!("row {row}") }
}

fn awaited_view(record: &Record, reader: &Actor, lens: &Lens<'_>) -> Option<AwaitedView> {
    let awaited = record.awaited_act()?;
    let action = awaited.act.input.action();
    Some(AwaitedView {
        key: awaited.act.key.to_string(),
        label: action.label().into(),
        by: awaited.act.actor.name.clone(),
        at: lens.moment(awaited.asked_at),
        reason: awaited.act.reason.clone(),
        is_for_reader: awaited.act.actor.id != reader.id && may_act(reader, action),
    })
}

fn may_act(reader: &Actor, action: Action) -> bool {
    reader.role.allows(Permission::Act(action))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::PrincipalId;
    use crate::permission::Role;
    use crate::view::tests::at;

    fn ruling(action: Action, verdict: Verdict) -> ActionRuling {
        ActionRuling {
            action,
            verdict,
            reason: "Nothing proves it.".into(),
            forbidden_by: vec![],
            overlays: vec![],
            expires_at: None,
        }
    }

    fn reader(role: Role) -> Actor {
        Actor { id: PrincipalId::parse("p1").unwrap(), name: "Mika".into(), role }
    }

    #[test]
    fn an_action_that_may_not_be_pressed_says_why() {
        let operator = reader(Role::Operator);
        let forbidden = obstacle(&ruling(Action::MarkFailed, Verdict::Forbidden), &operator);
        assert_eq!(forbidden.as_deref(), Some("Nothing proves it."));
        assert_eq!(obstacle(&ruling(Action::MarkFailed, Verdict::Dual), &operator), None);
        let viewer = obstacle(&ruling(Action::MarkFailed, Verdict::Dual), &reader(Role::Viewer));
        assert!(viewer.unwrap().contains("viewer"));
        assert_eq!(obstacle(&ruling(Action::LookUp, Verdict::Safe), &operator), None);
    }

    #[test]
    fn of_very_many_facts_a_strong_old_one_is_still_shown() {
        let fact = |number: i64, strength| GroundFact {
            text: format!("fact {number}"),
            strength,
            at: at("2026-10-05T09:00:00Z").plus(std::time::Duration::from_secs(number.unsigned_abs())),
        };
        let mut all: Vec<GroundFact> = (1..=500).map(|number| fact(number, Strength::Hint)).collect();
        all.push(fact(0, Strength::P3));
        let shown: Vec<&str> = telling(&all).iter().map(|fact| fact.text.as_str()).collect();
        assert_eq!((shown.len(), shown[0], shown[FACTS_SHOWN - 1]), (FACTS_SHOWN, "fact 500", "fact 0"));
    }
}

//! The workflows' pages: which way each goes, and what every step waits for.

use serde::{Deserialize, Serialize};

use super::{Lens, Moment, counted};
use crate::name::{OperationId, OperationKey, PrincipalId};
use crate::operation::{Head, Projection, State};
use crate::time::Timestamp;
use crate::view::state::{StateBadge, state_badge};
use crate::workflow::{Direction, Ending, Hold, Progress, StepKind, StepView, Unwinding, Unwinds, Workflow};

/// A page of workflows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowsView {
    /// The newest first.
    pub rows: Vec<WorkflowLine>,
    /// Where the next page starts.
    pub next: Option<String>,
    /// When it was read.
    pub as_of: Moment,
    /// The newest change it shows.
    pub sequence: String,
}

/// One workflow in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowLine {
    /// Its name.
    pub name: String,
    /// In a word.
    pub word: String,
    /// Whether a person must act.
    pub needs_person: bool,
    /// Which way it goes, in a sentence.
    pub sentence: String,
    /// `2 of 4 steps have succeeded`.
    pub done: String,
    /// When it began.
    pub begun_at: Moment,
    /// Who recovers it.
    pub owner: Option<String>,
}

/// One workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowView {
    /// As in the list.
    pub line: WorkflowLine,
    /// Whether it goes back by itself.
    pub unwinds_by_itself: bool,
    /// The owner's id.
    pub owner_id: Option<String>,
    /// Who could own it: id and name.
    pub people: Vec<(String, String)>,
    /// Its steps, each after all that it needs.
    pub steps: Vec<StepLine>,
    /// What is wrong with its steps, if they do not make a workflow.
    pub problem: Option<String>,
    /// Whether the reader may say who undoes it.
    pub may_declare: bool,
    /// The newest change it shows.
    pub sequence: String,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepLine {
    /// Its operation.
    pub id: String,
    /// That operation's key.
    pub key: String,
    /// Its number.
    pub number: String,
    /// What it is to the workflow.
    pub kind: String,
    /// Its tool.
    pub tool: String,
    /// Its state.
    pub state: StateBadge,
    /// How far its undo has come, where there is one.
    pub undo: Option<String>,
    /// The operation that undoes it.
    pub undo_id: Option<String>,
    /// What it waits for, or why it is not undone.
    pub note: Option<String>,
    /// Whether that is a person's to mend.
    pub needs_person: bool,
}

/// What the pages need to know of one workflow.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// Its name.
    pub name: &'a str,
    /// When it began.
    pub begun_at: Timestamp,
    /// Who undoes it.
    pub unwinds: Unwinds,
    /// Who owns it.
    pub owner: Option<&'a PrincipalId>,
    /// Its steps, or what is wrong with them.
    pub steps: Result<&'a Workflow, &'a str>,
    /// What would be done now in order to go back.
    pub unwinding: &'a Unwinding,
    /// Its operations, undos included, the first recorded first.
    pub operations: &'a [(&'a Head, &'a Projection)],
}

impl Told<'_> {
    /// Whether a step of it is on record; an undo is none.
    fn has_begun(&self) -> bool {
        self.operations.iter().any(|(head, _)| head.compensates.is_none())
    }

    /// What is wrong with its steps, once there are some.
    pub fn problem(&self) -> Option<String> {
        self.steps.err().filter(|_| self.has_begun()).map(str::to_owned)
    }
}

/// One workflow in the list.
pub fn workflow_line(told: &Told<'_>, lens: &Lens<'_>) -> WorkflowLine {
    let owner = told.owner.map(|owner| lens.name(owner));
    let (word, needs_person, sentence) = match told.steps {
        Ok(steps) => standing(steps, told, owner.as_deref()),
        Err(_) if !told.has_begun() => ("not begun", false, "No step of it is on record yet.".into()),
        Err(problem) => ("misbuilt", true, format!("Its steps do not make a workflow: {problem}.")),
    };
    let all = told.steps.map_or(0, |steps| steps.steps().len());
    let done = told.steps.map_or(0, |steps| steps.steps().iter().filter(|step| has_succeeded(step)).count());
    WorkflowLine {
        name: told.name.into(),
        word: word.into(),
        needs_person,
        sentence,
        done: format!("{done} of {} succeeded", counted(all, "step", "steps")),
        begun_at: lens.moment(told.begun_at),
        owner,
    }
}

fn has_succeeded(step: &StepView) -> bool {
    matches!(step.state, State::Succeeded(_))
}

fn standing(steps: &Workflow, told: &Told<'_>, owner: Option<&str>) -> (&'static str, bool, String) {
    let key = |id: &OperationId| key_of(steps, id).map_or_else(|| id.to_string(), ToString::to_string);
    match steps.ending(told.owner) {
        Some(Ending::Succeeded) => return ("done", false, "Every step has succeeded.".into()),
        Some(Ending::Undone) => return ("undone", false, "Whatever succeeded is undone, or was waived.".into()),
        Some(Ending::Stuck { not_undone, .. }) => {
            let owner = owner.unwrap_or_default();
            let standing = counted(not_undone.len(), "effect stands", "effects stand");
            return ("stuck", true, format!("An undo does not get on; {standing}. {owner} recovers it."));
        }
        None => {}
    }
    let stuck = steps.steps().iter().find(|step| step.compensation.is_stopped());
    if let Some(step) = stuck {
        let owner = owner.map_or_else(|| "Nobody owns it.".to_owned(), |owner| format!("{owner} recovers it."));
        return ("stuck", true, format!("The undo of {} does not get on. {owner}", step.key));
    }
    match steps.direction() {
        Direction::Forward => ("going forward", false, "It goes forward.".into()),
        Direction::Escalate { step } => (
            "needs a person",
            true,
            format!("Past its point of no return {} failed: a person drives it on.", key(&step)),
        ),
        Direction::Back { because } => {
            let by_people = told.unwinds == Unwinds::ByPeople && !told.unwinding.undo.is_empty();
            let held = told.unwinding.holds.iter().any(|(_, hold)| hold.needs_person());
            ("going back", by_people || held, format!("It goes back because of {}.", key(&because)))
        }
    }
}

fn key_of<'a>(steps: &'a Workflow, id: &OperationId) -> Option<&'a OperationKey> {
    steps.steps().iter().find(|step| step.id == *id).map(|step| &step.key)
}

/// The steps of a workflow as rows.
pub fn step_lines(told: &Told<'_>) -> Vec<StepLine> {
    let Ok(steps) = told.steps else { return Vec::new() };
    steps.steps().iter().map(|step| step_line(steps, step, told)).collect()
}

fn step_line(steps: &Workflow, step: &StepView, told: &Told<'_>) -> StepLine {
    let head = told.operations.iter().find(|(head, _)| head.id == step.id).map(|(head, _)| *head);
    let intent = head.map(|head| &head.intent_id);
    let undoes_it = |other: &Head| {
        let of = told.operations.iter().find(|(head, _)| Some(&head.id) == other.compensates.as_ref());
        of.is_some_and(|(head, _)| Some(&head.intent_id) == intent)
    };
    let undo = told.operations.iter().rev().find(|(head, _)| undoes_it(head)).map(|(head, _)| head.id.to_string());
    let (note, needs_person) = note(steps, step, told);
    StepLine {
        id: step.id.to_string(),
        key: step.key.to_string(),
        number: step.step_no.to_string(),
        kind: steps.kind(&step.id).map(kind_in_words).unwrap_or_default().into(),
        tool: head.and_then(|head| head.tool.as_ref()).map_or_else(|| "unknown tool".into(), ToString::to_string),
        state: state_badge(step.state),
        undo: undo_in_words(step.compensation).map(Into::into),
        undo_id: undo,
        note,
        needs_person,
    }
}

const fn kind_in_words(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Compensable => "can be undone",
        StepKind::Pivot => "point of no return",
        StepKind::Retriable => "driven forward",
    }
}

const fn undo_in_words(progress: Progress) -> Option<&'static str> {
    match progress {
        Progress::None => None,
        Progress::Requested => Some("undo proposed"),
        Progress::Running => Some("being undone"),
        Progress::Compensated => Some("undone"),
        Progress::Partial => Some("partly undone"),
        Progress::Stuck => Some("undo stuck"),
        Progress::Impossible => Some("cannot be undone"),
        Progress::Waived => Some("undo waived"),
    }
}

/// What a step waits for; whether a person must see to it.
fn note(steps: &Workflow, step: &StepView, told: &Told<'_>) -> (Option<String>, bool) {
    match steps.direction() {
        Direction::Back { .. } => {
            let offered = told.unwinding.undo.contains(&step.id);
            if offered {
                let by = match told.unwinds {
                    Unwinds::ByPeople => "It can be undone now; a person asks for it.",
                    Unwinds::ByItself => "Its undo is next; if none is proposed, two people decide it.",
                };
                return (Some(by.into()), told.unwinds == Unwinds::ByPeople);
            }
            let hold = told.unwinding.holds.iter().find(|(id, _)| *id == step.id).map(|(_, hold)| hold);
            let key = |id: &OperationId| key_of(steps, id).map_or_else(|| id.to_string(), ToString::to_string);
            (hold.and_then(|hold| hold_in_words(hold, key)), hold.is_some_and(Hold::needs_person))
        }
        Direction::Forward | Direction::Escalate { .. } => {
            let begins = matches!(step.state, State::Proposed | State::Authorized | State::RetryWait(_));
            let wait = steps.around(&step.id).wait.filter(|_| begins);
            let failed = matches!(steps.direction(), Direction::Escalate { step: failed } if failed == step.id);
            (wait.map(|wait| wait.words()), failed)
        }
    }
}

fn hold_in_words(hold: &Hold, key: impl Fn(&OperationId) -> String) -> Option<String> {
    Some(match hold {
        Hold::NotBegun => "It may still begin, so it is cancelled first.".into(),
        Hold::Running => "Its answer is waited for.".into(),
        Hold::Uncertain { .. } => "Whether it happened is not known; that is waited for.".into(),
        Hold::Undoing => "Its undo is on its way.".into(),
        Hold::Dependent { step } => format!("{} builds on it and is undone first.", key(step)),
        Hold::PivotOpen => "Whether the point of no return was passed is not known.".into(),
        Hold::PastPivot => "Past the point of no return only people undo it.".into(),
        Hold::StuckElsewhere { step } => {
            format!("The undo of {} is stuck, so nothing more is undone by itself.", key(step))
        }
        Hold::Stuck => "Its undo failed: run that again, or waive it.".into(),
        Hold::Impossible => "There is no way to undo it.".into(),
        Hold::NoCompensation => "No undo is declared for its tool.".into(),
        Hold::WindowClosed => "The time in which it could be undone is over.".into(),
        Hold::PartlyUndone => "A part of it is undone; a person decides about the rest.".into(),
        Hold::AttestedSuccess => "That it happened is a statement; it is undone only on proof.".into(),
        Hold::AttestedFailure => "That it did not happen is a statement; it may still have.".into(),
        Hold::Contradicted => "The facts about it disagree; a person picks first.".into(),
        Hold::NotOnRecord => "Somebody else sends it, and what ran is not on record.".into(),
        Hold::SuccessorDecides => "Another operation took its place.".into(),
        Hold::NothingToUndo | Hold::NoStep => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::operation::{Doubt, Failure, Mode, SuccessBasis};
    use crate::view::tests::lens;
    use crate::workflow::Undo;

    fn id(name: &str) -> OperationId {
        OperationId::parse(name).unwrap()
    }

    fn step(name: &str, step_no: u32, state: State) -> StepView {
        StepView {
            id: id(name),
            key: OperationKey::parse(format!("key-{name}")).unwrap(),
            step_no,
            is_pivot: false,
            depends_on: None,
            mode: Mode::Guarded,
            state,
            undo: Undo::Declared { until: None },
            compensation: Progress::None,
        }
    }

    const DONE: State = State::Succeeded(SuccessBasis::Receipt);
    const FAILED: State = State::Failed(Failure::Business);

    /// Word, whether a person is needed, the sentence, and the notes.
    fn told(steps: Vec<StepView>, unwinds: Unwinds, owner: Option<&str>) -> (WorkflowLine, Vec<Option<String>>) {
        let names = BTreeMap::from([("p1".to_owned(), "Olga".to_owned())]);
        let lens = lens(&names);
        let workflow = Workflow::new(steps).unwrap();
        let owner = owner.map(|owner| PrincipalId::parse(owner).unwrap());
        let unwinding = workflow.unwind(lens.now);
        let told = Told {
            name: "order-7",
            begun_at: lens.now,
            unwinds,
            owner: owner.as_ref(),
            steps: Ok(&workflow),
            unwinding: &unwinding,
            operations: &[],
        };
        let notes = step_lines(&told).into_iter().map(|line| line.note).collect();
        (workflow_line(&told, &lens), notes)
    }

    #[test]
    fn a_workflow_says_which_way_it_goes_and_whether_a_person_is_needed() {
        let people = Unwinds::ByPeople;
        let (line, notes) = told(vec![step("a", 1, DONE), step("b", 2, State::Authorized)], people, None);
        assert_eq!((line.word.as_str(), line.needs_person), ("going forward", false));
        assert_eq!(line.done, "1 of 2 steps succeeded");
        assert_eq!(notes, [None, None]);

        let waiting = vec![step("a", 1, State::Executing), step("b", 2, State::Authorized)];
        assert_eq!(
            told(waiting, people, None).1[1].as_deref(),
            Some("It waits for the step key-a, which has not succeeded.")
        );

        let back = vec![step("a", 1, DONE), step("b", 2, FAILED)];
        let (line, notes) = told(back.clone(), people, None);
        assert_eq!((line.word.as_str(), line.needs_person), ("going back", true));
        assert_eq!(line.sentence, "It goes back because of key-b.");
        assert_eq!(notes[0].as_deref(), Some("It can be undone now; a person asks for it."));
        assert!(!told(back, Unwinds::ByItself, None).0.needs_person);

        let uncertain = vec![step("a", 1, DONE), step("b", 2, State::Uncertain(Doubt::Timeout)), step("c", 3, FAILED)];
        let (_, notes) = told(uncertain, Unwinds::ByItself, None);
        assert_eq!(notes[0].as_deref(), Some("key-b builds on it and is undone first."));
        assert_eq!(notes[1].as_deref(), Some("Whether it happened is not known; that is waited for."));
    }

    #[test]
    fn an_end_is_told_with_what_stands_and_who_recovers_it() {
        let people = Unwinds::ByPeople;
        assert_eq!(told(vec![step("a", 1, DONE)], people, None).0.word, "done");
        let undone = StepView { compensation: Progress::Compensated, ..step("a", 1, DONE) };
        assert_eq!(told(vec![undone, step("b", 2, FAILED)], people, None).0.word, "undone");
        let stuck = StepView { compensation: Progress::Stuck, ..step("a", 1, DONE) };
        let steps = vec![stuck, step("b", 2, FAILED)];
        let (line, notes) = told(steps.clone(), people, Some("p1"));
        assert_eq!(line.sentence, "An undo does not get on; 1 effect stands. Olga recovers it.");
        assert_eq!((line.word.as_str(), line.needs_person), ("stuck", true));
        assert_eq!(notes[0].as_deref(), Some("Its undo failed: run that again, or waive it."));
        assert_eq!(told(steps, people, None).0.sentence, "The undo of key-a does not get on. Nobody owns it.");
        let pivot = StepView { is_pivot: true, ..step("p", 1, DONE) };
        let (line, _) = told(vec![pivot, step("b", 2, FAILED)], people, None);
        assert_eq!(line.sentence, "Past its point of no return key-b failed: a person drives it on.");
    }
}

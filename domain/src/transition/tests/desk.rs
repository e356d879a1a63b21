//! A [`Stream`] with a desk before it: tests tell it lines by their text, and people act on what they see.

use std::ops::Deref;

use crate::action::{Act, ActionInput};
use crate::contract::Contract;
use crate::decision::Ruling;
use crate::evidence::Trust;
use crate::intake::Line;
use crate::name::{ActionKey, DestinationName, OperationId, PrincipalId, SourceName, SourceOperation, ToolName};
use crate::operation::{Projection, Record};
use crate::outcome::Outcome;
use crate::permission::{Actor, Role};
use crate::refusal::Refusal;
use crate::stream::Stream;
use crate::time::Timestamp;
use crate::tool::{Class, Tool};
use crate::transition::{Command, Decision};

pub(super) struct Desk(Stream);

impl Deref for Desk {
    type Target = Stream;
    fn deref(&self) -> &Stream {
        &self.0
    }
}

impl Desk {
    pub(super) fn new() -> Self {
        Self(Stream::new(SourceName::parse("feed").unwrap(), Trust::Verified))
    }

    pub(super) fn trust(&mut self, trust: Trust) {
        let source = self.source().clone();
        self.0.believe(source, trust);
    }

    pub(super) fn declare(&mut self, name: &str, class: Class, contract: impl Fn(&mut Contract)) {
        let mut tool = Tool::undeclared(ToolName::parse(name).unwrap());
        (tool.class, tool.declared, tool.executable) = (class, true, true);
        tool.destination = DestinationName::parse("psp").ok();
        contract(&mut tool.contract);
        self.0.declare(tool);
    }

    pub(super) fn tell_lines(&mut self, case: &str, count: usize) {
        for line in case.lines().take(count) {
            self.tell(line);
        }
    }

    /// Tells one line; the clock stands at its `ts`, or later if it stood later.
    pub(super) fn tell(&mut self, text: &str) {
        let line = Line::parse(text.as_bytes(), self.source()).unwrap();
        self.0.tell(&line).unwrap();
    }

    /// Makes an operation a guarded one, as if it had been proposed here.
    pub(super) fn guard(&mut self, name: &str) {
        let id = self.id(name);
        self.0.guard(&id);
    }

    pub(super) fn wait_until(&mut self, time: &str) {
        self.0.wait_until(Timestamp::parse_rfc3339(time).unwrap()).unwrap();
    }

    /// By a source's name, or by its id for one that was made here.
    fn id(&self, name: &str) -> OperationId {
        let known = self.find(&SourceOperation::parse(name).unwrap()).cloned();
        known.unwrap_or_else(|| OperationId::parse(name).unwrap())
    }

    fn of(&self, name: &str) -> &Record {
        self.record_of(&self.id(name)).unwrap()
    }

    pub(super) fn operations(&self) -> usize {
        self.records().count()
    }

    pub(super) fn version(&self, name: &str) -> u64 {
        self.of(name).version
    }

    pub(super) fn row(&self, name: &str) -> &Projection {
        self.of(name).row.as_ref().unwrap()
    }

    pub(super) fn state(&self, name: &str) -> String {
        self.row(name).state.to_string()
    }

    pub(super) fn outcome(&self, name: &str) -> Outcome {
        self.judge(&self.id(name)).unwrap().outcome
    }

    pub(super) fn ruling(&self, name: &str) -> Ruling {
        self.judge(&self.id(name)).unwrap().ruling
    }

    pub(super) fn has_finding(&self, name: &str, code: &str) -> bool {
        self.row(name).findings.iter().any(|finding| finding.code == code)
    }

    pub(super) fn finding(&self, name: &str, code: &str) -> &str {
        let found = self.row(name).findings.iter().find(|finding| finding.code == code);
        &found.unwrap_or_else(|| panic!("no {code} among {:?}", self.row(name).findings)).text
    }

    /// A person acts on what they see now.
    pub(super) fn act(&mut self, who: &str, name: &str, input: ActionInput) -> Result<Decision, Refusal> {
        let act = self.form(who, name, input);
        self.press(name, &act)
    }

    /// The form as it would be filled in now.
    pub(super) fn form(&self, who: &str, name: &str, input: ActionInput) -> Act {
        let record = self.of(name);
        Act {
            key: ActionKey::parse(format!("{who}-{}-{}", input.action(), record.version)).unwrap(),
            actor: person(who),
            reason: "seen in the destination's pages".into(),
            confirmation: Some(super::super::confirmation_text(&record.head.key).into()),
            seen_version: record.version,
            input,
        }
    }

    pub(super) fn press(&mut self, name: &str, act: &Act) -> Result<Decision, Refusal> {
        let id = self.id(name);
        let new_id = OperationId::parse(format!("{id}-next")).unwrap();
        self.0.ask(&id, &Command::Act { act: act.clone(), new_id }).unwrap()
    }

    /// Two people act: ana asks, ben completes.
    pub(super) fn act_by_two(&mut self, name: &str, input: ActionInput) -> Result<Decision, Refusal> {
        let act = self.form("ana", name, input);
        self.press(name, &act)?;
        self.complete("ben", name, &act.key)
    }

    pub(super) fn complete(&mut self, who: &str, name: &str, awaited: &ActionKey) -> Result<Decision, Refusal> {
        let id = self.id(name);
        let record = self.of(name);
        let command = Command::Complete {
            awaited: awaited.clone(),
            second: person(who),
            seen_version: record.version,
            confirmation: Some(super::super::confirmation_text(&record.head.key).into()),
            new_id: OperationId::parse(format!("{id}-next")).unwrap(),
        };
        self.0.ask(&id, &command).unwrap()
    }
}

pub(super) fn person(name: &str) -> Actor {
    Actor { id: PrincipalId::parse(name).unwrap(), name: name.into(), role: Role::Operator }
}

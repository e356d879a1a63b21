//! A record without a database: it tells lines to the rules as intake does, and lets people act.

use std::collections::BTreeMap;

use crate::action::{Act, ActionInput};
use crate::contract::Contract;
use crate::decision::{self, Ruling};
use crate::evidence::Trust;
use crate::intake::{About, Line, Says, proposal_fact};
use crate::json::Json;
use crate::name::{
    ActionKey, DestinationName, IntentId, OperationId, OperationKey, PrincipalId, SourceName, SourceOperation, ToolName,
};
use crate::operation::{Fact, Head, Mode, Projection, Record};
use crate::outcome::{self, Outcome, Surroundings};
use crate::permission::{Actor, Role};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::tool::{Class, Tool};
use crate::transition::{Command, Decision, decide};

pub(super) struct Desk {
    records: BTreeMap<String, Record>,
    names: BTreeMap<String, String>,
    arguments: BTreeMap<String, Json>,
    tools: BTreeMap<String, Tool>,
    source: SourceName,
    trust: Trust,
    pub(super) now: Timestamp,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            records: BTreeMap::new(),
            names: BTreeMap::new(),
            arguments: BTreeMap::new(),
            tools: BTreeMap::new(),
            source: SourceName::parse("feed").unwrap(),
            trust: Trust::Verified,
            now: Timestamp::from_micros(0),
        }
    }

    pub(super) fn trust(&mut self, trust: Trust) {
        self.trust = trust;
    }

    pub(super) fn declare(&mut self, name: &str, class: Class, contract: impl Fn(&mut Contract)) {
        let mut tool = Tool::undeclared(ToolName::parse(name).unwrap());
        (tool.class, tool.declared, tool.executable) = (class, true, true);
        tool.destination = DestinationName::parse("psp").ok();
        contract(&mut tool.contract);
        self.tools.insert(name.into(), tool);
    }

    pub(super) fn tell_lines(&mut self, case: &str, count: usize) {
        for line in case.lines().take(count) {
            self.tell(line);
        }
    }

    /// Tells one line; the clock stands at its `ts`, or later if it stood later.
    pub(super) fn tell(&mut self, text: &str) {
        let line = Line::parse(text.as_bytes(), &self.source).unwrap();
        self.now = self.now.max(line.at);
        match line.says {
            Says::Operation { name, key, tool, destination, workflow: _, about } => {
                let id = self.find_or_make(&name, key, tool, destination);
                self.about(&id, &name, line.at, about);
            }
            Says::Delivery { key, evidence, .. } => {
                let linked: Vec<String> = self
                    .records
                    .values()
                    .filter(|record| {
                        let sent = record.destination_keys();
                        key.as_ref().is_some_and(|key| {
                            record.head.key.as_str() == key || sent.iter().any(|one| one.as_str() == key)
                        })
                    })
                    .map(|record| record.head.id.to_string())
                    .collect();
                for id in linked {
                    self.record(&id, evidence.clone().map(Fact::Evidence).into_iter().collect());
                }
            }
            Says::Acted { names, fact } => {
                for name in names {
                    let id = self.names[name.as_str()].clone();
                    self.record(&id, vec![fact.clone()]);
                }
            }
            Says::LayerDeclared(_) => {}
        }
        self.refold();
    }

    /// Makes an operation one that we send ourselves, with a key that its sender no longer uses.
    pub(super) fn guard(&mut self, name: &str) {
        let id = self.of(name).head.id.to_string();
        self.records.get_mut(&id).unwrap().head.mode = Mode::Guarded;
        self.refold();
    }

    pub(super) fn wait_until(&mut self, time: &str) {
        self.now = Timestamp::parse_rfc3339(time).unwrap();
        self.refold();
    }

    fn about(&mut self, id: &str, name: &SourceOperation, at: Timestamp, about: About) {
        let fact = match about {
            About::Proposed(proposed) | About::CompensationProposed { proposed, .. } => {
                let record = &self.records[id];
                let tool = self.tool_of(record);
                let fact = proposal_fact(record, self.arguments.get(id), &tool, &proposed, at, &self.source, name);
                if let Some((_, json)) = proposed.arguments {
                    self.arguments.entry(id.into()).or_insert(json);
                }
                fact
            }
            About::Report(report) => Fact::Report(report),
            About::Fact(fact) => fact,
        };
        self.record(id, vec![fact]);
    }

    fn find_or_make(
        &mut self,
        name: &SourceOperation,
        key: Option<OperationKey>,
        tool: Option<ToolName>,
        destination: Option<DestinationName>,
    ) -> String {
        if let Some(id) = self.names.get(name.as_str()) {
            return id.clone();
        }
        let same_key = key.as_ref().and_then(|key| self.records.values().find(|record| record.head.key == *key));
        let id = same_key.map_or_else(|| name.to_string(), |record| record.head.id.to_string());
        self.names.insert(name.to_string(), id.clone());
        if !self.records.contains_key(&id) {
            let op = OperationId::parse(id.clone()).unwrap();
            let key_given = key.is_some();
            let head = Head {
                intent_id: IntentId::from(op.clone()),
                id: op,
                mode: Mode::Observed,
                key: key.unwrap_or_else(|| OperationKey::parse(format!("~feed/{name}")).unwrap()),
                key_given,
                tool,
                destination,
                adopts: None,
                retries_of: None,
                supersedes: None,
                compensates: None,
                workflow: None,
                recorded_at: self.now,
            };
            self.records.insert(id.clone(), Record::new(head));
        }
        id
    }

    fn record(&mut self, id: &str, facts: Vec<Fact>) {
        let decision = self.decide(id, &Command::Record(facts)).unwrap();
        self.commit(id, decision);
    }

    fn refold(&mut self) {
        // Twice: what depends on another operation's row settles in the second round.
        for _ in 0..2 {
            for id in self.records.keys().cloned().collect::<Vec<_>>() {
                let decision = self.decide(&id, &Command::Refold).unwrap();
                self.commit(&id, decision);
            }
        }
    }

    fn decide(&self, id: &str, command: &Command) -> Result<Decision, Refusal> {
        let record = &self.records[id];
        decide(record, &self.around(record), command, self.now)
    }

    fn commit(&mut self, id: &str, decision: Decision) {
        let record = self.records.get_mut(id).unwrap();
        if decision.is_empty(record) {
            return;
        }
        record.version += 1;
        record.facts.extend(decision.facts);
        record.row = Some(decision.row);
        if let Some(mut child) = decision.creates {
            child.version = 1;
            self.records.insert(child.head.id.to_string(), *child);
        }
    }

    fn tool_of(&self, record: &Record) -> Tool {
        let name = record.head.tool.clone().unwrap_or_else(|| ToolName::parse("unnamed").unwrap());
        self.tools.get(name.as_str()).cloned().unwrap_or_else(|| Tool::undeclared(name))
    }

    fn around(&self, record: &Record) -> Surroundings {
        let others = || self.records.values().filter(|other| other.head.id != record.head.id);
        let keys = record.destination_keys();
        Surroundings {
            tool: self.tool_of(record),
            trusts: BTreeMap::from([(self.source.clone(), self.trust)]),
            relatives: others().filter(|other| other.head.intent_id == record.head.intent_id).cloned().collect(),
            sharers: others()
                .filter(|other| other.head.intent_id != record.head.intent_id)
                .filter(|other| other.head.destination == record.head.destination)
                .filter(|other| other.destination_keys().iter().any(|key| keys.contains(key)))
                .cloned()
                .collect(),
            ..Surroundings::of_tool(self.tool_of(record))
        }
    }

    fn of(&self, name: &str) -> &Record {
        &self.records[self.names.get(name).map_or(name, String::as_str)]
    }

    pub(super) fn operations(&self) -> usize {
        self.records.len()
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
        let record = self.of(name);
        outcome::fold(record, &self.around(record), self.now)
    }

    pub(super) fn ruling(&self, name: &str) -> Ruling {
        let record = self.of(name);
        decision::rule(record, &self.around(record), &self.outcome(name), None, self.now)
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
        let id = self.of(name).head.id.to_string();
        let new_id = OperationId::parse(format!("{id}-next")).unwrap();
        let decision = self.decide(&id, &Command::Act { act: act.clone(), new_id })?;
        self.commit(&id, decision.clone());
        Ok(decision)
    }

    /// Two people act: ana asks, ben completes.
    pub(super) fn act_by_two(&mut self, name: &str, input: ActionInput) -> Result<Decision, Refusal> {
        let act = self.form("ana", name, input);
        self.press(name, &act)?;
        self.complete("ben", name, &act.key)
    }

    pub(super) fn complete(&mut self, who: &str, name: &str, awaited: &ActionKey) -> Result<Decision, Refusal> {
        let record = self.of(name);
        let id = record.head.id.to_string();
        let command = Command::Complete {
            awaited: awaited.clone(),
            second: person(who),
            seen_version: record.version,
            confirmation: Some(super::super::confirmation_text(&record.head.key).into()),
            new_id: OperationId::parse(format!("{id}-next")).unwrap(),
        };
        let decision = self.decide(&id, &command)?;
        self.commit(&id, decision.clone());
        Ok(decision)
    }
}

pub(super) fn person(name: &str) -> Actor {
    Actor { id: PrincipalId::parse(name).unwrap(), name: name.into(), role: Role::Operator }
}

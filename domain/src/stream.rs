//! One source's lines told to the rules without a store: a set of records that takes lines, folds them and rules.
//!
//! `explain` shows it, and the rules' own tests stand on it. It makes operations and links deliveries as the
//! ledger's intake does; deliveries may come before what they are about. Nothing is kept beyond its life.

use std::collections::{BTreeMap, BTreeSet};

use crate::decision::{self, Ruling};
use crate::evidence::{Evidence, Trust};
use crate::intake::{About, Line, Says, proposal_fact};
use crate::json::Json;
use crate::name::{DestinationName, IntentId, OperationId, OperationKey, SourceName, SourceOperation, ToolName};
use crate::operation::{Fact, Head, Mode, Record};
use crate::outcome::{self, Outcome, Surroundings};
use crate::permission::Actor;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::tool::Tool;
use crate::transition::{Command, Decision, decide};

/// Records in memory, told by one source.
#[derive(Debug, Clone)]
pub struct Stream {
    source: SourceName,
    trusts: BTreeMap<SourceName, Trust>,
    tools: BTreeMap<ToolName, Tool>,
    now: Timestamp,
    records: BTreeMap<OperationId, Record>,
    names: BTreeMap<SourceOperation, OperationId>,
    by_key: BTreeMap<OperationKey, OperationId>,
    by_intent: BTreeMap<IntentId, BTreeSet<OperationId>>,
    /// Who was sent under a destination key.
    by_destination_key: BTreeMap<String, BTreeSet<OperationId>>,
    /// When an operation's answer changes by time alone.
    due: BTreeSet<(Timestamp, OperationId)>,
    /// Evidence by the key in its delivery's metadata.
    deliveries: BTreeMap<String, Vec<Evidence>>,
    /// The first arguments of each operation.
    arguments: BTreeMap<OperationId, Json>,
}

/// What telling a line came to. Each operation is named once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// The operations it speaks of; for a delivery those it was linked to.
    pub named: Vec<OperationId>,
    /// Other operations whose row changed because of it.
    pub others: Vec<OperationId>,
    /// Operations whose row changed because its time is later than the clock was.
    pub by_time: Vec<OperationId>,
}

/// One operation with what the rules say of it at the stream's time.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    /// What is recorded.
    pub record: &'a Record,
    /// What the facts say.
    pub outcome: Outcome,
    /// What may be done now.
    pub ruling: Ruling,
}

impl Stream {
    /// A stream that nothing has been told yet. Its clock stands before all times.
    pub fn new(source: SourceName, trust: Trust) -> Self {
        Self {
            trusts: BTreeMap::from([(source.clone(), trust)]),
            source,
            tools: BTreeMap::new(),
            now: Timestamp::from_micros(i64::MIN),
            records: BTreeMap::new(),
            names: BTreeMap::new(),
            by_key: BTreeMap::new(),
            by_intent: BTreeMap::new(),
            by_destination_key: BTreeMap::new(),
            due: BTreeSet::new(),
            deliveries: BTreeMap::new(),
            arguments: BTreeMap::new(),
        }
    }

    /// Where the lines come from.
    pub const fn source(&self) -> &SourceName {
        &self.source
    }

    /// The stream's clock: the latest time told or waited for.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Says how far a source is believed. What was told already is not folded again.
    pub fn believe(&mut self, source: SourceName, trust: Trust) {
        self.trusts.insert(source, trust);
    }

    /// Declares a tool. What was told already is not folded again.
    pub fn declare(&mut self, tool: Tool) {
        self.tools.insert(tool.name.clone(), tool);
    }

    /// Tells one line; the clock stands at its time, or later if it stood later. A refusal is one of the rules'.
    pub fn tell(&mut self, line: &Line) -> Result<Told, Refusal> {
        let mut by_time = self.wait_until(line.at)?;
        let mut touched = BTreeSet::new();
        let named = match &line.says {
            Says::Operation { name, key, tool, destination, workflow, about } => {
                let compensated = match about {
                    About::CompensationProposed { compensates, .. } => Some(self.find_or_make(compensates, None)),
                    About::Proposed(_) | About::Report(_) | About::Fact(_) => None,
                };
                let known = Known {
                    key: key.clone(),
                    tool: tool.clone(),
                    destination: destination.clone(),
                    workflow: workflow.clone(),
                    compensates: compensated.clone(),
                };
                let id = self.find_or_make(name, Some(known));
                if let Some(fact) = self.fact_about(&id, name, line.at, about) {
                    self.record(&id, fact, &mut touched)?;
                }
                if let Some(parent) = compensated {
                    let fact = Fact::CompensationProposed { at: line.at, child: id.clone() };
                    self.record(&parent, fact, &mut touched)?;
                    vec![id, parent]
                } else {
                    vec![id]
                }
            }
            Says::Delivery { key: Some(key), evidence: Some(evidence), .. } => {
                let known = self.deliveries.entry(key.clone()).or_default();
                if !known.contains(evidence) {
                    known.push(evidence.clone());
                }
                let linked = self.holders_of(key);
                for id in &linked {
                    self.record(id, Fact::Evidence(evidence.clone()), &mut touched)?;
                }
                linked
            }
            Says::Acted { names, fact } => {
                let ids: Vec<_> = names.iter().map(|name| self.find_or_make(name, None)).collect();
                for id in &ids {
                    self.record(id, fact.clone(), &mut touched)?;
                }
                ids
            }
            Says::Delivery { .. } | Says::LayerDeclared(_) => Vec::new(),
        };
        for id in &named {
            self.link_deliveries(id, &mut touched)?;
        }
        let mut others = self.refold(touched)?;
        let mut seen = BTreeSet::new();
        let named = named.into_iter().filter(|id| seen.insert(id.clone())).collect();
        others.retain(|id| seen.insert(id.clone()));
        by_time.retain(|id| seen.insert(id.clone()));
        Ok(Told { named, others, by_time })
    }

    /// Lets time pass; the operations whose row changed by it. The clock never goes back.
    pub fn wait_until(&mut self, time: Timestamp) -> Result<Vec<OperationId>, Refusal> {
        self.now = self.now.max(time);
        let due = self.due.iter().take_while(|(at, _)| *at <= self.now).map(|(_, id)| id.clone()).collect();
        self.refold(due)
    }

    /// Asks the rules for one command, and records what they decide. `None` if there is no such operation.
    pub fn ask(&mut self, id: &OperationId, command: &Command) -> Option<Result<Decision, Refusal>> {
        let decision = self.decide(self.records.get(id)?, command);
        Some(decision.and_then(|decision| {
            let touched = self.apply(id, decision.clone());
            self.refold(touched)?;
            Ok(decision)
        }))
    }

    /// The operation that goes by a source's name.
    pub fn find(&self, name: &SourceOperation) -> Option<&OperationId> {
        self.names.get(name)
    }

    /// Every operation.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// One operation.
    pub fn record_of(&self, id: &OperationId) -> Option<&Record> {
        self.records.get(id)
    }

    /// One operation with what the rules say of it now, to a person without naming one.
    pub fn judge(&self, id: &OperationId) -> Option<Judged<'_>> {
        let record = self.records.get(id)?;
        let around = self.around(record);
        let outcome = outcome::fold(record, &around, self.now);
        let ruling = decision::rule(record, &around, &outcome, NOBODY, self.now);
        Some(Judged { record, outcome, ruling })
    }

    /// The declared tool, or what is assumed of an undeclared one.
    pub fn tool_of(&self, record: &Record) -> Tool {
        let name = record.head.tool.clone().unwrap_or_else(ToolName::unnamed);
        self.tools.get(&name).cloned().unwrap_or_else(|| Tool::undeclared(name))
    }

    /// What the rules need to know beside the record. The only place that gathers it.
    fn around(&self, record: &Record) -> Surroundings {
        let head = &record.head;
        let others = |ids: &BTreeSet<OperationId>| -> Vec<&Record> {
            ids.iter().filter(|id| **id != head.id).filter_map(|id| self.records.get(id)).collect()
        };
        let relatives = self.by_intent.get(&head.intent_id).map(others).unwrap_or_default();
        let users: BTreeSet<OperationId> = record
            .destination_keys()
            .into_iter()
            .filter_map(|key| self.by_destination_key.get(key.as_str()))
            .flatten()
            .cloned()
            .collect();
        // Another intent, the same destination: equal `dest` is equal scope (cases §0).
        let sharers = others(&users)
            .into_iter()
            .filter(|other| other.head.intent_id != head.intent_id)
            .filter(|other| head.destination.is_some() && other.head.destination == head.destination);
        let children = self.records.values().filter(|other| other.head.compensates.as_ref() == Some(&head.id));
        Surroundings {
            trusts: self.trusts.clone(),
            sharers: sharers.cloned().collect(),
            relatives: relatives.into_iter().cloned().collect(),
            children: children.cloned().collect(),
            ..Surroundings::of_tool(self.tool_of(record))
        }
    }

    /// Makes an operation a guarded one, as if it had been proposed here.
    #[cfg(test)]
    pub(crate) fn guard(&mut self, id: &OperationId) {
        if let Some(record) = self.records.get_mut(id) {
            record.head.mode = Mode::Guarded;
        }
        self.refold(BTreeSet::from([id.clone()])).unwrap();
    }

    fn decide(&self, record: &Record, command: &Command) -> Result<Decision, Refusal> {
        decide(record, &self.around(record), command, self.now)
    }

    /// Records one fact, and notes whose answer may change because of it.
    fn record(&mut self, id: &OperationId, fact: Fact, touched: &mut BTreeSet<OperationId>) -> Result<(), Refusal> {
        let Some(record) = self.records.get(id) else { return Ok(()) };
        let decision = self.decide(record, &Command::Record(vec![fact]))?;
        touched.extend(self.apply(id, decision));
        Ok(())
    }

    /// Folds operations again, and then whatever they touch, each once; those whose row changed.
    fn refold(&mut self, ids: BTreeSet<OperationId>) -> Result<Vec<OperationId>, Refusal> {
        let (mut changed, mut done, mut next) = (Vec::new(), BTreeSet::new(), ids);
        while !next.is_empty() {
            let mut touched = BTreeSet::new();
            for id in next {
                let Some(record) = self.records.get(&id) else { continue };
                let version = record.version;
                let decision = self.decide(record, &Command::Refold)?;
                let concerned = self.apply(&id, decision);
                if self.records.get(&id).is_some_and(|record| record.version > version) {
                    touched.extend(concerned);
                    changed.push(id.clone());
                }
                done.insert(id);
            }
            next = touched.into_iter().filter(|id| !done.contains(id)).collect();
        }
        Ok(changed)
    }

    /// Takes a decision into the record; those who may be touched by it.
    fn apply(&mut self, id: &OperationId, decision: Decision) -> BTreeSet<OperationId> {
        let Some(record) = self.records.get_mut(id) else { return BTreeSet::new() };
        let concerned = decision.refold.iter().cloned().collect();
        if decision.is_empty(record) {
            return concerned;
        }
        if let Some(at) = record.row.as_ref().and_then(|row| row.next_change_at) {
            self.due.remove(&(at, id.clone()));
        }
        self.due.extend(decision.row.next_change_at.map(|at| (at, id.clone())));
        for fact in &decision.facts {
            if let Fact::Report(report) = fact
                && let Some(key) = &report.dest_key
            {
                self.by_destination_key.entry(key.as_str().to_owned()).or_default().insert(id.clone());
            }
        }
        record.version += 1;
        record.facts.extend(decision.facts);
        record.row = Some(decision.row);
        if let Some(mut child) = decision.creates {
            child.version = 1;
            self.put(*child);
        }
        concerned
    }

    fn put(&mut self, record: Record) {
        let (id, head) = (record.head.id.clone(), &record.head);
        self.by_key.entry(head.key.clone()).or_insert_with(|| id.clone());
        self.by_intent.entry(head.intent_id.clone()).or_default().insert(id.clone());
        for key in record.destination_keys() {
            self.by_destination_key.entry(key.as_str().to_owned()).or_default().insert(id.clone());
        }
        self.due.extend(record.row.as_ref().and_then(|row| row.next_change_at).map(|at| (at, id.clone())));
        self.records.insert(id, record);
    }

    /// The operation of this name; if it is new, the one of its key; else one that is made.
    fn find_or_make(&mut self, name: &SourceOperation, known: Option<Known>) -> OperationId {
        if let Some(id) = self.names.get(name) {
            return id.clone();
        }
        let known = known.unwrap_or_default();
        let same_key = known.key.as_ref().and_then(|key| self.by_key.get(key)).cloned();
        let id = same_key.unwrap_or_else(|| {
            let head = self.head(name, known);
            let id = head.id.clone();
            self.put(Record::new(head));
            id
        });
        self.names.insert(name.clone(), id.clone());
        id
    }

    fn head(&self, name: &SourceOperation, known: Known) -> Head {
        let id = OperationId::of_name(name);
        Head {
            intent_id: IntentId::from(id.clone()),
            id,
            mode: Mode::Observed,
            key_given: known.key.is_some(),
            key: known.key.unwrap_or_else(|| OperationKey::of_name(&self.source, name)),
            tool: known.tool,
            destination: known.destination,
            adopts: None,
            retries_of: None,
            supersedes: None,
            compensates: known.compensates,
            workflow: known.workflow,
            step: None,
            recorded_at: self.now,
        }
    }

    fn fact_about(&mut self, id: &OperationId, name: &SourceOperation, at: Timestamp, about: &About) -> Option<Fact> {
        let proposed = match about {
            About::Report(report) => return Some(Fact::Report(report.clone())),
            About::Fact(fact) => return Some(fact.clone()),
            About::Proposed(proposed) | About::CompensationProposed { proposed, .. } => proposed,
        };
        let record = self.records.get(id)?;
        let tool = self.tool_of(record);
        let fact = proposal_fact(record, self.arguments.get(id), &tool, proposed, at, &self.source, name);
        if let Some((_, json)) = &proposed.arguments {
            self.arguments.entry(id.clone()).or_insert_with(|| json.clone());
        }
        Some(fact)
    }

    /// Who a delivery with this key in its metadata is about: the operation of that key, and all that were sent under it.
    fn holders_of(&self, key: &str) -> Vec<OperationId> {
        let owner = OperationKey::parse(key).ok().and_then(|key| self.by_key.get(&key)).cloned();
        let users = self.by_destination_key.get(key).into_iter().flatten().cloned();
        users.chain(owner).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Links the deliveries that came before the operation or the send that they name.
    fn link_deliveries(&mut self, id: &OperationId, touched: &mut BTreeSet<OperationId>) -> Result<(), Refusal> {
        let Some(record) = self.records.get(id) else { return Ok(()) };
        let keys = record.destination_keys().into_iter().map(super::name::DestinationKey::as_str);
        let keys: BTreeSet<&str> = keys.chain([record.head.key.as_str()]).collect();
        let waiting: Vec<Evidence> =
            keys.into_iter().filter_map(|key| self.deliveries.get(key)).flatten().cloned().collect();
        for evidence in waiting {
            let is_there = |record: &Record| record.evidence().any(|other| *other == evidence);
            if !self.records.get(id).is_some_and(is_there) {
                self.record(id, Fact::Evidence(evidence), touched)?;
            }
        }
        Ok(())
    }
}

/// Judging for a person without naming one.
const NOBODY: Option<&Actor> = None;

/// What a line tells about an operation that may be new.
#[derive(Default)]
struct Known {
    key: Option<OperationKey>,
    tool: Option<ToolName>,
    destination: Option<DestinationName>,
    workflow: Option<String>,
    compensates: Option<OperationId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    fn feed() -> Stream {
        Stream::new(SourceName::parse("feed").unwrap(), Trust::Verified)
    }

    fn read(text: &str) -> Line {
        Line::parse(text.as_bytes(), &SourceName::parse("feed").unwrap()).unwrap()
    }

    fn assert_settled(stream: &Stream, when: &str) {
        for record in stream.records() {
            let again = stream.decide(record, &Command::Refold).unwrap();
            // A finding's words may hold an age, which runs on.
            let row = |row: &crate::operation::Projection| {
                let codes: Vec<_> = row.findings.iter().map(|finding| finding.code.clone()).collect();
                (crate::operation::Projection { findings: Vec::new(), ..row.clone() }, codes)
            };
            assert_eq!(record.row.as_ref().map(row), Some(row(&again.row)), "{} {when}", record.head.id);
        }
    }

    #[test]
    fn rows_are_folded_again_exactly_when_their_answer_changes() {
        for (number, case) in cases::ALL.iter().enumerate() {
            let mut stream = feed();
            for (index, line) in case.lines().enumerate() {
                stream.tell(&read(line)).unwrap();
                assert_settled(&stream, &format!("after line {} of case {}", index + 1, number + 1));
            }
            for minutes in [1, 3, 15, 60, 24 * 60, 30 * 24 * 60] {
                let later = stream.now().plus(std::time::Duration::from_mins(minutes));
                stream.wait_until(later).unwrap();
                assert_settled(&stream, &format!("{minutes} min after case {}", number + 1));
            }
        }
    }

    #[test]
    fn a_delivery_may_come_before_what_it_is_about() {
        let mut lines: Vec<&str> = cases::R01.lines().collect();
        lines.rotate_right(2);
        let mut stream = feed();
        let told: Vec<_> = lines.iter().map(|line| stream.tell(&read(line)).unwrap()).collect();
        assert_eq!(told[0], Told::default());
        let id = stream.find(&SourceOperation::parse("op_101").unwrap()).unwrap();
        assert_eq!(stream.judge(id).unwrap().outcome.state.to_string(), "contradicted(duplicate)");
    }

    #[test]
    fn an_act_may_name_an_operation_that_nothing_else_was_told_of() {
        let mut stream = feed();
        let line = r#"{"ts":"2026-10-05T09:00:00Z","ev":"operator.action","op":"x","act":"a1","verb":"retry"}"#;
        let told = stream.tell(&read(line)).unwrap();
        assert_eq!(told.named.iter().map(OperationId::as_str).collect::<Vec<_>>(), ["x"]);
        assert_eq!(stream.tell(&read(line)).unwrap().named.len(), 1);
        assert_eq!(stream.records().map(|record| record.facts.len()).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_compensation_touches_what_it_undoes() {
        let mut stream = feed();
        let told: Vec<_> = cases::R16.lines().map(|line| stream.tell(&read(line)).unwrap()).collect();
        assert_eq!(told[2].named.iter().map(OperationId::as_str).collect::<Vec<_>>(), ["op_1603", "op_1601"]);
    }

    #[test]
    fn a_long_name_still_makes_an_operation() {
        let mut stream = feed();
        let name = "x".repeat(255);
        let line = format!(r#"{{"ts":"2026-10-05T09:00:00Z","ev":"attempt.started","op":"{name}"}}"#);
        let told = stream.tell(&read(&line)).unwrap();
        assert_eq!(told.named[0].as_str().len(), 64);
    }
}

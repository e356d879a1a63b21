//! One batch of lines inside one transaction: which operations they mean, which facts they add, what is kept.
//!
//! Four steps. *Learn* what each name's lines say together (key, tool, destination), so that a line that lacks the key
//! finds the operation of the one that has it. *Resolve* each name: known to this source, else by operation key, else
//! new. *Add* the facts, deliveries last, because they link to keys that other lines of the batch bring. *Decide*
//! each touched operation once, fold again whatever that touches, and save.

use std::collections::{HashMap, HashSet};

use tallystick_domain::evidence::Evidence;
use tallystick_domain::fingerprint::{Hash, Json};
use tallystick_domain::intake::{About, Line, Proposed, Says, proposal_fact};
use tallystick_domain::name::{
    DestinationName, IntentId, OperationId, OperationKey, SourceName, SourceOperation, ToolName,
};
use tallystick_domain::operation::{Fact, Head, Mode, Proposal};
use tallystick_domain::permission::Actor;
use tallystick_domain::time::Timestamp;

use super::{IntakeReport, ReadLine};
use crate::LedgerError;
use crate::desk::Desk;
use crate::port::Ids;
use crate::store::Tx;
use crate::store::line::{KeptArguments, KeptLine, KeyUse, Standing};

/// Arguments larger than this are not read again for a diff; their hashes still tell them apart.
const DIFF_LIMIT_BYTES: i64 = 8 * 1024 * 1024;

/// What the lines of one name say about it together.
#[derive(Default)]
struct Learnt {
    key: Option<OperationKey>,
    tool: Option<ToolName>,
    destination: Option<DestinationName>,
    workflow: Option<String>,
    compensates: Option<SourceOperation>,
}

/// What the batch will leave behind, beside operations.
#[derive(Default)]
struct Kept {
    lines: Vec<KeptLine>,
    names: Vec<(SourceOperation, OperationId)>,
    arguments: Vec<KeptArguments>,
    key_uses: Vec<KeyUse>,
    sources: HashSet<(SourceName, OperationId)>,
    /// Lines in which a layer declares itself.
    layers: Vec<Hash>,
}

pub(super) struct Batch<'b, 't> {
    desk: Desk<'t>,
    source: &'b SourceName,
    report: &'b mut IntakeReport,
    /// The source's names, resolved.
    names: HashMap<SourceOperation, OperationId>,
    /// Operation keys of new operations.
    new_keys: HashMap<String, OperationId>,
    /// The first arguments of operations, where they came with this batch.
    first_arguments: HashMap<OperationId, Json>,
    /// In the order in which they were touched.
    touched: Vec<OperationId>,
    kept: Kept,
}

impl<'b, 't> Batch<'b, 't> {
    pub(super) async fn take(
        tx: &'t mut Tx,
        ids: &dyn Ids,
        now: Timestamp,
        by: &'t Actor,
        source: &'b SourceName,
        lines: &[&ReadLine],
        report: &'b mut IntakeReport,
    ) -> Result<(), LedgerError> {
        let mut batch = Self {
            desk: Desk::open(tx, now, by).await?,
            source,
            report,
            names: HashMap::new(),
            new_keys: HashMap::new(),
            first_arguments: HashMap::new(),
            touched: Vec::new(),
            kept: Kept::default(),
        };
        let (order, learnt) = learn(lines);
        batch.resolve(ids, &order, &learnt).await?;
        batch.add_lines(lines).await?;
        batch.link_waiting_deliveries().await?;
        batch.settle(now).await
    }

    /// Finds or makes the operation of every name.
    async fn resolve(
        &mut self,
        ids: &dyn Ids,
        order: &[SourceOperation],
        learnt: &HashMap<SourceOperation, Learnt>,
    ) -> Result<(), LedgerError> {
        let texts: Vec<&str> = order.iter().map(SourceOperation::as_str).collect();
        for (name, id) in self.desk.tx.names_find(self.source, &texts).await? {
            let name = SourceOperation::parse(name).map_err(|error| corrupt(&error))?;
            self.names.insert(name, id);
        }
        let unknown: Vec<&SourceOperation> = order.iter().filter(|name| !self.names.contains_key(*name)).collect();
        let mut keys = HashMap::with_capacity(unknown.len());
        for name in &unknown {
            keys.insert(*name, self.key_of(name, &learnt[*name]));
        }
        let texts: Vec<&str> = keys.values().map(|(key, _)| key.as_str()).collect();
        let by_key = self.desk.tx.operation_ids_by_key(&texts).await?;
        let mut made = Vec::new();
        for name in unknown {
            let (key, _) = &keys[name];
            let found = by_key.get(key.as_str()).or_else(|| self.new_keys.get(key.as_str())).cloned();
            let id = if let Some(id) = found {
                id
            } else {
                let id = OperationId::parse(ids.new_id(self.desk.now)).map_err(|error| corrupt(&error))?;
                self.new_keys.insert(key.as_str().to_owned(), id.clone());
                made.push((name, id.clone()));
                id
            };
            self.names.insert(name.clone(), id.clone());
            self.kept.names.push((name.clone(), id));
        }
        let new: HashSet<&OperationId> = made.iter().map(|(_, id)| id).collect();
        let existing: Vec<OperationId> = self.names.values().filter(|id| !new.contains(id)).cloned().collect();
        self.desk.lay(&existing).await?;
        for (name, id) in made {
            let head = self.head(id.clone(), &keys[name], &learnt[name]);
            self.desk.put_new(head);
            self.touch(&id);
            self.report.operations += 1;
        }
        Ok(())
    }

    /// The key that the name's lines give, or one made of the names where none is given.
    fn key_of(&self, name: &SourceOperation, learnt: &Learnt) -> (OperationKey, bool) {
        match &learnt.key {
            Some(key) => (key.clone(), true),
            None => (OperationKey::of_name(self.source, name), false),
        }
    }

    fn head(&self, id: OperationId, (key, key_given): &(OperationKey, bool), learnt: &Learnt) -> Head {
        Head {
            intent_id: IntentId::from(id.clone()),
            id,
            mode: Mode::Observed,
            key: key.clone(),
            key_given: *key_given,
            tool: learnt.tool.clone(),
            destination: learnt.destination.clone(),
            adopts: None,
            retries_of: None,
            supersedes: None,
            compensates: learnt.compensates.as_ref().and_then(|name| self.names.get(name)).cloned(),
            workflow: learnt.workflow.clone(),
            step: None,
            recorded_at: self.desk.now,
        }
    }

    async fn add_lines(&mut self, lines: &[&ReadLine]) -> Result<(), LedgerError> {
        let mut deliveries = Vec::new();
        for read in lines {
            match &read.line.says {
                Says::Delivery { key: Some(key), evidence, .. } => deliveries.push((*read, key, evidence.as_ref())),
                Says::Delivery { key: None, .. } => {
                    self.report.unlinked += 1;
                    self.keep(read, None, None);
                }
                Says::LayerDeclared(_) => {
                    self.report.unlinked += 1;
                    self.kept.layers.push(read.hash);
                    self.keep(read, None, None);
                }
                Says::Operation { name, about, .. } => {
                    let id = self.named(name)?;
                    let is_new = self.add_about(&id, name, read.line.at, about).await?;
                    self.count(is_new);
                    self.keep(read, Some(id), None);
                }
                Says::Acted { names, fact } => {
                    let is_new = self.add_act(names, fact)?;
                    self.count(is_new);
                    let first = names.first().map(|name| self.named(name)).transpose()?;
                    self.keep(read, first, None);
                }
            }
        }
        self.add_deliveries(&deliveries).await
    }

    fn count(&mut self, is_new: bool) {
        if is_new {
            self.report.recorded += 1;
        } else {
            self.report.repeated += 1;
        }
    }

    fn keep(&mut self, read: &ReadLine, op_id: Option<OperationId>, link_key: Option<String>) {
        self.kept.lines.push(KeptLine { hash: read.hash, bytes: read.bytes.clone(), op_id, link_key });
    }

    fn named(&self, name: &SourceOperation) -> Result<OperationId, LedgerError> {
        self.names.get(name).cloned().ok_or_else(|| corrupt(name))
    }

    fn touch(&mut self, id: &OperationId) {
        // A batch touches an operation several times in a row; the sheet itself is found by hash.
        if self.touched.last() != Some(id) {
            self.touched.push(id.clone());
        }
    }

    /// Adds one fact with everything that is kept because of it; false if it was there.
    fn add(&mut self, id: &OperationId, fact: Fact, source: &SourceName) -> Result<bool, LedgerError> {
        let key_use = match &fact {
            Fact::Report(report) => report.dest_key.clone(),
            _ => None,
        };
        if !self.desk.add_fact(id, fact)? {
            return Ok(false);
        }
        self.touch(id);
        self.kept.sources.insert((source.clone(), id.clone()));
        if let Some(key) = key_use {
            let head = &self.desk.sheet(id)?.record.head;
            let destination = head.destination.as_ref().map(ToString::to_string).unwrap_or_default();
            self.kept.key_uses.push(KeyUse { key: key.into(), op_id: id.clone(), destination });
        }
        Ok(true)
    }

    async fn add_about(
        &mut self,
        id: &OperationId,
        name: &SourceOperation,
        at: Timestamp,
        about: &About,
    ) -> Result<bool, LedgerError> {
        let source = self.source;
        match about {
            About::Report(report) => self.add(id, Fact::Report(report.clone()), source),
            About::Fact(fact) => self.add(id, fact.clone(), source),
            About::Proposed(proposed) => self.add_proposal(id, name, at, proposed).await,
            About::CompensationProposed { proposed, compensates } => {
                let parent = self.named(compensates)?;
                let is_new = self.add_proposal(id, name, at, proposed).await?;
                let told = self.add(&parent, Fact::CompensationProposed { at, child: id.clone() }, source)?;
                Ok(is_new || told)
            }
        }
    }

    async fn add_proposal(
        &mut self,
        id: &OperationId,
        name: &SourceOperation,
        at: Timestamp,
        proposed: &Proposed,
    ) -> Result<bool, LedgerError> {
        let tool = self.desk.sheet(id)?.record.head.tool.clone();
        let tool = self.desk.tool(tool.as_ref()).await?;
        let has_arguments = self.desk.sheet(id)?.record.proposals().any(|proposal| proposal.arguments.is_some());
        let stored =
            if has_arguments && proposed.arguments.is_some() { self.stored_arguments(id).await? } else { None };
        let record = &self.desk.sheet(id)?.record;
        let fact = proposal_fact(record, stored.as_ref(), &tool, proposed, at, self.source, name);
        self.keep_arguments(id, &fact, proposed, has_arguments)?;
        let is_conflict = matches!(fact, Fact::Conflict { .. });
        let is_new = self.add(id, fact, self.source)?;
        self.report.conflicts += u64::from(is_conflict && is_new);
        Ok(is_new)
    }

    /// The first arguments, from this batch or from the store.
    async fn stored_arguments(&mut self, id: &OperationId) -> Result<Option<Json>, LedgerError> {
        if let Some(json) = self.first_arguments.get(id) {
            return Ok(Some(json.clone()));
        }
        let bytes = self.desk.tx.arguments_first(id.as_str(), DIFF_LIMIT_BYTES).await?;
        Ok(bytes.and_then(|bytes| Json::parse(&bytes).ok()))
    }

    /// Arguments are kept once as what the operation stands on, and again with each conflicting proposal.
    fn keep_arguments(
        &mut self,
        id: &OperationId,
        fact: &Fact,
        proposed: &Proposed,
        has_arguments: bool,
    ) -> Result<(), LedgerError> {
        let Some((bytes, json)) = &proposed.arguments else { return Ok(()) };
        let (version, hashes) = match fact {
            Fact::Proposed(Proposal { arguments: Some(hashes), .. }) if !has_arguments => {
                self.first_arguments.insert(id.clone(), json.clone());
                (1, hashes)
            }
            Fact::Conflict { proposal: Proposal { arguments: Some(hashes), .. }, .. } => {
                let conflicts = self.desk.sheet(id)?.record.facts.iter();
                let conflicts = conflicts.filter(|fact| matches!(fact, Fact::Conflict { .. })).count();
                (u32::try_from(conflicts).unwrap_or(u32::MAX - 2) + 2, hashes)
            }
            _ => return Ok(()),
        };
        self.kept.arguments.push(KeptArguments {
            op_id: id.clone(),
            version,
            standing: if version == 1 { Standing::Recorded } else { Standing::Conflict },
            bytes: bytes.clone(),
            hashes: hashes.clone(),
        });
        Ok(())
    }

    /// An operator's act at the source repeats by its own key.
    fn add_act(&mut self, names: &[SourceOperation], fact: &Fact) -> Result<bool, LedgerError> {
        let Fact::ActedElsewhere { act, .. } = fact else { return Ok(false) };
        let mut is_new = false;
        for name in names {
            let id = self.named(name)?;
            let facts = &self.desk.sheet(&id)?.record.facts;
            let is_there =
                facts.iter().any(|fact| matches!(fact, Fact::ActedElsewhere { act: other, .. } if other == act));
            if !is_there {
                is_new |= self.add(&id, fact.clone(), self.source)?;
            }
        }
        Ok(is_new)
    }

    /// Links deliveries by key: to the operation of that key, and to every operation that was sent under it.
    async fn add_deliveries(
        &mut self,
        deliveries: &[(&ReadLine, &String, Option<&Evidence>)],
    ) -> Result<(), LedgerError> {
        if deliveries.is_empty() {
            return Ok(());
        }
        let keys: Vec<&str> = deliveries.iter().map(|(_, key, _)| key.as_str()).collect();
        let by_key = self.desk.tx.operation_ids_by_key(&keys).await?;
        self.desk.ask_keys(keys.iter().map(|&key| key.to_owned()).collect()).await?;
        for (read, key, evidence) in deliveries {
            let mut targets = self.desk.users_of(key).to_vec();
            let owner = by_key.get(key.as_str()).or_else(|| self.new_keys.get(key.as_str()));
            targets.extend(owner.filter(|owner| !targets.contains(owner)).cloned().into_iter().collect::<Vec<_>>());
            let (mut is_linked, mut is_new) = (false, false);
            if let Some(evidence) = evidence {
                self.desk.lay(&targets).await?;
                for id in &targets {
                    is_new |= self.add(id, Fact::Evidence((*evidence).clone()), self.source)?;
                    is_linked = true;
                }
            }
            if is_linked {
                self.count(is_new);
            } else {
                self.report.unlinked += 1;
            }
            let linked_to = targets.into_iter().next().filter(|_| is_linked);
            self.keep(read, linked_to, Some((*key).clone()));
        }
        Ok(())
    }

    /// Deliveries that came before the operation or the send they name.
    async fn link_waiting_deliveries(&mut self) -> Result<(), LedgerError> {
        let mut links: Vec<(String, OperationId)> =
            self.new_keys.iter().map(|(key, id)| (key.clone(), id.clone())).collect();
        links.extend(self.kept.key_uses.iter().map(|key_use| (key_use.key.clone(), key_use.op_id.clone())));
        links.sort();
        links.dedup();
        let mut keys: Vec<&str> = links.iter().map(|(key, _)| key.as_str()).collect();
        keys.dedup();
        for waiting in self.desk.tx.lines_by_link_key(&keys).await? {
            let Ok(Line { says: Says::Delivery { evidence: Some(evidence), .. }, .. }) =
                Line::parse(&waiting.bytes, &waiting.source)
            else {
                continue;
            };
            for (_, id) in links.iter().filter(|(key, _)| *key == waiting.link_key) {
                self.add(id, Fact::Evidence(evidence.clone()), &waiting.source)?;
            }
        }
        Ok(())
    }

    /// Decides, folds again, saves.
    async fn settle(mut self, now: Timestamp) -> Result<(), LedgerError> {
        let mut seen = HashSet::new();
        self.touched.retain(|id| seen.insert(id.clone()));
        self.desk.lay_sharers(&self.touched).await?;
        let mut refold = Vec::new();
        for id in &self.touched {
            let decision = self.desk.decide_added(id, "record").await?;
            refold.extend(decision.refold);
        }
        self.desk.refold(refold).await?;
        let Self { desk, source, kept, .. } = self;
        let tx = desk.save().await?;
        tx.lines_insert(source, kept.lines, now).await?;
        tx.layer_lines_insert(source, kept.layers, now).await?;
        tx.names_insert(source, kept.names, now).await?;
        tx.key_uses_insert(&kept.key_uses, now).await?;
        tx.arguments_insert(kept.arguments, now).await?;
        tx.sources_insert(kept.sources.into_iter()).await
    }
}

/// What the lines say about each name; names in the order of their first line.
fn learn(lines: &[&ReadLine]) -> (Vec<SourceOperation>, HashMap<SourceOperation, Learnt>) {
    let mut order = Vec::new();
    let mut learnt: HashMap<SourceOperation, Learnt> = HashMap::new();
    for read in lines {
        match &read.line.says {
            Says::Operation { name, key, tool, destination, workflow, about } => {
                let entry = mention(&mut order, &mut learnt, name);
                fill(&mut entry.key, key.as_ref());
                fill(&mut entry.tool, tool.as_ref());
                fill(&mut entry.destination, destination.as_ref());
                fill(&mut entry.workflow, workflow.as_ref());
                if let About::CompensationProposed { compensates, .. } = about {
                    fill(&mut entry.compensates, Some(compensates));
                    mention(&mut order, &mut learnt, compensates);
                }
            }
            Says::Acted { names, .. } => {
                for name in names {
                    mention(&mut order, &mut learnt, name);
                }
            }
            Says::Delivery { .. } | Says::LayerDeclared(_) => {}
        }
    }
    (order, learnt)
}

fn mention<'l>(
    order: &mut Vec<SourceOperation>,
    learnt: &'l mut HashMap<SourceOperation, Learnt>,
    name: &SourceOperation,
) -> &'l mut Learnt {
    if !learnt.contains_key(name) {
        order.push(name.clone());
    }
    learnt.entry(name.clone()).or_default()
}

fn fill<T: Clone>(place: &mut Option<T>, value: Option<&T>) {
    if place.is_none() {
        *place = value.cloned();
    }
}

fn corrupt(what: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Corrupt { what: what.to_string() }
}

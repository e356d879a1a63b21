//! The desk: the records of one unit of work laid out, decided upon and saved together.
//!
//! Inside one write transaction: lay out (load, with the intent and whoever shares a destination key), read the clock,
//! `decide`, apply, save. Facts that have been added but not decided yet are seen by the decisions about relatives,
//! so the order inside a batch does not matter.

mod linking;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use tallystick_domain::action::Action;
use tallystick_domain::contract::Contract;
use tallystick_domain::evidence::Trust;
use tallystick_domain::fingerprint::{Hash, Json};
use tallystick_domain::name::{IntentId, OperationId, SourceName, ToolName};
use tallystick_domain::operation::{Fact, Head, Mode, Record};
use tallystick_domain::outcome::Surroundings;
use tallystick_domain::permission::Actor;
use tallystick_domain::refusal::Refusal;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;
use tallystick_domain::transition::{Command, Decision, decide};
use tallystick_domain::workflow::{Member, Misbuilt, StepsAround, Workflow};

use crate::store::Tx;
use crate::store::entry::{Changes, JournalEntry, NO_HASH, Occasion};
use crate::store::line::KeyUse;
use crate::store::operation::{Loaded, OperationWrite};
use crate::{LedgerError, failpoint, restoring};

/// The most operations of one workflow that are looked at, undos included; proposals keep far below it.
pub(crate) const MEMBERS_LIMIT: u32 = 1_000;

/// One operation on the desk.
pub(crate) struct Sheet {
    /// With the facts that are not decided yet at the end.
    pub(crate) record: Record,
    /// How many of its facts are decided.
    decided: usize,
    /// Up to which fact deliveries were looked for that name what it says; `None` before anybody looked for the operation.
    linked: Option<usize>,
    head_hash: Hash,
    /// The version its row has in the store; 0 if it is new.
    pub(crate) stored_version: u64,
    entries: Vec<JournalEntry>,
}

impl Sheet {
    fn loaded(Loaded { record, head_hash }: Loaded) -> Self {
        let (decided, stored_version) = (record.facts.len(), record.version);
        Self { record, decided, linked: Some(decided), head_hash, stored_version, entries: Vec::new() }
    }

    fn new(record: Record) -> Self {
        let head_hash = Hash::from(NO_HASH);
        Self { record, decided: 0, linked: None, head_hash, stored_version: 0, entries: Vec::new() }
    }
}

/// The records of one unit of work.
pub(crate) struct Desk<'t> {
    pub(crate) tx: &'t mut Tx,
    pub(crate) now: Timestamp,
    actor: &'t Actor,
    sheets: HashMap<OperationId, Sheet>,
    /// In the order in which they came, so that a unit writes the same way each time.
    order: Vec<OperationId>,
    by_intent: HashMap<IntentId, Vec<OperationId>>,
    /// What lies here and undoes which operation.
    by_undone: HashMap<OperationId, Vec<OperationId>>,
    /// Who was sent under which key; complete for the keys in `asked_keys`.
    key_users: HashMap<String, Vec<OperationId>>,
    asked_keys: HashSet<String>,
    asked_intents: HashSet<IntentId>,
    asked_workflows: HashSet<String>,
    tools: HashMap<Option<ToolName>, Tool>,
    tool_versions: HashMap<ToolName, Vec<(Timestamp, Tool)>>,
    trusts: BTreeMap<SourceName, Trust>,
    /// Asked for once; counts for guarded operations alone.
    restore_pending: Option<bool>,
}

impl<'t> Desk<'t> {
    /// An empty desk. `now` must have been read in this transaction.
    pub(crate) async fn open(tx: &'t mut Tx, now: Timestamp, actor: &'t Actor) -> Result<Self, LedgerError> {
        let trusts = tx.sources().await?.into_iter().map(|source| (source.name, source.trust)).collect();
        Ok(Self {
            tx,
            now,
            actor,
            sheets: HashMap::new(),
            order: Vec::new(),
            by_intent: HashMap::new(),
            by_undone: HashMap::new(),
            key_users: HashMap::new(),
            asked_keys: HashSet::new(),
            asked_intents: HashSet::new(),
            asked_workflows: HashSet::new(),
            tools: HashMap::new(),
            tool_versions: HashMap::new(),
            trusts,
            restore_pending: None,
        })
    }

    /// The sheet of an operation that lies here.
    pub(crate) fn sheet(&self, id: &OperationId) -> Result<&Sheet, LedgerError> {
        self.sheets.get(id).ok_or_else(|| missing(id))
    }

    /// Whether an operation lies here.
    pub(crate) fn has(&self, id: &OperationId) -> bool {
        self.sheets.contains_key(id)
    }

    /// The declared tool, or what is assumed of an undeclared one.
    pub(crate) async fn tool(&mut self, name: Option<&ToolName>) -> Result<Tool, LedgerError> {
        let key = name.cloned();
        if let Some(tool) = self.tools.get(&key) {
            return Ok(tool.clone());
        }
        let declared = match name {
            Some(name) => self.tx.tool_find(name.as_str()).await?,
            None => None,
        };
        let tool = match (declared, name) {
            (Some(tool), _) => tool,
            (None, Some(name)) => Tool::undeclared(name.clone()),
            (None, None) => unnamed_tool()?,
        };
        self.tools.insert(key, tool.clone());
        Ok(tool)
    }

    /// Earlier declarations of the tool that were in force since the first send of this intent (T35).
    async fn earlier_contracts(&mut self, id: &OperationId, tool: &Tool) -> Result<Vec<Contract>, LedgerError> {
        let intent = self.sheet(id)?.record.head.intent_id.clone();
        let members = self.by_intent.get(&intent).map_or(&[][..], Vec::as_slice);
        let sheets = members.iter().filter_map(|member| self.sheets.get(member));
        let sent = sheets.flat_map(|sheet| sheet.record.reports()).map(|report| report.at).min();
        let Some(first_sent) = sent.filter(|_| tool.version > 1) else { return Ok(Vec::new()) };
        if !self.tool_versions.contains_key(&tool.name) {
            let versions = self.tx.tool_versions(tool.name.as_str()).await?;
            self.tool_versions.insert(tool.name.clone(), versions);
        }
        let versions = self.tool_versions.get(&tool.name).map_or(&[][..], Vec::as_slice);
        let in_force = versions.iter().rposition(|(declared_at, _)| *declared_at <= first_sent).unwrap_or(0);
        let since = versions.iter().skip(in_force).filter(|(_, version)| version.version < tool.version);
        Ok(since.map(|(_, version)| version.contract.clone()).collect())
    }

    /// Puts an operation on the desk that is about to be recorded.
    pub(crate) fn put_new(&mut self, head: Head) {
        // Nobody else can belong to an intent that begins here.
        if head.intent_id == IntentId::from(head.id.clone()) {
            self.asked_intents.insert(head.intent_id.clone());
        }
        self.put(Sheet::new(Record::new(head)));
    }

    fn put(&mut self, sheet: Sheet) {
        let head = &sheet.record.head;
        self.by_intent.entry(head.intent_id.clone()).or_default().push(head.id.clone());
        if let Some(undone) = &head.compensates {
            self.by_undone.entry(undone.clone()).or_default().push(head.id.clone());
        }
        self.order.push(head.id.clone());
        for key in sheet.record.destination_keys() {
            note_user(&mut self.key_users, key.as_str(), &head.id);
        }
        self.sheets.insert(head.id.clone(), sheet);
    }

    /// Lays operations out together with their intents. Unknown ids are left out.
    pub(crate) async fn lay(&mut self, ids: &[OperationId]) -> Result<(), LedgerError> {
        let missing: Vec<&str> = ids.iter().filter(|id| !self.has(id)).map(OperationId::as_str).collect();
        for loaded in self.tx.operations_load_with_intents(&missing).await? {
            self.asked_intents.insert(loaded.record.head.intent_id.clone());
            // What lies here already may have facts that are not saved.
            if !self.has(&loaded.record.head.id) {
                self.put(Sheet::loaded(loaded));
            }
        }
        self.lay_children(ids).await?;
        // Of those that were laid out alone.
        let intents: Vec<IntentId> = ids
            .iter()
            .filter_map(|id| self.sheets.get(id).map(|sheet| sheet.record.head.intent_id.clone()))
            .filter(|intent| !self.asked_intents.contains(intent))
            .collect();
        if intents.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = intents.iter().map(IntentId::as_str).collect();
        let members = self.tx.operation_ids_of_intents(&texts).await?;
        self.asked_intents.extend(intents);
        self.lay_alone(&members).await
    }

    /// Lays operations out without whatever they are related to: to look at, not to decide upon.
    pub(crate) async fn lay_alone(&mut self, ids: &[OperationId]) -> Result<(), LedgerError> {
        let missing: Vec<&str> = ids.iter().filter(|id| !self.has(id)).map(OperationId::as_str).collect();
        for loaded in self.tx.operations_load(&missing).await? {
            self.put(Sheet::loaded(loaded));
        }
        Ok(())
    }

    /// Lays out the operations that undo these: those that were proposed, and what they were run again as.
    async fn lay_children(&mut self, ids: &[OperationId]) -> Result<(), LedgerError> {
        let is_undone = |id: &&OperationId| self.sheets.get(*id).is_some_and(|sheet| was_to_be_undone(&sheet.record));
        let undone: Vec<&str> = ids.iter().filter(is_undone).map(OperationId::as_str).collect();
        if undone.is_empty() {
            return Ok(());
        }
        let children = self.tx.operation_ids_by_compensates(&undone).await?;
        self.lay_alone(&children).await
    }

    /// Lays out whoever was sent under one of these operations' destination keys.
    pub(crate) async fn lay_sharers(&mut self, ids: &[OperationId]) -> Result<(), LedgerError> {
        let mut keys: Vec<String> = Vec::new();
        for id in ids {
            let Some(sheet) = self.sheets.get(id) else { continue };
            let used = sheet.record.destination_keys();
            keys.extend(used.into_iter().map(|key| key.as_str().to_owned()));
        }
        self.ask_keys(keys).await?;
        let sharers: Vec<OperationId> = ids.iter().flat_map(|id| self.users_beside(id)).collect();
        self.lay_alone(&sharers).await
    }

    /// Learns from the store who was sent under these keys.
    pub(crate) async fn ask_keys(&mut self, mut keys: Vec<String>) -> Result<(), LedgerError> {
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| !self.asked_keys.contains(key));
        if keys.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = keys.iter().map(String::as_str).collect();
        for KeyUse { key, op_id, .. } in self.tx.key_uses(&texts).await? {
            note_user(&mut self.key_users, &key, &op_id);
        }
        self.asked_keys.extend(keys);
        Ok(())
    }

    /// Who was sent under a key, as far as it was asked for.
    pub(crate) fn users_of(&self, key: &str) -> &[OperationId] {
        self.key_users.get(key).map_or(&[], Vec::as_slice)
    }

    /// Other operations that were sent under one of this operation's keys.
    fn users_beside(&self, id: &OperationId) -> Vec<OperationId> {
        let Some(sheet) = self.sheets.get(id) else { return Vec::new() };
        let keys = sheet.record.destination_keys();
        let mut users: Vec<OperationId> =
            keys.into_iter().flat_map(|key| self.users_of(key.as_str())).filter(|user| *user != id).cloned().collect();
        users.sort();
        users.dedup();
        users
    }

    /// Adds a fact that will be decided upon. False if the same fact is there already.
    pub(crate) fn add_fact(&mut self, id: &OperationId, fact: Fact) -> Result<bool, LedgerError> {
        let sheet = self.sheets.get_mut(id).ok_or_else(|| missing(id))?;
        if sheet.record.facts.contains(&fact) {
            return Ok(false);
        }
        if let Fact::Report(report) = &fact
            && let Some(key) = &report.dest_key
        {
            note_user(&mut self.key_users, key.as_str(), id);
        }
        sheet.record.facts.push(fact);
        Ok(true)
    }

    /// What the rules need to know beside the record: everything must lie here already.
    pub(crate) async fn around(&mut self, id: &OperationId) -> Result<Surroundings, LedgerError> {
        let head = &self.sheet(id)?.record.head;
        let (tool, intent, destination) = (head.tool.clone(), head.intent_id.clone(), head.destination.clone());
        let tool = self.tool(tool.as_ref()).await?;
        let earlier_contracts = self.earlier_contracts(id, &tool).await?;
        let relatives = self.by_intent.get(&intent).map_or(&[][..], Vec::as_slice);
        let relatives = relatives.iter().filter(|other| *other != id).filter_map(|other| self.sheets.get(other));
        let relatives: Vec<Record> = relatives.map(|sheet| sheet.record.clone()).collect();
        let users = self.users_beside(id);
        let sharers = users.iter().filter_map(|user| self.sheets.get(user)).map(|sheet| &sheet.record);
        // Another intent, the same destination: equal `dest` is equal scope (cases §0).
        let sharers = sharers
            .filter(|record| record.head.intent_id != intent)
            .filter(|record| destination.is_some() && record.head.destination == destination);
        let sharers = sharers.cloned().collect();
        let children = self.by_undone.get(id).map_or(&[][..], Vec::as_slice).iter();
        let children = children.filter_map(|child| self.sheets.get(child)).map(|sheet| sheet.record.clone()).collect();
        let steps = self.steps_around(id).await?;
        let trusts = self.trusts.clone();
        let own_executors = BTreeSet::from([SourceName::own_executor()]);
        let mut around = Surroundings {
            trusts,
            own_executors,
            relatives,
            sharers,
            children,
            earlier_contracts,
            steps,
            policy: failpoint::policy(),
            ..Surroundings::of_tool(tool)
        };
        if self.sheet(id)?.record.head.mode == Mode::Guarded {
            around.scope = match destination {
                Some(name) => self.tx.destination_scope(name.as_str()).await?,
                None => None,
            };
            around.restore_pending = self.restore_pending().await?;
        }
        Ok(around)
    }

    /// What the other steps of its workflow mean for an operation of ours.
    async fn steps_around(&mut self, id: &OperationId) -> Result<StepsAround, LedgerError> {
        let head = &self.sheet(id)?.record.head;
        let (Mode::Guarded, Some(name), Some(_)) = (head.mode, head.workflow.clone(), &head.step) else {
            return Ok(StepsAround::default());
        };
        let workflow = self.workflow(&name).await?;
        Ok(workflow.map_err(|misbuilt| corrupt(&name, &misbuilt))?.around(id))
    }

    /// The steps of a workflow, put together. Who decides upon one of them goes after whoever decided upon another, until
    /// that one has committed: two steps must not each be found as the other was.
    pub(crate) async fn workflow(&mut self, name: &str) -> Result<Result<Workflow, Misbuilt>, LedgerError> {
        if self.asked_workflows.insert(name.to_owned()) {
            self.tx.lock_workflow(name).await?;
            let members = self.tx.workflow_members(name, MEMBERS_LIMIT).await?;
            let missing: Vec<&str> = members.iter().filter(|id| !self.has(id)).map(OperationId::as_str).collect();
            for loaded in self.tx.operations_look(&missing).await? {
                self.put(Sheet::loaded(loaded));
            }
        }
        let is_member = |sheet: &&Sheet| sheet.record.head.workflow.as_deref() == Some(name);
        let names: HashSet<Option<ToolName>> =
            self.sheets.values().filter(is_member).map(|sheet| sheet.record.head.tool.clone()).collect();
        let mut contracts: HashMap<Option<ToolName>, Contract> = HashMap::with_capacity(names.len());
        for tool in names {
            let contract = self.tool(tool.as_ref()).await?.contract;
            contracts.insert(tool, contract);
        }
        let members = self.sheets.values().filter(is_member).map(|sheet| &sheet.record);
        let members: Vec<Member<'_>> =
            members.filter_map(|record| Some(Member { record, contract: contracts.get(&record.head.tool)? })).collect();
        Ok(Workflow::gather(&members, self.now))
    }

    async fn restore_pending(&mut self) -> Result<bool, LedgerError> {
        if let Some(pending) = self.restore_pending {
            return Ok(pending);
        }
        let pending = restoring::pending(self.tx).await?;
        self.restore_pending = Some(pending);
        Ok(pending)
    }

    /// The arguments in force of an operation that lies here, unless they are larger than that.
    pub(crate) async fn arguments_in_force(
        &mut self,
        id: &OperationId,
        limit: i64,
    ) -> Result<Option<Vec<u8>>, LedgerError> {
        let sheet = self.sheets.get(id).ok_or_else(|| missing(id))?;
        self.tx.arguments_in_force(&sheet.record, limit).await
    }

    /// Decides upon the facts that were added.
    pub(crate) async fn decide_added(&mut self, id: &OperationId, name: &str) -> Result<Decision, LedgerError> {
        let around = self.around(id).await?;
        let sheet = self.sheets.get_mut(id).ok_or_else(|| missing(id))?;
        let added = sheet.record.facts.split_off(sheet.decided);
        let decision = decide(&sheet.record, &around, &Command::Record(added), self.now)?;
        self.apply(id, &decision, name)?;
        Ok(decision)
    }

    /// Decides upon a command of a person. A refusal changes nothing.
    pub(crate) async fn decide(
        &mut self,
        id: &OperationId,
        command: &Command,
        name: &str,
    ) -> Result<Result<Decision, Refusal>, LedgerError> {
        let mut around = self.around(id).await?;
        if let Command::Act { act, .. } = command
            && act.input.action() == Action::ChangeArguments
        {
            let stored = self.arguments_in_force(id, i64::MAX).await?;
            around.arguments = stored.and_then(|bytes| Json::parse(&bytes).ok());
        }
        match decide(&self.sheet(id)?.record, &around, command, self.now) {
            Ok(decision) => self.apply(id, &decision, name).map(|()| Ok(decision)),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Folds operations again; how many changed. What they in turn touch is folded too, each once.
    pub(crate) async fn refold(&mut self, ids: Vec<OperationId>) -> Result<u32, LedgerError> {
        let mut changed = 0;
        let mut done = HashSet::new();
        let mut next = ids;
        while !next.is_empty() {
            next.sort();
            next.dedup();
            next.retain(|id| !done.contains(id));
            self.lay(&next).await?;
            self.lay_sharers(&next).await?;
            let mut touched = Vec::new();
            for id in &next {
                done.insert(id.clone());
                if !self.has(id) {
                    continue;
                }
                let version = self.sheet(id)?.record.version;
                if let Ok(decision) = self.decide(id, &Command::Refold, "refold").await?
                    && self.sheet(id)?.record.version > version
                {
                    changed += 1;
                    touched.extend(decision.refold);
                }
            }
            next = touched;
        }
        Ok(changed)
    }

    /// Takes a decision into the sheet and writes its journal entry, unless nothing would change.
    fn apply(&mut self, id: &OperationId, decision: &Decision, name: &str) -> Result<(), LedgerError> {
        let occasion = Occasion { at: self.now, actor: self.actor, command: name, rules: &decision.rules };
        let sheet = self.sheets.get_mut(id).ok_or_else(|| missing(id))?;
        if !decision.is_empty(&sheet.record) {
            sheet.enter(decision.facts.clone(), decision.row.clone(), &occasion)?;
        }
        if let Some(created) = &decision.creates {
            let Record { head, facts, row, .. } = created.as_ref();
            let row = row.clone().ok_or_else(|| LedgerError::Corrupt { what: format!("{} has no row", head.id) })?;
            let mut sheet = Sheet::new(Record::new(head.clone()));
            sheet.enter(facts.iter().cloned().collect(), row, &occasion)?;
            self.put(sheet);
        }
        Ok(())
    }

    /// Writes everything that changed, rows and journal, and gives the transaction back. Deliveries that waited for what
    /// was learnt here are linked first, in the same transaction.
    pub(crate) async fn save(mut self) -> Result<&'t mut Tx, LedgerError> {
        self.link_deliveries().await?;
        let changed =
            || self.order.iter().filter_map(|id| self.sheets.get(id)).filter(|sheet| !sheet.entries.is_empty());
        let mut writes: Vec<OperationWrite<'_>> = Vec::new();
        for sheet in changed() {
            let head = &sheet.record.head;
            let Some(row) = &sheet.record.row else { return Err(missing(&head.id)) };
            writes.push(OperationWrite { head, expected_version: sheet.stored_version, row, entries: &sheet.entries });
        }
        // One order for all transactions that meet on the same rows.
        writes.sort_by(|a, b| a.head.id.cmp(&b.head.id));
        self.tx.operations_write(&writes).await?;
        Ok(self.tx)
    }
}

impl Sheet {
    fn enter(
        &mut self,
        facts: Vec<Fact>,
        row: tallystick_domain::operation::Projection,
        occasion: &Occasion<'_>,
    ) -> Result<(), LedgerError> {
        let head = (self.record.version == 0).then_some(&self.record.head);
        let changes = Changes::between(head, self.record.row.as_ref(), &row)?;
        let version = self.record.version + 1;
        let entry =
            JournalEntry::new(self.record.head.id.as_str(), version, occasion, &facts, &changes, self.head_hash)?;
        self.head_hash = entry.hash;
        self.entries.push(entry);
        self.record.facts.extend(facts);
        self.decided = self.record.facts.len();
        self.record.version = version;
        self.record.row = Some(row);
        Ok(())
    }
}

/// Whether an undo of it was ever proposed.
fn was_to_be_undone(record: &Record) -> bool {
    record.facts.acts().any(|fact| matches!(fact, Fact::CompensationProposed { .. }))
}

fn note_user(users: &mut HashMap<String, Vec<OperationId>>, key: &str, id: &OperationId) {
    let users = users.entry(key.to_owned()).or_default();
    if !users.contains(id) {
        users.push(id.clone());
    }
}

fn corrupt(workflow: &str, misbuilt: &Misbuilt) -> LedgerError {
    LedgerError::Corrupt { what: format!("workflow {workflow}: {misbuilt}") }
}

fn missing(id: &OperationId) -> LedgerError {
    LedgerError::Corrupt { what: format!("operation {id} is named but not there") }
}

/// What is assumed of an operation of which no tool is told.
fn unnamed_tool() -> Result<Tool, LedgerError> {
    let name = ToolName::parse("unnamed").map_err(|error| LedgerError::Corrupt { what: error.to_string() })?;
    Ok(Tool::undeclared(name))
}

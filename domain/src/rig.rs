//! A bench for guarded operations: records in memory, driven through `decide` alone. Tests only.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::action::{Act, ActionInput};
use crate::attempt::{AttemptRef, End, Report, ReportKind, ReportedOutcome};
use crate::contract::{
    CancelByKey, Compensation, Consistency, Contract, LookUp, LookUpBy, OnInFlight, OnMismatch, Signal, Stores,
    Verification,
};
use crate::decision::{self, Ruling, Verdict};
use crate::evidence::{Claim, Evidence, LinkedBy, Trust};
use crate::fingerprint::Json;
use crate::guard::{Checked, Guard};
use crate::lease::Scope;
use crate::name::{
    ActionKey, DestinationKey, DestinationName, IntentId, OperationId, OperationKey, PrincipalId, Receipt, SourceName,
    SourceOperation, ToolName,
};
use crate::operation::{Arguments, Fact, Head, Mode, NothingOpen, Proposal, Record, State};
use crate::outcome::{self, Outcome, Surroundings};
use crate::permission::{Actor, Role};
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::tool::{Class, Tool};
use crate::transition::{Command, Decision, Permit, Sending, Worker, confirmation_text, decide, permit};
use crate::workflow::StepsAround;

pub(crate) const START: &str = "2026-10-05T09:00:00Z";
/// How long a lease lasts here.
pub(crate) const LEASE: Duration = Duration::from_secs(45);

pub(crate) fn receipt(text: &str) -> Receipt {
    Receipt::parse(text).unwrap()
}

pub(crate) fn operation(text: &str) -> OperationId {
    OperationId::parse(text).unwrap()
}

pub(crate) fn person(name: &str) -> Actor {
    Actor { id: PrincipalId::parse(name).unwrap(), name: name.into(), role: Role::Approver }
}

pub(crate) fn ours() -> SourceName {
    SourceName::parse("sender").unwrap()
}

/// Waiting to be sent again, with nothing open.
pub(crate) fn retry_wait() -> State {
    State::RetryWait(NothingOpen::among([]).unwrap())
}

/// The guards that refused.
pub(crate) fn failed_guards(refusal: Refusal) -> Vec<Guard> {
    match refusal {
        Refusal::GuardsFailed { failed, .. } => failed.into_iter().map(|result| result.guard).collect(),
        other => panic!("not refused by a guard: {other}"),
    }
}

/// A contract whose key keeps any answer for a day.
pub(crate) fn keyed() -> Contract {
    Contract {
        key_location: Some("header".into()),
        key_retention_s: Some(86_400),
        on_mismatch: Some(OnMismatch::Error),
        on_in_flight: Some(OnInFlight::Codes),
        in_flight_signals: Some(vec![Signal { error: Some("key_in_use".into()), ..Signal::default() }]),
        stores: Some(Stores::AnyOnceStarted),
        verification: Some(Verification::TestedLive),
        max_arrival_delay_s: Some(120),
        client_deadline_s: Some(30),
        ..Contract::default()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "reads as the member of a contract that it fills")]
pub(crate) fn strong_look_up() -> Option<LookUp> {
    Some(LookUp { by: LookUpBy::Key, consistency: Some(Consistency::Strong), complete: true })
}

#[expect(clippy::unnecessary_wraps, reason = "reads as the member of a contract that it fills")]
pub(crate) fn cancel(noop_on_absent: bool, commutative: bool) -> Option<CancelByKey> {
    Some(CancelByKey { noop_on_absent, commutative })
}

#[expect(clippy::unnecessary_wraps, reason = "reads as the member of a contract that it fills")]
pub(crate) fn undo_by(tool: &str) -> Option<Compensation> {
    Some(Compensation { tool: tool.into(), window_s: None, partial: None, commutative: None })
}

pub(crate) fn ended(outcome: ReportedOutcome, http: Option<u16>) -> End {
    End { http, ..End::new(outcome) }
}

pub(crate) fn timed_out() -> End {
    ended(ReportedOutcome::Timeout, None)
}

pub(crate) fn refused(status: u16) -> End {
    ended(ReportedOutcome::Rejected, Some(status))
}

pub(crate) fn made(text: &str) -> End {
    End { receipt: Some(receipt(text)), ..ended(ReportedOutcome::Ok, Some(200)) }
}

#[derive(Debug, Clone)]
pub(crate) struct Rig {
    pub(crate) records: BTreeMap<OperationId, Record>,
    pub(crate) tool: Tool,
    pub(crate) trusts: BTreeMap<SourceName, Trust>,
    pub(crate) now: Timestamp,
    pub(crate) policy: Policy,
    pub(crate) scope: Option<Scope>,
    pub(crate) restore_pending: bool,
    pub(crate) lone_override: bool,
    pub(crate) earlier_contracts: Vec<Contract>,
    pub(crate) steps: StepsAround,
    presses: u32,
}

impl Rig {
    pub(crate) fn new(class: Class, contract: Contract) -> Self {
        let name = ToolName::parse("invoice.create").unwrap();
        let tool = Tool {
            class,
            contract,
            destination: DestinationName::parse("ledger").ok(),
            executable: true,
            declared: true,
            version: 1,
            ..Tool::undeclared(name)
        };
        Self {
            records: BTreeMap::new(),
            tool,
            trusts: BTreeMap::from([(ours(), Trust::Verified)]),
            now: Timestamp::parse_rfc3339(START).unwrap(),
            policy: Policy::FULL,
            scope: None,
            restore_pending: false,
            lone_override: false,
            earlier_contracts: Vec::new(),
            steps: StepsAround::default(),
            presses: 0,
        }
    }

    /// A proposed and approved operation `op` of a reversible tool whose key protects.
    pub(crate) fn approved(class: Class, contract: Contract) -> Self {
        let mut rig = Self::new(class, contract);
        rig.propose("op", "invoice:1:issue");
        rig.press("ben", "op", ActionInput::Approve {}).unwrap();
        rig
    }

    /// The same, sent once, and no answer came.
    pub(crate) fn uncertain(class: Class, contract: Contract) -> Self {
        let mut rig = Self::approved(class, contract);
        rig.send_and_end("op", timed_out());
        rig
    }

    /// The operation that was made last, by its id.
    pub(crate) fn newest(&self) -> String {
        self.records.keys().next_back().map(ToString::to_string).unwrap()
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus(Duration::from_secs(seconds));
        self.refold();
    }

    pub(crate) fn head(&self, id: &str, mode: Mode, key: &str) -> Head {
        let id = operation(id);
        Head {
            intent_id: IntentId::from(id.clone()),
            id,
            mode,
            key: OperationKey::parse(key).unwrap(),
            key_given: true,
            tool: Some(self.tool.name.clone()),
            destination: self.tool.destination.clone(),
            adopts: None,
            retries_of: None,
            supersedes: None,
            compensates: None,
            workflow: None,
            step: None,
            recorded_at: self.now,
        }
    }

    pub(crate) fn arguments(text: &str) -> Arguments {
        let json = Json::parse(text.as_bytes()).unwrap();
        Arguments {
            identity_hash: json.hash(),
            args_hash: json.hash(),
            intent_hash: Some(json.hash()),
            size_bytes: text.len() as u64,
        }
    }

    pub(crate) fn propose(&mut self, id: &str, key: &str) {
        let head = self.head(id, Mode::Guarded, key);
        self.propose_as(head, None);
    }

    pub(crate) fn propose_as(&mut self, head: Head, deadline: Option<Timestamp>) {
        let id = head.id.clone();
        let proposal = Proposal {
            at: self.now,
            source: ours(),
            name: SourceOperation::from(id.clone()),
            arguments: Some(Self::arguments(r#"{"amount":100}"#)),
            contract: None,
            deadline,
            impact: None,
            tool_call_id: None,
            by: PrincipalId::parse("agent").ok(),
        };
        self.records.insert(id.clone(), Record::new(head));
        self.tell_id(&id, vec![Fact::Proposed(proposal)]);
    }

    pub(crate) fn record(&self, id: &str) -> &Record {
        &self.records[&operation(id)]
    }

    pub(crate) fn around(&self, record: &Record) -> Surroundings {
        let others = || self.records.values().filter(|other| other.head.id != record.head.id);
        let keys = record.destination_keys();
        let tool = if record.head.tool.as_ref() == Some(&self.tool.name) || record.head.tool.is_none() {
            self.tool.clone()
        } else {
            Tool { name: record.head.tool.clone().unwrap(), ..self.tool.clone() }
        };
        Surroundings {
            trusts: self.trusts.clone(),
            relatives: others().filter(|other| other.head.intent_id == record.head.intent_id).cloned().collect(),
            sharers: others()
                .filter(|other| other.head.intent_id != record.head.intent_id)
                .filter(|other| other.destination_keys().iter().any(|key| keys.contains(key)))
                .cloned()
                .collect(),
            children: others().filter(|o| o.head.compensates.as_ref() == Some(&record.head.id)).cloned().collect(),
            earlier_contracts: self.earlier_contracts.clone(),
            scope: self.scope.clone(),
            restore_pending: self.restore_pending,
            lone_override: self.lone_override,
            steps: self.steps.clone(),
            policy: self.policy,
            ..Surroundings::of_tool(tool)
        }
    }

    pub(crate) fn command(&mut self, id: &str, command: &Command) -> Result<Decision, Refusal> {
        let id = operation(id);
        let record = &self.records[&id];
        let decision = decide(record, &self.around(record), command, self.now)?;
        self.commit(&id, decision.clone());
        self.refold();
        Ok(decision)
    }

    fn commit(&mut self, id: &OperationId, decision: Decision) {
        let record = self.records.get_mut(id).unwrap();
        if decision.is_empty(record) {
            return;
        }
        record.version += 1;
        record.facts.extend(decision.facts);
        record.row = Some(decision.row);
        if let Some(mut child) = decision.creates {
            child.version = 1;
            self.records.insert(child.head.id.clone(), *child);
        }
    }

    /// What another operation's row says may change an answer: again until nothing changes.
    pub(crate) fn refold(&mut self) {
        for _ in 0..3 {
            let mut changed = false;
            for id in self.records.keys().cloned().collect::<Vec<_>>() {
                let record = &self.records[&id];
                let decision = decide(record, &self.around(record), &Command::Refold, self.now).unwrap();
                changed |= !decision.is_empty(record);
                self.commit(&id, decision);
            }
            if !changed {
                return;
            }
        }
    }

    fn tell_id(&mut self, id: &OperationId, facts: Vec<Fact>) {
        self.command(id.as_str(), &Command::Record(facts)).unwrap();
    }

    pub(crate) fn tell(&mut self, id: &str, fact: Fact) {
        self.tell_id(&operation(id), vec![fact]);
    }

    pub(crate) fn outcome(&self, id: &str) -> Outcome {
        let record = self.record(id);
        outcome::fold(record, &self.around(record), self.now)
    }

    pub(crate) fn ruling_for(&self, id: &str, actor: Option<&Actor>) -> Ruling {
        let record = self.record(id);
        decision::rule(record, &self.around(record), &self.outcome(id), actor, self.now)
    }

    pub(crate) fn state(&self, id: &str) -> String {
        self.outcome(id).state.to_string()
    }

    pub(crate) fn row(&self, id: &str) -> String {
        self.ruling_for(id, None).row
    }

    pub(crate) fn verdict(&self, id: &str, action: crate::action::Action) -> Verdict {
        self.ruling_for(id, None).on(action).unwrap().verdict
    }

    pub(crate) fn form(&mut self, actor: Actor, id: &str, input: ActionInput) -> Act {
        self.presses += 1;
        let record = self.record(id);
        Act {
            key: ActionKey::parse(format!("press-{}", self.presses)).unwrap(),
            reason: "seen in the destination's pages".into(),
            confirmation: Some(confirmation_text(&record.head.key).into()),
            seen_version: record.version,
            input,
            actor,
        }
    }

    /// One person, or a program, presses.
    pub(crate) fn press_as(&mut self, actor: Actor, id: &str, input: ActionInput) -> Result<Decision, Refusal> {
        let act = self.form(actor, id, input);
        let new_id = operation(&format!("{id}{}", self.records.len() + 1));
        self.command(id, &Command::Act { act, new_id })
    }

    pub(crate) fn press(&mut self, who: &str, id: &str, input: ActionInput) -> Result<Decision, Refusal> {
        self.press_as(person(who), id, input)
    }

    /// Ana asks, and ben completes where two are needed.
    pub(crate) fn agree(&mut self, id: &str, input: ActionInput) -> Result<Decision, Refusal> {
        let act = self.form(person("ana"), id, input);
        let awaited = act.key.clone();
        let new_id = operation(&format!("{id}{}", self.records.len() + 1));
        let first = self.command(id, &Command::Act { act, new_id: new_id.clone() })?;
        if first.outcome != crate::transition::ActOutcome::AwaitsSecondPerson {
            return Ok(first);
        }
        let record = self.record(id);
        let command = Command::Complete {
            awaited,
            second: person("ben"),
            seen_version: record.version,
            confirmation: Some(confirmation_text(&record.head.key).into()),
            new_id,
        };
        self.command(id, &command)
    }

    pub(crate) fn worker(name: &str) -> Worker {
        Worker { name: name.into(), incarnation: format!("{name}-1") }
    }

    pub(crate) fn claim(&mut self, id: &str, worker: &str) -> Result<u64, Refusal> {
        self.claim_for(id, worker, LEASE)
    }

    pub(crate) fn claim_for(&mut self, id: &str, worker: &str, lease: Duration) -> Result<u64, Refusal> {
        let command = Command::Claim { worker: Self::worker(worker), lease };
        self.command(id, &command)?;
        Ok(self.record(id).epoch())
    }

    pub(crate) fn permit(&self, id: &str, epoch: u64) -> Result<Permit, Checked> {
        let record = self.record(id);
        permit(record, &self.around(record), &self.outcome(id), epoch, self.now)
    }

    pub(crate) fn dispatch(&mut self, id: &str, permit: Permit, worker: &str) -> Result<Decision, Refusal> {
        let sending = Sending {
            permit,
            worker: Self::worker(worker),
            source: ours(),
            layer: None,
            wire_hash: Some(crate::fingerprint::Hash::of(b"{\"amount\":100}")),
            scope: self.scope.clone(),
        };
        self.command(id, &Command::Dispatch(Box::new(sending)))
    }

    /// Claims, asks for the permit and dispatches; the epoch.
    pub(crate) fn send(&mut self, id: &str) -> u64 {
        if let Some(due) = self.outcome(id).due {
            self.now = self.now.max(due.not_before);
            self.refold();
        }
        let epoch = self.claim(id, "w").unwrap();
        let permit = self.permit(id, epoch).unwrap();
        self.dispatch(id, permit, "w").unwrap();
        epoch
    }

    /// The result of the send under this epoch is saved.
    pub(crate) fn end(&mut self, id: &str, epoch: u64, end: End) {
        let name = SourceOperation::parse(id).unwrap();
        let report = Report {
            attempt: AttemptRef::guarded(name, epoch),
            at: self.now,
            provider_time: None,
            source: ours(),
            number: None,
            owner: None,
            worker: Some("w".into()),
            dest_key: None,
            budget: None,
            kind: ReportKind::Ended(end),
        };
        self.tell(id, Fact::Report(report));
    }

    pub(crate) fn send_and_end(&mut self, id: &str, end: End) -> u64 {
        let epoch = self.send(id);
        self.wait(2);
        self.end(id, epoch, end);
        epoch
    }

    pub(crate) fn key_of(&self, id: &str) -> Option<DestinationKey> {
        let record = self.record(id);
        record.destination_key(&self.around(record).relatives)
    }

    /// A fact from the destination, linked by the operation's key; for look-ups sent now.
    pub(crate) fn evidence(&mut self, id: &str, claim: Claim) {
        let sent_at = match claim {
            Claim::Executed { .. } | Claim::Reversed { .. } => None,
            _ => Some(self.now),
        };
        self.evidence_sent(id, claim, sent_at);
    }

    pub(crate) fn evidence_sent(&mut self, id: &str, claim: Claim, sent_at: Option<Timestamp>) {
        let evidence = Evidence {
            id: format!("{claim:?} {}", self.now),
            source: ours(),
            claim,
            object: None,
            linked_by: LinkedBy::Key,
            key: self.key_of(id),
            at: self.now,
            provider_time: None,
            sent_at,
        };
        self.tell(id, Fact::Evidence(evidence));
    }

    pub(crate) fn receipt(&mut self, id: &str, text: &str) {
        self.evidence(id, Claim::Executed { receipt: receipt(text) });
    }

    /// Something outside proves that a process has ended.
    pub(crate) fn gone(&mut self, id: &str, incarnation: &str) {
        let (incarnation, at, proof) = (incarnation.into(), self.now, "the supervisor".into());
        self.tell(id, Fact::SenderGone { incarnation, at, proof });
    }
}

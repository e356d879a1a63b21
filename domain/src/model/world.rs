//! One state of the model: the record, the workers, the destination, and what was counted on the way.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::attempt::{ReportKind, ReportedOutcome};
use crate::evidence::Claim;
use crate::lease::Scope;
use crate::model::destination::{Answer, Destination, Heard, Request};
use crate::model::scenarios::Scenario;
use crate::model::{Act, Move, is_accepted_by_two, is_offered};
use crate::operation::{Fact, Mode, Record, State};
use crate::outcome::{self, Surroundings};
use crate::policy::{Policy, SafetyRule};
use crate::rig::{Rig, ended, made, receipt, refused, timed_out};
use crate::time::Timestamp;
use crate::tool::Class;
use crate::transition::{Command, Permit};

/// What a worker is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Worker {
    Idle,
    /// It holds a lease.
    Holds {
        operation: String,
        epoch: u64,
    },
    /// It holds a permit.
    Permitted {
        operation: String,
        permit: Permit,
    },
    /// It wrote the dispatch; the request has not left the process.
    AboutToSend {
        operation: String,
        epoch: u64,
        since: Timestamp,
        /// Where it goes was decided with the dispatch.
        region: u8,
    },
    /// The request has left; it waits for the answer.
    Waits {
        operation: String,
        epoch: u64,
    },
    Dead {
        operation: String,
    },
    ProvedDead,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(super) rig: Rig,
    pub(super) destination: Destination,
    pub(super) workers: Vec<Worker>,
    pub(super) region: u8,
    /// A look-up that was sent and not read: when, and what the destination answered then.
    look_up: Option<(Timestamp, Option<String>)>,
    pub(super) backup: Option<Box<(Rig, Timestamp)>>,
    pub(super) sends_before_acknowledgement: u32,
    sent_without_record: u32,
    older_sent: u32,
    /// How often each kind of bounded move was made.
    pub(super) acts_made: Vec<Act>,
    pub(super) looked_up: u32,
    pub(super) cancelled: u32,
}

impl World {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut rig = Rig::new(scenario.class, scenario.contract.clone());
        rig.policy = scenario.policy;
        rig.tool.version = 1;
        let head = rig.head("op", scenario.mode, "invoice:1:issue");
        rig.propose_as(head, None);
        match scenario.mode {
            Mode::Guarded => drop(rig.press("ben", "op", crate::action::ActionInput::Approve {}).unwrap()),
            Mode::Observed => {
                let told = Fact::AuthorizedElsewhere { at: rig.now, by: None, expires_at: None, args_hash: None };
                rig.tell("op", told);
            }
        }
        let mut world = Self {
            rig,
            destination: Destination::default(),
            workers: vec![Worker::Idle; scenario.workers],
            region: 1,
            look_up: None,
            backup: None,
            sends_before_acknowledgement: 0,
            sent_without_record: 0,
            older_sent: 0,
            acts_made: Vec::new(),
            looked_up: 0,
            cancelled: 0,
        };
        if scenario.moves_region {
            world.rig.scope = Some(region(1));
        }
        world
    }

    /// Makes a move; false if it changes nothing.
    pub(super) fn make(&mut self, scenario: &Scenario, next: Move) -> bool {
        match next {
            Move::Wait(seconds) => {
                self.rig.now = self.rig.now.plus(Duration::from_secs(seconds));
                if scenario.sweeps {
                    self.rig.refold();
                }
                self.destination.requests.retain(|request| request.lands_until >= self.rig.now);
                true
            }
            Move::Claim(worker) => self.claim(scenario, worker),
            Move::AskPermit(worker) => self.ask_permit(worker),
            Move::Release(worker) => self.release(worker),
            Move::Dispatch(worker) => self.dispatch(worker),
            Move::Send(worker) => self.send(scenario, worker),
            Move::Deliver(index, answer) => self.deliver(scenario, index, answer),
            Move::Lose(index) => {
                self.destination.requests.remove(index);
                true
            }
            Move::GiveUp(worker) => self.finish(worker, timed_out()),
            Move::Die(worker) => self.die(worker),
            Move::ProveDead(worker) => self.prove_dead(worker),
            Move::Notify(index) => self.notify(index),
            Move::LookUp => {
                let found = self.destination.effects.last().map(|effect| effect.receipt.clone());
                self.look_up = Some((self.rig.now, found));
                self.looked_up += 1;
                true
            }
            Move::ReadLookUp => self.read_look_up(),
            Move::CancelByKey => self.cancel_by_key(scenario),
            Move::Act(act) => self.act(act),
            Move::ChangeRegion => {
                self.region = 2;
                self.rig.scope = Some(region(2));
                // A change of scope raises the guard epoch (4.6).
                self.rig.tool.version += 1;
                self.rig.refold();
                true
            }
            Move::BackUp => {
                self.backup = Some(Box::new((self.rig.clone(), self.rig.now)));
                true
            }
            Move::Restore => self.restore(),
            Move::Acknowledge => {
                self.rig.restore_pending = false;
                self.rig.refold();
                true
            }
        }
    }

    pub(super) fn has_look_up(&self) -> bool {
        self.look_up.is_some()
    }

    /// The operation that work is asked for: the newest that would be given out.
    fn claimable(&self, scenario: &Scenario, worker: usize) -> Option<(String, Rig, u64)> {
        self.rig.records.keys().rev().find_map(|id| {
            let mut rig = self.rig.clone();
            let epoch = rig.claim_for(id.as_str(), &format!("w{worker}"), scenario.lease).ok()?;
            Some((id.to_string(), rig, epoch))
        })
    }

    fn claim(&mut self, scenario: &Scenario, worker: usize) -> bool {
        let Some((operation, rig, epoch)) = self.claimable(scenario, worker) else { return false };
        self.rig = rig;
        self.workers[worker] = Worker::Holds { operation, epoch };
        true
    }

    fn ask_permit(&mut self, worker: usize) -> bool {
        let Worker::Holds { operation, epoch } = self.workers[worker].clone() else { return false };
        let Ok(permit) = self.rig.permit(&operation, epoch) else { return false };
        self.workers[worker] = Worker::Permitted { operation, permit };
        true
    }

    /// The lease is given back while a part of the process still holds the permit.
    fn release(&mut self, worker: usize) -> bool {
        let Worker::Permitted { operation, permit } = self.workers[worker].clone() else { return false };
        let command = Command::Release { epoch: permit.epoch, reason: "shutting down".into() };
        self.rig.command(&operation, &command).is_ok()
    }

    fn dispatch(&mut self, worker: usize) -> bool {
        let Worker::Permitted { operation, permit } = self.workers[worker].clone() else { return false };
        let epoch = permit.epoch;
        let newer = self.has_newer(&operation);
        if self.rig.policy.keeps(SafetyRule::Wal) {
            if self.rig.dispatch(&operation, permit, &format!("w{worker}")).is_err() {
                return false;
            }
            self.older_sent += u32::from(newer);
            self.sends_before_acknowledgement += u32::from(self.rig.restore_pending);
        } else {
            self.sent_without_record += 1;
        }
        self.workers[worker] = Worker::AboutToSend { operation, epoch, since: self.rig.now, region: self.region };
        true
    }

    fn has_newer(&self, id: &str) -> bool {
        let record = self.rig.record(id);
        self.rig.records.values().any(|other| {
            other.head.intent_id == record.head.intent_id
                && other.head.mode == Mode::Guarded
                && (other.head.recorded_at, &other.head.id) > (record.head.recorded_at, &record.head.id)
        })
    }

    fn send(&mut self, scenario: &Scenario, worker: usize) -> bool {
        let Worker::AboutToSend { operation, epoch, region, .. } = self.workers[worker].clone() else { return false };
        let record = self.rig.record(&operation);
        let request = Request {
            operation: record.head.id.clone(),
            intent: record.head.intent_id.clone(),
            epoch,
            worker,
            key: scenario.contract.stores.and_then(|_| self.rig.key_of(&operation)),
            region,
            lands_until: self.rig.now.plus(Duration::from_secs(150)),
        };
        self.destination.requests.push(request);
        self.destination.requests.sort_by(|a, b| (&a.operation, a.epoch).cmp(&(&b.operation, b.epoch)));
        self.workers[worker] = Worker::Waits { operation, epoch };
        true
    }

    fn deliver(&mut self, scenario: &Scenario, index: usize, how: Answer) -> bool {
        let request = self.destination.requests[index].clone();
        let retention = Duration::from_secs(scenario.contract.key_retention_s.unwrap_or(0));
        let heard = self.destination.take(index, how, scenario.contract.stores, retention, self.rig.now);
        let waits = matches!(&self.workers[request.worker], Worker::Waits { epoch, operation }
            if *epoch == request.epoch && *operation == request.operation.as_str());
        if !waits {
            return true;
        }
        match heard {
            Heard::Nothing => true,
            Heard::Receipt(receipt) => {
                for effect in self.destination.effects.iter_mut().filter(|effect| effect.receipt == receipt) {
                    effect.told = true;
                }
                self.finish(request.worker, made(&receipt))
            }
            Heard::Status(status @ 500..) => self.finish(request.worker, ended(ReportedOutcome::Error, Some(status))),
            Heard::Status(status @ 400..) => self.finish(request.worker, refused(status)),
            Heard::Status(status) => self.finish(request.worker, ended(ReportedOutcome::Ok, Some(status))),
        }
    }

    fn finish(&mut self, worker: usize, end: crate::attempt::End) -> bool {
        let Worker::Waits { operation, epoch } = self.workers[worker].clone() else { return false };
        if self.rig.record(&operation).reports().any(|report| report.attempt.epoch() == Some(epoch)) {
            self.rig.end(&operation, epoch, end);
        }
        self.workers[worker] = Worker::Idle;
        true
    }

    fn die(&mut self, worker: usize) -> bool {
        let operation = match &self.workers[worker] {
            Worker::Idle | Worker::Dead { .. } | Worker::ProvedDead => return false,
            Worker::Holds { operation, .. }
            | Worker::Permitted { operation, .. }
            | Worker::AboutToSend { operation, .. }
            | Worker::Waits { operation, .. } => operation.clone(),
        };
        self.workers[worker] = Worker::Dead { operation };
        true
    }

    fn prove_dead(&mut self, worker: usize) -> bool {
        let Worker::Dead { operation } = self.workers[worker].clone() else { return false };
        self.rig.gone(&operation, &format!("w{worker}-1"));
        self.workers[worker] = Worker::ProvedDead;
        true
    }

    fn notify(&mut self, index: usize) -> bool {
        let effect = &mut self.destination.effects[index];
        if effect.told {
            return false;
        }
        effect.told = true;
        let (operation, text) = (effect.operation.to_string(), effect.receipt.clone());
        if !self.rig.records.contains_key(&effect.operation) {
            return false;
        }
        self.rig.receipt(&operation, &text);
        true
    }

    fn read_look_up(&mut self) -> bool {
        let Some((sent_at, found)) = self.look_up.take() else { return false };
        let claim = match found {
            Some(text) => Claim::Executed { receipt: receipt(&text) },
            None => Claim::Absent,
        };
        self.rig.evidence_sent("op", claim, Some(sent_at));
        true
    }

    fn cancel_by_key(&mut self, scenario: &Scenario) -> bool {
        let Some(key) = self.rig.key_of("op") else { return false };
        let id = self.rig.record("op").head.id.clone();
        let commutative = scenario.contract.cancel_by_key.is_some_and(|cancel| cancel.commutative);
        let found = self.destination.cancel(&key, &id, commutative);
        self.cancelled += 1;
        self.rig.evidence("op", Claim::CancelledByKey { found });
        true
    }

    fn act(&mut self, act: Act) -> bool {
        // Programs and people act on the newest operation for which it is offered.
        let ids: Vec<String> = self.rig.records.keys().rev().map(ToString::to_string).collect();
        let action = act.input().action();
        let Some(id) = ids.into_iter().find(|id| is_offered(self, id, action)) else { return false };
        self.acts_made.push(act);
        // Ana makes new operations, so that ben approves them.
        match act {
            Act::Approve => self.rig.press("ben", &id, act.input()).is_ok(),
            _ => self.rig.agree(&id, act.input()).is_ok(),
        }
    }

    fn restore(&mut self) -> bool {
        let Some(backup) = self.backup.take() else { return false };
        let (mut copy, backup_at) = *backup;
        copy.now = self.rig.now;
        copy.restore_pending = true;
        self.rig = copy;
        for id in self.rig.records.keys().map(ToString::to_string).collect::<Vec<_>>() {
            let _ = self.rig.command(&id, &Command::Restore { backup_at });
        }
        true
    }

    pub(super) fn every(&self, holds: impl Fn(&Record, State) -> bool) -> bool {
        self.rig.records.values().all(|record| record.row.as_ref().is_none_or(|row| holds(record, row.state)))
    }

    /// Open attempts of an operation, judged with every rule in force: what is there, whatever a state says.
    pub(super) fn open_of(&self, record: &Record) -> usize {
        let around = Surroundings { policy: Policy::FULL, ..self.rig.around(record) };
        let outcome = outcome::fold(record, &around, self.rig.now);
        outcome.attempts.iter().chain(&outcome.inherited).filter(|attempt| attempt.closed.is_none()).count()
    }

    /// Whether an operation has an effect, or a send of it can still land.
    pub(super) fn may_have_effect(&self, record: &Record) -> bool {
        let id = &record.head.id;
        self.destination.effects.iter().any(|effect| effect.operation == *id)
            || self.destination.requests.iter().any(|request| request.operation == *id)
            || self
                .workers
                .iter()
                .any(|worker| matches!(worker, Worker::AboutToSend { operation, .. } if operation == id.as_str()))
    }

    /// Effects beyond one of an intent whose guarded operations no two people gave leave for. Several runs of class N come
    /// to one end, and those of class R to none (rows 8, 9): there is nothing to count.
    pub(super) fn excess_effects(&self) -> usize {
        if matches!(self.rig.tool.class, Class::Idempotent | Class::Read) {
            return 0;
        }
        let accepted = self.rig.records.values().flat_map(|record| &record.facts).any(is_accepted_by_two);
        let allowed = if accepted { 2 } else { 1 };
        let mut intents: Vec<_> = self.destination.effects.iter().map(|effect| &effect.intent).collect();
        intents.sort();
        intents.dedup();
        intents.into_iter().map(|intent| self.destination.effects_of(intent).saturating_sub(allowed)).sum()
    }

    /// Effects of sends that have no dispatch on record. A restored record has forgotten some, and says so.
    pub(super) fn unrecorded_effects(&self) -> usize {
        let is_recorded = |operation: &crate::name::OperationId, epoch: u64| {
            self.rig.records.get(operation).is_some_and(|record| {
                record.reports().any(|report| report.attempt.epoch() == Some(epoch))
                    || record.facts.iter().any(|fact| matches!(fact, Fact::Restored { .. }))
            })
        };
        self.destination.effects.iter().filter(|effect| !is_recorded(&effect.operation, effect.epoch)).count()
    }

    /// Compensations that were made while their forward operation is open.
    pub(super) fn undone_too_early(&self) -> usize {
        let undone = self.rig.records.values().filter_map(|record| record.head.compensates.as_ref());
        undone.filter(|id| self.open_of(&self.rig.records[*id]) > 0).count()
    }

    pub(super) fn keys_with_two_wordings(&self) -> usize {
        let mut sent: Vec<(String, u32)> = Vec::new();
        for report in self.rig.records.values().flat_map(Record::reports) {
            if let (ReportKind::Dispatched(dispatch), Some(key)) = (&report.kind, &report.dest_key) {
                sent.push((key.to_string(), dispatch.args_version));
            }
        }
        sent.sort();
        sent.dedup();
        sent.windows(2).filter(|pair| pair[0].0 == pair[1].0).count()
    }

    /// Intents with two effects of which the record knows, and an operation that looks fine all the same.
    pub(super) fn hidden_doubles(&self) -> usize {
        let doubled = self.destination.effects.iter().filter(|effect| effect.told).map(|effect| &effect.intent);
        let doubled: Vec<_> = doubled.collect();
        let is_doubled =
            |record: &Record| doubled.iter().filter(|intent| ***intent == record.head.intent_id).count() > 1;
        let looks_fine =
            |record: &Record| record.row.as_ref().is_some_and(|row| matches!(row.state, State::Succeeded(_)));
        self.rig.records.values().filter(|record| is_doubled(record) && looks_fine(record)).count()
    }

    pub(super) fn state_of_first(&self) -> State {
        self.rig.record("op").row.as_ref().map_or(State::Proposed, |row| row.state)
    }

    pub(super) const fn sends_of_older(&self) -> u32 {
        self.older_sent
    }

    fn fingerprint(&self) -> String {
        let facts: Vec<_> = self.rig.records.values().map(|record| (&record.head.id, &record.facts)).collect();
        format!(
            "{}{:?}{:?}{:?}{}{:?}{}{:?}{}{:?}",
            serde_json::to_string(&facts).unwrap_or_default(),
            self.rig.now,
            self.destination,
            self.workers,
            self.region,
            self.look_up,
            self.rig.restore_pending,
            self.backup.as_ref().map(|backup| backup.1),
            self.sends_before_acknowledgement + self.sent_without_record * 16 + self.older_sent * 256,
            (&self.acts_made, self.looked_up, self.cancelled)
        )
    }
}

fn region(number: u8) -> Scope {
    Scope { region: Some(number.to_string()), ..Scope::default() }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint() == other.fingerprint()
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint().hash(state);
    }
}

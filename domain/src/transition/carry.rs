//! Carrying out an act that passed every check: the facts it becomes, and the operation it may make.

use crate::action::{Act, ActionInput, Pick};
use crate::approval::{Approval, Approver};
use crate::decision;
use crate::difference::diff;
use crate::evidence::{Claim, Evidence, LinkedBy};
use crate::fingerprint::Json;
use crate::intake::{impact, intent_hash};
use crate::name::{IntentId, OperationId, OperationKey, Receipt, SourceName, SourceOperation, ToolName};
use crate::operation::{
    Arguments, Fact, FieldChange, Head, Mode, Proposal, Record, Resolution, ResolutionKind, State, Stop,
};
use crate::outcome::{Outcome, Surroundings};
use crate::permission::Actor;
use crate::policy::SafetyRule;
use crate::time::Timestamp;
use crate::tool::Tool;
use crate::transition::{Command, Decision, NewArguments, conclude};
use crate::workflow::compensation_key;

/// An act that passed every check, with all it stands on.
pub(super) struct Accepted<'a> {
    pub(super) record: &'a Record,
    pub(super) around: &'a Surroundings,
    pub(super) outcome: &'a Outcome,
    pub(super) act: &'a Act,
    /// One person, or two.
    pub(super) actors: Vec<Actor>,
    /// Whether one person stands for two, under the recorded override (4.4.9).
    pub(super) alone: bool,
    pub(super) new_id: &'a OperationId,
    pub(super) command: &'a Command,
    pub(super) now: Timestamp,
}

impl Accepted<'_> {
    pub(super) fn carry_out(&self) -> Decision {
        let mut decision = self.decide();
        if self.alone {
            decision.rules.push("4.4.9".into());
        }
        decision
    }

    fn decide(&self) -> Decision {
        let (by, at) = (self.act.actor.clone(), self.now);
        let reason = self.act.reason.trim().to_owned();
        match &self.act.input {
            ActionInput::MarkSucceeded { receipt, reference } => {
                self.record_fact(self.resolved(ResolutionKind::Succeeded, receipt.as_ref(), reference.as_deref()))
            }
            ActionInput::MarkFailed {} => self.record_fact(self.resolved(ResolutionKind::Failed, None, None)),
            ActionInput::PickVerdict { pick, receipt } => {
                self.record_fact(self.resolved(resolution_kind(*pick), receipt.as_ref(), None))
            }
            ActionInput::Assign { to } => self.record_fact(Fact::Assigned { to: to.clone(), by, at, reason }),
            ActionInput::Comment {} => self.record_fact(Fact::Commented { by, at, text: reason }),
            ActionInput::Escalate {} => self.record_fact(Fact::Escalated { by, at, reason }),
            ActionInput::Adopt { statement } => self.adopt(statement),
            ActionInput::LookUp {} => self.record_fact(Fact::LookUpOrdered { by, at }),
            ActionInput::RerunSameKey {} => self.record_fact(Fact::RepeatOrdered { by, at, reason }),
            ActionInput::RerunNew {} => self.rerun_new(None),
            ActionInput::ChangeArguments { arguments } => self.change_arguments(arguments),
            ActionInput::Approve {} => self.approve("T2"),
            ActionInput::Renew {} => self.approve("T7"),
            ActionInput::Deny {} => self.deny(),
            ActionInput::Revoke {} => self.revoke(),
            ActionInput::Cancel {} => self.record_facts(vec![self.stopped(Stop::Cancelled, None)]).by("T6"),
            ActionInput::GrantAttempts { attempts, deadline } => {
                let (attempts, deadline, actors) = (*attempts, *deadline, self.actors.clone());
                self.record_fact(Fact::Granted { attempts, deadline, actors, at, reason }).by("T40")
            }
            ActionInput::AttachEvidence { receipt } => self.record_fact(self.attached(receipt.as_ref())),
            ActionInput::Compensate { receipt } => self.compensate(receipt.as_ref()),
            ActionInput::Waive { receipt } => {
                let (receipt, actors) = (receipt.clone(), self.actors.clone());
                self.record_fact(Fact::Waived { receipt, actors, at, reason }).by("T33")
            }
            ActionInput::DismissFinding { code } => self.record_fact(self.dismissed(code)),
            // Refused before it comes here; there is nothing to carry out.
        }
    }

    fn record_fact(&self, fact: Fact) -> Decision {
        self.record_facts(vec![fact])
    }

    fn record_facts(&self, facts: Vec<Fact>) -> Decision {
        conclude(self.record, self.around, facts, self.command, self.now)
    }

    fn reason(&self) -> String {
        self.act.reason.trim().into()
    }

    fn resolved(&self, kind: ResolutionKind, receipt: Option<&Receipt>, reference: Option<&str>) -> Fact {
        let reference = reference.map(str::trim).filter(|text| !text.is_empty());
        Fact::Resolved(Resolution {
            kind,
            receipt: receipt.cloned(),
            reference: reference.map(Into::into),
            acknowledged: self.record.evidence().map(|evidence| evidence.id.clone()).collect(),
            acknowledged_receipts: self.outcome.effects.iter().map(|effect| effect.receipt.clone()).collect(),
            actors: self.actors.clone(),
            at: self.now,
            reason: self.reason(),
            action_key: self.act.key.clone(),
            version: self.record.version + 1,
        })
    }

    fn stopped(&self, how: Stop, successor: Option<OperationId>) -> Fact {
        Fact::Stopped {
            how,
            successor,
            by: self.act.actor.clone(),
            at: self.now,
            reason: self.reason(),
            version: self.record.version + 1,
        }
    }

    /// T2, T7, T38: one effect with exactly these arguments.
    fn approve(&self, rule: &'static str) -> Decision {
        let Some(arguments) = self.record.arguments() else { return self.record_facts(Vec::new()) };
        let (tool, head) = (&self.around.tool, &self.record.head);
        let rule = if matches!(self.outcome.state, State::Uncertain(_)) { "T38" } else { rule };
        self.record_fact(Fact::Approved(Approval {
            id: self.act.key.clone(),
            args_version: self.record.args_version(),
            args_hash: arguments.args_hash,
            tool: head.tool.clone(),
            destination: head.destination.clone(),
            class: tool.class,
            contract_version: tool.version,
            approver: Approver::Person(self.act.actor.clone()),
            alone: self.record.is_proposed_by(&self.act.actor.id),
            granted_at: self.now,
            expires_at: self.now.plus(self.outcome.contract.approval_life()),
        }))
        .by(rule)
    }

    /// T3. An open question "same intent?" is answered by it: yes, and so it is not done twice (4.4.3).
    fn deny(&self) -> Decision {
        let question = self.record.unanswered_question().map(|other| self.answered(other, true));
        self.record_facts(question.into_iter().chain([self.stopped(Stop::Denied, None)]).collect()).by("T3")
    }

    /// T34: no permit can be used any more, because the version rises; what is open stays open.
    fn revoke(&self) -> Decision {
        let (by, at) = (self.act.actor.clone(), self.now);
        let live = self.record.live_approval(&self.around.tool, self.now).ok();
        let facts = live.map(|live| Fact::Revoked { approval: live.id.clone(), by, at, reason: self.reason() });
        self.record_facts(facts.into_iter().collect()).by("T34")
    }

    fn attached(&self, receipt: Option<&Receipt>) -> Fact {
        let claim = match receipt {
            Some(receipt) => Claim::Executed { receipt: receipt.clone() },
            None => Claim::Likely,
        };
        Fact::Evidence(Evidence {
            id: format!("attached {}", self.act.key),
            source: SourceName::console(),
            claim,
            object: None,
            linked_by: LinkedBy::Manual,
            key: None,
            at: self.now,
            provider_time: None,
            sent_at: None,
        })
    }

    fn answered(&self, other: &OperationId, is_same: bool) -> Fact {
        Fact::SameIntentAnswered {
            other: other.clone(),
            is_same,
            by: self.act.actor.clone(),
            at: self.now,
            reason: self.reason(),
        }
    }

    /// Putting the question "same intent?" away is its answer: separate (4.4.3).
    fn dismissed(&self, code: &str) -> Fact {
        match self.record.unanswered_question().filter(|_| code == "same_intent_question") {
            Some(other) => self.answered(other, false),
            None => Fact::FindingDismissed {
                code: code.into(),
                by: self.act.actor.clone(),
                at: self.now,
                reason: self.reason(),
            },
        }
    }

    /// T37: a new guarded operation of the same intent, with the same arguments; it inherits what is open.
    fn adopt(&self, statement: &str) -> Decision {
        let fact = Fact::Adopted {
            child: self.new_id.clone(),
            statement: statement.trim().into(),
            by: self.act.actor.clone(),
            at: self.now,
            reason: self.reason(),
        };
        let head = Head { adopts: Some(self.record.head.id.clone()), ..self.next_of_intent() };
        self.make(vec![fact], head, self.same_proposal()).by("T37")
    }

    /// T28, T29, T43: a new operation of the intent under a new key. What is open stays, named in an accepted risk.
    fn rerun_new(&self, changed: Option<(Proposal, String)>) -> Decision {
        let is_open = !self.outcome.open.is_empty();
        let mut facts = vec![Fact::SuccessorMade {
            child: self.new_id.clone(),
            by: self.act.actor.clone(),
            at: self.now,
            reason: self.reason(),
        }];
        if is_open {
            facts.push(Fact::RiskAccepted {
                attempts: self.outcome.open.clone(),
                permits: self.new_id.clone(),
                actors: self.actors.clone(),
                at: self.now,
                reason: self.reason(),
            });
        }
        facts.extend(self.stop_of_the_old(changed.is_some()));
        let id = Some(self.record.head.id.clone());
        let (proposal, bytes) = match changed {
            Some((proposal, bytes)) => (proposal, Some(bytes)),
            None => (self.same_proposal(), None),
        };
        let rule = match (bytes.is_some(), is_open, self.outcome.state) {
            (true, ..) => "T5",
            (false, _, State::Failed(crate::operation::Failure::Attested)) => "T29",
            (false, true, _) => "T43",
            (false, false, _) => "T28",
        };
        let head = if bytes.is_some() {
            Head { supersedes: id, ..self.next_of_intent() }
        } else {
            Head { retries_of: id, ..self.next_of_intent() }
        };
        let mut decision = self.make(facts, head, proposal).by(rule);
        decision.arguments = bytes.map(|bytes| NewArguments {
            operation: self.new_id.clone(),
            args_version: 1,
            bytes: bytes.into_bytes(),
        });
        decision
    }

    /// T5 and T28: what becomes of the operation that is run again. A failure stays one; uncertain stays under watch.
    fn stop_of_the_old(&self, is_replaced: bool) -> Option<Fact> {
        let how = match self.outcome.state {
            State::RetryWait(_) | State::ApprovalExpired | State::Denied | State::Cancelled if is_replaced => {
                Stop::Superseded
            }
            State::RetryWait(_) | State::ApprovalExpired => Stop::Cancelled,
            _ => return None,
        };
        Some(self.stopped(how, (how == Stop::Superseded).then(|| self.new_id.clone())))
    }

    /// T36 before anything of the intent was sent, T5 afterwards.
    fn change_arguments(&self, text: &str) -> Decision {
        // Parsed when the input was checked; a text that does not parse changes nothing.
        let Ok(json) = Json::parse(text.as_bytes()) else { return self.record_facts(Vec::new()) };
        let proposal = self.changed_proposal(&json, text);
        let never_sent = matches!(self.outcome.state, State::Proposed | State::Authorized | State::ApprovalExpired)
            && !decision::was_ever_sent(self.record, self.around);
        if !never_sent && self.around.policy.keeps(SafetyRule::ArgsChangeIsRerunNew) {
            return self.rerun_new(Some((proposal, text.to_owned())));
        }
        let args_version = self.record.args_version() + 1;
        let changes: Vec<FieldChange> =
            self.around.arguments.as_ref().map(|before| diff(before, &json)).unwrap_or_default();
        let mut decision =
            self.record_fact(Fact::ArgumentsChanged { proposal, changes, reason: self.reason() }).by("T36");
        decision.arguments = Some(NewArguments {
            operation: self.record.head.id.clone(),
            args_version,
            bytes: text.as_bytes().to_vec(),
        });
        decision
    }

    /// T30: an operation of its own that undoes exactly one effect, or cancels by key while it is uncertain.
    fn compensate(&self, receipt: Option<&Receipt>) -> Decision {
        let surplus = self.outcome.effects.iter().find(|effect| effect.is_surplus);
        // By any of its names, so that one effect has one undo.
        let named = |receipt| self.outcome.effects.iter().find(|effect| effect.is_called(receipt));
        let chosen = match receipt {
            Some(receipt) => Some(named(receipt).map_or(receipt, |effect| &effect.receipt)),
            None => surplus.or_else(|| self.outcome.effects.first()).map(|effect| &effect.receipt),
        };
        let head = &self.record.head;
        let key = match chosen {
            Some(receipt) => compensation_key(&head.id, receipt),
            None => OperationKey::parse(format!("comp:{}:cancel", head.id)),
        };
        let Ok(key) = key else { return self.record_facts(Vec::new()) };
        let contract = &self.outcome.contract;
        let tool = contract.compensation.as_ref().and_then(|declared| ToolName::parse(declared.tool.clone()).ok());
        let bytes =
            serde_json::json!({ "undoes": head.key.as_str(), "receipt": chosen.map(Receipt::as_str) }).to_string();
        let Ok(json) = Json::parse(bytes.as_bytes()) else { return self.record_facts(Vec::new()) };
        let child = Head {
            tool: tool.or_else(|| head.tool.clone()),
            compensates: Some(head.id.clone()),
            step: None,
            ..self.next_undo(key)
        };
        let proposal = Proposal {
            arguments: Some(arguments_of(&json, &bytes, &[])),
            impact: self.same_proposal().impact,
            contract: None,
            ..self.same_proposal()
        };
        let fact = Fact::CompensationProposed { at: self.now, child: self.new_id.clone() };
        let mut decision = self.make(vec![fact], child, proposal).by("T30");
        decision.arguments =
            Some(NewArguments { operation: self.new_id.clone(), args_version: 1, bytes: bytes.into_bytes() });
        decision
    }

    /// An undo that was given up before it was sent is asked for again as a later operation of the same intent.
    fn next_undo(&self, key: OperationKey) -> Head {
        let next = self.next_of_intent();
        let Some(root) = self.around.children.iter().find(|child| child.head.key == key) else {
            return Head { intent_id: IntentId::from(self.new_id.clone()), key, ..next };
        };
        let earlier = self.around.children.iter().filter(|child| child.head.intent_id == root.head.intent_id);
        let last = earlier.clone().max_by_key(|child| (child.head.recorded_at, &child.head.id));
        Head {
            intent_id: root.head.intent_id.clone(),
            key: numbered(&key, earlier.count() + 1),
            retries_of: last.map(|child| child.head.id.clone()),
            ..next
        }
    }

    /// Makes an operation and records facts here, in the same commit.
    fn make(&self, facts: Vec<Fact>, head: Head, proposal: Proposal) -> Decision {
        let is_relative = head.intent_id == self.record.head.intent_id;
        let mut before = self.record.clone();
        before.facts.extend(facts.iter().cloned());
        let mut child = Record::new(head);
        let mut around_child = self.around.clone();
        if is_relative {
            around_child.relatives.push(before);
        } else {
            around_child = Surroundings { policy: self.around.policy, ..Surroundings::of_tool(self.tool_of(&child)) };
        }
        let made = conclude(&child, &around_child, vec![Fact::Proposed(proposal)], self.command, self.now);
        child.facts = made.facts.into();
        child.row = Some(made.row);
        let mut around_record = self.around.clone();
        if is_relative {
            around_record.relatives.push(child.clone());
        } else {
            around_record.children.push(child.clone());
        }
        let mut decision = conclude(self.record, &around_record, facts, self.command, self.now);
        decision.refold.retain(|id| id != self.new_id);
        if !is_relative {
            // Its own tool is not laid out here.
            decision.refold.push(self.new_id.clone());
        }
        decision.creates = Some(Box::new(child));
        decision
    }

    fn tool_of(&self, child: &Record) -> Tool {
        child.head.tool.clone().map_or_else(|| self.around.tool.clone(), Tool::undeclared)
    }

    /// A later operation of the intent gets the root's key + `~` + its ordinal (semantics 4.1).
    fn next_of_intent(&self) -> Head {
        let (record, around) = (self.record, self.around);
        let intent = || std::iter::once(record).chain(&around.relatives);
        let root = intent().find(|other| other.head.id.as_str() == record.head.intent_id.as_str()).unwrap_or(record);
        Head {
            id: self.new_id.clone(),
            mode: Mode::Guarded,
            intent_id: record.head.intent_id.clone(),
            key: numbered(&root.head.key, intent().count() + 1),
            key_given: true,
            tool: record.head.tool.clone(),
            destination: around.tool.destination.clone().or_else(|| record.head.destination.clone()),
            adopts: None,
            retries_of: None,
            supersedes: None,
            compensates: record.head.compensates.clone(),
            workflow: record.head.workflow.clone(),
            step: record.head.step.clone(),
            recorded_at: self.now,
        }
    }

    /// The proposal of a new operation with the arguments in force.
    fn same_proposal(&self) -> Proposal {
        let record = self.record;
        Proposal {
            at: self.now,
            source: SourceName::console(),
            name: SourceOperation::from(record.head.id.clone()),
            arguments: record.arguments().cloned(),
            contract: record.proposals().find_map(|proposal| proposal.contract.clone()),
            deadline: None,
            impact: record.impact().cloned(),
            tool_call_id: None,
            by: Some(self.act.actor.id.clone()),
        }
    }

    fn changed_proposal(&self, json: &Json, text: &str) -> Proposal {
        let contract = &self.outcome.contract;
        let volatile = contract.volatile_fields.as_deref().unwrap_or_default();
        let intent_hash = intent_hash(self.around.tool.class, contract, json);
        Proposal {
            arguments: Some(Arguments { intent_hash, ..arguments_of(json, text, volatile) }),
            impact: impact(&self.around.tool, json),
            ..self.same_proposal()
        }
    }
}

/// The key of a later operation of an intent: the root's, and which one it is.
fn numbered(root: &OperationKey, ordinal: usize) -> OperationKey {
    let suffix = format!("~{ordinal}");
    let room = OperationKey::LIMIT - suffix.len();
    let base: String = root.as_str().chars().take(room).collect();
    OperationKey::parse(base + &suffix).unwrap_or_else(|_| root.clone())
}

fn arguments_of(json: &Json, text: &str, volatile: &[String]) -> Arguments {
    Arguments {
        identity_hash: json.hash_without(volatile),
        args_hash: json.hash(),
        intent_hash: None,
        size_bytes: text.len() as u64,
    }
}

/// Which resolution a pick makes.
const fn resolution_kind(pick: Pick) -> ResolutionKind {
    match pick {
        Pick::Succeeded => ResolutionKind::PickSucceeded,
        Pick::Failed => ResolutionKind::PickFailed,
    }
}

impl Decision {
    /// Names the transition that it is.
    pub(super) fn by(mut self, rule: &'static str) -> Self {
        if !self.rules.iter().any(|known| known == rule) {
            self.rules.push(rule.into());
        }
        self
    }

    /// Names the guards that were asked.
    pub(super) fn with_guards(mut self, guards: Vec<crate::guard::GuardResult>) -> Self {
        self.guards = guards;
        self
    }
}

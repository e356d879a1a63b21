//! Operator actions: what is checked, and the facts they become. The page shows the same ruling that is
//! evaluated here again (I29).

use crate::action::{Act, ActionInput, AwaitedAct, Pick};
use crate::decision::{self, ActionRuling, Ruling, Verdict};
use crate::name::{ActionKey, OperationId, OperationKey, Receipt, SourceName, SourceOperation};
use crate::operation::{Fact, Head, Mode, Proposal, Record, Resolution, ResolutionKind};
use crate::outcome::{self, Outcome, Surroundings};
use crate::permission::Actor;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::transition::{ActOutcome, Command, Decision, conclude, resolution_kind};

/// The most characters a reason, statement or reference may have.
const TEXT_LIMIT: usize = 4_000;

/// What a second person brings.
pub(super) struct Completion<'a> {
    pub(super) awaited: AwaitedAct,
    pub(super) second: &'a Actor,
    pub(super) seen_version: u64,
    pub(super) confirmation: Option<&'a str>,
}

/// What must be typed to confirm an act on this operation: the last part of its key.
pub fn confirmation_text(key: &OperationKey) -> &str {
    let text = key.as_str();
    let last = text.rsplit(':').next().unwrap_or(text).trim();
    if last.is_empty() { text } else { last }
}

/// An act by one person. Where two are needed it is recorded as waiting.
pub(super) fn act(
    record: &Record,
    around: &Surroundings,
    act: &Act,
    new_id: &OperationId,
    command: &Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let action = act.input.action();
    if !action.is_carried_out() {
        return Err(Refusal::NotCarriedOut { action });
    }
    check_version(record, act.seen_version)?;
    let outcome = outcome::fold(record, around, now);
    let ruling = decision::rule(record, around, &outcome, Some(&act.actor), now);
    let verdict = permitted(&ruling, &act.input)?;
    check_reason(&act.reason, action.needs_reason())?;
    check_input(&act.input, &outcome)?;
    check_confirmation(record, verdict, act.confirmation.as_deref())?;
    if verdict == Verdict::Dual {
        if let Some(waiting) = record.awaited_act() {
            let reason = format!("{} already waits for a second person.", waiting.act.input.action().label());
            return Err(Refusal::Forbidden { action, row: ruling.row, reason });
        }
        let asked = Fact::SecondPersonAsked(AwaitedAct { act: act.clone(), asked_at: now });
        let decision = conclude(record, around, vec![asked], command, now);
        return Ok(Decision { outcome: ActOutcome::AwaitsSecondPerson, ..decision });
    }
    let actors = vec![act.actor.clone()];
    Ok(Accepted { record, around, outcome: &outcome, act, actors, new_id, command, now }.carry_out())
}

/// The dual act that waits under this key.
pub(super) fn awaited<'a>(record: &'a Record, key: &ActionKey) -> Result<&'a AwaitedAct, Refusal> {
    record.awaited_act().filter(|awaited| awaited.act.key == *key).ok_or(Refusal::NotAwaited {})
}

/// A second person completes an act: everything is evaluated again, now.
pub(super) fn complete(
    record: &Record,
    around: &Surroundings,
    completion: &Completion<'_>,
    new_id: &OperationId,
    command: &Command,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let act = &completion.awaited.act;
    // I41: two acts of dual control come from two people.
    if act.actor.id == completion.second.id || completion.second.is_automation() {
        return Err(Refusal::SamePersonTwice {});
    }
    check_version(record, completion.seen_version)?;
    let outcome = outcome::fold(record, around, now);
    let ruling = decision::rule(record, around, &outcome, Some(completion.second), now);
    let verdict = permitted(&ruling, &act.input)?;
    check_input(&act.input, &outcome)?;
    check_confirmation(record, verdict, completion.confirmation)?;
    let actors = vec![act.actor.clone(), completion.second.clone()];
    Ok(Accepted { record, around, outcome: &outcome, act, actors, new_id, command, now }.carry_out())
}

pub(super) fn check_version(record: &Record, seen: u64) -> Result<(), Refusal> {
    if seen == record.version { Ok(()) } else { Err(Refusal::StaleVersion { seen, current: record.version }) }
}

pub(super) fn check_reason(reason: &str, needed: bool) -> Result<(), Refusal> {
    check_text("reason", reason)?;
    if needed && reason.trim().is_empty() { Err(Refusal::ReasonMissing {}) } else { Ok(()) }
}

fn check_text(field: &str, text: &str) -> Result<(), Refusal> {
    let length = text.chars().count();
    if length > TEXT_LIMIT {
        let problem = format!("has {length} characters; the limit is {TEXT_LIMIT}");
        return Err(Refusal::BadField { field: field.into(), problem });
    }
    Ok(())
}

/// The verdict under the ruling, with O6 now that the input is known.
fn permitted(ruling: &Ruling, input: &ActionInput) -> Result<Verdict, Refusal> {
    let action = input.action();
    let forbidden = |reason: &str| Refusal::Forbidden { action, row: ruling.row.clone(), reason: reason.into() };
    let on: &ActionRuling = ruling.on(action).ok_or_else(|| forbidden("It is not offered here."))?;
    if on.verdict >= Verdict::Forbidden {
        return Err(forbidden(&on.reason));
    }
    let without_reference = matches!(input, ActionInput::MarkSucceeded { receipt: None, reference: None });
    // O6
    Ok(if without_reference && on.verdict == Verdict::Confirm { Verdict::Dual } else { on.verdict })
}

fn check_input(input: &ActionInput, outcome: &Outcome) -> Result<(), Refusal> {
    let bad = |field: &str, problem: &str| Refusal::BadField { field: field.into(), problem: problem.into() };
    match input {
        ActionInput::MarkSucceeded { reference, .. } => {
            check_text("reference", reference.as_deref().unwrap_or_default())
        }
        ActionInput::Adopt { statement } => {
            check_text("statement", statement)?;
            if statement.trim().is_empty() {
                return Err(bad("statement", "state that the other system sends no more, and how you know"));
            }
            Ok(())
        }
        // T27: a pick cites the evidence.
        ActionInput::PickVerdict { pick: Pick::Succeeded, receipt } => {
            let on_record = |cited: &Receipt| outcome.effects.iter().any(|effect| effect.receipt == *cited);
            match receipt {
                Some(cited) if on_record(cited) => Ok(()),
                Some(_) => Err(bad("receipt", "is not among the receipts on record")),
                None => Err(bad("receipt", "cite the receipt that stands")),
            }
        }
        ActionInput::PickVerdict { pick: Pick::Failed, .. }
        | ActionInput::MarkFailed {}
        | ActionInput::Assign { .. }
        | ActionInput::Comment {}
        | ActionInput::Escalate {}
        | ActionInput::Judged { .. } => Ok(()),
    }
}

fn check_confirmation(record: &Record, verdict: Verdict, typed: Option<&str>) -> Result<(), Refusal> {
    let expected = confirmation_text(&record.head.key);
    let needed = matches!(verdict, Verdict::Confirm | Verdict::Dual);
    if needed && typed.map(str::trim) != Some(expected) {
        return Err(Refusal::ConfirmationMissing { expected: expected.into(), verdict });
    }
    Ok(())
}

/// An act that passed every check, with all it stands on.
struct Accepted<'a> {
    record: &'a Record,
    around: &'a Surroundings,
    outcome: &'a Outcome,
    act: &'a Act,
    /// One person, or two.
    actors: Vec<Actor>,
    new_id: &'a OperationId,
    command: &'a Command,
    now: Timestamp,
}

impl Accepted<'_> {
    fn carry_out(&self) -> Decision {
        let (by, at) = (self.act.actor.clone(), self.now);
        let reason = self.act.reason.trim().to_owned();
        let fact = match &self.act.input {
            ActionInput::MarkSucceeded { receipt, reference } => {
                self.resolved(ResolutionKind::Succeeded, receipt.as_ref(), reference.as_deref())
            }
            ActionInput::MarkFailed {} => self.resolved(ResolutionKind::Failed, None, None),
            ActionInput::PickVerdict { pick, receipt } => self.resolved(resolution_kind(*pick), receipt.as_ref(), None),
            ActionInput::Assign { to } => Fact::Assigned { to: to.clone(), by, at, reason },
            ActionInput::Comment {} => Fact::Commented { by, at, text: reason },
            ActionInput::Escalate {} => Fact::Escalated { by, at, reason },
            ActionInput::Adopt { statement } => return self.adopt(statement),
            // Refused before it comes here; there is nothing to carry out.
            ActionInput::Judged { .. } => {
                return conclude(self.record, self.around, Vec::new(), self.command, self.now);
            }
        };
        conclude(self.record, self.around, vec![fact], self.command, self.now)
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
            reason: self.act.reason.trim().into(),
            action_key: self.act.key.clone(),
            version: self.record.version + 1,
        })
    }

    /// T37: a new guarded operation of the same intent, with the same arguments; it inherits what is open.
    fn adopt(&self, statement: &str) -> Decision {
        let fact = Fact::Adopted {
            child: self.new_id.clone(),
            statement: statement.trim().into(),
            by: self.act.actor.clone(),
            at: self.now,
            reason: self.act.reason.trim().into(),
        };
        let mut adopted = self.record.clone();
        adopted.facts.push(fact.clone());
        let mut child = Record::new(child_head(self.record, self.around, self.new_id, self.now));
        let mut around_child = self.around.clone();
        around_child.relatives.push(adopted);
        let proposal = child_proposal(self.record, self.act, self.now);
        let first = conclude(&child, &around_child, vec![proposal], self.command, self.now);
        child.facts = first.facts;
        child.row = Some(first.row);
        let mut around_record = self.around.clone();
        around_record.relatives.push(child.clone());
        let mut decision = conclude(self.record, &around_record, vec![fact], self.command, self.now);
        decision.refold.retain(|id| id != self.new_id);
        decision.rules.push("T37".into());
        decision.creates = Some(Box::new(child));
        decision
    }
}

fn child_head(record: &Record, around: &Surroundings, new_id: &OperationId, now: Timestamp) -> Head {
    let intent = || std::iter::once(record).chain(&around.relatives);
    let root = intent().find(|other| other.head.id.as_str() == record.head.intent_id.as_str()).unwrap_or(record);
    // A later operation of the intent gets the root's key + `~` + its ordinal (semantics 4.1).
    let suffix = format!("~{}", intent().count() + 1);
    let room = OperationKey::LIMIT - suffix.len();
    let base: String = root.head.key.as_str().chars().take(room).collect();
    let key = OperationKey::parse(base + &suffix).unwrap_or_else(|_| root.head.key.clone());
    Head {
        id: new_id.clone(),
        mode: Mode::Guarded,
        intent_id: record.head.intent_id.clone(),
        key,
        key_given: true,
        tool: record.head.tool.clone(),
        destination: around.tool.destination.clone().or_else(|| record.head.destination.clone()),
        adopts: Some(record.head.id.clone()),
        retries_of: None,
        supersedes: None,
        compensates: record.head.compensates.clone(),
        workflow: record.head.workflow.clone(),
        recorded_at: now,
    }
}

fn child_proposal(record: &Record, act: &Act, now: Timestamp) -> Fact {
    let first = record.proposals().find(|proposal| proposal.arguments.is_some()).or_else(|| record.proposals().next());
    Fact::Proposed(Proposal {
        at: now,
        source: SourceName::console(),
        name: SourceOperation::from(record.head.id.clone()),
        arguments: first.and_then(|proposal| proposal.arguments.clone()),
        contract: first.and_then(|proposal| proposal.contract.clone()),
        deadline: None,
        impact: first.and_then(|proposal| proposal.impact.clone()),
        tool_call_id: None,
        by: Some(act.actor.id.clone()),
    })
}

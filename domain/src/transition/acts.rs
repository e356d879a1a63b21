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
    Ok(carry_out(record, around, &outcome, act, vec![act.actor.clone()], new_id, command, now))
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
    Ok(carry_out(record, around, &outcome, act, actors, new_id, command, now))
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
        | ActionInput::Escalate {} => Ok(()),
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

#[expect(
    clippy::too_many_arguments,
    reason = "one act with all it stands on; a struct for one call would hide nothing"
)]
fn carry_out(
    record: &Record,
    around: &Surroundings,
    outcome: &Outcome,
    act: &Act,
    actors: Vec<Actor>,
    new_id: &OperationId,
    command: &Command,
    now: Timestamp,
) -> Decision {
    let by = act.actor.clone();
    let reason = act.reason.trim().to_owned();
    let resolved = |kind, receipt: Option<Receipt>, reference: Option<String>| {
        Fact::Resolved(resolution(record, outcome, act, actors.clone(), now, kind, receipt, reference))
    };
    let fact = match &act.input {
        ActionInput::MarkSucceeded { receipt, reference } => {
            resolved(ResolutionKind::Succeeded, receipt.clone(), reference.clone())
        }
        ActionInput::MarkFailed {} => resolved(ResolutionKind::Failed, None, None),
        ActionInput::PickVerdict { pick, receipt } => resolved(resolution_kind(*pick), receipt.clone(), None),
        ActionInput::Assign { to } => Fact::Assigned { to: to.clone(), by, at: now, reason },
        ActionInput::Comment {} => Fact::Commented { by, at: now, text: reason },
        ActionInput::Escalate {} => Fact::Escalated { by, at: now, reason },
        ActionInput::Adopt { statement } => {
            return adopt(record, around, act, statement, new_id, command, now);
        }
    };
    conclude(record, around, vec![fact], command, now)
}

#[expect(clippy::too_many_arguments, reason = "the fields of one resolution")]
fn resolution(
    record: &Record,
    outcome: &Outcome,
    act: &Act,
    actors: Vec<Actor>,
    now: Timestamp,
    kind: ResolutionKind,
    receipt: Option<Receipt>,
    reference: Option<String>,
) -> Resolution {
    Resolution {
        kind,
        receipt,
        reference: reference.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        acknowledged: record.evidence().map(|evidence| evidence.id.clone()).collect(),
        acknowledged_receipts: outcome.effects.iter().map(|effect| effect.receipt.clone()).collect(),
        actors,
        at: now,
        reason: act.reason.trim().into(),
        action_key: act.key.clone(),
        version: record.version + 1,
    }
}

/// T37: a new guarded operation of the same intent, with the same arguments and the open attempts inherited.
fn adopt(
    record: &Record,
    around: &Surroundings,
    act: &Act,
    statement: &str,
    new_id: &OperationId,
    command: &Command,
    now: Timestamp,
) -> Decision {
    let fact = Fact::Adopted {
        child: new_id.clone(),
        statement: statement.trim().into(),
        by: act.actor.clone(),
        at: now,
        reason: act.reason.trim().into(),
    };
    let mut adopted = record.clone();
    adopted.facts.push(fact.clone());
    let mut child = Record::new(child_head(record, around, new_id, now));
    let mut around_child = around.clone();
    around_child.relatives.push(adopted);
    let first = conclude(&child, &around_child, vec![child_proposal(record, act, now)], command, now);
    child.facts = first.facts;
    child.row = Some(first.row);
    let mut around_record = around.clone();
    around_record.relatives.push(child.clone());
    let decision = conclude(record, &around_record, vec![fact], command, now);
    let refold = decision.refold.into_iter().filter(|id| id != new_id).collect();
    let mut rules = decision.rules;
    rules.push("T37".into());
    Decision { creates: Some(Box::new(child)), refold, rules, ..decision }
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

//! Operator actions: what is checked. The page shows the same ruling that is
//! evaluated here again (I29).

use crate::action::{Act, ActionInput, AwaitedAct, Pick};
use crate::contract::REDACTED;
use crate::decision::{self, ActionRuling, Ruling, Verdict};
use crate::fingerprint::Json;
use crate::name::{ActionKey, OperationId, OperationKey, Receipt};
use crate::operation::{Fact, Record};
use crate::outcome::{self, Outcome, Surroundings};
use crate::permission::{Actor, Role};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::transition::carry::Accepted;
use crate::transition::{ActOutcome, Command, Decision, conclude};

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
    check_version(record, act.seen_version)?;
    let outcome = outcome::fold(record, around, now);
    let ruling = decision::rule(record, around, &outcome, Some(&act.actor), now);
    let verdict = permitted(&ruling, &act.input)?;
    check_reason(&act.reason, action.needs_reason())?;
    check_input(&act.input, record, around, &outcome)?;
    check_confirmation(record, verdict, act.confirmation.as_deref())?;
    let alone = verdict == Verdict::Dual && may_act_alone(around, &act.actor);
    if verdict == Verdict::Dual && !alone {
        if let Some(waiting) = record.awaited_act() {
            let reason = format!("{} already waits for a second person.", waiting.act.input.action().label());
            return Err(Refusal::Forbidden { action, row: ruling.row, reason });
        }
        let asked = Fact::SecondPersonAsked(AwaitedAct { act: act.clone(), asked_at: now });
        let decision = conclude(record, around, vec![asked], command, now);
        return Ok(Decision { outcome: ActOutcome::AwaitsSecondPerson, ..decision });
    }
    let actors = vec![act.actor.clone()];
    Ok(Accepted { record, around, outcome: &outcome, act, actors, alone, new_id, command, now }.carry_out())
}

/// 4.4.9: a lone administrator, where the workspace allows it; recorded as such.
fn may_act_alone(around: &Surroundings, actor: &Actor) -> bool {
    around.lone_override && actor.role == Role::Administrator
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
    check_input(&act.input, record, around, &outcome)?;
    check_confirmation(record, verdict, completion.confirmation)?;
    let actors = vec![act.actor.clone(), completion.second.clone()];
    Ok(Accepted { record, around, outcome: &outcome, act, actors, alone: false, new_id, command, now }.carry_out())
}

pub(super) fn check_version(record: &Record, seen: u64) -> Result<(), Refusal> {
    if seen == record.version { Ok(()) } else { Err(Refusal::StaleVersion { seen, current: record.version }) }
}

pub(crate) fn check_reason(reason: &str, needed: bool) -> Result<(), Refusal> {
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

fn check_input(input: &ActionInput, record: &Record, around: &Surroundings, outcome: &Outcome) -> Result<(), Refusal> {
    let bad = |field: &str, problem: &str| Refusal::BadField { field: field.into(), problem: problem.into() };
    let on_record = |cited: &Receipt| outcome.effects.iter().any(|effect| effect.is_called(cited));
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
        // T27: a pick cites the evidence, and every surplus effect is undone or waived.
        ActionInput::PickVerdict { pick: Pick::Succeeded, receipt } => match receipt {
            Some(cited) if on_record(cited) => check_surplus(record, around, outcome),
            Some(_) => Err(bad("receipt", "is not among the receipts on record")),
            None => Err(bad("receipt", "cite the receipt that stands")),
        },
        ActionInput::PickVerdict { pick: Pick::Failed, .. } => check_surplus(record, around, outcome),
        ActionInput::Approve {} | ActionInput::Renew {} if record.arguments().is_none() => {
            Err(bad("arguments", "are not on record, so there is nothing exact to approve"))
        }
        ActionInput::ChangeArguments { arguments } => check_arguments(arguments),
        ActionInput::GrantAttempts { attempts, deadline } => {
            if *attempts == 0 && deadline.is_none() {
                return Err(bad("attempts", "grant at least one attempt, or a later deadline"));
            }
            if outcome::grant_exceeds_cap(record, outcome, *attempts) {
                return Err(bad(
                    "attempts",
                    &format!("the hard cap is {}; it cannot be raised", outcome.contract.attempts_cap()),
                ));
            }
            Ok(())
        }
        ActionInput::Compensate { receipt: Some(receipt) } | ActionInput::Waive { receipt: Some(receipt) }
            if !on_record(receipt) =>
        {
            Err(bad("receipt", "is not among the receipts on record"))
        }
        ActionInput::Compensate { receipt: None } if outcome.effects.len() > 1 => {
            Err(bad("receipt", "name the surplus effect that is to be undone"))
        }
        ActionInput::Compensate { receipt: Some(receipt) } => check_is_surplus(outcome, receipt),
        ActionInput::DismissFinding { code } => check_dismissal(code, outcome),
        ActionInput::MarkFailed {}
        | ActionInput::Assign { .. }
        | ActionInput::Comment {}
        | ActionInput::Escalate {}
        | ActionInput::LookUp {}
        | ActionInput::RerunSameKey {}
        | ActionInput::RerunNew {}
        | ActionInput::Approve {}
        | ActionInput::Deny {}
        | ActionInput::Renew {}
        | ActionInput::Revoke {}
        | ActionInput::Cancel {}
        | ActionInput::AttachEvidence { .. }
        | ActionInput::Compensate { .. }
        | ActionInput::Waive { .. } => Ok(()),
    }
}

/// T27: two effects need an undo of each surplus one, or a waiver.
fn check_surplus(record: &Record, around: &Surroundings, outcome: &Outcome) -> Result<(), Refusal> {
    let standing: Vec<&str> = decision::standing_surplus(record, around, outcome).map(Receipt::as_str).collect();
    if standing.is_empty() {
        return Ok(());
    }
    let problem = format!("compensate or waive each surplus effect first: {}", standing.join(", "));
    Err(Refusal::BadField { field: "receipt".into(), problem })
}

/// Row 3: of several effects only a surplus one is undone.
fn check_is_surplus(outcome: &Outcome, receipt: &Receipt) -> Result<(), Refusal> {
    let several = outcome.effects.len() > 1;
    if several && outcome.effects.iter().any(|effect| effect.is_called(receipt) && !effect.is_surplus) {
        let problem = format!("{receipt} is the effect that was intended; name a surplus one");
        return Err(Refusal::BadField { field: "receipt".into(), problem });
    }
    Ok(())
}

fn check_arguments(text: &str) -> Result<(), Refusal> {
    let bad = |problem: String| Refusal::BadField { field: "arguments".into(), problem };
    match Json::parse(text.as_bytes()) {
        // What a page shows of arguments is not always what they are.
        Ok(Json::Object(_)) if text.contains(REDACTED) => {
            Err(bad(format!("hold {REDACTED:?}, which only stands for what a page hides; send the value itself")))
        }
        Ok(Json::Object(_)) => Ok(()),
        Ok(other) => Err(bad(format!("must be an object, not {}", other.kind()))),
        Err(error) => Err(bad(error.to_string())),
    }
}

/// 6.3: a finding that a base row stands on ends by a pick or by evidence.
fn check_dismissal(code: &str, outcome: &Outcome) -> Result<(), Refusal> {
    let bad = |problem: &str| Refusal::BadField { field: "code".into(), problem: problem.into() };
    if !outcome.findings.iter().any(|finding| finding.code == code) {
        return Err(bad("there is no such finding on this operation"));
    }
    if STANDING.contains(&code) {
        return Err(bad("the decision stands on this finding; it ends by a pick or by evidence"));
    }
    Ok(())
}

/// Findings that a base row stands on: duplicate, contradiction, watch.
const STANDING: [&str; 3] = ["effects_exceed_intent", "second_copy_possible", "effect_without_send"];

fn check_confirmation(record: &Record, verdict: Verdict, typed: Option<&str>) -> Result<(), Refusal> {
    let expected = confirmation_text(&record.head.key);
    let needed = matches!(verdict, Verdict::Confirm | Verdict::Dual);
    if needed && typed.map(str::trim) != Some(expected) {
        return Err(Refusal::ConfirmationMissing { expected: expected.into(), verdict });
    }
    Ok(())
}

//! The event vocabulary (cases §0): one JSON line → what it says, and what a proposal becomes.
//!
//! Members that an event does not know are ignored; members of the wrong type are errors that name them.

mod end;

use std::time::Duration;

use crate::attempt::{AttemptRef, ReceiptFault, Report, ReportKind};
use crate::contract::Contract;
use crate::difference::diff;
use crate::evidence::{Claim, Evidence, LinkedBy, PartOf};
use crate::fingerprint::Hash;
use crate::json::{Json, Member};
use crate::layers::{Attempts, Declaration};
use crate::name::{
    DestinationKey, DestinationName, LayerName, NameError, OperationKey, Receipt, SourceName, SourceOperation,
    ToolName, check_name,
};
use crate::operation::{Arguments, Fact, Impact, Proposal, Record, State};
use crate::time::Timestamp;
use crate::tool::{Class, Tool};

/// Why a line is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct LineError {
    /// The member that is wrong, or `line`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// One line, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its `ts`.
    pub at: Timestamp,
    /// Its `ev`: one of [`EVENTS`].
    pub event: &'static str,
    /// What it says.
    pub says: Says,
}

/// The names of all events.
pub const EVENTS: [&str; 11] = [
    "operation.proposed",
    "operation.authorized",
    "claim.taken",
    "claim.refused",
    "attempt.started",
    "attempt.ended",
    "reconcile.ended",
    "compensation.proposed",
    "delivery.received",
    "operator.action",
    "layer.declared",
];

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// Something about one operation, named by its source.
    Operation {
        /// The source's name for it.
        name: SourceOperation,
        /// Its operation key, where the line gives one.
        key: Option<OperationKey>,
        /// Its tool, where the line gives one.
        tool: Option<ToolName>,
        /// Its destination, where the line gives one.
        destination: Option<DestinationName>,
        /// The workflow, where the line gives one.
        workflow: Option<String>,
        /// What is said about it.
        about: About,
    },
    /// A delivery. It is linked to operations by key.
    Delivery {
        /// The key in its metadata, if any.
        key: Option<String>,
        /// The evidence it gives, if it names a receipt.
        evidence: Option<Evidence>,
        /// The delivery's own identity.
        id: String,
    },
    /// An operator's act at the source, on one or several operations.
    Acted {
        /// The operations, by the source's names.
        names: Vec<SourceOperation>,
        /// The fact for each.
        fact: Fact,
    },
    /// A retry layer declares itself. Kept as received; it changes no operation.
    LayerDeclared(Declaration),
}

/// What a line says about an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// It was proposed.
    Proposed(Box<Proposed>),
    /// It was proposed in order to undo another one.
    CompensationProposed {
        /// The proposal.
        proposed: Box<Proposed>,
        /// The operation it undoes, by the source's name.
        compensates: SourceOperation,
    },
    /// Something about one send.
    Report(Report),
    /// Any other fact, complete as it is.
    Fact(Fact),
}

/// A proposal line's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// The arguments exactly as received, and as read.
    pub arguments: Option<(Vec<u8>, Json)>,
    /// What the line declares of the contract.
    pub contract: Option<Contract>,
    /// When it must be done.
    pub deadline: Option<Timestamp>,
    /// The tool call that proposed it.
    pub tool_call_id: Option<String>,
}

impl Line {
    /// Reads one line: an object with `ts`, `ev` and the members of that event.
    pub fn parse(bytes: &[u8], source: &SourceName) -> Result<Self, LineError> {
        let members = Json::parse_members(bytes).map_err(|error| wrong("line", error.to_string()))?;
        let fields = Fields { bytes, members: &members };
        let at = fields.time("ts")?.ok_or_else(|| wrong("ts", "is missing"))?;
        let event = fields.text("ev")?.ok_or_else(|| wrong("ev", "is missing"))?;
        let known = EVENTS.into_iter().find(|known| *known == event);
        let event = known.ok_or_else(|| wrong("ev", format!("{event:?} is not an event of the vocabulary")))?;
        let says = match event {
            "delivery.received" => delivery(&fields, at, source)?,
            "operator.action" => acted(&fields, at)?,
            "layer.declared" => Says::LayerDeclared(declared(&fields, at)?),
            _ => operation(&fields, event, at, source)?,
        };
        Ok(Self { at, event, says })
    }
}

fn wrong(field: &str, problem: impl Into<String>) -> LineError {
    LineError { field: field.into(), problem: problem.into() }
}

/// The members of a line, with typed access that names what is wrong.
struct Fields<'a> {
    bytes: &'a [u8],
    members: &'a [Member],
}

impl<'a> Fields<'a> {
    fn member(&self, name: &str) -> Option<&'a Member> {
        self.members.iter().find(|member| member.name == name && member.value != Json::Null)
    }

    fn value(&self, name: &str) -> Option<&'a Json> {
        self.member(name).map(|member| &member.value)
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, LineError> {
        match self.value(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, format!("must be a string, not {}", other.kind()))),
        }
    }

    fn name<T>(&self, name: &str, parse: impl Fn(String) -> Result<T, NameError>) -> Result<Option<T>, LineError> {
        let text = self.text(name)?;
        text.map(|text| parse(text.to_owned()).map_err(|error| wrong(name, error.to_string()))).transpose()
    }

    fn word<T>(&self, name: &str, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, LineError> {
        let word = self.text(name)?;
        word.map(|word| parse(word).ok_or_else(|| wrong(name, format!("{word:?} is not {what}")))).transpose()
    }

    fn time(&self, name: &str) -> Result<Option<Timestamp>, LineError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let time = Timestamp::parse_rfc3339(text);
        time.map(Some).ok_or_else(|| wrong(name, format!("{text:?} is not a time like 2026-10-05T09:00:00Z")))
    }

    fn whole<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>, LineError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let number = value.as_i64().and_then(|number| T::try_from(number).ok());
        number.map(Some).ok_or_else(|| wrong(name, "must be a whole number in range"))
    }

    /// A string, or any number in its exact digits: delivery ids exceed what a double holds.
    fn exact(&self, name: &str) -> Result<Option<String>, LineError> {
        match self.value(name) {
            None => Ok(None),
            Some(Json::String(text) | Json::Number(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(name, format!("must be a string or a number, not {}", other.kind()))),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, LineError> {
        let items = match self.value(name) {
            None => return Ok(Vec::new()),
            Some(Json::Array(items)) => items,
            Some(other) => return Err(wrong(name, format!("must be an array, not {}", other.kind()))),
        };
        let text = |item: &Json| item.as_str().map(Into::into).ok_or_else(|| wrong(name, "must hold strings only"));
        items.iter().map(text).collect()
    }

    /// What the receipt belongs to: `{"type": "charge", "part_of": "pi_A"}`.
    fn object(&self) -> Result<Option<PartOf>, LineError> {
        let Some(object) = self.value("object") else { return Ok(None) };
        let member = |name: &str| {
            let text = object.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
            text.ok_or_else(|| wrong("object", format!("{name} must be a string that is not empty")))
        };
        let kind = member("type")?.to_owned();
        check_name("type", &kind, ToolName::LIMIT).map_err(|error| wrong("object", error.to_string()))?;
        let part_of = Receipt::parse(member("part_of")?).map_err(|error| wrong("object", error.to_string()))?;
        Ok(Some(PartOf { kind, part_of }))
    }

    /// A number of seconds, with or without a fraction.
    fn seconds(&self, name: &str) -> Result<Option<Duration>, LineError> {
        let seconds = match self.value(name) {
            None => return Ok(None),
            Some(Json::Number(digits)) => digits.parse().ok(),
            Some(other) => return Err(wrong(name, format!("must be a number, not {}", other.kind()))),
        };
        let span = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        span.map(Some).ok_or_else(|| wrong(name, "must be a number of seconds from 0"))
    }

    fn raw(&self, name: &str) -> Option<&'a [u8]> {
        self.member(name).map(|member| &self.bytes[member.span.clone()])
    }
}

fn operation(fields: &Fields<'_>, event: &str, at: Timestamp, source: &SourceName) -> Result<Says, LineError> {
    let name = fields.name("op", SourceOperation::parse)?.ok_or_else(|| wrong("op", "is missing"))?;
    let about = match event {
        "operation.proposed" => About::Proposed(Box::new(proposed(fields)?)),
        "compensation.proposed" => About::CompensationProposed {
            proposed: Box::new(proposed(fields)?),
            compensates: fields
                .name("compensates", SourceOperation::parse)?
                .ok_or_else(|| wrong("compensates", "is missing"))?,
        },
        "operation.authorized" => About::Fact(Fact::AuthorizedElsewhere {
            at,
            by: fields.text("by")?.map(Into::into),
            expires_at: fields.time("expires")?,
            args_hash: arguments(fields)?.map(|(_, json)| json.hash()),
        }),
        "claim.refused" => About::Fact(Fact::ClaimRefused {
            at,
            claim: fields.text("claim")?.ok_or_else(|| wrong("claim", "is missing"))?.into(),
            reason: fields.text("reason")?.map(Into::into),
        }),
        "reconcile.ended" => About::Fact(Fact::Evidence(looked_up(fields, at, source, &name)?)),
        _ => About::Report(report(fields, event, at, source, &name)?),
    };
    Ok(Says::Operation {
        name,
        key: fields.name("key", OperationKey::parse)?,
        tool: fields.name("tool", ToolName::parse)?,
        destination: fields.name("dest", DestinationName::parse)?,
        workflow: fields.text("saga")?.map(Into::into),
        about,
    })
}

fn arguments(fields: &Fields<'_>) -> Result<Option<(Vec<u8>, Json)>, LineError> {
    let Some((value, raw)) = fields.value("args").zip(fields.raw("args")) else { return Ok(None) };
    match value {
        Json::Object(_) => Ok(Some((raw.to_vec(), value.clone()))),
        other => Err(wrong("args", format!("must be an object, not {}", other.kind()))),
    }
}

fn proposed(fields: &Fields<'_>) -> Result<Proposed, LineError> {
    let contract = fields.raw("dest_contract").map(declared_contract).transpose()?;
    Ok(Proposed {
        arguments: arguments(fields)?,
        contract,
        deadline: fields.time("deadline")?,
        tool_call_id: fields.text("tool_call_id")?.map(Into::into),
    })
}

/// Reads the declared fields of a stream's contract; fields that we do not know are left out. So is what a
/// stream says of single fields: that one of them is accepted as it stands is an administrator's to say.
fn declared_contract(raw: &[u8]) -> Result<Contract, LineError> {
    let problem = |error: serde_json::Error| wrong("dest_contract", error.to_string());
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(raw).map_err(problem)?;
    let is_known = |name: &str| Contract::FIELDS.contains(&name) && name != "provenance";
    let known = all.into_iter().filter(|(name, _)| is_known(name)).collect();
    serde_json::from_value(serde_json::Value::Object(known)).map_err(problem)
}

fn report(
    fields: &Fields<'_>,
    event: &str,
    at: Timestamp,
    source: &SourceName,
    name: &SourceOperation,
) -> Result<Report, LineError> {
    let number: Option<u32> = fields.whole("n")?;
    let claim: Option<String> = fields.text("claim")?.map(Into::into);
    if event == "claim.taken" && claim.is_none() {
        return Err(wrong("claim", "is missing"));
    }
    let kind = match event {
        "claim.taken" => ReportKind::Claimed { lease_s: fields.whole("lease_s")? },
        "attempt.started" => ReportKind::Started {
            args_hash: arguments(fields)?.map(|(_, json)| json.hash()),
            deadline: fields.time("deadline")?,
        },
        _ => ReportKind::Ended(end::read(fields)?),
    };
    Ok(Report {
        attempt: AttemptRef::new(name.clone(), claim, number),
        at,
        provider_time: fields.time("provider_time")?,
        source: source.clone(),
        number,
        owner: fields.name("owner", LayerName::parse)?,
        worker: fields.text("worker")?.map(Into::into),
        dest_key: fields.name("dest_key", DestinationKey::parse)?,
        budget: fields.whole("budget")?,
        kind,
    })
}

fn looked_up(
    fields: &Fields<'_>,
    at: Timestamp,
    source: &SourceName,
    name: &SourceOperation,
) -> Result<Evidence, LineError> {
    let outcome = fields.text("outcome")?.ok_or_else(|| wrong("outcome", "is missing"))?;
    let receipt = fields.name("receipt", Receipt::parse)?;
    let fault = fields.word("receipt_fault", "a fault of a receipt", ReceiptFault::parse)?;
    let claim = match (outcome, receipt) {
        ("found", Some(receipt)) => found(receipt, fault),
        ("found", None) => Claim::Likely,
        ("not_found", _) => Claim::Absent,
        ("unavailable", _) => Claim::Unavailable,
        ("ambiguous", _) => Claim::Ambiguous,
        (other, _) => return Err(wrong("outcome", format!("{other:?} is not an outcome of a look-up"))),
    };
    let digest = Hash::of(fields.bytes).to_string();
    Ok(Evidence {
        id: format!("look-up {name} {at} {}", &digest[..12]),
        source: source.clone(),
        claim,
        object: fields.object()?,
        linked_by: if fields.text("by")? == Some("natural_key") { LinkedBy::NaturalKey } else { LinkedBy::Key },
        key: None,
        at,
        provider_time: fields.time("provider_time")?,
        sent_at: Some(fields.time("sent_at")?.unwrap_or(at)),
    })
}

/// What an object under our key shows.
fn found(receipt: Receipt, fault: Option<ReceiptFault>) -> Claim {
    match fault {
        None => Claim::Executed { receipt },
        Some(fault) => Claim::NotOurs { receipt, fault },
    }
}

fn delivery(fields: &Fields<'_>, at: Timestamp, source: &SourceName) -> Result<Says, LineError> {
    let event = fields.exact("event_id")?.ok_or_else(|| wrong("event_id", "is missing"))?;
    let sender = fields.text("source")?.unwrap_or("unnamed");
    let endpoint = fields.text("endpoint")?.unwrap_or("main");
    // The delivery id where it is told, else the event's; the latter is shared by redeliveries (R07).
    let id = match fields.exact("delivery")? {
        Some(delivery) => format!("{sender}/{endpoint}/{event}/{delivery}"),
        None => format!("{sender}/{endpoint}/{event}"),
    };
    let key = match fields.value("metadata") {
        None => None,
        Some(metadata @ Json::Object(_)) => metadata.get("key").and_then(Json::as_str).map(ToOwned::to_owned),
        Some(other) => return Err(wrong("metadata", format!("must be an object, not {}", other.kind()))),
    };
    let receipt = fields.name("receipt", Receipt::parse)?;
    let kind = fields.text("type")?.unwrap_or_default();
    // An unverified delivery gives no evidence (I22).
    let is_verified = fields.value("signature_ok") != Some(&Json::Bool(false));
    let evidence = receipt.filter(|_| is_verified).map(|receipt| {
        let reversed = [".failed", ".reversed", ".canceled", ".cancelled", ".voided"];
        Ok(Evidence {
            id: id.clone(),
            source: source.clone(),
            claim: match found(receipt, fields.word("receipt_fault", "a fault of a receipt", ReceiptFault::parse)?) {
                Claim::Executed { receipt } if reversed.iter().any(|ending| kind.ends_with(ending)) => {
                    Claim::Reversed { receipt }
                }
                told => told,
            },
            object: fields.object()?,
            linked_by: LinkedBy::Key,
            key: key.as_ref().and_then(|key| DestinationKey::parse(key.clone()).ok()),
            at,
            provider_time: fields.time("provider_time")?,
            sent_at: None,
        })
    });
    Ok(Says::Delivery { key, evidence: evidence.transpose()?, id })
}

fn acted(fields: &Fields<'_>, at: Timestamp) -> Result<Says, LineError> {
    let mut names: Vec<SourceOperation> = fields.name("op", SourceOperation::parse)?.into_iter().collect();
    if let Some(Json::Array(ops)) = fields.value("selection").and_then(|selection| selection.get("ops")) {
        for op in ops {
            let text = op.as_str().ok_or_else(|| wrong("selection", "ops must be strings"))?;
            names.push(SourceOperation::parse(text).map_err(|error| wrong("selection", error.to_string()))?);
        }
    }
    if names.is_empty() {
        return Err(wrong("op", "is missing, and so is selection.ops"));
    }
    let fact = Fact::ActedElsewhere {
        at,
        act: fields.text("act")?.ok_or_else(|| wrong("act", "is missing"))?.into(),
        verb: fields.text("verb")?.ok_or_else(|| wrong("verb", "is missing"))?.into(),
        by: fields.text("by")?.map(Into::into),
    };
    Ok(Says::Acted { names, fact })
}

fn declared(fields: &Fields<'_>, at: Timestamp) -> Result<Declaration, LineError> {
    let attempts: Option<i64> = fields.whole("max_attempts")?;
    Ok(Declaration {
        at,
        layer: fields.name("layer", LayerName::parse)?.ok_or_else(|| wrong("layer", "is missing"))?,
        destination: fields.name("dest", DestinationName::parse)?,
        tool: fields.name("tool", ToolName::parse)?,
        attempts: attempts
            .map(|count| {
                Attempts::from_attempts(count).ok_or_else(|| {
                    wrong("max_attempts", "counts sends, the first included: 1 or more, or -1 for no limit")
                })
            })
            .transpose()?,
        on: fields.texts("on")?,
        timeout: fields.seconds("timeout_s")?,
    })
}

/// What a proposal becomes on an operation that may already be there: the first proposal, an alias of
/// it (equal `identity_hash`, or no arguments on one side), or a conflicting proposal with its diff.
/// `stored` are the first arguments on record, as received.
pub fn proposal_fact(
    record: &Record,
    stored: Option<&Json>,
    tool: &Tool,
    proposed: &Proposed,
    at: Timestamp,
    source: &SourceName,
    name: &SourceOperation,
) -> Fact {
    let on_record = record.arguments();
    // The volatile list in force when the operation was first proposed decides on sameness.
    let contract = tool.contract.clone();
    let declared = record.proposals().find_map(|proposal| proposal.contract.as_deref()).or(proposed.contract.as_ref());
    let contract = declared.map_or(contract.clone(), |stream| contract.or(stream));
    let volatile = contract.volatile_fields.clone().unwrap_or_default();
    let json = proposed.arguments.as_ref().map(|(_, json)| json);
    let proposal = Proposal {
        at,
        source: source.clone(),
        name: name.clone(),
        arguments: proposed.arguments.as_ref().map(|(raw, json)| Arguments {
            identity_hash: json.hash_without(&volatile),
            args_hash: json.hash(),
            intent_hash: intent_hash(tool.class, &contract, json),
            size_bytes: raw.len() as u64,
        }),
        contract: proposed.contract.clone().map(Box::new),
        deadline: proposed.deadline,
        impact: json.and_then(|json| impact(tool, json)),
        tool_call_id: proposed.tool_call_id.clone(),
        by: None,
    };
    match (on_record, &proposal.arguments) {
        (Some(first), Some(other)) if first.identity_hash != other.identity_hash => {
            let changes = stored.zip(json).map(|(before, after)| diff(before, after)).unwrap_or_default();
            Fact::Conflict { proposal, changes }
        }
        _ => Fact::Proposed(proposal),
    }
}

/// What two proposals under different keys have in common if they may be one intent (4.4.3): the declared fields, or
/// everything that is not volatile. A read makes no effect that could double.
pub fn intent_hash(class: Class, contract: &Contract, arguments: &Json) -> Option<Hash> {
    let Json::Object(members) = arguments else { return None };
    match &contract.intent_fields {
        _ if class == Class::Read => None,
        Some(fields) => arguments.hash_of_members(fields),
        None => {
            let volatile = contract.volatile_fields.as_deref().unwrap_or_default();
            let names_something = members.iter().any(|(name, _)| !volatile.contains(name));
            names_something.then(|| arguments.hash_without(volatile))
        }
    }
}

/// 4.4.3: the question whether a new operation is the same intent as another that has equal intent fields under another
/// key, whatever its tool. What was denied, cancelled or superseded is no answer to anybody's wish any more.
pub fn same_intent_question<'a>(
    new: &Record,
    others: impl IntoIterator<Item = &'a Record>,
    at: Timestamp,
) -> Option<Fact> {
    let hash = new.arguments()?.intent_hash?;
    let is_same = |other: &&Record| {
        let stopped = other
            .row
            .as_ref()
            .is_some_and(|row| matches!(row.state, State::Denied | State::Cancelled | State::Superseded));
        // What was recorded before this was asked is known by everything that is not volatile.
        let named = other.arguments().map(|arguments| arguments.intent_hash.unwrap_or(arguments.identity_hash));
        let reads = other.row.as_ref().is_some_and(|row| row.class == Class::Read);
        named == Some(hash)
            && !reads
            && !stopped
            && other.head.key != new.head.key
            && other.head.intent_id != new.head.intent_id
    };
    let other = others.into_iter().find(is_same)?;
    Some(Fact::SameIntentAsked { other: other.head.id.clone(), at })
}

/// What is at stake, read from the members that the tool names, or from the usual ones.
pub fn impact(tool: &Tool, arguments: &Json) -> Option<Impact> {
    let member = |named: Option<&String>, usual: &str| arguments.get(named.map_or(usual, |name| name.as_str()));
    let impact = Impact {
        amount_minor: member(tool.stake.amount_minor.as_ref(), "amount_minor").and_then(Json::as_i64),
        currency: member(tool.stake.currency.as_ref(), "currency").and_then(Json::as_str).map(str::to_uppercase),
        people: tool.stake.people.as_ref().and_then(|name| arguments.get(name)).and_then(Json::as_i64),
    };
    (impact.amount_minor.is_some() || impact.people.is_some()).then_some(impact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Line, LineError> {
        Line::parse(line.as_bytes(), &SourceName::parse("test").unwrap())
    }

    #[test]
    fn what_names_the_business_object_is_declared_or_everything_that_is_not_volatile() {
        let of = |class, contract: &Contract, text: &str| {
            intent_hash(class, contract, &Json::parse(text.as_bytes()).unwrap())
        };
        let write = Class::Reversible;
        let by_order = Contract { intent_fields: Some(vec!["order".into()]), ..Contract::default() };
        let stamped = Contract { volatile_fields: Some(vec!["ts".into()]), ..Contract::default() };
        assert_eq!(of(write, &by_order, r#"{"order":1,"a":1}"#), of(write, &by_order, r#"{"a":2,"order":1.0}"#));
        assert_ne!(of(write, &by_order, r#"{"order":1}"#), of(write, &by_order, r#"{"order":2}"#));
        assert_eq!(of(write, &by_order, r#"{"a":1}"#), None, "it names no order");
        assert_eq!(of(write, &stamped, r#"{"a":1,"ts":1}"#), of(write, &stamped, r#"{"a":1,"ts":2}"#));
        assert_eq!(of(write, &stamped, r#"{"ts":1}"#), None);
        assert_eq!(of(Class::Read, &by_order, r#"{"order":1}"#), None);
    }

    #[test]
    fn what_was_recorded_before_the_question_and_what_was_stopped() {
        use crate::action::ActionInput;
        use crate::rig::{Rig, keyed};
        let mut rig = Rig::new(Class::Reversible, keyed());
        rig.propose("op", "refund-1");
        rig.propose("new", "refund-2");
        let asked = |rig: &Rig, other: &Record| same_intent_question(rig.record("new"), [other], rig.now).is_some();
        assert!(asked(&rig, rig.record("op")));
        let mut older = Record { facts: crate::facts::Facts::new(), ..rig.record("op").clone() };
        for mut proposal in rig.record("op").proposals().cloned() {
            proposal.arguments.as_mut().unwrap().intent_hash = None;
            older.facts.push(Fact::Proposed(proposal));
        }
        assert!(asked(&rig, &older), "known by everything that is not volatile");
        rig.press("ben", "op", ActionInput::Deny {}).unwrap();
        assert!(!asked(&rig, rig.record("op")));
    }

    #[test]
    fn another_object_that_failed_is_not_ours_either() {
        let line = r#"{"ts":"2026-10-05T09:00:00Z","ev":"delivery.received","event_id":"e","type":"charge.failed","receipt":"ch_9","receipt_fault":"other_amount","metadata":{"key":"k"}}"#;
        let Says::Delivery { evidence: Some(evidence), .. } = parse(line).unwrap().says else { panic!("no delivery") };
        assert!(matches!(evidence.claim, Claim::NotOurs { .. }), "{:?}", evidence.claim);
    }

    #[test]
    fn every_line_of_every_case_is_understood() {
        for case in crate::cases::ALL {
            for line in case.lines() {
                parse(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            }
        }
    }

    #[test]
    fn a_bad_line_names_the_member_and_the_problem() {
        for (line, message) in [
            ("{", "line: the text ends in the middle of a value at byte 1"),
            (r#"{"ev":"attempt.started","op":"a"}"#, "ts: is missing"),
            (
                r#"{"ts":"today","ev":"attempt.started","op":"a"}"#,
                "ts: \"today\" is not a time like 2026-10-05T09:00:00Z",
            ),
            (r#"{"ts":"2026-10-05T09:00:00Z","ev":"nap"}"#, "ev: \"nap\" is not an event of the vocabulary"),
            (r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a"}"#, "outcome: is missing"),
            (
                r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":7,"outcome":"ok"}"#,
                "op: must be a string, not a number",
            ),
            (
                r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a","n":-1,"outcome":"ok"}"#,
                "n: must be a whole number in range",
            ),
            (
                r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","op":"b"}"#,
                "line: the member \"op\" occurs twice at byte 64",
            ),
            (
                r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","key":""}"#,
                "key: operation key is empty; give it at least one character",
            ),
            (r#"{"ts":"2026-10-05T09:00:00Z","ev":"layer.declared","max_attempts":3}"#, "layer: is missing"),
            (
                r#"{"ts":"2026-10-05T09:00:00Z","ev":"layer.declared","layer":"sdk","max_attempts":0}"#,
                "max_attempts: counts sends, the first included: 1 or more, or -1 for no limit",
            ),
            (
                r#"{"ts":"2026-10-05T09:00:00Z","ev":"layer.declared","layer":"sdk","on":[429]}"#,
                "on: must hold strings only",
            ),
            (
                r#"{"ts":"2026-10-05T09:00:00Z","ev":"layer.declared","layer":"sdk","timeout_s":-1}"#,
                "timeout_s: must be a number of seconds from 0",
            ),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn arguments_are_kept_exactly_as_received() {
        let line =
            r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","args":{"id": 1970670598291982290 }}"#;
        let Says::Operation { about: About::Proposed(proposed), .. } = parse(line).unwrap().says else {
            panic!("not a proposal");
        };
        let (raw, _) = proposed.arguments.unwrap();
        assert_eq!(raw, br#"{"id": 1970670598291982290 }"#);
    }

    #[test]
    fn a_stream_cannot_say_that_an_administrator_accepted_a_field() {
        let line = r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","dest_contract":{"stores":"2xx_only",
            "provenance":{"stores":{"verification":"claimed","accepted":{"by":"admin","at":0,"reason":"so"}}},"new":1}}"#;
        let Says::Operation { about: About::Proposed(proposed), .. } = parse(line).unwrap().says else {
            panic!("not a proposal");
        };
        let expected = Contract { stores: Some(crate::contract::Stores::SuccessesOnly), ..Contract::default() };
        assert_eq!(proposed.contract, Some(expected));
    }

    #[test]
    fn an_unverified_delivery_gives_no_evidence() {
        let line = r#"{"ts":"2026-10-05T09:00:00Z","ev":"delivery.received","event_id":"e","receipt":"r","signature_ok":false}"#;
        assert!(matches!(parse(line).unwrap().says, Says::Delivery { evidence: None, .. }));
    }

    #[test]
    fn r07_delivery_ids_stay_exact() {
        let line = r#"{"ts":"2026-10-05T14:00:00Z","ev":"delivery.received","source":"github","endpoint":"hook-11","delivery":9000000000000000101,"event_id":"guid-7"}"#;
        let Says::Delivery { id, .. } = parse(line).unwrap().says else { panic!("not a delivery") };
        assert_eq!(id, "github/hook-11/guid-7/9000000000000000101");
    }
}

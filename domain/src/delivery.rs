//! Deliveries: what a destination tells by itself (webhooks, semantics 1.9). Its signature was verified before anything
//! here sees it, and proves who sent it, no more. Which operation it speaks of, and what it says, is read here by a
//! template that is declared with the tool.
//!
//! The template stands with the tool, not with the webhook's configuration: one endpoint of a destination tells of many
//! kinds of objects, and which event means that *this* kind of effect is there belongs to what is said about the effect,
//! beside how it is looked up. Changed, it is audited and versioned as the tool is, and read again by every process.

mod envelope;

pub use envelope::{Envelope, Scheme};

use serde::{Deserialize, Serialize};

use crate::attempt::{ReportKind, ReportedOutcome};
use crate::contract::{Echo, SuccessReceipt};
use crate::evidence::{Claim, LinkedBy};
use crate::json::Json;
use crate::look_up::Holds;
use crate::name::{DestinationKey, OperationId, OperationKey, Receipt};
use crate::operation::{Fact, Record, named};
use crate::request::{Names, TemplateError};
use crate::time::Timestamp;
use crate::tool::Stake;

named! {
    /// What an event says about its object.
    Meaning {
        /// The object is there.
        Executed = "executed",
        /// It failed, was reversed or is gone.
        Reversed = "reversed",
        /// Nothing that an outcome depends on.
        Ignored = "ignored",
    }
}

/// A type of event, and what it says. The first that fits counts; a type that fits none says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its type, as the destination writes it: `charge.refunded`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    pub means: Meaning,
    /// What the object must hold for that: a refund of a part does not reverse the whole.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Holds>,
}

/// How the deliveries of a destination are read for one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeliveryTemplate {
    /// The types of event that speak of the tool's objects.
    pub events: Vec<Event>,
    /// Where the object stands in the body, as a JSON pointer; the body itself, if nothing is said.
    #[serde(default)]
    pub object: String,
    /// Where the object's id stands in it.
    pub receipt: String,
    /// Where the key stands in the *body* under which the object was made: `/request/idempotency_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where the operation key stands in the object that our request wrote into it: `/metadata/operation_key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_key: Option<String>,
    /// Where the operation id stands in the object that our request wrote into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// Where business fields stand in the object that together are the operation key. Anybody may have written them: what
    /// is linked by them alone is never more than likely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural_key: Option<String>,
    /// What the object must hold to be of this tool: one event type may tell of several kinds of objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Holds>,
    /// Values of the arguments that our object repeats; one that does not is not ours (7.18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_echo: Vec<Echo>,
    /// Where in the *body* it stands when it happened, as seconds since 1970 or RFC 3339; what the scheme says, otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<String>,
}

/// What a delivery may be linked by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The object.
    pub receipt: Receipt,
    /// The key under which it was made.
    pub key: Option<DestinationKey>,
    /// The operation key that was written into it.
    pub operation_key: Option<OperationKey>,
    /// The operation id that was written into it.
    pub operation_id: Option<OperationId>,
    /// The business fields that are the operation key.
    pub natural_key: Option<OperationKey>,
}

impl Named {
    /// Every name, to be found by.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let optional = [
            self.key.as_ref().map(DestinationKey::as_str),
            self.operation_key.as_ref().map(OperationKey::as_str),
            self.operation_id.as_ref().map(OperationId::as_str),
            self.natural_key.as_ref().map(OperationKey::as_str),
        ];
        std::iter::once(self.receipt.as_str()).chain(optional.into_iter().flatten())
    }

    /// How it is linked to this operation, by the surest of its names; `None` where it is another's (1.9).
    pub fn link_to(&self, record: &Record) -> Option<LinkedBy> {
        let head = &record.head;
        let is_own = |key: &str| head.key_given && head.key.as_str() == key;
        if self.key.as_ref().is_some_and(|key| record.destination_keys().contains(&key) || is_own(key.as_str())) {
            return Some(LinkedBy::Key);
        }
        let is_ours = self.operation_id.as_ref() == Some(&head.id)
            || self.operation_key.as_ref().is_some_and(|key| is_own(key.as_str()));
        if is_ours {
            return Some(LinkedBy::Metadata);
        }
        if receipts_of(record).any(|receipt| *receipt == self.receipt) {
            return Some(LinkedBy::Receipt);
        }
        self.natural_key.as_ref().filter(|key| is_own(key.as_str())).map(|_| LinkedBy::NaturalKey)
    }
}

/// Receipts by which a delivery may be linked to the operation. One that is only likely to be its own, or that a person
/// stated, does not count: it would make itself surer than it is.
pub fn receipts_of(record: &Record) -> impl Iterator<Item = &Receipt> {
    record.facts.iter().filter_map(receipt_in)
}

/// The receipt in one fact by which a delivery may be linked.
pub fn receipt_in(fact: &Fact) -> Option<&Receipt> {
    match fact {
        Fact::Report(report) => match &report.kind {
            // A refusal may name an object too: the one that is in the way (E28).
            ReportKind::Ended(end) if end.outcome == ReportedOutcome::Ok && end.receipt_fault.is_none() => {
                end.receipt.as_ref()
            }
            _ => None,
        },
        Fact::Evidence(evidence) => match (&evidence.claim, evidence.linked_by) {
            (_, LinkedBy::NaturalKey | LinkedBy::Manual) => None,
            (Claim::Executed { receipt } | Claim::Reversed { receipt }, _) => Some(receipt),
            _ => None,
        },
        _ => None,
    }
}

impl DeliveryTemplate {
    /// What a delivery may be linked by; `None` where it does not speak of this tool's objects, or names none.
    pub fn names_in(&self, event: Option<&str>, body: &Json) -> Option<Named> {
        let speaks = |declared: &&Event| declared.means != Meaning::Ignored && Some(declared.kind.as_str()) == event;
        self.events.iter().find(speaks)?;
        let object = body.pointer(&self.object)?;
        let text = |from: &Json, pointer: Option<&String>| text_at(from, pointer?).map(str::to_owned);
        Some(Named {
            receipt: Receipt::parse(text_at(object, &self.receipt)?).ok()?,
            key: text(body, self.key.as_ref()).and_then(|key| DestinationKey::parse(key).ok()),
            operation_key: text(object, self.operation_key.as_ref()).and_then(|key| OperationKey::parse(key).ok()),
            operation_id: text(object, self.operation_id.as_ref()).and_then(|id| OperationId::parse(id).ok()),
            natural_key: text(object, self.natural_key.as_ref()).and_then(|key| OperationKey::parse(key).ok()),
        })
    }

    /// What a delivery that is linked to an operation says about it; `None` where it says nothing of its outcome.
    /// `arguments_known` is whether `names` holds the arguments: without them nothing that must be echoed can be compared,
    /// and what is found is only likely to be ours.
    pub fn claim(
        &self,
        event: Option<&str>,
        body: &Json,
        names: &Names<'_>,
        stake: &Stake,
        arguments_known: bool,
    ) -> Result<Option<Claim>, TemplateError> {
        let Some(object) = body.pointer(&self.object) else { return Ok(None) };
        if !all_hold(&self.matches, object, names)? {
            return Ok(None);
        }
        let mut means = None;
        for declared in self.events.iter().filter(|declared| Some(declared.kind.as_str()) == event) {
            if all_hold(&declared.holds, object, names)? {
                means = Some(declared.means);
                break;
            }
        }
        let Some(means) = means.filter(|means| *means != Meaning::Ignored) else { return Ok(None) };
        if !arguments_known && !self.must_echo.is_empty() {
            return Ok(Some(Claim::Likely));
        }
        let declared =
            SuccessReceipt { pointer: self.receipt.clone(), pattern: None, must_echo: self.must_echo.clone() };
        Ok(match declared.read(object, names.arguments, stake) {
            Ok(receipt) if means == Meaning::Executed => Some(Claim::Executed { receipt }),
            Ok(receipt) => Some(Claim::Reversed { receipt }),
            Err(fault) => {
                let receipt = text_at(object, &self.receipt).and_then(|id| Receipt::parse(id).ok());
                receipt.map(|receipt| Claim::NotOurs { receipt, fault })
            }
        })
    }

    /// When it happened by the destination's clock, where the template says where that stands.
    pub fn happened_at(&self, body: &Json) -> Option<Timestamp> {
        envelope::time_at(body, self.happened_at.as_ref()?)
    }
}

fn all_hold(holds: &[Holds], object: &Json, names: &Names<'_>) -> Result<bool, TemplateError> {
    for one in holds {
        if !one.is_true_of(object, names)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A text, or a number in its exact digits.
fn text_at<'j>(json: &'j Json, pointer: &str) -> Option<&'j str> {
    match json.pointer(pointer)? {
        Json::String(text) | Json::Number(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

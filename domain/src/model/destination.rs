//! A destination that keeps keys as its contract says, forgets them in time, and counts effects: the oracle.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::contract::Stores;
use crate::name::{DestinationKey, IntentId, OperationId};
use crate::time::Timestamp;

/// How a request that arrives is dealt with, and what its sender hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// It is executed, and the sender hears it.
    Done,
    /// It is executed, and the answer is lost.
    DoneUnheard,
    /// It is executed, and the sender hears 500.
    DoneAs500,
    /// It is declined, and the sender hears it.
    Declined,
    /// A limiter refuses it before the key layer.
    Throttled,
    /// A proxy answers 204 in its place; nothing is executed.
    EmptyOk,
}

/// A request on its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) operation: OperationId,
    pub(crate) intent: IntentId,
    /// The lease it was sent under, and by which worker.
    pub(crate) epoch: u64,
    pub(crate) worker: usize,
    pub(crate) key: Option<DestinationKey>,
    pub(crate) region: u8,
    /// When it can land no more.
    pub(crate) lands_until: Timestamp,
}

/// An effect at the destination.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Made {
    pub(crate) operation: OperationId,
    pub(crate) intent: IntentId,
    pub(crate) epoch: u64,
    pub(crate) receipt: String,
    /// Whether the destination has told of it.
    pub(crate) told: bool,
}

/// What a key remembers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kept {
    since: Timestamp,
    answer: Answer,
    receipt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Destination {
    pub(crate) requests: Vec<Request>,
    pub(crate) effects: Vec<Made>,
    keys: BTreeMap<(u8, DestinationKey), Kept>,
    made: u32,
    /// Keys whose create stays cancelled.
    cancelled: Vec<DestinationKey>,
}

/// What a sender hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    Receipt(String),
    Status(u16),
}

impl Destination {
    pub(crate) fn effects_of(&self, intent: &IntentId) -> usize {
        self.effects.iter().filter(|effect| effect.intent == *intent).count()
    }

    /// Takes a request; what its sender hears. A key that is known answers as it did the first time.
    pub(crate) fn take(
        &mut self,
        index: usize,
        how: Answer,
        stores: Option<Stores>,
        retention: Duration,
        now: Timestamp,
    ) -> Heard {
        let request = self.requests.remove(index);
        if how == Answer::Throttled {
            return Heard::Status(429);
        }
        if how == Answer::EmptyOk {
            return Heard::Status(204);
        }
        let slot = stores.zip(request.key.clone()).map(|(stores, key)| (stores, (request.region, key)));
        let known = slot.as_ref().and_then(|(_, slot)| self.keys.get(slot));
        if let Some(kept) = known.filter(|kept| now.since(kept.since) <= retention) {
            let told = heard(kept.answer, kept.receipt.clone());
            return if how == Answer::DoneUnheard { Heard::Nothing } else { told };
        }
        let executes =
            !matches!(how, Answer::Declined) && !request.key.as_ref().is_some_and(|key| self.cancelled.contains(key));
        let receipt = executes.then(|| {
            self.made += 1;
            format!("in_{}", self.made)
        });
        if let Some(receipt) = &receipt {
            self.effects.push(Made {
                operation: request.operation.clone(),
                intent: request.intent.clone(),
                epoch: request.epoch,
                receipt: receipt.clone(),
                told: false,
            });
        }
        if let Some((stores, slot)) = slot {
            let is_success = matches!(how, Answer::Done | Answer::DoneUnheard);
            if stores != Stores::SuccessesOnly || is_success {
                self.keys.insert(slot, Kept { since: now, answer: how, receipt: receipt.clone() });
            }
        }
        if how == Answer::DoneUnheard { Heard::Nothing } else { heard(how, receipt) }
    }

    /// A cancel by key: whether something was there. A commutative one also stops what comes later.
    pub(crate) fn cancel(&mut self, key: &DestinationKey, operation: &OperationId, commutative: bool) -> bool {
        let before = self.effects.len();
        self.effects.retain(|effect| effect.operation != *operation);
        if commutative {
            self.cancelled.push(key.clone());
        }
        self.effects.len() < before
    }
}

fn heard(how: Answer, receipt: Option<String>) -> Heard {
    match (how, receipt) {
        // An answer that was lost the first time is told to a repeat.
        (Answer::Done | Answer::DoneUnheard, Some(receipt)) => Heard::Receipt(receipt),
        (Answer::DoneUnheard, None) => Heard::Nothing,
        (Answer::DoneAs500, _) => Heard::Status(500),
        (Answer::Declined | Answer::Done, _) => Heard::Status(402),
        (Answer::Throttled, _) => Heard::Status(429),
        (Answer::EmptyOk, _) => Heard::Status(204),
    }
}

//! Looking the truth up at the destination: the request of a look-up, what its answer says, and when the next one is due
//! (semantics 4.4.6, 4.9). A look-up reads; it has no other method than GET.

mod schedule;

pub use schedule::next_look_up;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{Contract, Echo, LookUpBy, SuccessReceipt};
use crate::evidence::{Claim, LinkedBy};
use crate::json::Json;
use crate::name::Receipt;
use crate::request::{Encoding, Face, Method, Names, RequestError, TemplateError, Wire, fill, headers_of, path_of};
use crate::tool::Stake;

/// A value that an object must hold to be the one that is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holds {
    /// Where, as a JSON pointer into the object.
    pub at: String,
    /// Which value, as a template: `{operation_key}`.
    pub value: String,
}

/// How the truth is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookUpTemplate {
    /// The path below the destination's base address, with places to fill in: `/charges?key={key}`.
    pub path: String,
    /// Further headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Where the list of objects stands in the answer; without it the answer is the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// What an object must hold to be ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Holds>,
    /// Where an object's id stands in it.
    pub receipt: String,
    /// Values of the arguments that our object repeats; one that does not is not ours (7.18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_echo: Vec<Echo>,
    /// What an object holds that failed or was reversed; any one of them is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reversed: Vec<Holds>,
    /// Where the answer says that the list goes on: such a list does not show that nothing is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<String>,
}

/// What came back to a look-up.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: &'a [u8],
}

impl LookUpTemplate {
    /// The request, for one operation.
    pub fn render(&self, names: &Names<'_>, face: &Face) -> Result<Wire, RequestError> {
        Wire::new(Method::Get, path_of(&self.path, names, face)?, headers_of(&self.headers, names, face)?, Vec::new())
    }

    /// What an answer says about the operation: at least one claim. Whatever is not understood is *unavailable*, never
    /// *absent*.
    pub fn read(&self, answer: Answer<'_>, names: &Names<'_>, stake: &Stake, by: LookUpBy) -> Vec<Claim> {
        self.claims(answer, names, stake, by).unwrap_or_else(|_| vec![Claim::Unavailable])
    }

    fn claims(
        &self,
        answer: Answer<'_>,
        names: &Names<'_>,
        stake: &Stake,
        by: LookUpBy,
    ) -> Result<Vec<Claim>, TemplateError> {
        let is_list = self.items.is_some();
        let json = match (answer.status, Json::parse(answer.body)) {
            (200, Ok(json)) => json,
            // The object itself was asked for, and its place is empty. A list that is not there says nothing.
            (404 | 410, _) if !is_list => return Ok(vec![Claim::Absent]),
            _ => return Ok(vec![Claim::Unavailable]),
        };
        let objects: Vec<&Json> = match &self.items {
            None => vec![&json],
            Some(pointer) => match json.pointer(pointer) {
                Some(Json::Array(items)) => items.iter().collect(),
                _ => return Ok(vec![Claim::Unavailable]),
            },
        };
        let mut ours = Vec::new();
        for object in objects {
            if self
                .matches
                .iter()
                .map(|holds| holds.is_true_of(object, names))
                .collect::<Result<Vec<_>, _>>()?
                .iter()
                .all(|holds| *holds)
            {
                ours.push(object);
            }
        }
        if by == LookUpBy::NaturalKey {
            // Business fields name what may be another's: never more than likely (1.9).
            return Ok(vec![match ours.len() {
                0 => self.nothing_found(&json),
                1 => Claim::Likely,
                _ => Claim::Ambiguous,
            }]);
        }
        if ours.is_empty() {
            return Ok(vec![self.nothing_found(&json)]);
        }
        ours.into_iter().map(|object| self.claim_of(object, names, stake)).collect()
    }

    fn nothing_found(&self, answer: &Json) -> Claim {
        let goes_on = self
            .more
            .as_ref()
            .is_some_and(|pointer| !matches!(answer.pointer(pointer), None | Some(Json::Null | Json::Bool(false))));
        if goes_on { Claim::Unavailable } else { Claim::Absent }
    }

    fn claim_of(&self, object: &Json, names: &Names<'_>, stake: &Stake) -> Result<Claim, TemplateError> {
        let declared =
            SuccessReceipt { pointer: self.receipt.clone(), pattern: None, must_echo: self.must_echo.clone() };
        let receipt = match declared.read(object, names.arguments, stake) {
            Ok(receipt) => receipt,
            Err(fault) => {
                let id = match object.pointer(&self.receipt) {
                    Some(Json::String(text) | Json::Number(text)) => Receipt::parse(text.as_str()).ok(),
                    _ => None,
                };
                return Ok(id.map_or(Claim::Likely, |receipt| Claim::NotOurs { receipt, fault }));
            }
        };
        for holds in &self.reversed {
            if holds.is_true_of(object, names)? {
                return Ok(Claim::Reversed { receipt });
            }
        }
        Ok(Claim::Executed { receipt })
    }
}

impl Holds {
    pub(crate) fn is_true_of(&self, object: &Json, names: &Names<'_>) -> Result<bool, TemplateError> {
        let wanted = fill(&self.value, names, Encoding::Plain)?;
        Ok(match object.pointer(&self.at) {
            Some(Json::String(text) | Json::Number(text)) => *text == wanted,
            Some(Json::Bool(value)) => value.to_string() == wanted,
            _ => false,
        })
    }
}

/// How what is found is linked to the operation (1.9).
pub const fn linked_by(by: LookUpBy) -> LinkedBy {
    match by {
        LookUpBy::Key => LinkedBy::Key,
        LookUpBy::Receipt => LinkedBy::Receipt,
        LookUpBy::NaturalKey => LinkedBy::NaturalKey,
        LookUpBy::Metadata => LinkedBy::Metadata,
    }
}

/// By what a tool's look-up searches; nothing, where its contract declares none, so that its answers stay hints.
pub fn searched_by(contract: &Contract) -> LookUpBy {
    contract.lookup.map_or(LookUpBy::NaturalKey, |look_up| look_up.by)
}

#[cfg(test)]
mod tests;

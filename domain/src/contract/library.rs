//! The contracts that come with the product: one readable file for each destination, or for each of its APIs
//! where they differ, under `domain/contracts`. What no source gives is not in the file, so it is unknown.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::contract::{ByField, Contract, Provenance, Verified};
use crate::json::{Json, JsonError};

/// A destination's contract as a file declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name, which is its file's.
    pub name: String,
    /// What people call the destination.
    pub title: String,
    /// Which requests it speaks of.
    pub applies_to: String,
    /// The promises, each with where it is known from and how well.
    pub contract: Contract,
    /// What the sources also say, in sentences. No rule reads them.
    pub notes: Vec<String>,
}

/// Why a file is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Not JSON, or JSON that readers disagree on.
    #[error("not JSON that is accepted")]
    NotJson(#[source] JsonError),
    /// A member that is wrong, missing or unknown.
    #[error("{member}: {problem}")]
    Member {
        /// Where it stands: `fields.stores.value`.
        member: String,
        /// What is wrong.
        problem: String,
    },
}

/// Every contract of the library, by name.
pub fn library() -> impl Iterator<Item = &'static Declared> {
    LIBRARY.values()
}

/// The contract of this name.
pub fn find(name: &str) -> Option<&'static Declared> {
    LIBRARY.get(name)
}

impl Declared {
    /// Reads one file. Unknown members are refused, and every field must have a value, a verification, a
    /// source and a date.
    pub fn parse(bytes: &[u8]) -> Result<Self, FileError> {
        let file = Json::parse(bytes).map_err(FileError::NotJson)?;
        let file = Members::of(&file, "", &["$schema", "name", "title", "applies_to", "fields", "notes"])?;
        let Json::Object(fields) = file.value("fields")? else { return wrong("fields", "must be an object") };
        let mut contract = Contract::default();
        let mut provenance = BTreeMap::new();
        for (field, told) in fields {
            let at = format!("fields.{field}");
            if Contract::promises().all(|promise| promise != field) {
                return wrong(&at, "is not a promise of a contract");
            }
            let told = Members::of(told, &at, &["value", "verification", "source_url", "checked_at"])?;
            let value = serde_value(told.value("value")?);
            let alone = serde_json::Map::from_iter([(field.clone(), value)]);
            let promise: Contract = serde_json::from_value(Value::Object(alone))
                .or_else(|error| wrong(&format!("{at}.value"), error.to_string()))?;
            if !promise.tells(field) {
                return wrong(&format!("{at}.value"), "is empty; leave the field out where nothing is known");
            }
            contract = contract.or(&promise);
            provenance.insert(field.clone(), told.provenance(&at)?);
        }
        contract.provenance = Some(ByField::try_from(provenance).or_else(|error| wrong("fields", error.to_string()))?);
        Ok(Self {
            name: file.text("name")?.to_owned(),
            title: file.text("title")?.to_owned(),
            applies_to: file.text("applies_to")?.to_owned(),
            contract,
            notes: file.sentences("notes")?,
        })
    }
}

fn wrong<T>(member: &str, problem: impl Into<String>) -> Result<T, FileError> {
    Err(FileError::Member { member: member.into(), problem: problem.into() })
}

/// The members of an object of a file; access names what is wrong and where.
struct Members<'a> {
    object: &'a Json,
    at: String,
}

impl<'a> Members<'a> {
    /// `at` is where the object stands; nothing for the file itself.
    fn of(value: &'a Json, at: &str, known: &[&str]) -> Result<Self, FileError> {
        let Json::Object(members) = value else {
            let at = if at.is_empty() { "file" } else { at };
            return wrong(at, format!("must be an object, not {}", value.kind()));
        };
        let at = if at.is_empty() { String::new() } else { format!("{at}.") };
        match members.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((unknown, _)) => wrong(&format!("{at}{unknown}"), "is not a member that a contract file has"),
            None => Ok(Self { object: value, at }),
        }
    }

    fn value(&self, name: &str) -> Result<&'a Json, FileError> {
        self.object.get(name).map_or_else(|| wrong(&format!("{}{name}", self.at), "is missing"), Ok)
    }

    fn text(&self, name: &str) -> Result<&'a str, FileError> {
        let at = || format!("{}{name}", self.at);
        match self.value(name)? {
            Json::String(text) if text.trim().is_empty() => wrong(&at(), "is empty"),
            Json::String(text) => Ok(text),
            other => wrong(&at(), format!("must be a string, not {}", other.kind())),
        }
    }

    fn sentences(&self, name: &str) -> Result<Vec<String>, FileError> {
        let at = format!("{}{name}", self.at);
        let Json::Array(items) = self.value(name)? else { return wrong(&at, "must be an array") };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().map_or_else(|| wrong(&at, "must hold strings"), Ok)
    }

    fn provenance(&self, at: &str) -> Result<Provenance, FileError> {
        let verification: Verified = serde_json::from_value(serde_value(self.value("verification")?))
            .or_else(|error| wrong(&format!("{at}.verification"), error.to_string()))?;
        let source_url = self.text("source_url")?;
        if !source_url.starts_with("https://") {
            return wrong(&format!("{at}.source_url"), "must begin with https://");
        }
        let checked_at = self.text("checked_at")?;
        if chrono::NaiveDate::parse_from_str(checked_at, "%Y-%m-%d").is_err() || checked_at.len() != 10 {
            return wrong(&format!("{at}.checked_at"), "must be a date such as 2026-11-29");
        }
        Ok(Provenance {
            verification,
            source_url: Some(source_url.to_owned()),
            checked_at: Some(checked_at.to_owned()),
            accepted: None,
        })
    }
}

/// The same value for the deserialiser that knows the types. A number beyond it stays text, and is refused there.
fn serde_value(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(literal) => serde_json::from_str(literal).unwrap_or_else(|_| Value::String(literal.clone())),
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(serde_value).collect()),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), serde_value(value))).collect())
        }
    }
}

macro_rules! files {
    ($($name:literal,)*) => {
        /// Every file with its text.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../contracts/", $name, ".json"))),)*];
    };
}

files! {
    "adyen",
    "aws-acm-pca",
    "aws-cloud-control",
    "aws-codebuild",
    "aws-directory-service-data",
    "aws-dynamodb",
    "aws-ec2",
    "aws-ecs",
    "aws-odb",
    "aws-scep",
    "aws-step-functions-redrive",
    "aws-supply-chain",
    "aws-verified-permissions",
    "azure-odata",
    "brevo",
    "checkbook",
    "checkout-com",
    "easyship",
    "fullstory",
    "github-rest",
    "google-aip-155",
    "google-compute",
    "ietf-draft",
    "kitaru",
    "method",
    "paypal",
    "paypal-orders-v2",
    "ppro",
    "qonto",
    "sendgrid-mail",
    "shopify-admin",
    "slack-chat",
    "square-invoices",
    "square-orders",
    "square-payments",
    "stripe-v1",
    "stripe-v2",
    "svix",
    "telnyx",
    "truelayer",
    "twilio",
    "whop",
}

static LIBRARY: LazyLock<BTreeMap<&'static str, Declared>> = LazyLock::new(|| {
    FILES
        .iter()
        .map(|(name, text)| {
            #[expect(clippy::expect_used, reason = "the files are compiled in, and a test reads every one of them")]
            let declared = Declared::parse(text.as_bytes()).expect("a contract file of this build is well-formed");
            (*name, declared)
        })
        .collect()
});

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::PROOFS;

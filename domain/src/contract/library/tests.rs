//! The library's files: each is read, each agrees with the schema, and its numbers are the ones that
//! semantics 6 names.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::contract::tests::{accepted, attempt_at, protects};
use crate::contract::{OnInFlight, OnMismatch, Stores};
use crate::proof::{proofs, prove, prove_that};
use crate::tool::Class;

const SCHEMA: &str = include_str!("../../../contracts/schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn names_of(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn every_file_of_the_folder_is_in_the_library_and_is_named_as_it_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/contracts");
    let on_disk: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "schema.json")
        .collect();
    let in_library: BTreeSet<String> = FILES.iter().map(|(name, _)| format!("{name}.json")).collect();
    assert_eq!(on_disk, in_library);
    for (name, text) in FILES {
        let declared = Declared::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(declared.name, *name);
        assert_eq!(find(name), Some(&declared));
    }
    assert_eq!(library().count(), FILES.len());
}

#[test]
fn every_field_of_every_file_has_its_source_its_date_and_its_verification() {
    for declared in library() {
        let contract = &declared.contract;
        for field in Contract::promises().filter(|field| contract.tells(field)) {
            let recorded = contract.provenance.as_ref().and_then(|entries| entries.get(field));
            let recorded = recorded.unwrap_or_else(|| panic!("{}: {field}", declared.name));
            assert!(recorded.source_url.is_some() && recorded.checked_at.is_some(), "{}: {field}", declared.name);
            // Nobody has tested any of them yet; what the tables say is a claim.
            assert_eq!(recorded.verification, Verified::Claimed, "{}: {field}", declared.name);
            assert_eq!(recorded.accepted, None, "{}: {field}", declared.name);
        }
        let recorded = contract.provenance.iter().flat_map(|entries| entries.iter().map(|(field, _)| field));
        for field in recorded {
            assert!(contract.tells(field), "{}: {field} has a source and no value", declared.name);
        }
    }
}

#[test]
fn the_schema_names_exactly_the_fields_of_a_contract() {
    let schema = schema();
    let fields = &schema["properties"]["fields"]["properties"];
    assert_eq!(names_of(fields), Contract::promises().collect::<BTreeSet<_>>());
}

#[test]
fn the_schema_names_exactly_the_values_of_each_enumeration() {
    use crate::attempt::GrpcStatus;
    use crate::budget::BudgetKind;
    use crate::contract::{
        Consistency, KeyCharset, KeyQuoting, LayerRetries, LookUpBy, RetentionStarts, RetryOwner, ScopePart,
    };
    let schema = schema();
    let fields = &schema["properties"]["fields"]["properties"];
    let names = |list: &[&'static str]| list.iter().map(|name| Value::from(*name)).collect::<Vec<_>>();
    macro_rules! of {
        ($kind:ty) => {
            names(&<$kind>::ALL.iter().map(|value| value.name()).collect::<Vec<_>>())
        };
    }
    for (at, expected) in [
        ("/key_quoting/properties/value/enum", of!(KeyQuoting)),
        ("/key_charset/properties/value/enum", of!(KeyCharset)),
        ("/retention_starts/properties/value/enum", of!(RetentionStarts)),
        ("/scope/properties/value/items/enum", of!(ScopePart)),
        ("/on_mismatch/properties/value/enum", of!(OnMismatch)),
        ("/on_in_flight/properties/value/enum", of!(OnInFlight)),
        ("/stores/properties/value/enum", of!(Stores)),
        ("/lookup/properties/value/properties/by/enum", of!(LookUpBy)),
        ("/lookup/properties/value/properties/consistency/enum", of!(Consistency)),
        ("/retry_owner/properties/value/enum", of!(RetryOwner)),
        ("/budget_kind/properties/value/enum", of!(BudgetKind)),
        ("/layer_retries/properties/value/enum", of!(LayerRetries)),
    ] {
        assert_eq!(fields.pointer(at), Some(&Value::from(expected)), "{at}");
    }
    let grpc = schema.pointer("/$defs/signal/properties/grpc/enum");
    assert_eq!(grpc, Some(&Value::from(of!(GrpcStatus))));
}

#[test]
fn every_file_obeys_the_schema() {
    let schema = schema();
    for (name, text) in FILES {
        let file = serde_json::from_str(text).unwrap();
        let problems = disagreements(&schema, &schema, &file, name);
        assert!(problems.is_empty(), "{problems:#?}");
    }
}

#[test]
fn the_schema_and_the_reader_refuse_the_same_mistakes() {
    let schema = schema();
    let good = FILES.iter().find(|(name, _)| *name == "stripe-v1").unwrap().1;
    for (mistake, instead, message) in [
        (r#""fields""#, r#""felds""#, "felds: is not a member that a contract file has"),
        (r#""key_quoting""#, r#""quoting""#, "fields.quoting: is not a promise of a contract"),
        (r#""key_max_len""#, r#""provenance""#, "fields.provenance: is not a promise of a contract"),
        (r#""value": 255"#, r#""value": "255""#, "fields.key_max_len.value: invalid type"),
        (r#""value": 255"#, r#""value": -1"#, "fields.key_max_len.value: invalid value"),
        (r#""value": 255"#, r#""value": null"#, "fields.key_max_len.value: is empty"),
        (r#""value": 255"#, r#""worth": 255"#, "fields.key_max_len.worth: is not a member"),
        (r#""value": "any_once_started""#, r#""value": "some""#, "fields.stores.value: unknown variant"),
        (r#"{"by": "metadata"}"#, r#"{"by": "metadata", "luck": 1}"#, "fields.lookup.value: unknown field"),
        (r#""verification": "claimed""#, r#""verification": "sure""#, "fields.key_location.verification: unknown"),
        (r#""verification": "claimed""#, r#""verification": {"tested_live": {"by": "a"}}"#, "missing field"),
        (r#""source_url": "https"#, r#""source_url": "http"#, "fields.key_location.source_url: must begin with"),
        (r#""checked_at": "2026-11-29""#, r#""checked_at": "29.11.2026""#, "fields.key_location.checked_at: must be"),
        (r#""notes": ["#, r#""notes": [1, "#, "notes: must hold strings"),
        (r#""name": "stripe-v1""#, r#""name": """#, "name: is empty"),
    ] {
        let bad = good.replacen(mistake, instead, 1);
        assert_ne!(bad, good, "{mistake}");
        let error = Declared::parse(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}, not {message}");
        let problems = disagreements(&schema, &schema, &serde_json::from_str(&bad).unwrap(), "file");
        assert!(!problems.is_empty(), "the schema takes {instead}");
    }
    let twice = good.replacen(r#""value": 255"#, r#""value": 255, "value": 255"#, 1);
    assert!(matches!(Declared::parse(twice.as_bytes()), Err(FileError::NotJson(_))));
    for (mistake, expected) in [
        (r#""verification": {"tested_stand_in": "psp-sim 2"}"#, Verified::TestedStandIn("psp-sim 2".into())),
        (
            r#""verification": {"tested_live": {"by": "ann", "on": "2026-12-01"}}"#,
            Verified::TestedLive { by: "ann".into(), on: "2026-12-01".into() },
        ),
    ] {
        let tested = good.replacen(r#""verification": "claimed""#, mistake, 1);
        let declared = Declared::parse(tested.as_bytes()).unwrap();
        assert_eq!(declared.contract.provenance_of("key_location").verification, expected);
        assert_eq!(disagreements(&schema, &schema, &serde_json::from_str(&tested).unwrap(), "file"), [""; 0]);
    }
}

/// Where a value does not obey a schema. Knows the words that our schema uses, and refuses any other.
fn disagreements(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let Value::Object(words) = schema else { return Vec::new() };
    let mut found = Vec::new();
    for (word, told) in words {
        let whole = |found: &mut Vec<String>, holds: bool| {
            if !holds {
                found.push(format!("{at}: {value} is not {word} {told}"));
            }
        };
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let target = root.pointer(told.as_str().unwrap().trim_start_matches('#')).unwrap();
                found.extend(disagreements(root, target, value, at));
            }
            "type" => whole(
                &mut found,
                match told.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    other => panic!("type {other}"),
                },
            ),
            "const" => whole(&mut found, value == told),
            "enum" => whole(&mut found, told.as_array().unwrap().contains(value)),
            "minimum" => whole(&mut found, value.as_i64().is_none_or(|number| number >= told.as_i64().unwrap())),
            "maximum" => whole(&mut found, value.as_i64().is_none_or(|number| number <= told.as_i64().unwrap())),
            "minLength" => whole(&mut found, value.as_str().is_none_or(|text| !text.is_empty())),
            "minItems" => whole(&mut found, value.as_array().is_none_or(|items| !items.is_empty())),
            "minProperties" => whole(&mut found, value.as_object().is_none_or(|members| !members.is_empty())),
            "pattern" => whole(
                &mut found,
                value.as_str().is_none_or(|text| match told.as_str().unwrap() {
                    "^https://" => text.starts_with("https://"),
                    "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" => text.len() == 10 && text.split('-').map(str::len).eq([4, 2, 2]),
                    other => panic!("pattern {other}"),
                }),
            ),
            "oneOf" => {
                let agree = |one: &&Value| disagreements(root, one, value, at).is_empty();
                whole(&mut found, told.as_array().unwrap().iter().filter(agree).count() == 1);
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(disagreements(root, told, item, &format!("{at}[{index}]")));
                }
            }
            "properties" => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    if let Some(known) = told.get(name) {
                        found.extend(disagreements(root, known, member, &format!("{at}.{name}")));
                    }
                }
            }
            "required" => {
                for name in told.as_array().unwrap() {
                    whole(&mut found, value.get(name.as_str().unwrap()).is_some());
                }
            }
            "additionalProperties" => {
                let known = words.get("properties").map(names_of).unwrap_or_default();
                let extra = value.as_object().into_iter().flatten().any(|(name, _)| !known.contains(name.as_str()));
                whole(&mut found, !extra);
            }
            other => panic!("the schema uses {other}, which this reader does not know"),
        }
    }
    found
}

/// What a destination's file leaves open, supplied as if a test had found the safe answer.
fn supplied() -> Contract {
    Contract {
        stores: Some(Stores::AnyOnceStarted),
        on_in_flight: Some(OnInFlight::Blocks),
        on_mismatch: Some(OnMismatch::Error),
        ..Contract::default()
    }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

proofs! {
    fn key_age_against_retention_concretely() {
        for (name, certain_for) in [
            ("stripe-v1", Some(23 * HOUR + 53 * MINUTE)),
            ("shopify-admin", Some(23 * HOUR + 53 * MINUTE)),
            ("adyen", Some(7 * DAY - 7 * MINUTE)),
            ("aws-dynamodb", Some(3 * MINUTE)),
            ("aws-ecs", Some(53 * MINUTE)),
            ("qonto", Some(23 * MINUTE)),
            ("checkout-com", Some(23 * HOUR + 53 * MINUTE)),
            ("stripe-v2", Some(30 * DAY - 7 * MINUTE)),
            // Kept for five minutes: shorter than D and the margin together.
            ("aws-codebuild", Some(0)),
            ("aws-acm-pca", Some(0)),
            ("square-payments", None),
            ("telnyx", None),
            ("google-compute", None),
            ("github-rest", None),
        ] {
            let window = find(name).unwrap().contract.key_window();
            prove!("3.7.6", window, certain_for.map(Duration::from_secs), "{name}");
        }
    }

    fn a_key_protects_until_that_age_and_not_a_moment_longer() {
        for (name, certain_for) in [
            ("stripe-v1", 23 * HOUR + 53 * MINUTE),
            ("shopify-admin", 23 * HOUR + 53 * MINUTE),
            ("adyen", 7 * DAY - 7 * MINUTE),
            ("aws-dynamodb", 3 * MINUTE),
            ("aws-ecs", 53 * MINUTE),
        ] {
            // The file's own promises stand; the open ones are supplied, and an administrator takes all of it.
            let contract = accepted(find(name).unwrap().contract.clone().or(&supplied()));
            let open = [attempt_at(0, "k")];
            for class in [Class::Reversible, Class::Irreversible] {
                let at = |age: Duration| protects(&contract, class, &open, age);
                prove!("3.7.6", at(Duration::from_secs(certain_for)), Ok(()), "{name}");
                let late = at(Duration::from_secs(certain_for) + Duration::from_micros(1)).unwrap_err();
                prove_that!("3.7.6", late.contains("too old"), "{name}: {late}");
            }
        }
    }

    fn some_keys_never_protect_whatever_is_supplied() {
        for (name, why) in [
            ("qonto", "a repeat with other parameters is not known to be refused"),
            ("checkbook", "a repeat with other parameters is not known to be refused"),
            ("checkout-com", "the key keeps successes only"),
            ("telnyx", "the key keeps successes only"),
            ("square-payments", "retention is unknown"),
            ("aws-ec2", "retention is unknown"),
            ("google-compute", "retention is unknown"),
            ("paypal", "retention is unknown"),
            ("ietf-draft", "retention is unknown"),
            ("slack-chat", "retention is unknown"),
            ("aws-codebuild", "kept for too short a time"),
        ] {
            let contract = accepted(find(name).unwrap().contract.clone().or(&supplied()));
            let reason = protects(&contract, Class::Reversible, &[attempt_at(0, "k")], Duration::ZERO).unwrap_err();
            prove_that!("3.7", reason.contains(why), "{name}: {reason}");
            prove!("3.7", protects(&contract, Class::Reversible, &[], Duration::ZERO), Ok(()), "{name}: nothing is open");
        }
    }

    fn by_its_file_alone_no_key_protects_a_write_yet() {
        // Claims do not suffice for class V or X (3.7.7); with them accepted, only complete promises protect.
        let mut complete = BTreeSet::new();
        for declared in library() {
            let open = [attempt_at(0, "k")];
            for class in [Class::Reversible, Class::Irreversible] {
                prove_that!("3.7.7", protects(&declared.contract, class, &open, Duration::ZERO).is_err(), "{}", declared.name);
            }
            let taken = accepted(declared.contract.clone());
            if protects(&taken, Class::Irreversible, &open, Duration::ZERO).is_ok() {
                complete.insert(declared.name.as_str());
            }
        }
        prove!("3.7", complete, BTreeSet::from(["stripe-v1"]));
    }

    fn what_a_file_does_not_tell_is_the_reason_that_its_key_does_not_protect() {
        for (name, why) in [
            ("adyen", "it is unknown which answers the key keeps"),
            ("shopify-admin", "it is unknown which answers the key keeps"),
            ("aws-dynamodb", "it is unknown which answers the key keeps"),
            ("aws-ecs", "it is unknown which answers the key keeps"),
            ("stripe-v2", "it is unknown what a repeat does while the first is running"),
            ("easyship", "it is unknown what a repeat does while the first is running"),
        ] {
            let taken = accepted(find(name).unwrap().contract.clone());
            let reason = protects(&taken, Class::Reversible, &[attempt_at(0, "k")], Duration::ZERO).unwrap_err();
            prove!("3.7", reason.as_str(), why, "{name}");
        }
    }
}

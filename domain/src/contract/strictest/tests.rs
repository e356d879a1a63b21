//! Properties of the strictest version: it does not depend on order or repetition, and it is never safer than
//! any version it was made of.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::contract::Verification;
use crate::contract::tests::{attempt_at, protects};
use crate::tool::Class;

/// For each field some values that tell its cases apart. A field that is not here is kept only where it agrees.
fn values() -> Vec<(&'static str, Value)> {
    let signals = json!([
        [{"http": 409, "error": "a"}],
        [{"http": 409, "error": "b"}, {"http": 409, "error": "a"}],
        [{"http": 409, "error": "a"}, {"http": 409, "error": "b"}, {"http": 409, "error": "a"}],
        [],
    ]);
    let texts = json!([["x"], ["y", "x"], ["x", "y", "y"], []]);
    let fixed = [
        ("key_location", json!(["Idempotency-Key", "Idempotency-Key", "Idempotency-Key", "X-Key"])),
        ("key_quoting", json!(["bare", "bare", "bare", "sf_string"])),
        ("key_max_len", json!([45, 64])),
        ("key_charset", json!(["ascii", "A-Za-z0-9_:-", "uuid", "uuid_not_zero", "uuid4"])),
        ("key_retention_s", json!([300, 3_600, 86_400])),
        ("retention_starts", json!(["first_seen", "first_completed"])),
        (
            "retention_rule",
            json!([
                "constant",
                {"min_with_resource_lifetime": {"after_end_s": 1_800}},
                {"min_with_resource_lifetime": {"after_end_s": 86_400}},
            ]),
        ),
        ("scope", json!([["account"], ["region", "account"], ["account", "region", "region"], []])),
        ("on_mismatch", json!(["error", "error", "error", "replay_old", "executes"])),
        ("on_in_flight", json!(["codes", "blocks"])),
        ("stores", json!(["any_once_started", "resume_to_completion", "2xx_only"])),
        ("replay_marker", json!(["A", "B: true"])),
        ("effect_identity", json!([{"object": "payment", "aliases": ["charge"]}, {"object": "payment"}])),
        ("async_accept", json!([{"same_handle": true}, {"same_handle": false, "deadline_s": 60}])),
        ("partial_success", json!([true, false])),
        ("sole_writer", json!([true, false])),
        ("status_suffices", json!([true, false])),
        (
            "lookup",
            json!([
                {"by": "key", "consistency": "strong", "complete": true},
                {"by": "metadata", "consistency": "strong", "complete": true},
                {"by": "receipt", "consistency": "eventual", "complete": true},
                {"by": "natural_key", "consistency": "strong", "complete": false},
                {"by": "key"},
            ]),
        ),
        ("lookup_sees_after_s", json!([5, 60])),
        ("cancel_by_key", json!([{"noop_on_absent": true}, {"noop_on_absent": true, "commutative": true}, {}])),
        (
            "compensation",
            json!([
                {"tool": "refund", "window_s": 60, "partial": true},
                {"tool": "refund", "window_s": 3_600, "commutative": true, "partial": false},
                {"tool": "void"},
            ]),
        ),
        ("max_arrival_delay_s", json!([0, 60, 120, 600])),
        ("client_deadline_s", json!([5, 30, 90])),
        ("key_age_margin_s", json!([0, 300, 900])),
        ("watch_s", json!([60, 86_400, 100_000])),
        ("settle_s", json!([1, 10_000])),
        ("lease_s", json!([10, 90])),
        ("approval_life_s", json!([60, 90_000])),
        ("operation_deadline_s", json!([60, 90_000])),
        ("retry_after_cap_s", json!([60, 9_000])),
        ("attempts_per_episode", json!([1, 5])),
        ("attempts_cap", json!([2, 20])),
        ("lookup_count", json!([1, 9])),
        ("lookup_span_s", json!([60, 9_000])),
        ("intermediaries", json!([true, false])),
        ("layer_retries", json!(["off", "on"])),
        ("removes", json!([true, false])),
        ("retry_owner", json!(["transport", "agent"])),
        ("budget_kind", json!(["bucket", "ratio"])),
        ("verification", json!(["claimed", "tested_stand_in", "tested_live"])),
        ("source_url", json!(["https://a", "https://b"])),
        ("checked_at", json!(["2026-11-01", "2026-11-29"])),
        (
            "provenance",
            json!([
                {"stores": {"verification": "claimed"}},
                {"stores": {"verification": {"tested_stand_in": "sim"}}, "on_mismatch": {"verification": "claimed"}},
                {"stores": {"verification": {"tested_live": {"by": "ann", "on": "2026-11-01"}}, "checked_at": "2026-11-01"}},
                {"stores": {"verification": {"tested_live": {"by": "bob", "on": "2026-11-02"}}, "source_url": "https://a"}},
                {
                    "stores": {"verification": "claimed", "accepted": {"by": "admin", "at": 1, "reason": "it is small"}},
                    "watch_s": {"verification": "claimed"},
                },
            ]),
        ),
    ];
    let signals_of = [
        "negative_signals",
        "mismatch_signals",
        "in_flight_signals",
        "conflict_signals",
        "precondition_signals",
        "decline_signals",
        "throttle_signals",
        "gone_signals",
    ];
    let texts_of = ["volatile_fields", "intent_fields", "secret_fields"];
    fixed
        .into_iter()
        .chain(signals_of.into_iter().map(|field| (field, signals.clone())))
        .chain(texts_of.into_iter().map(|field| (field, texts.clone())))
        .collect()
}

/// A contract by one choice a field: the field's own value in `base`, or one of the table, or none.
fn contract_of(base: &Contract, choices: &[u8], table: &[(&'static str, Value)]) -> Contract {
    let mut told = serde_json::to_value(base).unwrap();
    let members = told.as_object_mut().unwrap();
    for ((field, values), choice) in table.iter().zip(choices) {
        let values = values.as_array().unwrap();
        match usize::from(*choice).checked_sub(KEPT) {
            None => {}
            Some(rest) => match values.get(rest % (values.len() + 1)) {
                Some(value) => drop(members.insert((*field).to_owned(), value.clone())),
                None => drop(members.remove(*field)),
            },
        }
    }
    serde_json::from_value(told).unwrap()
}

/// Of 256 choices so many keep what the base says.
const KEPT: usize = 206;

fn contracts() -> impl Strategy<Value = Contract> {
    let table = values();
    let base = Contract::default();
    vec(u8::try_from(KEPT).unwrap()..=255, table.len()).prop_map(move |choices| contract_of(&base, &choices, &table))
}

/// Versions of a contract under which a key protects, each with a few odd fields.
fn versions() -> impl Strategy<Value = Vec<Contract>> {
    let table = values();
    let base = Contract {
        key_location: Some("Idempotency-Key".into()),
        key_retention_s: Some(86_400),
        on_mismatch: Some(OnMismatch::Error),
        on_in_flight: Some(OnInFlight::Blocks),
        stores: Some(Stores::AnyOnceStarted),
        lookup: Some(LookUp { by: LookUpBy::Key, consistency: Some(Consistency::Strong), complete: true }),
        max_arrival_delay_s: Some(60),
        intermediaries: Some(false),
        verification: Some(Verification::TestedLive),
        ..Contract::default()
    };
    let version = vec(any::<u8>(), table.len()).prop_map(move |choices| contract_of(&base, &choices, &table));
    vec(version, 1..4)
}

const AGES_S: [u64; 8] = [0, 60, 600, 1_380, 1_381, 3_180, 40_000, 86_000];

proptest! {
    #[test]
    fn order_and_repetition_do_not_matter(a in contracts(), b in contracts(), c in contracts()) {
        let of = |versions: &[&Contract]| Contract::strictest(versions.iter().copied());
        prop_assert_eq!(of(&[&a, &b]), of(&[&b, &a]), "commutative");
        prop_assert_eq!(of(&[&of(&[&a, &b]), &c]), of(&[&a, &of(&[&b, &c])]), "associative");
        prop_assert_eq!(of(&[&a, &a]), a.clone(), "idempotent");
        prop_assert_eq!(of(&[&of(&[&a, &b]), &a]), of(&[&a, &b]), "idempotent");
        prop_assert_eq!(of(&[&a, &b, &c, &b, &a]), of(&[&c, &b, &a]));
    }

    #[test]
    fn never_safer_than_any_version(versions in versions()) {
        let strictest = Contract::strictest(&versions);
        let open = [attempt_at(0, "k"), attempt_at(30, "k")];
        for version in &versions {
            for class in [Class::Reversible, Class::Irreversible] {
                for age in AGES_S.map(Duration::from_secs) {
                    if protects(&strictest, class, &open, age).is_ok() {
                        prop_assert_eq!(protects(version, class, &open, age), Ok(()));
                    }
                }
            }
            prop_assert!(strictest.key_window() <= version.key_window());
            prop_assert!(strictest.arrival_delay() >= version.arrival_delay());
            prop_assert!(strictest.key_age_margin() >= version.key_age_margin());
            prop_assert!(strictest.settle() >= version.settle());
            prop_assert!(strictest.watch() >= version.watch());
            prop_assert!(strictest.attempts_cap() <= version.attempts_cap());
            prop_assert!(strictest.approval_life() <= version.approval_life());
            prop_assert!(strictest.operation_deadline() <= version.operation_deadline());
            prop_assert!(strictest.verification() <= version.verification());
            prop_assert!(strictest.has_intermediary() || !version.has_intermediary());
            prop_assert!(!is_strong(&strictest) || is_strong(version));
            prop_assert!(strictest.layer_retries != Some(LayerRetries::Off) || version.layer_retries == Some(LayerRetries::Off));
            prop_assert!(version.key_scope().iter().all(|part| strictest.key_scope().contains(part)));
            for signal in strictest.negative_signals.iter().chain(&strictest.in_flight_signals).flatten() {
                let told = version.negative_signals.iter().chain(&version.in_flight_signals).flatten();
                prop_assert!(told.into_iter().any(|known| known == signal));
            }
            let cancels = |contract: &Contract| contract.cancel_by_key.unwrap_or_default();
            prop_assert!(!cancels(&strictest).commutative || cancels(version).commutative);
            prop_assert!(!cancels(&strictest).noop_on_absent || cancels(version).noop_on_absent);
            for field in version.secret_fields.iter().flatten() {
                prop_assert!(strictest.secret_fields.iter().flatten().any(|hidden| hidden == field));
            }
        }
    }
}

/// Whether a miss may prove absence (K6).
fn is_strong(contract: &Contract) -> bool {
    contract.max_arrival_delay_s.is_some()
        && contract.lookup.is_some_and(|lookup| {
            lookup.consistency == Some(Consistency::Strong) && lookup.complete && lookup.by != LookUpBy::NaturalKey
        })
}

#[test]
fn the_property_is_not_empty() {
    // Two versions that protect, and whose strictest does.
    let good = |kept| Contract {
        key_retention_s: Some(kept),
        on_mismatch: Some(OnMismatch::Error),
        on_in_flight: Some(OnInFlight::Blocks),
        stores: Some(Stores::AnyOnceStarted),
        verification: Some(Verification::TestedLive),
        ..Contract::default()
    };
    let strictest = Contract::strictest([&good(3_600), &good(7_200)]);
    let at = |age| protects(&strictest, Class::Irreversible, &[attempt_at(0, "k")], Duration::from_secs(age)).is_ok();
    assert_eq!((at(3_180), at(3_181)), (true, false));
}

#[test]
fn of_no_version_nothing_is_known() {
    assert_eq!(Contract::strictest([]), Contract::default());
}

#[test]
fn a_key_that_moved_protects_nothing() {
    let at = |location: &str| Contract {
        key_location: Some(location.into()),
        key_retention_s: Some(86_400),
        ..Contract::default()
    };
    assert_eq!(Contract::strictest([&at("Idempotency-Key"), &at("X-Key")]).key_window(), None);
    let silent = Contract { key_location: None, ..at("x") };
    assert!(Contract::strictest([&at("Idempotency-Key"), &silent]).key_window().is_some());
}

#[test]
fn a_declared_d_does_not_mend_a_version_that_declared_none() {
    let strong = LookUp { by: LookUpBy::Key, consistency: Some(Consistency::Strong), complete: true };
    let of = |max_arrival_delay_s| Contract { lookup: Some(strong), max_arrival_delay_s, ..Contract::default() };
    assert!(is_strong(&Contract::strictest([&of(Some(60)), &of(Some(90))])));
    let mixed = Contract::strictest([&of(Some(60)), &of(None)]);
    assert!(!is_strong(&mixed));
    assert_eq!(mixed.arrival_delay(), Duration::from_mins(2));
}

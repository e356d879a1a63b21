//! What a contract's promises make of `key_protects`: each condition of semantics 3.7, both sides.

use std::time::Duration;

use crate::contract::{
    Acceptance, ByField, Contract, OnInFlight, OnMismatch, Provenance, RetentionRule, ScopePart, Signal, Stores,
    Verification, Verified,
};
use crate::fingerprint::Hash;
use crate::lease::Scope;
use crate::name::{DestinationKey, PrincipalId};
use crate::outcome::{JudgedAttempt, KeyUse, Sent, key_protects};
use crate::policy::Policy;
use crate::proof::{proofs, prove, prove_that};
use crate::time::Timestamp;
use crate::tool::Class;
use crate::view::timeline::tests::attempt;

const SENT_AT: Timestamp = Timestamp::from_micros(1_764_460_800_000_000);

/// An open attempt under this key, sent so many seconds after the first.
pub(crate) fn attempt_at(after_s: u64, key: &str) -> JudgedAttempt {
    let at = SENT_AT.plus(Duration::from_secs(after_s));
    JudgedAttempt { dest_key: DestinationKey::parse(key).ok(), dispatched_at: at, key_from: at, ..attempt(1) }
}

/// An open attempt of our own with these bytes and this scope.
fn sent(bytes: Option<&str>, scope: Option<Scope>) -> JudgedAttempt {
    let wire_hash = bytes.map(|bytes| Hash::of(bytes.as_bytes()));
    let sent = Box::new(Sent { epoch: 1, incarnation: "p-1".into(), wire_hash, scope });
    JudgedAttempt { sent: Some(sent), ..attempt_at(0, "k") }
}

fn key_use(contract: &Contract, class: Class) -> KeyUse<'_> {
    KeyUse { contract, class, sender_stopped: true, key: None, wire_hash: None, scope: None, policy: Policy::FULL }
}

/// `key_protects` at this age of the first of `open`, the sender having stopped.
pub(crate) fn protects(contract: &Contract, class: Class, open: &[JudgedAttempt], age: Duration) -> Result<(), String> {
    let open: Vec<_> = open.iter().collect();
    key_protects(key_use(contract, class), &open, SENT_AT.plus(age)).map(drop)
}

/// The contract with every promise taken as it stands by an administrator.
pub(crate) fn accepted(contract: Contract) -> Contract {
    let by = PrincipalId::parse("admin").unwrap();
    contract.accepted(&Acceptance::new(by, SENT_AT, "read the vendor's page with them").unwrap())
}

/// A contract under which a key protects class X for 53 minutes.
fn complete() -> Contract {
    Contract {
        key_location: Some("Idempotency-Key".into()),
        key_retention_s: Some(3_600),
        scope: Some(vec![ScopePart::Account]),
        stores: Some(Stores::AnyOnceStarted),
        on_in_flight: Some(OnInFlight::Blocks),
        on_mismatch: Some(OnMismatch::Error),
        verification: Some(Verification::TestedLive),
        ..Contract::default()
    }
}

fn now_under(contract: &Contract) -> Result<(), String> {
    protects(contract, Class::Irreversible, &[attempt_at(0, "k")], Duration::from_mins(1))
}

fn verified(field: &str, verification: Verified, acceptance: Option<Acceptance>) -> Contract {
    let provenance = Provenance { verification, source_url: None, checked_at: None, accepted: acceptance };
    let by_field = ByField::try_from(std::collections::BTreeMap::from([(field.to_owned(), provenance)])).unwrap();
    Contract { provenance: Some(by_field), ..complete() }
}

fn live() -> Verified {
    Verified::TestedLive { by: "ann".into(), on: "2026-11-20".into() }
}

proofs! {
    fn condition_1_asks_which_answers_the_key_keeps() {
        for (stores, expected) in [
            (Some(Stores::AnyOnceStarted), true),
            (Some(Stores::ResumeToCompletion), true),
            (Some(Stores::SuccessesOnly), false),
            (None, false),
        ] {
            prove!("3.7.1", now_under(&Contract { stores, ..complete() }).is_ok(), expected, "{stores:?}");
        }
    }

    fn condition_2_asks_what_a_repeat_meets_while_the_first_is_running() {
        let code = vec![serde_json::from_str::<Signal>(r#"{"http":409,"error":"in_use"}"#).unwrap()];
        for (on_in_flight, in_flight_signals, expected) in [
            (Some(OnInFlight::Blocks), None, true),
            (Some(OnInFlight::Codes), Some(code), true),
            (Some(OnInFlight::Codes), Some(Vec::new()), false),
            (Some(OnInFlight::Codes), None, false),
            (None, None, false),
        ] {
            let contract = Contract { on_in_flight, in_flight_signals, ..complete() };
            prove!("3.7.2", now_under(&contract).is_ok(), expected, "{on_in_flight:?}");
        }
    }

    fn condition_3_asks_that_other_parameters_are_refused() {
        for (on_mismatch, expected) in [
            (Some(OnMismatch::Error), true),
            (Some(OnMismatch::ReplayOld), false),
            (Some(OnMismatch::Executes), false),
            (None, false),
        ] {
            prove!("3.7.3", now_under(&Contract { on_mismatch, ..complete() }).is_ok(), expected, "{on_mismatch:?}");
        }
    }

    fn condition_4_asks_for_one_key_over_all_open_attempts() {
        let under = |open: &[JudgedAttempt]| protects(&complete(), Class::Irreversible, open, Duration::ZERO);
        let keyless = JudgedAttempt { dest_key: None, ..attempt_at(2, "k") };
        prove!("3.7.4", under(&[attempt_at(0, "k"), attempt_at(1, "k")]), Ok(()));
        prove_that!("3.7.4", under(&[attempt_at(0, "k"), attempt_at(1, "k2")]).is_err());
        prove_that!("3.7.4", under(&[attempt_at(0, "k"), keyless.clone()]).is_err());
        prove_that!("3.7.4", under(&[keyless, attempt_at(3, "k")]).is_err());
        prove!("3.7.4", under(&[]), Ok(()), "nothing is open");
    }

    fn condition_4_asks_for_the_same_bytes_where_they_are_known() {
        let open = [sent(Some("one"), None), sent(Some("one"), None), attempt_at(1, "k")];
        let with = |open: &[JudgedAttempt], bytes: Option<&str>| {
            let (contract, open) = (complete(), open.iter().collect::<Vec<_>>());
            let wire_hash = bytes.map(|bytes| Hash::of(bytes.as_bytes()));
            let of = KeyUse { wire_hash, ..key_use(&contract, Class::Irreversible) };
            key_protects(of, &open, SENT_AT).is_ok()
        };
        prove!("3.7.4", (with(&open, Some("one")), with(&open, Some("two"))), (true, false));
        prove!("3.7.4", with(&[sent(Some("one"), None), sent(Some("two"), None)], None), false, "two bodies are open");
        // Of an adopted or a restored send the bytes are unknown; the key and condition 3 suffice.
        prove!("3.7.4", with(&[attempt_at(0, "k")], Some("two")), true);
    }

    fn condition_5_asks_for_the_same_scope() {
        let scope = |region: &str| Scope { region: Some(region.into()), ..Scope::default() };
        let with = |open: &[JudgedAttempt], now_in: Option<Scope>| {
            let (contract, open) = (complete(), open.iter().collect::<Vec<_>>());
            let of = KeyUse { scope: now_in.as_ref(), ..key_use(&contract, Class::Irreversible) };
            key_protects(of, &open, SENT_AT).is_ok()
        };
        let open = [sent(None, Some(scope("eu")))];
        prove!("3.7.5", (with(&open, Some(scope("eu"))), with(&open, Some(scope("us")))), (true, false));
        let both = [sent(None, Some(scope("eu"))), sent(None, Some(scope("us")))];
        prove!("3.7.5", with(&both, None), false, "two regions are open");
    }

    fn condition_6_asks_for_the_age_of_the_first_dispatch() {
        let open = [attempt_at(600, "k"), attempt_at(0, "k")];
        let at = |contract: &Contract, age_s| {
            protects(contract, Class::Irreversible, &open, Duration::from_secs(age_s)).is_ok()
        };
        // 3600 s − D 120 s − margin 300 s, from the earlier of the two.
        prove!("3.7.6", at(&complete(), 3_180), true);
        prove!("3.7.6", at(&complete(), 3_181), false);
        let slow = Contract { max_arrival_delay_s: Some(600), ..complete() };
        prove!("3.7.6", (at(&slow, 2_700), at(&slow, 2_701)), (true, false), "a larger D");
        let careful = Contract { key_age_margin_s: Some(900), ..complete() };
        prove!("3.7.6", (at(&careful, 2_580), at(&careful, 2_581)), (true, false), "a larger margin");
        let mortal = RetentionRule::MinWithResourceLifetime { after_end_s: 1_800 };
        let mortal = Contract { retention_rule: Some(mortal), ..complete() };
        prove!("3.7.6", (at(&mortal, 1_380), at(&mortal, 1_381)), (true, false), "a key that ends with its object");
        prove!("3.7.6", at(&Contract { key_retention_s: None, ..complete() }, 0), false, "unknown retention");
        prove!("3.7.6", at(&Contract { key_retention_s: Some(420), ..complete() }, 0), false, "nothing is left");
        prove!("3.7.6", at(&Contract { key_retention_s: Some(421), ..complete() }, 1), true, "a second is left");
    }

    fn condition_6_asks_an_observed_sender_to_have_stopped() {
        let (contract, open) = (complete(), attempt_at(0, "k"));
        let stopped = |sender_stopped| {
            let of = KeyUse { sender_stopped, ..key_use(&contract, Class::Irreversible) };
            key_protects(of, &[&open], SENT_AT).map(drop)
        };
        prove!("3.7.6", stopped(true), Ok(()));
        prove_that!("3.7.6", stopped(false).is_err());
    }

    fn condition_6_takes_the_strictest_version() {
        let shortened = Contract { key_retention_s: Some(1_800), ..complete() };
        let slower = Contract { max_arrival_delay_s: Some(300), ..complete() };
        let strictest = Contract::strictest([&complete(), &shortened, &slower]);
        let at = |contract: &Contract, age_s| {
            protects(contract, Class::Irreversible, &[attempt_at(0, "k")], Duration::from_secs(age_s)).is_ok()
        };
        // 1800 s of one version − D 300 s of another − margin 300 s.
        prove!("3.7.6", (at(&strictest, 1_200), at(&strictest, 1_201)), (true, false));
        prove!("3.7.6", at(&shortened, 1_201), true);
    }

    fn condition_7_asks_each_class_for_its_verification() {
        let by_whole = |verification, class| {
            let contract = Contract { verification, ..complete() };
            protects(&contract, class, &[attempt_at(0, "k")], Duration::ZERO).is_ok()
        };
        for (verification, reversible, irreversible) in [
            (None, false, false),
            (Some(Verification::Claimed), false, false),
            (Some(Verification::TestedStandIn), true, false),
            (Some(Verification::TestedLive), true, true),
        ] {
            prove!("3.7.7", by_whole(verification, Class::Reversible), reversible, "V {verification:?}");
            prove!("3.7.7", by_whole(verification, Class::Irreversible), irreversible, "X {verification:?}");
        }
    }

    fn condition_7_asks_every_field_that_the_key_stands_on() {
        let taken = Acceptance::new(PrincipalId::parse("admin").unwrap(), SENT_AT, "small amounts only").ok();
        for field in ["key_location", "key_retention_s", "scope", "stores", "on_in_flight", "on_mismatch"] {
            for (verification, acceptance, reversible, irreversible) in [
                (Verified::Claimed, None, false, false),
                (Verified::TestedStandIn("psp-sim".into()), None, true, false),
                (live(), None, true, true),
                (Verified::Claimed, taken.clone(), true, true),
            ] {
                let contract = verified(field, verification.clone(), acceptance);
                let of = |class| protects(&contract, class, &[attempt_at(0, "k")], Duration::ZERO);
                prove!("3.7.7", of(Class::Reversible).is_ok(), reversible, "V {field} {verification:?}");
                prove!("3.7.7", of(Class::Irreversible).is_ok(), irreversible, "X {field} {verification:?}");
                if let Err(reason) = of(Class::Irreversible) {
                    prove_that!("3.7.7", reason.ends_with(field), "{reason}");
                }
            }
        }
        let claimed = Contract { verification: None, ..complete() };
        prove!("3.7.7", (now_under(&claimed).is_ok(), now_under(&accepted(claimed.clone()))), (false, Ok(())), "all of it");
        // A field that no key stands on may be as uncertain as it likes.
        prove!("3.7.7", now_under(&verified("replay_marker", Verified::Claimed, None)), Ok(()));
    }

    fn condition_7_does_not_let_one_side_vouch_for_the_other() {
        let tool = Contract { key_retention_s: None, ..complete() };
        let stream = Contract { key_retention_s: Some(3_600), ..Contract::default() };
        let both = tool.clone().or(&stream);
        let reason = now_under(&both).unwrap_err();
        prove_that!("3.7.7", reason.ends_with(": key_retention_s"), "{reason}");
        let tested = Contract { verification: Some(Verification::TestedLive), ..stream };
        prove!("3.7.7", now_under(&tool.or(&tested)), Ok(()));
    }
}

#[test]
fn what_was_stored_before_is_still_read() {
    let stored = r#"{"key_location":"Idempotency-Key","key_retention_s":86400,"on_mismatch":"error",
        "on_in_flight":"codes","stores":"any_once_started","mismatch_signals":[{"http":400,"error":"idempotency_error"}],
        "in_flight_signals":[{"http":409,"error":"idempotency_key_in_use"}],
        "lookup":{"by":"metadata","consistency":"eventual","complete":false},
        "compensation":{"tool":"payments.refund","window_s":15552000},"max_arrival_delay_s":120,
        "layer_retries":"off","secret_fields":["customer"],"verification":"tested_stand_in","checked_at":"2026-11-12"}"#;
    let contract: Contract = serde_json::from_str(stored).unwrap();
    // And what is stored of it now reads as it did: no new member appears by itself.
    let again: serde_json::Value = serde_json::to_value(&contract).unwrap();
    assert_eq!(again, serde_json::from_str::<serde_json::Value>(stored).unwrap());
    assert_eq!(protects(&contract, Class::Reversible, &[attempt_at(0, "k")], Duration::ZERO), Ok(()));
}

#[test]
fn provenance_goes_with_its_field_through_storing_and_merging() {
    let one = verified("stores", Verified::TestedStandIn("psp-sim".into()), None);
    let stored = serde_json::to_string(&one).unwrap();
    assert_eq!(serde_json::from_str::<Contract>(&stored).unwrap(), one);
    let merged = Contract { stores: None, provenance: None, ..complete() }.or(&one);
    assert_eq!(merged.provenance_of("stores"), one.provenance_of("stores"));
    assert_eq!(merged.provenance_of("scope").verification.level(), Verification::TestedLive);
    let same = complete().or(&complete());
    assert_eq!(same, complete());
    for bad in [
        r#"{"provenance":{"stors":{"verification":"claimed"}}}"#,
        r#"{"provenance":{"provenance":{"verification":"claimed"}}}"#,
        r#"{"provenance":{"stores":{"verification":"claimed","by":"x"}}}"#,
        r#"{"provenance":{"stores":{"verification":"claimed","accepted":{"by":"a","at":0,"reason":" "}}}}"#,
    ] {
        assert!(serde_json::from_str::<Contract>(bad).is_err(), "{bad}");
    }
}

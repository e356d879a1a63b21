//! Proposing guarded operations: one key, one operation, and what differs is shown.

use tallystick_domain::name::OperationId;
use tallystick_domain::operation::{Mode, Record};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::tool::Class;
use tallystick_ledger::LedgerError;

use crate::rig::{Rig, automation, case, proposal, viewer};

on_both! {
    the_same_proposal_again_gets_the_operation_that_is_there,
    other_arguments_are_refused_with_their_difference_and_kept_once,
    a_key_of_an_observed_operation_is_refused,
    an_undeclared_tool_is_refused,
    arguments_that_are_no_object_are_refused,
    arguments_are_kept_byte_for_byte,
    of_large_arguments_only_the_start_is_read_with_the_operation,
    many_proposals_of_one_key_at_once_make_one_operation,
    many_proposals_at_once_are_all_recorded,
    a_delivery_that_came_first_is_linked,
    a_viewer_may_not_propose,
    equal_intent_fields_under_another_key_are_asked_about,
    of_two_keys_for_one_intent_at_once_one_is_asked_about,
}

async fn the_same_proposal_again_gets_the_operation_that_is_there(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let first = rig.ledger.propose_operation(&automation(), proposal("k", "pay", r#"{"a":1}"#)).await.unwrap();
    assert!(!first.replayed);
    assert_eq!(first.operation.head.mode, Mode::Guarded);
    assert_eq!(first.operation.version, 1);
    let again = rig.ledger.propose_operation(&automation(), proposal("k", "pay", r#"{ "a": 1 }"#)).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.operation.head, first.operation.head);
    assert_eq!(again.operation.version, 1);
    assert_eq!(rig.count("journal").await, 1);
    rig.assert_verified().await;
}

async fn other_arguments_are_refused_with_their_difference_and_kept_once(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let first = rig.ledger.propose_operation(&automation(), proposal("k", "pay", r#"{"a":1}"#)).await.unwrap();
    for _ in 0..2 {
        let error = rig.ledger.propose_operation(&automation(), proposal("k", "pay", r#"{"a":2}"#)).await.unwrap_err();
        let LedgerError::Refused(Refusal::OperationKeyConflict { operation_id, changes }) = error else {
            panic!("{error}")
        };
        assert_eq!(operation_id, first.operation.head.id.as_str());
        assert_eq!((changes[0].path.as_str(), changes[0].after.as_deref()), ("/a", Some("2")));
    }
    assert_eq!(rig.count("operation").await, 1);
    assert_eq!(rig.count("journal").await, 2, "the conflict is one fact");
    assert_eq!(rig.count("argument").await, 2);
    rig.assert_verified().await;
}

async fn a_key_of_an_observed_operation_is_refused(rig: Rig) {
    rig.import(&case("R01")).await;
    rig.declare("pay", Class::Reversible).await;
    let error = rig.ledger.propose_operation(&automation(), proposal("credit_purchase:cart-77", "pay", "{}")).await;
    assert!(matches!(error, Err(LedgerError::Refused(Refusal::ObservedOperation { .. }))));
}

async fn an_undeclared_tool_is_refused(rig: Rig) {
    let error = rig.ledger.propose_operation(&automation(), proposal("k", "nothing", "{}")).await.unwrap_err();
    assert_eq!(error.to_string(), "There is no tool \"nothing\". Nothing was done.");
    assert_eq!(rig.count("operation").await, 0);
}

async fn arguments_that_are_no_object_are_refused(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    for arguments in ["[]", "{", r#"{"a":1,"a":2}"#, ""] {
        let error = rig.ledger.propose_operation(&automation(), proposal("k", "pay", arguments)).await.unwrap_err();
        assert!(error.to_string().starts_with("arguments: "), "{arguments}: {error}");
    }
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(9 << 20));
    let error = rig.ledger.propose_operation(&automation(), proposal("k", "pay", &large)).await.unwrap_err();
    assert!(error.to_string().contains("the limit is"), "{error}");
}

async fn arguments_are_kept_byte_for_byte(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let arguments = "{ \"id\": 1970670598291982290,\t\"amount\": 10.00 }";
    let answer = rig.ledger.propose_operation(&automation(), proposal("k", "pay", arguments)).await.unwrap();
    let stored = rig.ledger.operation_arguments(&viewer(), &answer.operation.head.id).await.unwrap().unwrap();
    assert_eq!(String::from_utf8(stored).unwrap(), arguments);
}

async fn of_large_arguments_only_the_start_is_read_with_the_operation(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let sized = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - r#"{"a":""}"#.len()));
    for (key, bytes) in [("small", 65_536), ("large", 65_537), ("largest", 8 << 20)] {
        let arguments = sized(bytes);
        rig.ledger.propose_operation(&automation(), proposal(key, "pay", &arguments)).await.unwrap();
        let examined = rig.examined(key).await;
        let (whole, start) = (examined.arguments, examined.arguments_start);
        if key == "small" {
            assert_eq!((whole.as_deref(), start), (Some(arguments.as_bytes()), None));
        } else {
            assert_eq!((whole, start.as_deref()), (None, Some(&arguments.as_bytes()[..4_096])), "{key}");
        }
    }
}

async fn many_proposals_of_one_key_at_once_make_one_operation(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let another = rig.another().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let ledger = if number % 2 == 0 { rig.ledger.clone() } else { another.clone() };
        tasks.spawn(async move { ledger.propose_operation(&automation(), proposal("k", "pay", "{}")).await });
    }
    let answers = tasks.join_all().await;
    let made = answers.iter().filter(|answer| !answer.as_ref().unwrap().replayed).count();
    assert_eq!(made, 1);
    assert_eq!((rig.count("operation").await, rig.count("journal").await), (1, 1));
}

async fn many_proposals_at_once_are_all_recorded(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..60 {
        let ledger = rig.ledger.clone();
        tasks.spawn(async move {
            ledger.propose_operation(&automation(), proposal(&format!("k{number}"), "pay", "{}")).await
        });
    }
    for answer in tasks.join_all().await {
        assert!(!answer.unwrap().replayed);
    }
    assert_eq!((rig.count("operation").await, rig.count("journal").await), (60, 60));
    rig.assert_verified().await;
}

async fn a_delivery_that_came_first_is_linked(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let delivery = r#"{"ts":"2026-10-05T09:00:41Z","ev":"delivery.received","source":"psp","event_id":"e1","receipt":"pi_1","metadata":{"key":"k"}}"#;
    rig.import(delivery).await;
    rig.ledger.propose_operation(&automation(), proposal("k", "pay", "{}")).await.unwrap();
    assert_eq!(rig.examined("k").await.record.evidence().count(), 1);
    rig.assert_verified().await;
}

async fn a_viewer_may_not_propose(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let error = rig.ledger.propose_operation(&viewer(), proposal("k", "pay", "{}")).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(Refusal::NotPermitted { .. })));
}

/// Which operation it is asked about whether it is the same intent.
fn question(record: &Record) -> Option<&str> {
    record.unanswered_question().map(OperationId::as_str)
}

async fn equal_intent_fields_under_another_key_are_asked_about(rig: Rig) {
    rig.declare("refund", Class::Reversible).await;
    rig.declare("refund_v2", Class::Reversible).await;
    rig.declare("balance", Class::Read).await;
    let arguments = r#"{"order":7,"amount":10}"#;
    let propose = async |key: &str, tool: &str, arguments: &str| {
        rig.ledger.propose_operation(&automation(), proposal(key, tool, arguments)).await.unwrap();
        rig.examined(key).await.record
    };
    let first = propose("order-7:a", "refund", arguments).await;
    assert_eq!(question(&first), None);
    let by_another_tool = propose("order-7:b", "refund_v2", r#"{ "amount": 10.0, "order": 7 }"#).await;
    assert_eq!(question(&by_another_tool), Some(first.head.id.as_str()));
    let findings = by_another_tool.row.unwrap().findings;
    assert!(findings.iter().any(|finding| finding.code == "same_intent_question"), "{findings:?}");
    assert_eq!(question(&propose("order-8", "refund", r#"{"order":8,"amount":10}"#).await), None);
    assert_eq!(question(&propose("order-7:read", "balance", arguments).await), None, "a read doubles nothing");
    assert_eq!(question(&propose("empty-1", "refund", "{}").await), None);
    assert_eq!(question(&propose("empty-2", "refund", "{}").await), None, "nothing names a business object");
    rig.assert_verified().await;
}

async fn of_two_keys_for_one_intent_at_once_one_is_asked_about(rig: Rig) {
    rig.declare("pay", Class::Reversible).await;
    let keys: Vec<String> = (0..16).map(|number| format!("key-{number}")).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for key in &keys {
        let (ledger, key) = (rig.ledger.clone(), key.clone());
        tasks.spawn(
            async move { ledger.propose_operation(&automation(), proposal(&key, "pay", r#"{"order":7}"#)).await },
        );
    }
    for answer in tasks.join_all().await {
        answer.unwrap();
    }
    let mut unasked = Vec::new();
    for key in &keys {
        let record = rig.examined(key).await.record;
        unasked.extend(question(&record).is_none().then(|| key.clone()));
    }
    assert_eq!(unasked.len(), 1, "only the first can have found no other: {unasked:?}");
    rig.assert_verified().await;
}

//! Lines from elsewhere: what they come to, in whatever order and however often they come.

use tallystick_domain::evidence::Trust;
use tallystick_domain::operation::{Contradiction, Doubt, State, SuccessBasis};

use crate::rig::{Rig, admin, automation, case, source, viewer};

on_both! {
    r01_shows_the_right_value_after_each_line,
    the_same_file_again_changes_nothing,
    a_shuffled_file_comes_to_the_same,
    a_file_line_by_line_comes_to_the_same_as_in_one_batch,
    bad_lines_are_reported_by_number_and_the_rest_goes_on,
    a_delivery_that_comes_first_is_linked_when_its_operation_appears,
    a_delivery_is_linked_by_a_destination_key_that_appears_later,
    a_delivery_of_nobody_is_kept,
    an_act_at_the_source_repeats_by_its_own_key,
    other_arguments_under_the_same_key_are_a_conflict_and_both_are_kept,
    an_operation_without_a_key_gets_a_name_of_its_source,
    a_line_may_follow_in_a_later_batch_without_the_key,
    raising_the_trust_of_a_source_folds_its_operations_again,
    every_case_is_taken_and_verifies,
    a_viewer_may_not_report_and_the_try_is_recorded,
    a_compensation_is_linked_to_what_it_undoes,
    a_line_beyond_the_limit_is_refused_with_its_size,
}

const KEY: &str = "credit_purchase:cart-77";

async fn r01_shows_the_right_value_after_each_line(rig: Rig) {
    let states = [
        State::Proposed,
        State::Authorized,
        // The lines are from the past: their attempts have long run out by the record's clock.
        State::Executing,
        State::Uncertain(Doubt::Timeout),
        State::Uncertain(Doubt::Timeout),
        State::Succeeded(SuccessBasis::Receipt),
        State::Contradicted(Contradiction::Duplicate),
    ];
    for (number, line) in (1..).zip(case("R01").lines()) {
        let ts = line.split('"').nth(3).unwrap();
        rig.ledger.set_clock(crate::rig::at(ts)).await.unwrap();
        let report = rig.import(line).await;
        assert_eq!((report.recorded, report.repeated), (1, 0), "line {number}");
        let row = rig.listed(KEY).await.unwrap().row;
        assert_eq!(row.state, states[number - 1], "after line {number}");
        assert_eq!(row.attempts, u32::from(number >= 3), "after line {number}");
    }
    let examined = rig.examined(KEY).await;
    assert_eq!(examined.record.row.as_ref().unwrap().effects, 2);
    assert_eq!(examined.record.version, 7);
    assert_eq!(examined.entries.len(), 7);
    assert_eq!(examined.entries[6].to, State::Contradicted(Contradiction::Duplicate));
    let names: Vec<_> = examined.aliases.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["op_101", "op_102"]);
    assert_eq!(rig.count("operation").await, 1);
    rig.assert_verified().await;
}

async fn the_same_file_again_changes_nothing(rig: Rig) {
    let first = rig.import(&case("R01")).await;
    assert_eq!((first.recorded, first.repeated, first.operations), (7, 0, 1));
    let before = (rig.count("journal").await, rig.count("source_line").await, rig.count("outbox").await);
    let again = rig.import(&case("R01")).await;
    assert_eq!((again.recorded, again.repeated, again.operations), (0, 7, 0));
    let after = (rig.count("journal").await, rig.count("source_line").await, rig.count("outbox").await);
    assert_eq!(before, after);
}

async fn a_shuffled_file_comes_to_the_same(rig: Rig) {
    rig.import(&case("R01")).await;
    let expected = rig.listed(KEY).await.unwrap().row;
    let lines: Vec<String> = case("R01").lines().map(ToOwned::to_owned).collect();
    for turn in 1..lines.len() {
        let mut turned = lines.clone();
        turned.rotate_left(turn);
        turned.swap(0, turn / 2);
        let other = Rig::sqlite().await;
        other.import(&turned.join("\n")).await;
        assert_eq!(other.listed(KEY).await.unwrap().row, expected, "turned by {turn}");
    }
}

async fn a_file_line_by_line_comes_to_the_same_as_in_one_batch(rig: Rig) {
    for name in ["R01", "R03", "R13", "R14", "R15", "R18", "R20"] {
        rig.import(&case(name)).await;
    }
    let single = Rig::sqlite().await;
    for name in ["R01", "R03", "R13", "R14", "R15", "R18", "R20"] {
        for line in case(name).lines() {
            single.import(line).await;
        }
    }
    let rows = |rig: &Rig| {
        let ledger = rig.ledger.clone();
        async move {
            let query = tallystick_domain::query::OperationQuery { limit: Some(200), ..Default::default() };
            let mut rows = ledger.operations(&admin(), &query).await.unwrap().rows;
            rows.sort_by(|a, b| a.head.key.cmp(&b.head.key));
            rows.into_iter().map(|row| (row.head.key.to_string(), row.row)).collect::<Vec<_>>()
        }
    };
    assert_eq!(rows(&rig).await, rows(&single).await);
}

async fn bad_lines_are_reported_by_number_and_the_rest_goes_on(rig: Rig) {
    let text = [
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a","outcome":"timeout"}"#,
        r"{not json",
        "",
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a","op":"b","outcome":"ok"}"#,
        r#"{"ts":"2026-10-05T09:00:01Z","ev":"attempt.ended","op":"b","outcome":"ok","receipt":"r1"}"#,
    ]
    .join("\n");
    let report = rig.import(&text).await;
    assert_eq!((report.recorded, report.operations), (2, 2));
    let numbers: Vec<_> = report.bad.iter().map(|bad| bad.number).collect();
    assert_eq!(numbers, [2, 4]);
    assert!(report.bad[1].reason.contains("occurs twice"), "{}", report.bad[1].reason);
}

const OPERATION: &str =
    r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"o1","key":"order:1","tool":"pay","dest":"psp"}"#;

async fn a_delivery_that_comes_first_is_linked_when_its_operation_appears(rig: Rig) {
    let delivery = r#"{"ts":"2026-10-05T09:00:41Z","ev":"delivery.received","source":"psp","event_id":"e1","receipt":"pi_1","metadata":{"key":"order:1"}}"#;
    let report = rig.import(delivery).await;
    assert_eq!((report.recorded, report.unlinked), (0, 1));
    rig.import(OPERATION).await;
    let examined = rig.examined("order:1").await;
    assert_eq!(examined.record.evidence().count(), 1);
    rig.assert_verified().await;
}

async fn a_delivery_is_linked_by_a_destination_key_that_appears_later(rig: Rig) {
    let delivery = r#"{"ts":"2026-10-05T09:00:41Z","ev":"delivery.received","source":"psp","event_id":"e1","receipt":"pi_1","metadata":{"key":"K-9"}}"#;
    rig.import(OPERATION).await;
    rig.import(delivery).await;
    assert_eq!(rig.examined("order:1").await.record.evidence().count(), 0);
    rig.import(r#"{"ts":"2026-10-05T09:00:02Z","ev":"attempt.started","op":"o1","n":1,"dest_key":"K-9"}"#).await;
    assert_eq!(rig.examined("order:1").await.record.evidence().count(), 1);
    // And the other way round: a delivery for a key that is in use.
    let second = delivery.replace("e1", "e2").replace("pi_1", "pi_2");
    let report = rig.import(&second).await;
    assert_eq!((report.recorded, report.unlinked), (1, 0));
    assert_eq!(rig.examined("order:1").await.record.evidence().count(), 2);
}

async fn a_delivery_of_nobody_is_kept(rig: Rig) {
    let delivery =
        r#"{"ts":"2026-10-05T09:00:41Z","ev":"delivery.received","source":"psp","event_id":"e1","receipt":"pi_1"}"#;
    let report = rig.import(delivery).await;
    assert_eq!((report.recorded, report.unlinked, report.operations), (0, 1, 0));
    assert_eq!(rig.count("source_line").await, 1);
}

async fn an_act_at_the_source_repeats_by_its_own_key(rig: Rig) {
    rig.import(&case("R13")).await;
    let examined = rig.examined("mail:welcome:41").await;
    let acts = examined.record.facts.iter();
    let acts = acts.filter(|fact| matches!(fact, tallystick_domain::operation::Fact::ActedElsewhere { .. })).count();
    assert_eq!(acts, 2, "act_51 and act_52, each once");
    assert_eq!(rig.count("operation").await, 2);
}

async fn other_arguments_under_the_same_key_are_a_conflict_and_both_are_kept(rig: Rig) {
    let first =
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"o1","key":"k","args":{"amount_minor":10}}"#;
    let other =
        r#"{"ts":"2026-10-05T09:00:09Z","ev":"operation.proposed","op":"o2","key":"k","args":{"amount_minor": 11}}"#;
    rig.import(first).await;
    let report = rig.import(other).await;
    assert_eq!((report.conflicts, report.operations), (1, 0));
    let examined = rig.examined("k").await;
    let conflict = examined.record.facts.iter().find_map(|fact| match fact {
        tallystick_domain::operation::Fact::Conflict { changes, .. } => Some(changes),
        _ => None,
    });
    assert_eq!(conflict.unwrap()[0].path, "/amount_minor");
    assert_eq!(examined.arguments.as_deref(), Some(br#"{"amount_minor":10}"#.as_slice()));
    assert_eq!(rig.count("argument").await, 2);
}

async fn an_operation_without_a_key_gets_a_name_of_its_source(rig: Rig) {
    rig.import(r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"o1","outcome":"timeout"}"#).await;
    let row = rig.listed("~cases/o1").await.unwrap();
    assert!(!row.head.key_given);
    // Another source's `o1` is another operation.
    rig.import_from("other", r#"{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"o1","outcome":"timeout"}"#)
        .await;
    assert_eq!(rig.count("operation").await, 2);
    let query = tallystick_domain::query::OperationQuery { without_key: true, ..Default::default() };
    assert_eq!(rig.ledger.operations(&admin(), &query).await.unwrap().rows.len(), 2);
}

async fn a_line_may_follow_in_a_later_batch_without_the_key(rig: Rig) {
    rig.import(OPERATION).await;
    rig.import(r#"{"ts":"2026-10-05T09:00:03Z","ev":"attempt.ended","op":"o1","n":1,"outcome":"timeout"}"#).await;
    assert_eq!(rig.state("order:1").await, "uncertain(timeout)");
    assert_eq!(rig.count("operation").await, 1);
}

async fn raising_the_trust_of_a_source_folds_its_operations_again(rig: Rig) {
    rig.import_from("feed", OPERATION).await;
    let ok = r#"{"ts":"2026-10-05T09:00:03Z","ev":"attempt.ended","op":"o1","n":1,"outcome":"ok","receipt":"pi_1"}"#;
    rig.import_from("feed", ok).await;
    assert!(rig.state("order:1").await.starts_with("uncertain"), "an unknown source gives hints only");
    rig.ledger.declare_source(&admin(), &source("feed"), Trust::Verified).await.unwrap();
    assert_eq!(rig.listed("order:1").await.unwrap().row.state, State::Succeeded(SuccessBasis::Receipt));
    rig.assert_verified().await;
}

async fn every_case_is_taken_and_verifies(rig: Rig) {
    for number in 1..=21 {
        let report = rig.import(&case(&format!("R{number:02}"))).await;
        assert!(report.bad.is_empty(), "R{number:02}: {:?}", report.bad);
    }
    let found = rig.ledger.verify().await.unwrap();
    assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
    assert_eq!(found.operations, u64::try_from(rig.count("operation").await).unwrap());
    assert!(found.operations > 25);
}

async fn a_viewer_may_not_report_and_the_try_is_recorded(rig: Rig) {
    let error = rig.ledger.import_lines(&viewer(), &source("x"), 1, &[OPERATION.as_bytes()]).await.unwrap_err();
    assert!(error.to_string().contains("may not report events"), "{error}");
    assert_eq!(rig.count("operation").await, 0);
    assert_eq!(rig.count("audit WHERE status = 'refused' AND actor_id = 'vera'").await, 1);
}

async fn a_compensation_is_linked_to_what_it_undoes(rig: Rig) {
    rig.import(&case("R16")).await;
    let child = rig.examined("saga-3:refund:ch_9").await;
    let parent = rig.id("saga-3:charge").await;
    assert_eq!(child.record.head.compensates.as_ref(), Some(&parent));
    assert!(
        child.relatives.iter().any(|relative| relative.link == "compensates" && relative.operation.head.id == parent)
    );
    let parent = rig.examined("saga-3:charge").await;
    assert!(parent.relatives.iter().any(|relative| relative.link == "compensated by"));
    assert!(parent.relatives.iter().any(|relative| relative.link == "same workflow"));
}

async fn a_line_beyond_the_limit_is_refused_with_its_size(rig: Rig) {
    let line =
        format!(r#"{{"ts":"2026-10-05T09:00:00Z","ev":"attempt.ended","op":"a","pad":"{}"}}"#, "x".repeat(9 << 20));
    let report = rig.ledger.import_lines(&automation(), &source("x"), 7, &[line.as_bytes()]).await.unwrap();
    assert_eq!(report.bad[0].number, 7);
    assert!(report.bad[0].reason.contains("the limit is"), "{}", report.bad[0].reason);
}

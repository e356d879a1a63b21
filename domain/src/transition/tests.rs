//! What happened to people (cases R01–R21), told line by line to the rules; and what people then do.

mod acts;
mod desk;
mod edges;
mod properties;
mod rows;
mod traces;
pub(crate) mod tricky;
mod tricky_guarded;

pub(crate) use acts::PROOFS as ACTS_PROOFS;
pub(crate) use rows::PROOFS as ROWS_PROOFS;
pub(crate) use traces::PROOFS as TRACE_PROOFS;
pub(crate) use tricky::PROOFS as TRICKY_PROOFS;
pub(crate) use tricky_guarded::PROOFS as GUARDED_TRICKY_PROOFS;

use crate::action::Action;
use crate::cases;
use crate::contract::{Consistency, LookUp, LookUpBy};
use crate::decision::Verdict;
use crate::evidence::Trust;
use crate::tool::Class;

use Verdict::{Confirm, Dual, Forbidden, NotOffered};
use desk::Desk;

/// Tells a case and asserts one operation's state after lines, counted from 1.
fn assert_states(case: &str, expected: &[(usize, &str, &str)]) {
    let mut desk = Desk::new();
    for (number, line) in case.lines().enumerate() {
        desk.tell(line);
        for (_, name, state) in expected.iter().filter(|(at, _, _)| *at == number + 1) {
            assert_eq!(desk.state(name), *state, "{name} after line {}", number + 1);
        }
    }
}

#[test]
fn r01_slow_success_pressed_again() {
    assert_states(
        cases::R01,
        &[
            (1, "op_101", "proposed"),
            (2, "op_101", "authorized"),
            (3, "op_101", "executing"),
            (4, "op_101", "uncertain(timeout)"),
            (5, "op_102", "uncertain(timeout)"),
            (6, "op_101", "succeeded"),
            (7, "op_101", "contradicted(duplicate)"),
        ],
    );
}

#[test]
fn r01_undeclared_is_row_21_and_declared_reversible_is_row_18() {
    let mut desk = Desk::new();
    desk.tell_lines(cases::R01, 4);
    let ruling = desk.ruling("op_101");
    let of = |action| ruling.on(action).unwrap().verdict;
    assert_eq!(ruling.row, "21");
    assert_eq!((of(Action::MarkSucceeded), of(Action::RerunNew)), (Dual, Forbidden));
    assert_eq!(of(Action::LookUp), NotOffered);

    let mut desk = Desk::new();
    desk.declare("payments.charge", Class::Reversible, |contract| {
        contract.lookup =
            Some(LookUp { by: LookUpBy::Metadata, consistency: Some(Consistency::Eventual), complete: false });
    });
    desk.tell_lines(cases::R01, 4);
    let ruling = desk.ruling("op_101");
    let of = |action| ruling.on(action).unwrap().verdict;
    assert_eq!(ruling.row, "18");
    assert_eq!(ruling.recommended, Action::LookUp);
    assert_eq!((of(Action::MarkSucceeded), of(Action::RerunNew)), (Confirm, Forbidden));
    assert_eq!((of(Action::RerunSameKey), of(Action::Adopt)), (Forbidden, Confirm));
}

#[test]
fn r01_two_effects_name_a_primary_and_a_surplus_in_either_order() {
    let lines: Vec<&str> = cases::R01.lines().collect();
    for order in [[5, 6], [6, 5]] {
        let mut desk = Desk::new();
        for line in
            lines.iter().take(5).copied().chain(order.map(|index| lines[index])).chain(order.map(|index| lines[index]))
        {
            desk.tell(line);
        }
        let outcome = desk.outcome("op_101");
        let effects: Vec<_> = outcome.effects.iter().map(|e| (e.receipt.as_str(), e.is_surplus)).collect();
        assert_eq!(effects, [("pi_A", false), ("pi_B", true)]);
        let texts: Vec<_> = outcome.findings.iter().map(|finding| finding.text.as_str()).collect();
        assert!(texts.contains(&"2 effects for 1 intent: pi_A, pi_B."), "{texts:?}");
        assert!(texts.contains(&"An effect without a send on record: attempts 1 < effects 2."), "{texts:?}");
        assert_eq!(desk.operations(), 1);
        assert_eq!(desk.row("op_101").attempts, 1);
        assert_eq!(desk.row("op_101").effects, 2);
        let ruling = desk.ruling("op_101");
        assert_eq!((ruling.row.as_str(), ruling.recommended), ("3", Action::PickVerdict));
        assert_eq!(ruling.on(Action::Compensate).unwrap().verdict, Dual);
        assert_eq!(ruling.on(Action::RerunSameKey).unwrap().verdict, Forbidden);
    }
}

#[test]
fn r02_a_key_that_changes_inside_one_operation() {
    assert_states(
        cases::R02,
        &[(3, "op_201", "executing"), (4, "op_201", "uncertain(timeout)"), (5, "op_201", "uncertain(timeout)")],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R02, 5);
    let ruling = desk.ruling("op_201");
    assert_eq!(ruling.row, "21");
    let compensate = ruling.on(Action::Compensate).unwrap();
    assert_eq!(compensate.verdict, Dual);
    assert!(compensate.overlays.contains(&"22a".to_owned()));
    assert_eq!(ruling.on(Action::MarkFailed).unwrap().verdict, Forbidden);
    assert!(desk.finding("op_201", "key_changed").contains("a1 → b2"));
    assert_eq!(desk.row("op_201").attempts, 2);
}

#[test]
fn r03_a_key_that_leaked_onto_another_endpoint() {
    assert_states(
        cases::R03,
        &[
            (3, "op_301", "succeeded"),
            (4, "op_302", "proposed"),
            (5, "op_302", "executing"),
            (6, "op_302", "failed.proven(permanent)"),
            (6, "op_301", "succeeded"),
        ],
    );
    let mut desk = Desk::new();
    desk.declare("invoice.pay", Class::Irreversible, |_| {});
    desk.tell_lines(cases::R03, 6);
    let ruling = desk.ruling("op_302");
    assert_eq!((ruling.row.as_str(), ruling.recommended), ("6a", Action::Adopt));
    assert!(desk.finding("op_302", "key_reuse").contains("invoice:cus_demo:oct"));
}

#[test]
fn r03_without_the_owner_the_mismatch_stays_uncertain() {
    let mut desk = Desk::new();
    for line in cases::R03.lines().skip(3) {
        desk.tell(line);
    }
    assert_eq!(desk.state("op_302"), "uncertain(key_mismatch)");
    assert_eq!(desk.ruling("op_302").row, "13");
}

#[test]
fn r04_volatile_fields_make_an_alias_and_another_amount_a_conflict() {
    assert_states(
        cases::R04,
        &[
            (1, "op_401", "proposed"),
            (2, "op_401", "uncertain(reset)"),
            (3, "op_402", "uncertain(reset)"),
            (4, "op_401", "uncertain(reset)"),
        ],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R04, 4);
    assert_eq!(desk.operations(), 1);
    assert_eq!(desk.row("op_401").attempts, 1);
    assert!(desk.finding("op_401", "conflicting_proposal").contains("1 conflicting"));
    assert!(desk.finding("op_401", "volatile_fields_differ").contains("first stored bytes"));
}

#[test]
fn r05_a_key_that_is_too_old() {
    assert_states(
        cases::R05,
        &[(2, "op_501", "executing"), (3, "op_501", "uncertain(timeout)"), (4, "op_501", "uncertain(timeout)")],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R05, 4);
    let crate::operation::KeyWindow::Until { until, .. } = desk.row("op_501").key_window else { panic!("no window") };
    assert_eq!(until.to_string(), "2026-10-03T08:08:02Z");
    let ruling = desk.ruling("op_501");
    assert_eq!((ruling.row.as_str(), ruling.recommended), ("21", Action::Escalate));
    assert_eq!(desk.row("op_501").attention.unwrap().reason, crate::operation::Reason::KeyExpired);
}

#[test]
fn r08_an_authorized_stream_is_history() {
    assert_states(
        cases::R08,
        &[
            (2, "op_801", "authorized"),
            (3, "op_801", "executing"),
            (4, "op_801", "succeeded"),
            (5, "op_802", "proposed"),
            (6, "op_802", "authorized"),
            (7, "op_803", "succeeded"),
        ],
    );
}

#[test]
fn r09_a_result_that_was_thrown_away_is_answered_from_the_record() {
    assert_states(cases::R09, &[(1, "op_901", "proposed"), (2, "op_901", "succeeded"), (3, "op_902", "succeeded")]);
}

#[test]
fn r10_a_timed_out_activity_that_kept_running() {
    assert_states(
        cases::R10,
        &[
            (2, "op_1001", "executing"),
            (3, "op_1001", "uncertain(timeout)"),
            (4, "op_1001", "uncertain(timeout)"),
            (5, "op_1001", "succeeded"),
            (6, "op_1001", "contradicted(duplicate)"),
        ],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R10, 5);
    assert!(desk.finding("op_1001", "second_copy_possible").contains("attempt 1"));
    assert!(desk.finding("op_1001", "overlapping_attempts").contains('2'));
    desk.tell(cases::R10.lines().last().unwrap());
    let outcome = desk.outcome("op_1001");
    assert_eq!(outcome.effects[0].receipt.as_str(), "upd_2");
    assert_eq!(outcome.attempts[0].closed.as_ref().unwrap().rule, "K4");
}

#[test]
fn r11_a_result_from_a_claim_that_was_refused() {
    assert_states(
        cases::R11,
        &[
            (1, "op_1101", "proposed"),
            (2, "op_1101", "executing"),
            (3, "op_1101", "executing"),
            (4, "op_1101", "succeeded"),
            (5, "op_1101", "succeeded"),
        ],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R11, 5);
    assert_eq!(desk.row("op_1101").attempts, 2);
    assert!(desk.finding("op_1101", "result_from_non_holder").contains("c-B"));
    assert!(desk.finding("op_1101", "second_copy_possible").contains("second copy"));
}

#[test]
fn r12_one_mail_job_delivered_four_times() {
    assert_states(
        cases::R12,
        &[
            (1, "op_1201", "executing"),
            (2, "op_1201", "uncertain(lost)"),
            (4, "op_1201", "uncertain(lost)"),
            (5, "op_1201", "uncertain(no_receipt)"),
        ],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R12, 5);
    assert_eq!(desk.row("op_1201").attempts, 4);
    assert_eq!(
        desk.finding("op_1201", "lease_shorter_than_work"),
        "Lease shorter than the work: 3600 s against 12827 s."
    );
    assert_eq!(desk.ruling("op_1201").row, "23a");
}

#[test]
fn r13_a_declared_503_is_a_proof() {
    assert_states(
        cases::R13,
        &[
            (2, "op_1301", "proposed"),
            (3, "op_1301", "failed.proven(observed)"),
            (4, "op_1302", "failed.proven(observed)"),
            (5, "op_1301", "failed.proven(observed)"),
            (6, "op_1302", "failed.proven(observed)"),
            (7, "op_1301", "failed.proven(observed)"),
            (8, "op_1302", "succeeded"),
            (9, "op_1301", "failed.proven(observed)"),
            (9, "op_1302", "succeeded"),
        ],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R13, 9);
    assert_eq!((desk.operations(), desk.row("op_1301").attempts, desk.row("op_1302").attempts), (2, 2, 2));
}

#[test]
fn r13_an_undeclared_503_proves_nothing() {
    let undeclared = cases::R13.replace(r#","dest_contract":{"negative_signals":[{"http":503}]}"#, "");
    assert_states(
        &undeclared,
        &[
            (3, "op_1301", "uncertain(server_error)"),
            (4, "op_1302", "uncertain(server_error)"),
            (7, "op_1301", "uncertain(server_error)"),
            (8, "op_1302", "succeeded"),
        ],
    );
    let mut desk = Desk::new();
    desk.tell_lines(&undeclared, 8);
    assert!(desk.finding("op_1302", "second_copy_possible").contains("attempt 1"));
}

#[test]
fn r14_a_late_result_of_an_older_attempt() {
    assert_states(
        cases::R14,
        &[
            (2, "op_1401", "failed.proven(permanent)"),
            (3, "op_1401", "executing"),
            (4, "op_1401", "uncertain(lost)"),
            (5, "op_1401", "uncertain(lost)"),
            (6, "op_1401", "failed.proven(permanent)"),
        ],
    );
    let mut desk = Desk::new();
    desk.tell_lines(cases::R14, 5);
    let known = desk.ruling("op_1401").known;
    assert!(known.contains(&"Budget spent: 3 of 3, waiting for attempt 2.".to_owned()), "{known:?}");
    let late = cases::R14
        .lines()
        .last()
        .unwrap()
        .replace(r#""outcome":"rejected","http":422"#, r#""outcome":"ok","receipt":"r""#);
    desk.tell(&late);
    assert_eq!(desk.state("op_1401"), "succeeded");
}

#[test]
fn r15_nothing_will_advance_this() {
    assert_states(cases::R15, &[(1, "op_1501", "executing"), (2, "op_1501", "succeeded"), (3, "op_1502", "proposed")]);
    let mut desk = Desk::new();
    desk.declare("publish", Class::Irreversible, |_| {});
    desk.tell_lines(cases::R15, 3);
    assert_eq!(desk.row("op_1501").attempts, 1);
    desk.wait_until("2026-10-05T01:31:20Z");
    assert_eq!(desk.state("op_1502"), "proposed");
    assert!(desk.finding("op_1502", "stalled").contains("Nothing will advance this"));
    let ruling = desk.ruling("op_1502");
    assert_eq!((ruling.row.as_str(), ruling.recommended), ("32a", Action::Adopt));
}

#[test]
fn r16_a_compensation_is_an_operation_of_its_own() {
    assert_states(
        cases::R16,
        &[
            (1, "op_1601", "succeeded"),
            (2, "op_1602", "uncertain(undeclared_status)"),
            (3, "op_1603", "proposed"),
            (4, "op_1603", "uncertain(timeout)"),
            (4, "op_1601", "succeeded"),
        ],
    );
}

#[test]
fn r17_spelling_is_the_same_and_unicode_composition_is_not() {
    let mut desk = Desk::new();
    desk.tell_lines(cases::R17, 6);
    assert_eq!(desk.operations(), 3);
    for name in ["op_1701", "op_1702", "op_1703"] {
        assert_eq!(desk.state(name), "proposed");
    }
    assert!(!desk.has_finding("op_1702", "conflicting_proposal"));
    assert!(desk.has_finding("op_1703", "conflicting_proposal"));
}

#[test]
fn r18_big_integers_are_told_apart() {
    let mut desk = Desk::new();
    desk.tell_lines(cases::R18, 2);
    assert_eq!(desk.operations(), 2);
    let hash = |name: &str| desk.row(name).args_hash.unwrap().to_string();
    assert_eq!(hash("op_1801"), "51c9d72308f4be5fd061f79fbe665a6d38c0d3186d8f3618196c922ce14a6c0e");
    assert_eq!(hash("op_1802"), "62da59d165ba33ab23fcef311e4f09087e9f840a03f1d0d141390a8aab7c24ca");
}

#[test]
fn r19_the_key_of_a_finished_operation_answers_from_the_record() {
    assert_states(cases::R19, &[(1, "op_1901", "executing"), (2, "op_1901", "succeeded"), (3, "op_1902", "succeeded")]);
}

#[test]
fn r20_an_end_alone_makes_an_operation() {
    assert_states(cases::R20, &[(1, "op_2001", "succeeded"), (2, "op_2002", "succeeded"), (3, "op_2003", "succeeded")]);
    let mut desk = Desk::new();
    desk.tell_lines(cases::R20, 3);
    assert!(desk.has_finding("op_2001", "without_key"));
}

#[test]
fn r21_other_arguments_than_authorized_were_sent() {
    assert_states(cases::R21, &[(2, "op_2101", "authorized"), (3, "op_2101", "executing")]);
    let mut desk = Desk::new();
    desk.tell_lines(cases::R21, 3);
    assert!(desk.has_finding("op_2101", "sent_arguments_differ"));
    desk.wait_until("2026-10-06T09:01:31Z");
    assert_eq!((desk.state("op_2101").as_str(), desk.ruling("op_2101").row.as_str()), ("uncertain(lost)", "21"));
}

#[test]
fn i38_a_weaker_source_never_proves() {
    for (trust, state) in [(Trust::Declared, "uncertain(likely)"), (Trust::Unknown, "uncertain(no_receipt)")] {
        let mut desk = Desk::new();
        desk.trust(trust);
        desk.tell_lines(cases::R15, 2);
        assert_eq!(desk.state("op_1501"), state);
    }
}

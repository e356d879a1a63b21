//! What people do about an operation, and what the rules make of it.

use crate::action::{Action, ActionInput, Pick};
use crate::cases;
use crate::contract::{Consistency, LookUp, LookUpBy};
use crate::name::Receipt;
use crate::operation::Reason;
use crate::proof::{proofs, prove, prove_that};
use crate::refusal::Refusal;
use crate::tool::Class;
use crate::transition::ActOutcome;

use super::desk::Desk;

fn receipt(text: &str) -> Option<Receipt> {
    Receipt::parse(text).ok()
}

fn mark_succeeded(text: &str) -> ActionInput {
    ActionInput::MarkSucceeded { receipt: receipt(text), reference: None }
}

/// R01 after its timeout, with a reversible tool that has an eventual look-up.
fn timed_out() -> Desk {
    let mut desk = Desk::new();
    desk.declare("payments.charge", Class::Reversible, |contract| {
        contract.lookup =
            Some(LookUp { by: LookUpBy::Metadata, consistency: Some(Consistency::Eventual), complete: false });
    });
    desk.tell_lines(cases::R01, 4);
    desk
}

proofs! {
    fn marking_succeeded_settles_it_by_a_persons_word() {
        let mut desk = timed_out();
        let decision = desk.act("ana", "op_101", mark_succeeded("pi_A")).unwrap();
        assert_eq!(decision.outcome, ActOutcome::Done);
        assert!(decision.rules.contains(&"T21".to_owned()));
        assert_eq!(desk.state("op_101"), "succeeded.attested");
        assert_eq!(desk.row("op_101").receipt, receipt("pi_A"));
        assert!(desk.row("op_101").attention.is_none());
    }

    fn t46_a_receipt_that_agrees_upgrades_the_statement() {
        let mut desk = timed_out();
        desk.act("ana", "op_101", mark_succeeded("pi_A")).unwrap();
        desk.tell(cases::R01.lines().nth(5).unwrap());
        assert_eq!(desk.state("op_101"), "succeeded");
    }

    fn an_older_version_is_refused() {
        let mut desk = timed_out();
        let mut act = desk.form("ana", "op_101", mark_succeeded("pi_A"));
        act.seen_version -= 1;
        let current = desk.version("op_101");
        let refusal = desk.press("op_101", &act).unwrap_err();
        assert_eq!(refusal, Refusal::StaleVersion { seen: current - 1, current });
        assert_eq!(desk.version("op_101"), current);
    }

    fn a_missing_reason_or_confirmation_is_refused() {
        let mut desk = timed_out();
        let mut act = desk.form("ana", "op_101", mark_succeeded("pi_A"));
        act.reason = "  ".into();
        assert_eq!(desk.press("op_101", &act).unwrap_err(), Refusal::ReasonMissing {});
        act.reason = "seen".into();
        act.confirmation = Some("cart".into());
        assert!(
            matches!(desk.press("op_101", &act).unwrap_err(), Refusal::ConfirmationMissing { expected, .. } if expected == "cart-77")
        );
        act.reason = "x".repeat(4_001);
        assert!(matches!(desk.press("op_101", &act).unwrap_err(), Refusal::BadField { field, .. } if field == "reason"));
    }

    fn o6_without_receipt_or_reference_a_second_person_is_asked() {
        let mut desk = timed_out();
        let input = ActionInput::MarkSucceeded { receipt: None, reference: None };
        let decision = desk.act("ana", "op_101", input).unwrap();
        prove!("O6", decision.outcome, ActOutcome::AwaitsSecondPerson);
        assert_eq!(desk.state("op_101"), "uncertain(timeout)");
        assert_eq!(desk.row("op_101").attention.unwrap().reason, Reason::AwaitsSecondPerson);
    }

    fn two_people_complete_what_one_may_not() {
        let mut desk = Desk::new();
        desk.tell_lines(cases::R01, 4);
        let act = desk.form("ana", "op_101", mark_succeeded("pi_A"));
        desk.press("op_101", &act).unwrap();
        assert_eq!(desk.complete("ana", "op_101", &act.key).unwrap_err(), Refusal::SamePersonTwice {});
        desk.complete("ben", "op_101", &act.key).unwrap();
        assert_eq!(desk.state("op_101"), "succeeded.attested");
        assert_eq!(desk.complete("cid", "op_101", &act.key).unwrap_err(), Refusal::NotAwaited {});
    }

    fn a_second_dual_act_waits_its_turn() {
        let mut desk = Desk::new();
        desk.tell_lines(cases::R01, 4);
        desk.act("ana", "op_101", mark_succeeded("pi_A")).unwrap();
        let refusal = desk.act("ben", "op_101", ActionInput::MarkFailed {}).unwrap_err();
        assert!(matches!(refusal, Refusal::Forbidden { action: Action::MarkFailed, .. }), "{refusal}");
    }

    fn what_is_forbidden_on_the_page_is_forbidden_on_submit() {
        let mut desk = Desk::new();
        desk.tell_lines(cases::R01, 6);
        let refusal = desk.act("ana", "op_101", ActionInput::MarkFailed {}).unwrap_err();
        assert!(
            matches!(refusal, Refusal::Forbidden { action: Action::MarkFailed, ref row, .. } if row == "4"),
            "{refusal}"
        );
    }

    fn trace_b30_a_picked_contradiction_reopens_only_on_a_third_receipt() {
        let mut desk = Desk::new();
        desk.tell_lines(cases::R01, 7);
        let pick = ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: receipt("pi_A") };
        let refusal = desk.act("ana", "op_101", pick.clone()).unwrap_err();
        assert!(refusal.to_string().contains("waive each surplus effect first: pi_B"), "{refusal}");
        desk.act_by_two("op_101", ActionInput::Waive { receipt: receipt("pi_B") }).unwrap();
        desk.act_by_two("op_101", pick).unwrap();
        assert_eq!(desk.state("op_101"), "succeeded");
        let again = cases::R01.lines().nth(6).unwrap();
        desk.tell(&again.replace("2026-10-05T09:00:55Z", "2026-10-05T10:00:00Z"));
        assert_eq!(desk.state("op_101"), "succeeded", "a redelivery changes nothing");
        desk.tell(&again.replace("evt_b", "evt_c").replace("pi_B", "pi_C"));
        assert_eq!(desk.state("op_101"), "contradicted(duplicate)", "a third receipt does");
    }

    fn a_pick_must_cite_a_receipt_on_record() {
        let mut desk = Desk::new();
        desk.tell_lines(cases::R01, 7);
        for cited in [None, receipt("pi_Z")] {
            let refusal =
                desk.act("ana", "op_101", ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: cited }).unwrap_err();
            assert!(matches!(refusal, Refusal::BadField { ref field, .. } if field == "receipt"), "{refusal}");
        }
    }

    fn trace_a11_a_picked_failure_is_a_statement_not_a_proof() {
        let mut desk = Desk::new();
        desk.tell_lines(cases::R01, 7);
        desk.act_by_two("op_101", ActionInput::Waive { receipt: receipt("pi_B") }).unwrap();
        desk.act_by_two("op_101", ActionInput::PickVerdict { pick: Pick::Failed, receipt: None }).unwrap();
        assert_eq!(desk.state("op_101"), "failed.attested");
    }

    fn f4_success_after_a_statement_of_failure_contradicts_it() {
        let mut desk = timed_out();
        let act = desk.form("ana", "op_101", ActionInput::MarkFailed {});
        desk.press("op_101", &act).unwrap();
        desk.complete("ben", "op_101", &act.key).unwrap();
        assert_eq!((desk.state("op_101").as_str(), desk.ruling("op_101").row.as_str()), ("failed.attested", "25"));
        desk.tell(cases::R01.lines().nth(5).unwrap());
        assert_eq!(desk.state("op_101"), "contradicted(attestation)");
    }

    fn t37_adopting_makes_a_guarded_operation_that_inherits_the_open_attempt() {
        let mut desk = timed_out();
        let adopt = ActionInput::Adopt { statement: "the web client is switched off".into() };
        let decision = desk.act("ana", "op_101", adopt.clone()).unwrap();
        prove_that!("T37", decision.rules.contains(&"T37".to_owned()));
        prove!("T37", desk.operations(), 2);
        prove!("T37", desk.state("op_101-next"), "uncertain(timeout)");
        prove!("T37", desk.outcome("op_101-next").inherited.len(), 1);
        assert_eq!((desk.row("op_101-next").attempts, desk.ruling("op_101-next").row.as_str()), (0, "7"));
        assert_eq!(desk.state("op_101"), "uncertain(timeout)");
        assert!(desk.row("op_101").attention.is_none(), "people work on the guarded one");
        let again = desk.act("ben", "op_101", adopt).unwrap_err();
        assert!(matches!(again, Refusal::Forbidden { action: Action::Adopt, .. }), "{again}");
    }

    fn a_success_of_the_adopted_operation_closes_what_was_inherited() {
        let mut desk = timed_out();
        desk.act("ana", "op_101", ActionInput::Adopt { statement: "switched off".into() }).unwrap();
        desk.tell(cases::R01.lines().nth(5).unwrap());
        assert_eq!(desk.state("op_101"), "succeeded");
        assert_eq!(desk.state("op_101-next"), "proposed");
        assert_eq!(desk.ruling("op_101-next").recommended, Action::Cancel);
    }

    fn assigning_commenting_and_escalating_change_no_state() {
        let mut desk = timed_out();
        let to = crate::name::PrincipalId::parse("ben").ok();
        desk.act("ana", "op_101", ActionInput::Assign { to: to.clone() }).unwrap();
        assert_eq!(desk.row("op_101").assignee, to);
        desk.act("ana", "op_101", ActionInput::Comment {}).unwrap();
        desk.act("ana", "op_101", ActionInput::Escalate {}).unwrap();
        assert_eq!(desk.state("op_101"), "uncertain(timeout)");
    }
}

//! The decision table, row by row. A situation starts as the plainest of its kind and is bent by each test.

mod gathered;

use crate::action::Action;
use crate::contract::CancelByKey;
use crate::decision::{Child, LookUpKind, Situation, Verdict, evaluate};
use crate::operation::{Contradiction, Doubt, Failure, Mode, State, SuccessBasis};
use crate::policy::Policy;
use crate::proof::{proofs, record};
use crate::rig::retry_wait;
use crate::tool::Class;

use Verdict::{Confirm as C, Dual as D, Forbidden as F, NotOffered as N, Safe as S};

pub(super) fn guarded(state: State, class: Class) -> Situation {
    Situation {
        mode: Mode::Guarded,
        state,
        class,
        key_protects: false,
        look_up: LookUpKind::Weak,
        absent_after_settle: false,
        approval_live: true,
        any_open: matches!(state, State::Uncertain(_)),
        ever_sent: true,
        intent_sent: true,
        scope_changed: false,
        lease_live: false,
        child: Child::None,
        past_pivot: false,
        dependent_stands: false,
        watch_over: false,
        is_fresh: true,
        acceptance_over: false,
        same_handle: false,
        sole_writer: true,
        cancel_by_key: None,
        compensation_declared: true,
        success_evidence: false,
        success_elsewhere: false,
        newer_guarded: false,
        guarded_at_work: false,
        above_threshold: false,
        executable: true,
        budget_spent: false,
        actor_proposed: false,
        automation: false,
        conflict_open: false,
        compensation_window_over: false,
        compensated: false,
        restore_pending: false,
        question_open: false,
        lone_override: false,
        args_differ: false,
        surplus_standing: true,
        policy: Policy::FULL,
    }
}

pub(super) fn uncertain(class: Class) -> Situation {
    guarded(State::Uncertain(Doubt::Timeout), class)
}

pub(super) fn observed(state: State) -> Situation {
    Situation { mode: Mode::Observed, approval_live: false, ..guarded(state, Class::Irreversible) }
}

/// Row, the six verdicts in the order of the table's columns, and ★.
fn answer(situation: &Situation) -> (String, [Verdict; 6], Action) {
    let ruling = evaluate(situation);
    let of = |action| ruling.on(action).unwrap().verdict;
    let six = [
        of(Action::LookUp),
        of(Action::RerunSameKey),
        of(Action::RerunNew),
        of(Action::MarkSucceeded),
        of(Action::MarkFailed),
        of(Action::Compensate),
    ];
    (ruling.row.clone(), six, ruling.recommended)
}

fn verdict(situation: &Situation, action: Action) -> Verdict {
    evaluate(situation).on(action).unwrap().verdict
}

proofs! {
    fn every_row_gives_its_verdicts_for_a_reversible_write() {
        use Action::{
            ChangeArguments, Comment, Escalate, GrantAttempts, LookUp, PickVerdict, Renew, RerunNew, RerunSameKey,
        };
        let v = Class::Reversible;
        let with = |doubt| guarded(State::Uncertain(doubt), v);
        let failed = |failure| guarded(State::Failed(failure), v);
        let strong = |situation| Situation { look_up: LookUpKind::Strong, ..situation };
        let none = |situation| Situation { look_up: LookUpKind::None, ..situation };
        let kp = |situation| Situation { key_protects: true, ..situation };
        let old = |situation| Situation { is_fresh: false, watch_over: true, acceptance_over: true, ..situation };
        for (id, situation, verdicts, recommended) in [
            ("30", Situation { scope_changed: true, ..uncertain(v) }, [S, F, F, C, D, F], LookUp),
            ("3", guarded(State::Contradicted(Contradiction::Duplicate), v), [S, F, F, F, F, D], PickVerdict),
            ("27", guarded(State::Contradicted(Contradiction::Attestation), v), [S, F, F, F, F, F], PickVerdict),
            ("24", with(Doubt::Partial), [S, F, F, F, F, F], LookUp),
            (
                "28",
                Situation { child: Child::Running, ..guarded(State::Succeeded(SuccessBasis::Receipt), v) },
                [S, F, F, F, F, F],
                LookUp,
            ),
            (
                "28a",
                Situation { child: Child::Stuck, ..guarded(State::Succeeded(SuccessBasis::Receipt), v) },
                [S, F, F, F, F, F],
                Escalate,
            ),
            (
                "29",
                Situation { past_pivot: true, ..guarded(State::Succeeded(SuccessBasis::Receipt), v) },
                [S, F, F, F, F, D],
                Escalate,
            ),
            ("25", failed(Failure::Attested), [S, F, F, C, F, F], LookUp),
            (
                "26",
                Situation { absent_after_settle: true, ..strong(old(failed(Failure::Attested))) },
                [S, F, C, F, F, F],
                RerunNew,
            ),
            ("26a", old(failed(Failure::Attested)), [S, F, D, C, F, F], LookUp),
            ("31", guarded(State::Succeeded(SuccessBasis::Attested), v), [S, F, F, F, F, F], LookUp),
            ("2", guarded(State::Executing, v), [S, F, F, F, F, F], LookUp),
            ("4", guarded(State::Succeeded(SuccessBasis::Receipt), v), [S, F, F, F, F, C], Comment),
            ("5", guarded(retry_wait(), v), [S, S, C, F, F, F], RerunSameKey),
            ("6", failed(Failure::Budget), [S, F, C, F, F, F], GrantAttempts),
            ("6a", failed(Failure::Permanent), [S, F, C, F, F, F], RerunNew),
            ("6b", failed(Failure::Business), [S, F, C, F, F, F], ChangeArguments),
            ("32", guarded(State::Proposed, v), [S, F, F, F, F, F], Action::Approve),
            ("33", guarded(State::Authorized, v), [S, F, F, F, F, F], Comment),
            ("34", guarded(State::ApprovalExpired, v), [S, F, C, F, F, F], Renew),
            ("35", guarded(State::Denied, v), [S, F, C, F, F, F], Comment),
            ("35a", guarded(State::Superseded, v), [S, F, F, F, F, F], Comment),
            ("7", Situation { approval_live: false, ..uncertain(v) }, [S, F, D, D, D, F], Renew),
            ("13", with(Doubt::KeyMismatch), [S, F, F, D, D, F], LookUp),
            ("10", kp(with(Doubt::InFlight)), [S, S, F, F, F, F], RerunSameKey),
            ("10a", with(Doubt::InFlight), [S, F, F, F, F, F], LookUp),
            ("10b", old(kp(with(Doubt::InFlight))), [S, S, F, D, D, F], RerunSameKey),
            ("10c", old(with(Doubt::InFlight)), [S, F, F, D, D, F], LookUp),
            ("11", with(Doubt::Accepted), [S, F, F, F, F, F], LookUp),
            ("11a", Situation { same_handle: true, ..old(kp(with(Doubt::Accepted))) }, [S, C, F, D, D, F], LookUp),
            ("11b", old(with(Doubt::Accepted)), [S, F, F, D, D, F], LookUp),
            ("12", with(Doubt::ReplayedError), [S, F, F, D, D, F], LookUp),
            ("23", kp(with(Doubt::NoReceipt)), [S, S, F, C, D, F], LookUp),
            ("23a", with(Doubt::Likely), [S, F, F, C, D, F], LookUp),
            ("14", kp(uncertain(v)), [S, S, F, C, D, F], RerunSameKey),
            ("16", strong(uncertain(v)), [S, F, F, C, F, F], LookUp),
            ("17", Situation { absent_after_settle: true, ..strong(uncertain(v)) }, [S, F, D, F, D, F], Escalate),
            ("18", uncertain(v), [S, F, D, C, D, F], LookUp),
            ("20", none(uncertain(v)), [N, F, F, D, D, F], Escalate),
            ("20a", old(none(uncertain(v))), [N, F, D, D, D, F], Escalate),
        ] {
            record(id);
            assert_eq!(answer(&situation), (id.to_owned(), verdicts, recommended), "row {id}");
        }
    }

    fn rows_of_the_other_classes() {
        let kp = |class| Situation { key_protects: true, ..uncertain(class) };
        let none = |class| Situation { look_up: LookUpKind::None, ..uncertain(class) };
        for (id, situation, verdicts, recommended) in [
            ("8", uncertain(Class::Read), [S, S, C, C, C, F], Action::RerunSameKey),
            ("9", uncertain(Class::Idempotent), [S, S, F, C, C, F], Action::RerunSameKey),
            ("9a", Situation { sole_writer: false, ..uncertain(Class::Idempotent) }, [S, C, F, C, C, F], Action::LookUp),
            ("15", kp(Class::Irreversible), [S, C, F, D, D, F], Action::LookUp),
            ("19", uncertain(Class::Irreversible), [S, F, F, D, D, F], Action::LookUp),
            ("21", none(Class::Irreversible), [N, F, F, D, D, F], Action::Escalate),
            ("32a", observed(State::Proposed), [S, F, F, D, D, F], Action::Adopt),
        ] {
            record(id);
            assert_eq!(answer(&situation), (id.to_owned(), verdicts, recommended), "row {id}");
        }
    }

    fn o2_an_observed_operation_is_never_rerun() {
        record("O2");
        let situation = observed(State::Failed(Failure::Observed));
        assert_eq!(verdict(&situation, Action::RerunNew), F);
        assert_eq!(evaluate(&situation).recommended, Action::Adopt);
        assert_eq!(verdict(&situation, Action::Adopt), C);
    }

    fn a_recommendation_that_may_not_be_followed_moves_to_adopt_and_then_to_escalate() {
        let situation = Situation { executable: false, ..observed(State::Failed(Failure::Observed)) };
        assert_eq!(verdict(&situation, Action::Adopt), F);
        assert_eq!(evaluate(&situation).recommended, Action::Escalate);
    }

    fn overlay_22a_opens_the_cancel_and_closes_the_rest() {
        record("22a");
        let cancel = Some(CancelByKey { noop_on_absent: true, commutative: false });
        let situation = Situation { cancel_by_key: cancel, look_up: LookUpKind::None, ..uncertain(Class::Irreversible) };
        assert_eq!(answer(&situation), ("21".into(), [N, F, F, D, F, D], Action::Escalate));
    }

    fn overlay_22b_recommends_the_commutative_cancel() {
        record("22b");
        let cancel = Some(CancelByKey { noop_on_absent: true, commutative: true });
        let situation = Situation { cancel_by_key: cancel, ..uncertain(Class::Reversible) };
        assert_eq!(answer(&situation).2, Action::Compensate);
        assert_eq!(verdict(&situation, Action::Compensate), C);
    }

    fn o5_an_amount_above_the_threshold_asks_for_two_people() {
        record("O5");
        let situation = Situation { above_threshold: true, ..uncertain(Class::Reversible) };
        assert_eq!(verdict(&situation, Action::MarkSucceeded), D);
    }

    fn o8_a_rerun_without_protection_approval_or_budget_is_forbidden() {
        record("O8");
        let protected = Situation { key_protects: true, ..uncertain(Class::Reversible) };
        assert_eq!(verdict(&protected, Action::RerunSameKey), S);
        for bent in [
            Situation { approval_live: false, ..protected.clone() },
            Situation { budget_spent: true, ..protected.clone() },
            Situation { key_protects: false, ..protected.clone() },
        ] {
            assert_eq!(verdict(&bent, Action::RerunSameKey), F);
        }
    }

    fn o10_compensating_needs_a_declared_way() {
        record("O10");
        let situation = Situation {
            compensation_declared: false,
            ..guarded(State::Succeeded(SuccessBasis::Receipt), Class::Reversible)
        };
        assert_eq!(verdict(&situation, Action::Compensate), F);
    }

    fn o11_a_program_gets_nothing_that_asks_for_a_person() {
        record("O11");
        let situation = Situation { automation: true, ..uncertain(Class::Reversible) };
        for &action in Action::ALL {
            assert!(!matches!(verdict(&situation, action), C | D), "{action}");
        }
        let refused = Situation { automation: true, ..guarded(State::Failed(Failure::Permanent), Class::Reversible) };
        assert_eq!(verdict(&refused, Action::RerunNew), C, "T28 admits it");
    }

    fn a_program_does_not_rerun_what_a_person_only_stated_to_have_failed() {
        let situation = Situation {
            automation: true,
            watch_over: true,
            ..guarded(State::Failed(Failure::Attested), Class::Reversible)
        };
        assert_eq!(verdict(&situation, Action::RerunNew), F);
    }

    fn adopting_waits_for_the_intent_to_be_free() {
        let free = observed(State::Uncertain(Doubt::Timeout));
        assert_eq!(verdict(&free, Action::Adopt), C);
        for taken in [
            Situation { guarded_at_work: true, ..free.clone() },
            Situation { success_evidence: true, ..free.clone() },
            Situation { success_elsewhere: true, ..free.clone() },
            Situation { state: State::Executing, ..free.clone() },
        ] {
            assert_eq!(verdict(&taken, Action::Adopt), F);
        }
        assert_eq!(verdict(&uncertain(Class::Reversible), Action::Adopt), N);
    }

    /// I33: the table is total and never permits what a matching row forbids, but for 22a and 22b.
    fn i33_the_winner_never_permits_what_a_matching_row_forbids() {
        record("I33");
        let mut seen = std::collections::BTreeSet::new();
        for situation in every_situation() {
            let ruling = evaluate(&situation);
            assert_ne!(ruling.row, "none", "{situation:?}");
            seen.insert(ruling.row.clone());
            for row in super::ROWS.iter().filter(|row| (row.holds)(&situation)) {
                for &action in Action::ALL {
                    let permitted = ruling.on(action).unwrap().verdict < F;
                    let is_exception = action == Action::Compensate && situation.cancel_by_key.is_some();
                    let forbidden = row.verdict(action) == Some(F);
                    assert!(!(permitted && forbidden) || is_exception, "{} permits {action}: {situation:?}", ruling.row);
                }
            }
        }
        for row in super::ROWS {
            assert!(seen.contains(row.id), "row {} is never reached", row.id);
        }
    }

    fn i33_a_row_that_does_not_win_still_forbids_and_is_named() {
        record("I33");
        let lapsed = Situation { approval_live: false, ..uncertain(Class::Reversible) };
        let named = |situation: &Situation, action| {
            let ruling = evaluate(situation);
            let on = ruling.on(action).unwrap();
            (ruling.row.clone(), on.verdict, on.forbidden_by.clone())
        };
        let alone = Situation { look_up: LookUpKind::Weak, ..lapsed.clone() };
        assert_eq!(named(&alone, Action::RerunNew), ("7".into(), D, vec![]));
        let keyed = Situation { key_protects: true, ..lapsed };
        assert_eq!(named(&keyed, Action::RerunNew), ("7".into(), F, vec!["14".into()]));
        assert_eq!(named(&keyed, Action::RerunSameKey), ("7".into(), F, vec![]), "its own row forbids it");
    }

    fn overlay_1_other_arguments_are_changed_not_rerun() {
        record("O1");
        let situation = Situation { args_differ: true, key_protects: true, ..uncertain(Class::Reversible) };
        assert_eq!(verdict(&situation, Action::RerunSameKey), F);
        assert_eq!(verdict(&situation, Action::RerunNew), F);
        assert_eq!(evaluate(&situation).recommended, Action::Escalate, "changing has the verdict of rerun_new, forbidden");
        let refused = Situation { args_differ: true, ..guarded(State::Failed(Failure::Business), Class::Reversible) };
        assert_eq!(evaluate(&refused).row, "6b");
    }

    fn o3_a_restored_record_sends_nothing() {
        record("O3");
        let open = Situation { key_protects: true, ..uncertain(Class::Reversible) };
        assert_eq!(verdict(&open, Action::RerunSameKey), S);
        let restored = Situation { restore_pending: true, ..open };
        assert_eq!(verdict(&restored, Action::RerunSameKey), F);
        let failed = Situation { restore_pending: true, ..guarded(State::Failed(Failure::Permanent), Class::Reversible) };
        assert_eq!(verdict(&failed, Action::RerunNew), F);
    }

    fn o4_class_x_asks_for_two_people_and_confirms_a_repeat() {
        record("O4");
        let open = |class| Situation { key_protects: true, ..uncertain(class) };
        assert_eq!(verdict(&open(Class::Reversible), Action::MarkSucceeded), C);
        assert_eq!(verdict(&open(Class::Irreversible), Action::MarkSucceeded), D);
        assert_eq!(verdict(&open(Class::Irreversible), Action::RerunSameKey), C);
        let waiting = |class| guarded(retry_wait(), class);
        assert_eq!(verdict(&waiting(Class::Irreversible), Action::RerunSameKey), S, "nothing is open");
        assert_eq!(verdict(&waiting(Class::Irreversible), Action::RerunNew), D);
        let done = guarded(State::Succeeded(SuccessBasis::Receipt), Class::Irreversible);
        assert_eq!(verdict(&done, Action::Compensate), D);
    }

    fn o7_without_a_look_up_a_person_is_called() {
        record("O7");
        let blind = Situation { look_up: LookUpKind::None, ..guarded(State::Uncertain(Doubt::ReplayedError), Class::Reversible) };
        assert_eq!((verdict(&blind, Action::LookUp), evaluate(&blind).recommended), (N, Action::Escalate));
        let seeing = Situation { look_up: LookUpKind::Weak, ..blind };
        assert_eq!((verdict(&seeing, Action::LookUp), evaluate(&seeing).recommended), (S, Action::LookUp));
    }

    fn o9_likely_success_blocks_every_new_key() {
        record("O9");
        let plain = Situation { look_up: LookUpKind::Weak, ..uncertain(Class::Reversible) };
        assert_eq!((verdict(&plain, Action::RerunNew), verdict(&plain, Action::MarkFailed)), (D, D));
        let likely = Situation { success_evidence: true, ..plain };
        assert_eq!((verdict(&likely, Action::RerunNew), verdict(&likely, Action::MarkFailed)), (F, D));
        let read = Situation { success_evidence: true, ..uncertain(Class::Read) };
        assert_eq!(verdict(&read, Action::MarkFailed), D);
    }

    fn o9a_only_the_newest_of_an_intent_without_an_effect_is_run() {
        record("O9a");
        let waiting = guarded(retry_wait(), Class::Reversible);
        assert_eq!((verdict(&waiting, Action::RerunSameKey), verdict(&waiting, Action::RerunNew)), (S, C));
        for bent in [
            Situation { newer_guarded: true, ..waiting.clone() },
            Situation { success_elsewhere: true, ..waiting.clone() },
        ] {
            assert_eq!((verdict(&bent, Action::RerunSameKey), verdict(&bent, Action::RerunNew)), (F, F));
        }
        let newer = Situation { success_elsewhere: true, ever_sent: false, ..guarded(State::Proposed, Class::Reversible) };
        assert_eq!(evaluate(&newer).recommended, Action::Cancel);
    }

    fn o10_a_closed_window_or_an_undo_on_its_way_ends_it() {
        let done = guarded(State::Succeeded(SuccessBasis::Receipt), Class::Reversible);
        assert_eq!(verdict(&done, Action::Compensate), C);
        for bent in [
            Situation { compensation_window_over: true, ..done.clone() },
            Situation { compensated: true, ..done.clone() },
        ] {
            assert_eq!(verdict(&bent, Action::Compensate), F);
        }
    }

    fn the_other_actions_by_state() {
        record("6.3");
        let proposed = |class| guarded(State::Proposed, class);
        assert_eq!(verdict(&proposed(Class::Reversible), Action::Approve), S);
        assert_eq!(verdict(&proposed(Class::Irreversible), Action::Approve), C);
        for bent in [
            Situation { actor_proposed: true, ..proposed(Class::Reversible) },
            Situation { automation: true, ..proposed(Class::Reversible) },
            Situation { question_open: true, ..proposed(Class::Reversible) },
            guarded(State::Authorized, Class::Reversible),
            observed(State::Proposed),
        ] {
            assert_eq!(verdict(&bent, Action::Approve), F, "{bent:?}");
        }
        let alone = Situation { actor_proposed: true, lone_override: true, ..proposed(Class::Reversible) };
        assert_eq!(verdict(&alone, Action::Approve), C);
        let lapsed = Situation { approval_live: false, ..uncertain(Class::Reversible) };
        assert_eq!((verdict(&lapsed, Action::Renew), verdict(&uncertain(Class::Reversible), Action::Renew)), (S, F));
        assert_eq!(verdict(&proposed(Class::Reversible), Action::Deny), S);
        let conflicting = Situation { conflict_open: true, ..proposed(Class::Reversible) };
        assert_eq!(verdict(&conflicting, Action::Deny), C);
        assert_eq!(verdict(&lapsed, Action::Revoke), N);
        assert_eq!(verdict(&uncertain(Class::Reversible), Action::Revoke), S);
        for state in [State::Proposed, State::Authorized, retry_wait(), State::ApprovalExpired] {
            assert_eq!(verdict(&guarded(state, Class::Reversible), Action::Cancel), S, "{state}");
            let open = Situation { any_open: true, ..guarded(state, Class::Reversible) };
            assert_eq!(verdict(&open, Action::Cancel), F, "{state}");
        }
        let spent = |class| Situation { budget_spent: true, ..guarded(State::Failed(Failure::Budget), class) };
        assert_eq!(verdict(&spent(Class::Reversible), Action::GrantAttempts), C);
        assert_eq!(verdict(&spent(Class::Irreversible), Action::GrantAttempts), D);
        let unsent = Situation { intent_sent: false, ..proposed(Class::Reversible) };
        assert_eq!(verdict(&unsent, Action::ChangeArguments), S);
        assert_eq!(verdict(&guarded(State::Failed(Failure::Business), Class::Reversible), Action::ChangeArguments), C);
        assert_eq!(verdict(&observed(State::Proposed), Action::ChangeArguments), F);
        let doubled = guarded(State::Contradicted(Contradiction::Duplicate), Class::Reversible);
        assert_eq!((verdict(&doubled, Action::PickVerdict), verdict(&doubled, Action::Waive)), (D, D));
        let undone = Situation { surplus_standing: false, ..doubled };
        assert_eq!(verdict(&undone, Action::Waive), N);
        let stuck = Situation { child: Child::Stuck, ..guarded(State::Succeeded(SuccessBasis::Receipt), Class::Reversible) };
        assert_eq!(verdict(&stuck, Action::Waive), D);
        for state in State::all() {
            for action in [Action::AttachEvidence, Action::Escalate, Action::Assign, Action::Comment] {
                assert_eq!(verdict(&guarded(state, Class::Irreversible), action), S, "{state}");
            }
        }
    }

    /// I36: whatever the situation, something leads on: time, a person's act, or somebody is called.
    fn i36_every_situation_has_a_way_forward() {
        record("I36");
        for situation in every_situation() {
            let ruling = evaluate(&situation);
            let first = ruling.on(ruling.recommended).unwrap().verdict;
            assert!(first < F, "{} recommends what it forbids: {situation:?}", ruling.row);
        }
    }
}

fn every_situation() -> impl Iterator<Item = Situation> {
    let flags = 0u32..256;
    let states: Vec<State> = State::all().collect();
    states.into_iter().flat_map(move |state| {
        let flags = flags.clone();
        Class::ALL.into_iter().flat_map(move |class| {
            flags.clone().flat_map(move |bits| {
                [LookUpKind::Strong, LookUpKind::Weak, LookUpKind::None].into_iter().map(move |look_up| {
                    let bit = |n: u32| bits >> n & 1 == 1;
                    Situation {
                        mode: if bit(0) { Mode::Observed } else { Mode::Guarded },
                        key_protects: bit(1),
                        absent_after_settle: bit(2),
                        approval_live: bit(3),
                        watch_over: bit(4),
                        is_fresh: bit(5),
                        acceptance_over: bit(5),
                        same_handle: bit(6),
                        sole_writer: bit(6),
                        past_pivot: bit(6),
                        child: if bit(7) {
                            Child::Running
                        } else if bit(2) {
                            Child::Stuck
                        } else {
                            Child::None
                        },
                        scope_changed: bit(7),
                        look_up,
                        cancel_by_key: None,
                        ..guarded(state, class)
                    }
                })
            })
        })
    })
}

use proptest::prelude::*;

use super::*;
use crate::name::Receipt;
use crate::operation::{Contradiction, Doubt, SuccessBasis};
use crate::proof::{proofs, prove, prove_that};
use crate::rig::retry_wait;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_micros(1_000);
const SUCCEEDED: State = State::Succeeded(SuccessBasis::Receipt);
const ATTESTED: State = State::Succeeded(SuccessBasis::Attested);
const FAILED: State = State::Failed(Failure::Permanent);
const UNCERTAIN: State = State::Uncertain(Doubt::Timeout);

fn id(name: &str) -> OperationId {
    OperationId::parse(name).unwrap()
}

fn ids(names: &[&str]) -> Vec<OperationId> {
    names.iter().map(|name| id(name)).collect()
}

fn step(name: &str, step_no: u32, state: State) -> StepView {
    StepView {
        id: id(name),
        key: OperationKey::parse(name).unwrap(),
        step_no,
        is_pivot: false,
        depends_on: None,
        mode: Mode::Guarded,
        state,
        undo: Undo::Declared { until: None },
        compensation: Progress::None,
    }
}

/// Steps `a`, `b`, `c` … one after the other, each depending on all before it.
fn chain(states: &[State]) -> Vec<StepView> {
    (1..).zip("abcdefgh".chars()).zip(states).map(|((no, name), state)| step(&name.to_string(), no, *state)).collect()
}

fn built(steps: Vec<StepView>) -> Workflow {
    Workflow::new(steps).unwrap()
}

fn hold_of(unwinding: &Unwinding, name: &str) -> Option<Hold> {
    unwinding.holds.iter().find(|(step, _)| *step == id(name)).map(|(_, hold)| hold.clone())
}

fn dependent(name: &str) -> Hold {
    Hold::Dependent { step: id(name) }
}

fn child(state: State) -> ChildView {
    ChildView {
        state,
        amount_minor: None,
        deadline_at: Timestamp::from_micros(5_000),
        proof: ChildProof::Undone,
        is_attested_by_two: false,
    }
}

fn refund(amount_minor: i64, state: State) -> ChildView {
    ChildView { amount_minor: Some(amount_minor), ..child(state) }
}

const CHARGE: Forward =
    Forward { amount_minor: Some(5_000), undo: Undo::Declared { until: None }, is_wanted: true, is_waived: false };

proofs! {
    fn c3_a_step_before_the_pivot_is_compensable_and_one_after_it_is_driven_forward() {
        let mut steps = chain(&[SUCCEEDED, SUCCEEDED, State::Proposed, State::Proposed]);
        steps[1].is_pivot = true;
        // A step with the pivot's own number that yet builds on it.
        steps.push(StepView { depends_on: Some(ids(&["b"])), ..step("late", 2, State::Proposed) });
        let workflow = built(steps);
        for (name, kind) in [
            ("a", Some(StepKind::Compensable)),
            ("b", Some(StepKind::Pivot)),
            ("c", Some(StepKind::Retriable)),
            ("late", Some(StepKind::Retriable)),
            ("nowhere", None),
        ] {
            prove!("C3", workflow.kind(&id(name)), kind, "{name}");
        }
        prove!("C3", built(chain(&[SUCCEEDED])).kind(&id("a")), Some(StepKind::Compensable), "no pivot");
    }

    fn c1_undo_goes_backwards_by_dependency_and_side_by_side_where_nothing_builds_on_it() {
        let serial = built(chain(&[SUCCEEDED, SUCCEEDED, FAILED]));
        let first = serial.unwind(NOW);
        prove!("C1", first.undo, ids(&["b"]));
        prove!("C1", hold_of(&first, "a"), Some(dependent("b")));

        let branches = [("a", 1, vec![]), ("b", 2, vec!["a"]), ("c", 3, vec!["a"]), ("d", 4, vec!["b", "c"])];
        let steps = branches.map(|(name, no, on)| StepView {
            depends_on: Some(ids(&on)),
            ..step(name, no, if name == "d" { FAILED } else { SUCCEEDED })
        });
        let parallel = built(steps.to_vec());
        prove!("C1", parallel.unwind(NOW).undo, ids(&["c", "b"]));
    }

    fn i23_nothing_is_undone_before_what_builds_on_it() {
        let with = |state: State, compensation: Progress, mode: Mode| {
            let mut steps = chain(&[SUCCEEDED, state]);
            (steps[1].compensation, steps[1].mode) = (compensation, mode);
            built(steps).unwind(NOW)
        };
        for (state, compensation, is_free) in [
            // Proved never to have happened, or not any more.
            (FAILED, Progress::None, true),
            (State::Failed(Failure::Business), Progress::None, true),
            (State::Failed(Failure::Deadline), Progress::None, true),
            (State::Failed(Failure::AttestedThenProved), Progress::None, true),
            (State::Denied, Progress::None, true),
            (State::Cancelled, Progress::None, true),
            (SUCCEEDED, Progress::Compensated, true),
            (SUCCEEDED, Progress::Waived, true),
            (ATTESTED, Progress::Waived, true),
            // Everything else may stand, or come.
            (SUCCEEDED, Progress::None, false),
            (SUCCEEDED, Progress::Requested, false),
            (SUCCEEDED, Progress::Running, false),
            (SUCCEEDED, Progress::Partial, false),
            (SUCCEEDED, Progress::Stuck, false),
            (SUCCEEDED, Progress::Impossible, false),
            (ATTESTED, Progress::None, false),
            (State::Failed(Failure::Attested), Progress::None, false),
            (State::Proposed, Progress::None, false),
            (State::Authorized, Progress::None, false),
            (State::ApprovalExpired, Progress::None, false),
            (retry_wait(), Progress::None, false),
            (State::Claimed, Progress::None, false),
            (State::Executing, Progress::None, false),
            (UNCERTAIN, Progress::None, false),
            (State::Contradicted(Contradiction::Duplicate), Progress::None, false),
            (State::Superseded, Progress::None, false),
        ] {
            let unwinding = with(state, compensation, Mode::Guarded);
            prove!("I23", unwinding.undo.contains(&id("a")), is_free, "{state} {compensation:?}");
            if !is_free {
                prove!("I23", hold_of(&unwinding, "a").is_some(), true, "{state} {compensation:?}");
                prove_that!("I23", unwinding.undo.contains(&id("b")) || hold_of(&unwinding, "b").is_some());
            }
        }
    }

    fn a_step_that_may_still_begin_is_cancelled_if_it_is_ours() {
        for state in [State::Proposed, State::Authorized, State::ApprovalExpired, retry_wait()] {
            let mut steps = chain(&[SUCCEEDED, state]);
            let ours = built(steps.clone()).unwind(NOW);
            prove!("T6", (ours.cancel.clone(), ours.undo.len()), (ids(&["b"]), 0), "{state}");
            steps[1].mode = Mode::Observed;
            let theirs = built(steps).unwind(NOW);
            prove!("T6", theirs.cancel, vec![], "{state}");
            prove!("T6", hold_of(&theirs, "b"), Some(Hold::NotOnRecord), "{state}");
        }
        let claimed = built(chain(&[SUCCEEDED, State::Claimed])).unwind(NOW);
        prove!("T6", (claimed.cancel.clone(), hold_of(&claimed, "b")), (vec![], Some(Hold::Running)));
    }

    fn c4_a_step_is_compensated_only_if_its_success_is_proved() {
        let guard = |state: State| built(chain(&[state])).may_compensate(&id("a"), NOW);
        for (state, allowed) in [
            (SUCCEEDED, Ok(())),
            (State::Succeeded(SuccessBasis::Partial), Ok(())),
            (ATTESTED, Err(Hold::AttestedSuccess)),
            (UNCERTAIN, Err(Hold::Uncertain { doubt: Doubt::Timeout })),
            (State::Executing, Err(Hold::Running)),
            (State::Contradicted(Contradiction::Reversed), Err(Hold::Contradicted)),
            (State::Failed(Failure::Attested), Err(Hold::AttestedFailure)),
            (State::Superseded, Err(Hold::SuccessorDecides)),
            (FAILED, Err(Hold::NothingToUndo)),
            (State::Proposed, Err(Hold::NotBegun)),
        ] {
            prove!("C4", guard(state), allowed, "{state}");
        }
        prove!("C4", built(chain(&[SUCCEEDED])).may_compensate(&id("z"), NOW), Err(Hold::NoStep));
    }

    fn t30_the_guard_of_a_compensation() {
        let guard = |change: &dyn Fn(&mut StepView)| {
            let mut steps = chain(&[SUCCEEDED, FAILED]);
            change(&mut steps[0]);
            built(steps).may_compensate(&id("a"), NOW)
        };
        prove!("T30", guard(&|_| {}), Ok(()));
        // The window.
        prove!("T30", guard(&|step| step.undo = Undo::Undeclared), Err(Hold::NoCompensation));
        prove!("T30", guard(&|step| step.undo = Undo::Declared { until: Some(NOW) }), Err(Hold::WindowClosed));
        let later = NOW.plus(std::time::Duration::from_micros(1));
        prove!("T30", guard(&|step| step.undo = Undo::Declared { until: Some(later) }), Ok(()));
        // No other open child.
        for (progress, hold) in [
            (Progress::Requested, Hold::Undoing),
            (Progress::Running, Hold::Undoing),
            (Progress::Stuck, Hold::Stuck),
            (Progress::Impossible, Hold::Impossible),
            (Progress::Partial, Hold::PartlyUndone),
            (Progress::Compensated, Hold::NothingToUndo),
            (Progress::Waived, Hold::NothingToUndo),
        ] {
            prove!("T30", guard(&|step| step.compensation = progress), Err(hold));
        }
        // Later steps, for people too.
        prove!(
            "T30",
            built(chain(&[SUCCEEDED, SUCCEEDED])).may_compensate(&id("a"), NOW),
            Err(dependent("b"))
        );
    }

    fn t30_each_undo_has_a_key_of_its_own_that_comes_from_what_it_undoes() {
        let key = |effect: &str| compensation_key(&id("op_1"), &Receipt::parse(effect).unwrap()).unwrap();
        prove!("T30", key("ch_9").as_str(), "comp:op_1:ch_9");
        let (one, other) = (key(&"x".repeat(255)), key(&format!("{}y", "x".repeat(254))));
        prove_that!("T30", one.as_str().starts_with("comp:op_1:sha256:") && one != other);
    }

    fn i24_nothing_past_the_pivot_is_undone_by_itself() {
        let with_pivot = |states: &[State]| {
            let mut steps = chain(states);
            steps[1].is_pivot = true;
            built(steps)
        };
        let passed = with_pivot(&[SUCCEEDED, SUCCEEDED, FAILED]);
        let unwinding = passed.unwind(NOW);
        prove!("I24", (unwinding.undo.len(), unwinding.cancel.len()), (0, 0));
        prove!("I24", hold_of(&unwinding, "a"), Some(Hold::PastPivot));
        prove!("I24", hold_of(&unwinding, "b"), Some(Hold::PastPivot));
        prove!("C3", passed.direction(), Direction::Escalate { step: id("c") });
        // By hand it is possible, and from the end: the pivot first.
        prove!("I24", passed.may_compensate(&id("b"), NOW), Ok(()));
        prove!("I24", passed.may_compensate(&id("a"), NOW), Err(dependent("b")));
        // An attested pivot counts as passed; what has not begun is left to come.
        let attested = with_pivot(&[SUCCEEDED, ATTESTED, State::Proposed]);
        prove!("I24", (attested.unwind(NOW).undo.len(), attested.unwind(NOW).cancel.len()), (0, 0));
        prove!("C3", attested.direction(), Direction::Forward);
        // A step after the pivot that ran although the pivot failed is a person's, and so is what it builds on.
        let odd = with_pivot(&[SUCCEEDED, FAILED, SUCCEEDED]);
        prove!("I24", odd.unwind(NOW).undo, vec![]);
        prove!("I24", hold_of(&odd.unwind(NOW), "c"), Some(Hold::PastPivot));
        // The pivot failed: all that came before it is undone.
        let failed = with_pivot(&[SUCCEEDED, FAILED, State::Proposed]);
        prove!("I24", failed.unwind(NOW).cancel, ids(&["c"]));
        prove!("I24", with_pivot(&[SUCCEEDED, FAILED, State::Cancelled]).unwind(NOW).undo, ids(&["a"]));
        for name in ["b", "c"] {
            prove_that!("I24", failed.is_past_pivot(&id(name)));
        }
        prove_that!("I24", !failed.is_past_pivot(&id("a")) && passed.is_past_pivot(&id("a")));
    }

    fn i24_while_the_pivot_is_open_nothing_beside_it_is_undone_either() {
        for (state, mode) in [
            (State::Executing, Mode::Guarded),
            (UNCERTAIN, Mode::Guarded),
            (State::Failed(Failure::Attested), Mode::Guarded),
            (State::Authorized, Mode::Guarded),
            (State::Proposed, Mode::Observed),
        ] {
            // `a` and `p` do not depend on each other.
            let pivot = StepView { is_pivot: true, mode, depends_on: Some(vec![]), ..step("p", 2, state) };
            let beside = StepView { depends_on: Some(vec![]), ..step("a", 1, SUCCEEDED) };
            let unwinding = built(vec![beside, pivot]).unwind(NOW);
            prove!("I24", (unwinding.undo.len(), hold_of(&unwinding, "a")), (0, Some(Hold::PivotOpen)), "{state}");
        }
    }

    fn an_uncertain_step_is_waited_for() {
        // R16: the reservation was rejected by a status that nobody declared.
        let mut steps = chain(&[SUCCEEDED, State::Uncertain(Doubt::UndeclaredStatus)]);
        let workflow = built(steps.clone());
        prove!("T30", workflow.may_compensate(&id("a"), NOW), Err(dependent("b")));
        prove!("4.4.8", workflow.unwind(NOW).undo, vec![]);
        prove!("4.4.8", hold_of(&workflow.unwind(NOW), "b"), Some(Hold::Uncertain { doubt: Doubt::UndeclaredStatus }));
        prove!("I23", workflow.ending(Some(&PrincipalId::parse("rota").unwrap())), None, "it has not ended");
        steps[1].state = FAILED;
        prove!("T30", built(steps).unwind(NOW).undo, ids(&["a"]), "closed: it goes on");
    }

    fn t32_a_stuck_undo_stops_the_undo_of_its_ancestors_and_names_an_owner() {
        let mut steps = chain(&[SUCCEEDED, SUCCEEDED, SUCCEEDED, FAILED]);
        steps[2].compensation = Progress::Compensated;
        steps[1].compensation = Progress::Stuck;
        // Beside them, nothing builds on it.
        steps.push(StepView { depends_on: Some(vec![]), ..step("beside", 9, SUCCEEDED) });
        let workflow = built(steps);
        let unwinding = workflow.unwind(NOW);
        prove!("T32", unwinding.undo, vec![]);
        prove!("T32", hold_of(&unwinding, "b"), Some(Hold::Stuck));
        prove!("T32", hold_of(&unwinding, "a"), Some(Hold::StuckElsewhere { step: id("b") }));
        prove!("T32", hold_of(&unwinding, "beside"), Some(Hold::StuckElsewhere { step: id("b") }));
        prove_that!("T32", unwinding.holds.iter().all(|(_, hold)| hold.needs_person()));
        let owner = PrincipalId::parse("rota").unwrap();
        let stuck = Ending::Stuck { owner: owner.clone(), undone: ids(&["c"]), not_undone: ids(&["beside", "a", "b"]) };
        let mut ending = workflow.ending(Some(&owner)).unwrap();
        if let Ending::Stuck { not_undone, .. } = &mut ending {
            not_undone.sort_by_key(|step| step.as_str() != "beside");
        }
        prove!("I23", ending, stuck);
        prove!("I23", workflow.ending(None), None, "stuck without an owner is no end");
    }

    fn i23_the_three_ends_of_a_workflow() {
        let owner = PrincipalId::parse("rota").unwrap();
        let ending = |states: &[(State, Progress)]| {
            let mut steps = chain(&states.iter().map(|(state, _)| *state).collect::<Vec<_>>());
            for (step, (_, compensation)) in steps.iter_mut().zip(states) {
                step.compensation = *compensation;
            }
            built(steps).ending(Some(&owner)).map(|ending| match ending {
                Ending::Succeeded => "succeeded",
                Ending::Undone => "undone",
                Ending::Stuck { .. } => "stuck",
            })
        };
        for (states, end) in [
            (vec![(SUCCEEDED, Progress::None), (SUCCEEDED, Progress::None)], Some("succeeded")),
            (vec![(SUCCEEDED, Progress::None), (ATTESTED, Progress::None)], Some("succeeded")),
            (vec![(SUCCEEDED, Progress::Compensated), (SUCCEEDED, Progress::None)], Some("succeeded")),
            (vec![(SUCCEEDED, Progress::Compensated), (SUCCEEDED, Progress::Compensated)], Some("undone")),
            (vec![(SUCCEEDED, Progress::Compensated), (FAILED, Progress::None)], Some("undone")),
            (vec![(SUCCEEDED, Progress::Waived), (FAILED, Progress::None)], Some("undone")),
            (vec![(FAILED, Progress::None), (State::Cancelled, Progress::None)], Some("undone")),
            (vec![(SUCCEEDED, Progress::Stuck), (FAILED, Progress::None)], Some("stuck")),
            (vec![(SUCCEEDED, Progress::Impossible), (FAILED, Progress::None)], Some("stuck")),
            (vec![(SUCCEEDED, Progress::Stuck), (SUCCEEDED, Progress::None)], Some("stuck")),
            // Not yet.
            (vec![(SUCCEEDED, Progress::None), (FAILED, Progress::None)], None),
            (vec![(SUCCEEDED, Progress::Partial), (FAILED, Progress::None)], None),
            (vec![(SUCCEEDED, Progress::Requested), (FAILED, Progress::None)], None),
            (vec![(SUCCEEDED, Progress::Running), (SUCCEEDED, Progress::None)], None),
            (vec![(SUCCEEDED, Progress::Stuck), (SUCCEEDED, Progress::Running)], None),
            (vec![(SUCCEEDED, Progress::Stuck), (UNCERTAIN, Progress::None)], None),
            (vec![(SUCCEEDED, Progress::None), (State::Executing, Progress::None)], None),
            (vec![(SUCCEEDED, Progress::None), (State::Proposed, Progress::None)], None),
            (vec![(SUCCEEDED, Progress::Compensated), (State::Failed(Failure::Attested), Progress::None)], None),
            (vec![(SUCCEEDED, Progress::Compensated), (State::Contradicted(Contradiction::ProofBroken), Progress::None)], None),
        ] {
            prove!("I23", ending(&states), end, "{states:?}");
        }
    }

    fn a_failure_before_the_pivot_turns_back_and_a_word_does_not() {
        let direction = |states: &[State]| built(chain(states)).direction();
        let back = |name: &str| Direction::Back { because: id(name) };
        for (states, expected) in [
            (vec![SUCCEEDED, State::Proposed], Direction::Forward),
            (vec![SUCCEEDED, UNCERTAIN], Direction::Forward),
            (vec![SUCCEEDED, State::ApprovalExpired], Direction::Forward),
            (vec![SUCCEEDED, FAILED], back("b")),
            (vec![SUCCEEDED, State::Denied], back("b")),
            (vec![SUCCEEDED, State::Cancelled], back("b")),
            (vec![SUCCEEDED, State::Failed(Failure::Attested)], Direction::Forward),
        ] {
            prove!("C3", direction(&states), expected, "{states:?}");
        }
        let mut begun = chain(&[SUCCEEDED, SUCCEEDED]);
        begun[1].compensation = Progress::Requested;
        prove!("C3", built(begun).direction(), back("b"));
    }

    fn steps_that_make_no_workflow_are_refused_by_name() {
        let refused = |steps: Vec<StepView>| Workflow::new(steps).map(|_| ()).unwrap_err().to_string();
        let on = |name: &str, on: &[&str]| StepView { depends_on: Some(ids(on)), ..step(name, 1, State::Proposed) };
        let pivot = |name: &str| StepView { is_pivot: true, ..step(name, 1, State::Proposed) };
        for (steps, message) in [
            (vec![], "a workflow has at least one step"),
            (vec![on("a", &[]), on("a", &[])], "step a is there twice"),
            (vec![pivot("a"), pivot("b")], "both a and b claim to be the pivot"),
            (vec![on("a", &["z"])], "step a depends on z, which is no step of the workflow"),
            (vec![on("a", &["a"])], "step a depends on itself"),
            (vec![on("a", &["b"]), on("b", &["a"]), on("c", &[])], "step a depends on itself"),
        ] {
            prove!("C1", refused(steps), message);
        }
    }

    fn t31_the_word_follows_the_children() {
        for (children, word) in [
            (vec![], Progress::None),
            (vec![child(State::Proposed)], Progress::Requested),
            (vec![child(State::Authorized)], Progress::Requested),
            (vec![child(State::ApprovalExpired)], Progress::Requested),
            (vec![child(State::Claimed)], Progress::Requested),
            (vec![child(State::Executing)], Progress::Running),
            (vec![child(retry_wait())], Progress::Running),
            (vec![child(UNCERTAIN)], Progress::Running),
            (vec![child(SUCCEEDED)], Progress::Compensated),
            (vec![refund(5_000, SUCCEEDED)], Progress::Compensated),
            (vec![refund(4_999, SUCCEEDED)], Progress::Partial),
            (vec![refund(2_000, SUCCEEDED), refund(3_000, SUCCEEDED)], Progress::Compensated),
            (vec![refund(2_000, SUCCEEDED), refund(3_000, UNCERTAIN)], Progress::Running),
            (vec![refund(2_000, SUCCEEDED), refund(3_000, FAILED)], Progress::Stuck),
            (vec![child(State::Succeeded(SuccessBasis::Partial))], Progress::Partial),
            (vec![child(State::Superseded)], Progress::None),
            (vec![child(State::Superseded), child(SUCCEEDED)], Progress::Compensated),
            // A word of one person is not the proof that T31 asks for.
            (vec![child(ATTESTED)], Progress::Stuck),
        ] {
            let states: Vec<_> = children.iter().map(|child| child.state.to_string()).collect();
            prove!("T31", progress(&CHARGE, &children, NOW), word, "{states:?}");
        }
        // A reservation has no amount: its release is the whole.
        let reservation = Forward { amount_minor: None, ..CHARGE };
        prove!("T31", progress(&reservation, &[child(SUCCEEDED)], NOW), Progress::Compensated);
    }

    fn t31_a_cancel_that_may_have_hit_nothing_counts_only_after_the_second_check() {
        let cancel = |is_confirmed| ChildView { proof: ChildProof::NothingStands { is_confirmed }, ..child(SUCCEEDED) };
        prove!("C5", progress(&CHARGE, &[cancel(false)], NOW), Progress::Running);
        prove!("T31", progress(&CHARGE, &[cancel(true)], NOW), Progress::Compensated);
    }

    fn t32_an_undo_that_fails_or_stays_open_past_its_deadline_is_stuck() {
        let deadline = child(UNCERTAIN).deadline_at;
        prove!("T32", progress(&CHARGE, &[child(UNCERTAIN)], Timestamp::from_micros(4_999)), Progress::Running);
        prove!("T32", progress(&CHARGE, &[child(UNCERTAIN)], deadline), Progress::Stuck);
        for failure in Failure::ALL {
            prove!("T32", progress(&CHARGE, &[child(State::Failed(*failure))], NOW), Progress::Stuck, "{failure:?}");
        }
        // C2: an undo may not simply end undone.
        for state in [State::Denied, State::Cancelled, State::Contradicted(Contradiction::Duplicate)] {
            prove!("C2", progress(&CHARGE, &[child(state)], NOW), Progress::Stuck, "{state}");
        }
    }

    fn t33_from_stuck_by_another_try_a_waiver_or_the_word_of_two() {
        let failed = child(FAILED);
        let waived = Forward { is_waived: true, ..CHARGE };
        prove!("T33", progress(&CHARGE, std::slice::from_ref(&failed), NOW), Progress::Stuck);
        prove!("T33", progress(&waived, std::slice::from_ref(&failed), NOW), Progress::Waived);
        prove!("T33", progress(&CHARGE, &[child(State::Executing)], NOW), Progress::Running, "the newest try counts");
        let by_two = ChildView { is_attested_by_two: true, ..child(ATTESTED) };
        prove!("T33", progress(&CHARGE, &[by_two], NOW), Progress::Compensated);
        // What is proved afterwards counts more than the waiver; a part does not.
        prove!("T33", progress(&waived, &[failed.clone(), child(SUCCEEDED)], NOW), Progress::Compensated);
        prove!("T33", progress(&waived, &[refund(1, SUCCEEDED)], NOW), Progress::Waived);
    }

    fn an_undo_that_is_wanted_and_cannot_be_made_is_impossible() {
        let closed = Undo::Declared { until: Some(NOW) };
        for (undo, is_wanted, word) in [
            (Undo::Undeclared, true, Progress::Impossible),
            (closed, true, Progress::Impossible),
            (Undo::Undeclared, false, Progress::None),
            (closed, false, Progress::None),
            (Undo::Declared { until: None }, true, Progress::None),
        ] {
            prove!("T30", progress(&Forward { undo, is_wanted, ..CHARGE }, &[], NOW), word, "{undo:?}");
        }
        // One that began in time goes on.
        let late = Forward { undo: closed, ..CHARGE };
        prove!("T30", progress(&late, &[child(State::Executing)], NOW), Progress::Running);
    }

    fn tricky_30_a_refund_that_timed_out_forbids_another_and_a_part_leaves_a_rest() {
        let mut steps = chain(&[SUCCEEDED, FAILED]);
        steps[0].compensation = progress(&CHARGE, &[child(UNCERTAIN)], NOW);
        prove!("7.30", built(steps.clone()).may_compensate(&id("a"), NOW), Err(Hold::Undoing));
        steps[0].compensation = progress(&CHARGE, &[refund(2_000, SUCCEEDED)], NOW);
        prove!("7.30", steps[0].compensation, Progress::Partial);
        prove!("7.30", built(steps).may_compensate(&id("a"), NOW), Err(Hold::PartlyUndone));
    }

    fn r16_a_refund_that_is_not_heard_of_is_never_shown_as_done() {
        let told = [(State::Proposed, 1_000, Progress::Requested), (UNCERTAIN, 2_000, Progress::Running), (UNCERTAIN, 5_000, Progress::Stuck)];
        for (state, micros, word) in told {
            prove!("T32", progress(&CHARGE, &[child(state)], Timestamp::from_micros(micros)), word, "{state}");
        }
    }

    fn i23_any_workflow_is_undone_from_its_end_and_ends() {
        proptest!(|(workflow in workflows(), seed in any::<u64>())| {
            let (steps, edges) = workflow;
            let mut random = seed | 1;
            let mut steps = steps;
            let mut rounds = 0;
            loop {
                rounds += 1;
                prove_that!("I23", rounds < 100, "it goes on for ever");
                let plan = built(steps.clone()).unwind(NOW);
                prove!("I23", &built(steps.clone()).unwind(NOW), &plan, "asking twice says the same");
                for cancelled in &plan.cancel {
                    steps.iter_mut().filter(|step| step.id == *cancelled).for_each(|step| step.state = State::Cancelled);
                }
                if plan.undo.is_empty() && plan.cancel.is_empty() {
                    break;
                }
                for undone in &plan.undo {
                    prove_that!("I23", all_settled(&steps, &edges, undone), "{undone} before what builds on it");
                }
                // Any one of them may come first.
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if !plan.undo.is_empty() {
                    let which = usize::try_from(random >> 33).unwrap() % plan.undo.len();
                    let done = plan.undo[which].clone();
                    steps.iter_mut().filter(|step| step.id == done).for_each(|step| step.compensation = Progress::Compensated);
                }
            }
            prove!("I23", built(steps).ending(None), Some(Ending::Undone));
        });
    }

    fn t32_after_a_stuck_undo_nothing_is_undone_that_it_builds_on() {
        proptest!(|(workflow in workflows(), which in any::<prop::sample::Index>())| {
            let (mut steps, _) = workflow;
            let index = which.index(steps.len());
            (steps[index].state, steps[index].compensation) = (SUCCEEDED, Progress::Stuck);
            let built = built(steps);
            prove!("T32", built.unwind(NOW).undo, vec![]);
        });
    }

    fn an_open_step_holds_everything_it_builds_on() {
        let open = prop::sample::select(vec![UNCERTAIN, State::Executing, State::Claimed, State::Failed(Failure::Attested), ATTESTED]);
        proptest!(|(workflow in workflows(), which in any::<prop::sample::Index>(), state in open)| {
            let (mut steps, edges) = workflow;
            let index = which.index(steps.len());
            steps[index].state = state;
            let open = steps[index].id.clone();
            for undone in built(steps.clone()).unwind(NOW).undo {
                prove_that!("4.4.8", undone != open && !builds_on(&edges, &open, &undone), "{undone} under {open}");
            }
        });
    }

    fn i24_a_pivot_that_happened_stops_all_automatic_undo() {
        proptest!(|(workflow in workflows(), which in any::<prop::sample::Index>())| {
            let (mut steps, _) = workflow;
            let index = which.index(steps.len());
            (steps[index].state, steps[index].is_pivot) = (SUCCEEDED, true);
            let plan = built(steps).unwind(NOW);
            prove!("I24", (plan.undo, plan.cancel), (vec![], vec![]));
        });
    }
}

type Edges = Vec<(OperationId, OperationId)>;

/// Up to seven steps, each building on any of those before it; some succeeded, some failed, some not begun.
fn workflows() -> impl Strategy<Value = (Vec<StepView>, Edges)> {
    let states = prop::sample::select(vec![SUCCEEDED, SUCCEEDED, SUCCEEDED, FAILED, State::Authorized, State::Denied]);
    prop::collection::vec((states, any::<u8>()), 1..8).prop_map(|parts| {
        let names: Vec<OperationId> = (0..parts.len()).map(|index| id(&format!("s{index}"))).collect();
        let mut edges = Edges::new();
        let mut steps = Vec::new();
        for (index, (state, mask)) in parts.into_iter().enumerate() {
            let on: Vec<OperationId> =
                (0..index).filter(|earlier| mask >> earlier & 1 == 1).map(|e| names[e].clone()).collect();
            edges.extend(on.iter().map(|earlier| (names[index].clone(), earlier.clone())));
            let step_no = u32::try_from(index).unwrap();
            steps.push(StepView { depends_on: Some(on), ..step(names[index].as_str(), step_no, state) });
        }
        (steps, edges)
    })
}

/// Whether `id` builds on `on`, through others as well.
fn builds_on(edges: &Edges, id: &OperationId, on: &OperationId) -> bool {
    edges.iter().any(|(from, to)| from == id && (to == on || builds_on(edges, to, on)))
}

fn all_settled(steps: &[StepView], edges: &Edges, on: &OperationId) -> bool {
    let above = steps.iter().filter(|step| builds_on(edges, &step.id, on));
    above.into_iter().all(|step| match step.state {
        State::Succeeded(_) => step.compensation == Progress::Compensated,
        state => matches!(state, State::Failed(_) | State::Denied | State::Cancelled),
    })
}

#[test]
fn a_hold_says_whether_it_ends_by_itself() {
    for hold in [Hold::NotBegun, Hold::Running, Hold::Undoing, Hold::PivotOpen, Hold::NothingToUndo, Hold::NoStep] {
        assert!(!hold.needs_person(), "{hold:?}");
    }
    for hold in [Hold::PastPivot, Hold::Stuck, Hold::Impossible, Hold::NoCompensation, Hold::WindowClosed] {
        assert!(hold.needs_person(), "{hold:?}");
    }
}

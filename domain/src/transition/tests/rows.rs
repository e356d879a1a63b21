//! The transitions of semantics 4.3, each with both sides of its guards.

use std::time::Duration;

use crate::action::{Action, ActionInput, Pick};
use crate::attempt::ReportedOutcome;
use crate::contract::Contract;
use crate::decision::Verdict;
use crate::evidence::{Claim, Trust};
use crate::guard::Guard;
use crate::operation::{Fact, Mode, Proposal, Record, Stop};
use crate::permission::{Actor, Role};
use crate::proof::{proofs, prove, prove_that};
use crate::rig::{
    Rig, cancel, ended, failed_guards, keyed, made, operation, ours, person, receipt, refused, strong_look_up,
    timed_out, undo_by,
};
use crate::tool::Class;
use crate::transition::{Command, Decision};

fn proposed(class: Class) -> Rig {
    let mut rig = Rig::new(class, keyed());
    rig.propose("op", "invoice:1:issue");
    rig
}

fn approved() -> Rig {
    Rig::approved(Class::Reversible, keyed())
}

fn ended_with(end: crate::attempt::End) -> Rig {
    let mut rig = approved();
    rig.send_and_end("op", end);
    rig
}

fn uncertain() -> Rig {
    ended_with(timed_out())
}

/// Three refusals that may be tried again: the automatic attempts are used up.
fn used_up() -> Rig {
    let mut rig = approved();
    for _ in 0..3 {
        rig.send_and_end("op", refused(429));
    }
    rig
}

fn agent() -> Actor {
    Actor { role: Role::Automation, ..person("agent") }
}

fn says(decision: &Decision, rule: &str) -> bool {
    decision.rules.iter().any(|known| known == rule)
}

fn change() -> ActionInput {
    ActionInput::ChangeArguments { arguments: r#"{"amount":101}"#.into() }
}

proofs! {
    fn t01_a_proposal_is_one_operation_and_may_be_repeated() {
        let mut rig = proposed(Class::Reversible);
        prove!("T1", rig.state("op"), "proposed");
        let again = rig.record("op").facts.iter().next().cloned().unwrap();
        let version = rig.record("op").version;
        rig.tell("op", again);
        prove!("T1", rig.record("op").version, version, "the same proposal again changes nothing");
        let other = Proposal { arguments: Some(Rig::arguments(r#"{"amount":7}"#)), ..first_proposal(rig.record("op")) };
        rig.tell("op", Fact::Conflict { proposal: other, changes: Vec::new() });
        prove!("T1", rig.state("op"), "proposed", "a conflicting proposal changes nothing else");
        prove!("T1", rig.verdict("op", Action::Deny), Verdict::Confirm);
    }

    fn t02_approving_asks_for_another_person_and_these_arguments() {
        let mut rig = proposed(Class::Reversible);
        let decision = rig.press("ben", "op", ActionInput::Approve {}).unwrap();
        prove!("T2", (rig.state("op").as_str(), says(&decision, "T2")), ("authorized", true));
        let mut rig = proposed(Class::Reversible);
        prove_that!("T2", rig.press("agent", "op", ActionInput::Approve {}).is_err(), "the proposer does not approve");
        prove_that!("I41", rig.press_as(agent(), "op", ActionInput::Approve {}).is_err(), "a program does not approve");
        rig.lone_override = true;
        let alone = Actor { role: Role::Administrator, ..person("agent") };
        rig.press_as(alone, "op", ActionInput::Approve {}).unwrap();
        prove_that!("4.4.9", rig.record("op").approvals().all(|approval| approval.alone), "and the record says so");
    }

    fn t02_policy_approves_classes_r_and_n_alone() {
        for (class, state) in [
            (Class::Read, "authorized"),
            (Class::Idempotent, "authorized"),
            (Class::Reversible, "proposed"),
            (Class::Irreversible, "proposed"),
        ] {
            let mut rig = Rig::new(class, keyed());
            rig.tool.auto_approve = true;
            rig.propose("op", "invoice:1:issue");
            prove!("T2", rig.state("op"), state, "{class:?}");
        }
        prove!("T2", proposed(Class::Read).state("op"), "proposed", "and only where the tool says so");
    }

    fn t03_denying_ends_a_proposal() {
        let mut rig = proposed(Class::Reversible);
        let decision = rig.press("ben", "op", ActionInput::Deny {}).unwrap();
        prove!("T3", (rig.state("op").as_str(), says(&decision, "T3")), ("denied", true));
        prove!("T3", approved().verdict("op", Action::Deny), Verdict::Forbidden);
    }

    fn t04_an_approval_runs_out() {
        let mut rig = approved();
        rig.wait(8 * 3600 - 1);
        prove!("T4", rig.state("op"), "authorized");
        rig.wait(1);
        prove!("T4", rig.state("op"), "approval_expired");
        let mut rig = ended_with(refused(429));
        prove!("T4", rig.state("op"), "retry_wait");
        rig.wait(8 * 3600);
        prove!("T4", rig.state("op"), "approval_expired");
    }

    fn t05_changed_arguments_after_a_dispatch_are_a_new_operation() {
        let mut rig = ended_with(refused(429));
        let decision = rig.press("ana", "op", change()).unwrap();
        let new = rig.newest();
        prove!("T5", (rig.state("op").as_str(), rig.state(&new).as_str()), ("superseded", "proposed"));
        prove!("T5", rig.record(&new).head.supersedes.clone(), Some(operation("op")));
        prove_that!("T5", says(&decision, "T5") && decision.arguments.is_some());
        prove_that!("T5", uncertain().press("ana", "op", change()).is_err(), "while open it has the verdict of rerun_new");
        let mut rig = ended_with(refused(422));
        rig.press("ana", "op", change()).unwrap();
        prove!("T5", rig.state("op"), "failed.proven(permanent)", "a failure stays one");
    }

    fn t06_cancelling_needs_nothing_open() {
        for mut rig in [proposed(Class::Reversible), approved(), ended_with(refused(429))] {
            rig.press("ana", "op", ActionInput::Cancel {}).unwrap();
            prove!("T6", rig.state("op"), "cancelled");
        }
        prove!("T6", uncertain().verdict("op", Action::Cancel), Verdict::Forbidden);
    }

    fn t07_a_renewed_approval_authorizes_again() {
        let mut rig = approved();
        rig.wait(9 * 3600);
        rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        prove!("T7", rig.state("op"), "authorized");
        let mut rig = ended_with(refused(429));
        rig.wait(9 * 3600);
        let decision = rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        prove!("T7", (rig.state("op").as_str(), says(&decision, "T7")), ("retry_wait", true));
        prove!("T7", rig.record("op").approvals().count(), 2, "the old one is kept");
    }

    fn t08_a_claim_is_taken_once_and_only_when_due() {
        let mut rig = approved();
        rig.claim("op", "w").unwrap();
        prove!("T8", rig.state("op"), "claimed");
        prove_that!("T8", failed_guards(rig.claim("op", "w2").unwrap_err()).contains(&Guard::LeaseFree));
        let mut rig = ended_with(refused(429));
        prove!("T8", failed_guards(rig.claim("op", "w").unwrap_err()), [Guard::NotBefore]);
        rig.wait(5);
        prove_that!("T8", rig.claim("op", "w").is_ok());
        let mut rig = proposed(Class::Reversible);
        let refused = failed_guards(rig.claim("op", "w").unwrap_err());
        prove_that!("T8", refused.contains(&Guard::StateAdmits) && refused.contains(&Guard::ApprovalLive));
        let mut rig = used_up();
        prove_that!("T8", failed_guards(rig.claim("op", "w").unwrap_err()).contains(&Guard::AttemptsLeft));
        let mut rig = approved();
        let head = crate::operation::Head { intent_id: rig.record("op").head.intent_id.clone(), ..rig.head("op2", Mode::Guarded, "invoice:1~2") };
        rig.wait(1);
        rig.propose_as(crate::operation::Head { recorded_at: rig.now, ..head }, None);
        prove_that!("T8", failed_guards(rig.claim("op", "w").unwrap_err()).contains(&Guard::NewestOfIntent));
        rig.receipt("op2", "in_9");
        prove_that!("T8", failed_guards(rig.claim("op", "w").unwrap_err()).contains(&Guard::NoSuccessOfIntent));
    }

    fn t09_a_lease_that_sent_nothing_returns_where_it_came_from() {
        let mut rig = approved();
        let epoch = rig.claim("op", "w").unwrap();
        let decision = rig.command("op", &Command::Release { epoch, reason: "stopping".into() }).unwrap();
        prove!("T9", (rig.state("op").as_str(), says(&decision, "T9")), ("authorized", true));
        let mut rig = uncertain();
        rig.wait(5);
        rig.claim("op", "w").unwrap();
        prove!("T9", rig.record("op").claims().last().map(|claim| claim.from.to_string()), Some("uncertain(timeout)".into()));
        rig.wait(60);
        prove!("T9", rig.state("op"), "uncertain(timeout)");
        let mut rig = approved();
        let epoch = rig.send("op");
        let refused = rig.command("op", &Command::Release { epoch, reason: "no".into() }).unwrap_err();
        prove_that!("T9", failed_guards(refused).contains(&Guard::NothingSentUnderLease));
    }

    fn t10_a_dispatch_compares_the_permit_and_nothing_else() {
        let mut rig = approved();
        let epoch = rig.claim("op", "w").unwrap();
        let permit = rig.permit("op", epoch).unwrap();
        prove!("T10", (permit.spends_token, permit.not_after), (false, rig.now.plus(crate::rig::LEASE)));
        let decision = rig.dispatch("op", permit.clone(), "w").unwrap();
        prove!("T10", (rig.state("op").as_str(), says(&decision, "T10")), ("executing", true));
        prove_that!("T10", decision.guards.iter().all(|result| result.holds) && decision.guards.len() == 3);
        prove_that!("T10", failed_guards(rig.dispatch("op", permit, "w").unwrap_err()).contains(&Guard::PermitCurrent));
        let sent = rig.record("op").reports().next().unwrap();
        prove!("I40", sent.dest_key.clone(), rig.key_of("op"));
        prove!("T10", crate::attempt::AttemptRef::guarded(crate::name::SourceOperation::parse("op").unwrap(), epoch), sent.attempt.clone());
    }

    fn t10_each_input_of_the_guard_voids_the_permit() {
        let dead = |change: fn(&mut Rig)| {
            let mut rig = approved();
            let epoch = rig.claim("op", "w").unwrap();
            let permit = rig.permit("op", epoch).unwrap();
            change(&mut rig);
            rig.dispatch("op", permit, "w").is_err()
        };
        prove_that!("I35", !dead(|_| {}));
        prove_that!("I35", dead(|rig| rig.wait(46)), "lease");
        prove_that!("I35", dead(|rig| drop(rig.press("ben", "op", ActionInput::Revoke {}).unwrap())), "revocation");
        prove_that!("I35", dead(|rig| rig.receipt("op", "in_9")), "evidence");
        prove_that!("I35", dead(|rig| rig.tool.version += 1), "contract, scope or credential");
        prove_that!("I35", dead(|rig| drop(rig.command("op", &Command::Restore { backup_at: rig.now }).unwrap())), "restore");
        prove_that!("I35", dead(|rig| drop(rig.agree("op", ActionInput::Comment {}).unwrap())), "anything on record");
    }

    fn t10_the_permit_ends_with_the_first_of_its_reasons() {
        let mut rig = uncertain();
        rig.wait(60);
        let epoch = rig.claim("op", "w").unwrap();
        let until = rig.now.plus(Duration::from_hours(30));
        rig.command("op", &Command::Renew { epoch, until }).unwrap();
        let of = |rig: &Rig| rig.permit("op", epoch).unwrap().not_after;
        let approval_ends = rig.record("op").approvals().next().unwrap().expires_at;
        prove!("4.6", of(&rig), approval_ends);
        rig.tool.contract.key_retention_s = Some(3600);
        let key_ends = rig.outcome("op").key_protects_until;
        prove!("4.6", Some(of(&rig)), key_ends, "with something open the key ends it first");
    }

    fn t11_a_refused_dispatch_sends_nothing_and_the_fold_decides() {
        let mut rig = approved();
        let epoch = rig.claim("op", "w").unwrap();
        rig.press("ben", "op", ActionInput::Revoke {}).unwrap();
        let refused = rig.permit("op", epoch).unwrap_err().failed();
        prove!("T11", refused.into_iter().map(|result| result.guard).collect::<Vec<_>>(), [Guard::ApprovalLive]);
        rig.command("op", &Command::Release { epoch, reason: "approval_live".into() }).unwrap();
        prove!("T11", (rig.state("op").as_str(), rig.outcome("op").attempts.len()), ("proposed", 0));
    }

    fn t12_to_t15_a_result_ends_the_send() {
        for (end, state, rule) in [
            (made("in_1"), "succeeded", "T12"),
            (refused(429), "retry_wait", "T13"),
            (refused(422), "failed.proven(permanent)", "T14"),
            (timed_out(), "uncertain(timeout)", "T15"),
            (ended(ReportedOutcome::Ok, Some(202)), "uncertain(accepted)", "T15"),
        ] {
            prove_that!("T12", ["T12", "T13", "T14", "T15"].contains(&rule));
            prove!("T13", ended_with(end).state("op"), state, "{rule}");
        }
        let mut rig = Rig::approved(Class::Read, Contract { stores: None, ..keyed() });
        rig.send_and_end("op", timed_out());
        rig.send_and_end("op", refused(422));
        prove!("T15", rig.state("op"), "uncertain(timeout)", "a negative while another is open");
        prove!("T14", used_up().state("op"), "failed.proven(budget)");
    }

    fn t16_a_lease_that_ends_after_the_dispatch_is_never_requeued() {
        let mut rig = approved();
        rig.send("op");
        rig.wait(44);
        prove!("T16", rig.state("op"), "executing");
        rig.wait(1);
        prove!("T16", rig.state("op"), "uncertain(crashed)");
        prove!("I11", rig.outcome("op").open.len(), 1);
    }

    fn t17_a_same_key_probe_asks_what_the_class_asks() {
        let claim = |class: Class, contract: Contract| {
            let mut rig = Rig::approved(class, contract);
            rig.send_and_end("op", timed_out());
            rig.wait(5);
            rig.claim("op", "w").map(|_| ()).map_err(failed_guards)
        };
        let unkeyed = || Contract { stores: None, ..keyed() };
        prove!("T17", claim(Class::Reversible, keyed()), Ok(()));
        prove!("I9", claim(Class::Reversible, unkeyed()), Err(vec![Guard::NothingOpenOrProtected]));
        prove!("T17", claim(Class::Irreversible, keyed()), Err(vec![Guard::RepeatOrdered]));
        prove!("T17", claim(Class::Read, unkeyed()), Ok(()), "row 8");
        prove!("T17", claim(Class::Idempotent, Contract { sole_writer: Some(true), ..unkeyed() }), Ok(()), "row 9");
        prove!("T17", claim(Class::Idempotent, unkeyed()), Err(vec![Guard::RepeatOrdered]), "row 9a");
        let mut rig = uncertain();
        rig.wait(9 * 3600);
        prove!("T17", failed_guards(rig.claim("op", "w").unwrap_err()), [Guard::ApprovalLive]);
    }

    fn t18_only_proof_resolves_uncertain_to_success() {
        let mut rig = uncertain();
        rig.receipt("op", "in_1");
        prove!("T18", rig.state("op"), "succeeded");
        let mut rig = uncertain();
        rig.trusts.insert(ours(), Trust::Declared);
        rig.receipt("op", "in_1");
        prove!("T18", rig.state("op"), "uncertain(likely)");
    }

    fn t19_t20_t47_a_proof_of_absence_leads_on_or_ends() {
        let absent = |attempts: u32| {
            let contract = Contract { lookup: strong_look_up(), ..keyed() };
            let mut rig = Rig::approved(Class::Reversible, contract);
            for _ in 0..attempts {
                rig.send_and_end("op", timed_out());
            }
            rig.wait(600);
            rig.evidence("op", Claim::Absent);
            rig.state("op")
        };
        prove!("T19", absent(1), "retry_wait");
        prove!("T20", absent(3), "failed.proven(budget)");
        prove!("T47", ended_with(refused(402)).state("op"), "failed.business");
        let mut rig = uncertain();
        rig.send_and_end("op", refused(422));
        rig.tool.contract.lookup = strong_look_up();
        rig.wait(600);
        rig.evidence("op", Claim::Absent);
        prove!("T20", rig.state("op"), "failed.proven(permanent)");
    }

    fn t21_t22_a_persons_word_settles_with_two_where_the_class_asks() {
        let mark = || ActionInput::MarkSucceeded { receipt: Some(receipt("in_1")), reference: None };
        let mut rig = uncertain();
        rig.press("ana", "op", mark()).unwrap();
        prove!("T21", rig.state("op"), "succeeded.attested");
        let mut rig = Rig::approved(Class::Irreversible, keyed());
        rig.send_and_end("op", timed_out());
        rig.press("ana", "op", mark()).unwrap();
        prove!("T21", rig.state("op"), "uncertain(timeout)", "class X waits for a second person");
        let mut rig = uncertain();
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        prove!("T22", rig.state("op"), "failed.attested");
        prove!("I2", rig.record("op").resolution().map(|said| said.reason.is_empty()), Some(false));
        let mut rig = uncertain();
        rig.receipt("op", "in_1");
        prove!("T22", rig.verdict("op", Action::MarkFailed), Verdict::Forbidden);
    }

    fn t23_what_the_automatic_cannot_settle_waits_for_a_person() {
        let mut rig = approved();
        for _ in 0..3 {
            rig.send_and_end("op", timed_out());
        }
        prove_that!("T23", rig.record("op").row.as_ref().unwrap().attention.is_some());
        prove!("T23", rig.verdict("op", Action::GrantAttempts), Verdict::Confirm);
    }

    fn t24_t25_t26_t44_late_evidence_contradicts() {
        let mut rig = ended_with(refused(422));
        rig.receipt("op", "in_1");
        prove!("T24", rig.state("op"), "contradicted(proof_broken)");
        let mut rig = uncertain();
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        rig.receipt("op", "in_1");
        prove!("T24", rig.state("op"), "contradicted(attestation)");
        let mut rig = uncertain();
        rig.press("ana", "op", ActionInput::MarkSucceeded { receipt: Some(receipt("in_1")), reference: None }).unwrap();
        rig.evidence("op", Claim::Reversed { receipt: receipt("in_1") });
        prove!("T25", rig.state("op"), "contradicted(attestation)");
        let mut rig = ended_with(made("in_1"));
        rig.wait(5);
        rig.evidence("op", Claim::Reversed { receipt: receipt("in_1") });
        prove!("T26", rig.state("op"), "contradicted(reversed)");
        let mut rig = uncertain();
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        prove!("T44", rig.state("op"), "contradicted(duplicate)");
    }

    fn t27_a_pick_asks_two_people_and_a_waiver_of_each_surplus_effect() {
        let mut rig = uncertain();
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        let pick = || ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: Some(receipt("in_1")) };
        prove_that!("T27", rig.agree("op", pick()).is_err());
        rig.agree("op", ActionInput::Waive { receipt: Some(receipt("in_2")) }).unwrap();
        rig.press("ana", "op", pick()).unwrap();
        prove!("T27", rig.state("op"), "contradicted(duplicate)", "one person is not two");
        rig.agree("op", pick()).unwrap_err();
        prove!("T27", rig.verdict("op", Action::PickVerdict), Verdict::Dual);
    }

    fn t27_an_undo_on_its_way_stands_for_a_waiver() {
        let contract = Contract { compensation: undo_by("invoice.void"), ..keyed() };
        let mut rig = Rig::approved(Class::Reversible, contract);
        rig.send_and_end("op", timed_out());
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        prove_that!("T30", rig.agree("op", ActionInput::Compensate { receipt: Some(receipt("in_1")) }).is_err(), "only a surplus effect");
        rig.agree("op", ActionInput::Compensate { receipt: Some(receipt("in_2")) }).unwrap();
        let child = rig.newest();
        prove!("T30", rig.record(&child).head.key.as_str(), "comp:op:in_2");
        prove!("T30", rig.state(&child), "proposed", "it has its own approval");
        let pick = ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: Some(receipt("in_1")) };
        prove_that!("T27", rig.agree("op", pick).is_ok());
    }

    fn t30_an_effect_with_a_long_name_is_known_to_be_undone() {
        let mut rig = Rig::approved(Class::Reversible, Contract { compensation: undo_by("invoice.void"), ..keyed() });
        let long = "r".repeat(255);
        rig.send_and_end("op", timed_out());
        rig.receipt("op", "in_1");
        rig.wait(1);
        rig.receipt("op", &long);
        rig.agree("op", ActionInput::Compensate { receipt: Some(receipt(&long)) }).unwrap();
        prove!("T30", rig.verdict("op", Action::Compensate), Verdict::Forbidden, "a second undo would be a new effect");
        prove!("T27", rig.verdict("op", Action::Waive), Verdict::NotOffered);
    }

    fn t28_a_rerun_is_a_new_operation_and_a_program_may_only_after_proof() {
        let mut rig = ended_with(refused(422));
        let decision = rig.press_as(agent(), "op", ActionInput::RerunNew {}).unwrap();
        let new = rig.newest();
        prove_that!("T28", says(&decision, "T28"));
        prove!("T28", rig.record(&new).head.retries_of.clone(), Some(operation("op")));
        prove_that!("I8", rig.key_of(&new) != rig.key_of("op"));
        let mut rig = ended_with(refused(429));
        rig.press("ana", "op", ActionInput::RerunNew {}).unwrap();
        prove!("T28", rig.record("op").stop().map(|stop| stop.0), Some(Stop::Cancelled), "the old one is stopped with it");
        let mut rig = uncertain();
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        prove_that!("I15", rig.press_as(agent(), "op", ActionInput::RerunNew {}).is_err(), "a word is no proof");
    }

    fn t29_a_rerun_after_a_word_needs_the_watch_to_be_over_and_two_people() {
        let mut rig = uncertain();
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        prove!("T29", (rig.row("op").as_str(), rig.verdict("op", Action::RerunNew)), ("25", Verdict::Forbidden));
        rig.wait(24 * 3600);
        prove!("T29", (rig.row("op").as_str(), rig.verdict("op", Action::RerunNew)), ("26a", Verdict::Dual));
        let decision = rig.agree("op", ActionInput::RerunNew {}).unwrap();
        prove_that!("T29", says(&decision, "T29"));
        prove_that!("T29", rig.record("op").facts.iter().any(|fact| matches!(fact, Fact::RiskAccepted { .. })), "the risk names what is open");
        prove!("T29", rig.state("op"), "failed.attested");
    }

    fn t30_an_undo_is_an_operation_of_its_own() {
        let undoable = || Contract { compensation: undo_by("invoice.void"), ..keyed() };
        let mut rig = Rig::approved(Class::Reversible, undoable());
        rig.send_and_end("op", made("in_1"));
        rig.press("ana", "op", ActionInput::Compensate { receipt: None }).unwrap();
        let child = rig.newest();
        prove!("T30", rig.record(&child).head.compensates.clone(), Some(operation("op")));
        prove!("T30", (rig.row("op").as_str(), rig.verdict("op", Action::Compensate)), ("28", Verdict::Forbidden));
        let mut rig = Rig::approved(Class::Reversible, undoable());
        rig.send_and_end("op", timed_out());
        prove!("I5", rig.verdict("op", Action::Compensate), Verdict::Forbidden, "not while it is uncertain");
        rig.tool.contract.cancel_by_key = cancel(false, true);
        prove!("T30", rig.verdict("op", Action::Compensate), Verdict::Confirm, "but by a cancel of its key");
        let mut rig = ended_with(made("in_1"));
        prove!("T30", rig.verdict("op", Action::Compensate), Verdict::Forbidden, "no way to undo it is declared");
        rig.tool.contract.compensation = undo_by("invoice.void");
        rig.steps.past_pivot = true;
        prove!("I24", (rig.row("op").as_str(), rig.verdict("op", Action::Compensate)), ("29", Verdict::Dual));
    }

    fn t32_t33_an_undo_that_fails_is_stuck_and_may_be_waived() {
        let mut rig = Rig::approved(Class::Reversible, Contract { compensation: undo_by("invoice.void"), ..keyed() });
        rig.send_and_end("op", made("in_1"));
        rig.press("ana", "op", ActionInput::Compensate { receipt: None }).unwrap();
        let child = rig.newest();
        rig.press("ben", &child, ActionInput::Approve {}).unwrap();
        rig.send_and_end(&child, refused(422));
        prove!("T32", (rig.row("op").as_str(), rig.verdict("op", Action::Waive)), ("28a", Verdict::Dual));
        prove_that!("T33", says(&rig.agree("op", ActionInput::Waive { receipt: None }).unwrap(), "T33"));
    }

    fn t34_t41_a_revoked_approval_holds_what_was_not_sent() {
        let mut rig = approved();
        let decision = rig.press("ben", "op", ActionInput::Revoke {}).unwrap();
        prove_that!("T34", says(&decision, "T34"));
        prove!("T41", rig.state("op"), "proposed");
        let mut rig = ended_with(refused(429));
        rig.press("ben", "op", ActionInput::Revoke {}).unwrap();
        prove!("T41", rig.state("op"), "approval_expired");
        let mut rig = uncertain();
        rig.press("ben", "op", ActionInput::Revoke {}).unwrap();
        prove!("T34", (rig.state("op").as_str(), rig.outcome("op").open.len()), ("uncertain(timeout)", 1));
        prove!("T34", rig.verdict("op", Action::Revoke), Verdict::NotOffered);
    }

    fn t36_before_any_dispatch_arguments_change_in_place() {
        let mut rig = approved();
        let decision = rig.press("ana", "op", change()).unwrap();
        prove_that!("T36", says(&decision, "T36") && decision.creates.is_none());
        prove!("T36", (rig.state("op").as_str(), rig.record("op").args_version()), ("proposed", 2));
        prove!("I6", rig.record("op").live_approval(&rig.tool, rig.now).is_ok(), false);
    }

    fn t38_an_approval_reopens_the_probe() {
        let mut rig = uncertain();
        rig.wait(9 * 3600);
        prove!("T38", rig.verdict("op", Action::RerunSameKey), Verdict::Forbidden);
        let decision = rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        prove_that!("T38", says(&decision, "T38"));
        prove!("T38", (rig.state("op").as_str(), rig.verdict("op", Action::RerunSameKey)), ("uncertain(timeout)", Verdict::Safe));
    }

    fn t39_a_deadline_ends_what_was_never_sent() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        let head = rig.head("op", Mode::Guarded, "invoice:1:issue");
        rig.propose_as(head, Some(rig.now.plus(Duration::from_mins(10))));
        rig.wait(599);
        prove!("T39", rig.state("op"), "proposed");
        rig.wait(1);
        prove!("T39", rig.state("op"), "failed.proven(deadline)");
        prove!("I17", failed_guards(rig.claim("op", "w").unwrap_err()).contains(&Guard::DeadlineLeft), true);
    }

    fn t40_a_grant_gives_attempts_below_the_hard_cap() {
        let mut rig = used_up();
        let grant = |attempts| ActionInput::GrantAttempts { attempts, deadline: None };
        rig.press("ana", "op", grant(2)).unwrap();
        prove!("T40", rig.state("op"), "retry_wait");
        rig.send_and_end("op", refused(429));
        rig.send_and_end("op", refused(429));
        prove!("T40", rig.state("op"), "failed.proven(budget)");
        prove_that!("I17", rig.press("ana", "op", grant(6)).is_err(), "11 are more than the hard cap");
        prove_that!("T40", rig.press("ana", "op", grant(5)).is_ok());
        prove!("T40", approved().verdict("op", Action::GrantAttempts), Verdict::Forbidden);
    }

    fn t42_everything_refused_and_no_approval_is_approval_expired() {
        let mut rig = uncertain();
        rig.tool.contract.lookup = strong_look_up();
        rig.wait(9 * 3600);
        rig.evidence("op", Claim::Absent);
        prove!("T42", rig.state("op"), "approval_expired");
    }

    fn t43_a_rerun_beside_open_attempts_names_each_of_them() {
        let mut rig = Rig::approved(Class::Reversible, Contract { stores: None, ..keyed() });
        rig.send_and_end("op", timed_out());
        rig.wait(25 * 3600);
        rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        let open = rig.outcome("op").open;
        let decision = rig.agree("op", ActionInput::RerunNew {}).unwrap();
        prove_that!("T43", says(&decision, "T43"));
        let named = rig.record("op").facts.iter().find_map(|fact| match fact {
            Fact::RiskAccepted { attempts, actors, .. } => Some((attempts.clone(), actors.len())),
            _ => None,
        });
        prove!("T43", named, Some((open, 2)));
        prove!("T43", rig.state("op"), "uncertain(timeout)", "the old row keeps its watch");
    }

    fn t45_a_restored_record_asks_before_it_sends() {
        let mut rig = approved();
        let decision = rig.command("op", &Command::Restore { backup_at: rig.now }).unwrap();
        prove_that!("T45", says(&decision, "T45"));
        prove!("T45", rig.state("op"), "uncertain(restored)");
        let mut rig = ended_with(made("in_1"));
        rig.command("op", &Command::Restore { backup_at: rig.now }).unwrap();
        prove!("T45", rig.state("op"), "succeeded", "what is final stays");
    }

    fn t46_agreeing_evidence_upgrades_a_word() {
        let mut rig = uncertain();
        rig.press("ana", "op", ActionInput::MarkSucceeded { receipt: Some(receipt("in_1")), reference: None }).unwrap();
        rig.receipt("op", "in_1");
        prove!("T46", rig.state("op"), "succeeded");
        let mut rig = uncertain();
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        rig.tool.contract.lookup = strong_look_up();
        rig.wait(600);
        rig.evidence("op", Claim::Absent);
        prove!("T46", rig.state("op"), "failed.proven(attested_then_proved)");
    }

    fn t35_a_correction_of_the_contract_is_judged_by_the_strictest() {
        let mut rig = uncertain();
        prove!("T35", rig.outcome("op").key_protects, true);
        rig.earlier_contracts = vec![Contract { key_retention_s: Some(60), ..keyed() }];
        prove!("T35", rig.outcome("op").key_protects, false);
    }

    fn retry_after_is_honoured_whole() {
        let asked = |seconds: &str| crate::attempt::End { retry_after: Some(seconds.into()), ..refused(429) };
        let mut rig = ended_with(asked("120"));
        rig.wait(119);
        prove!("W3", failed_guards(rig.claim("op", "w").unwrap_err()), [Guard::NotBefore]);
        rig.press("ana", "op", ActionInput::RerunSameKey {}).unwrap();
        prove!("W3", failed_guards(rig.claim("op", "w").unwrap_err()), [Guard::NotBefore], "no person shortens it");
        rig.wait(1);
        prove_that!("W3", rig.claim("op", "w").is_ok());
        let mut rig = ended_with(asked("7200"));
        rig.wait(7201);
        prove_that!("W3", rig.claim("op", "w").is_err(), "beyond the cap a person decides");
        rig.press("ana", "op", ActionInput::RerunSameKey {}).unwrap();
        prove_that!("W3", rig.claim("op", "w").is_ok());
    }
}

fn first_proposal(record: &Record) -> Proposal {
    record.proposals().next().cloned().unwrap()
}

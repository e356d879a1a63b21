//! The steps of the fold (F) and the closers (K) of semantics 3.5 and 3.6, and the conditions of 3.7.

use crate::action::{ActionInput, Pick};
use crate::attempt::{End, ReportedOutcome};
use crate::contract::{Contract, OnMismatch, Stores};
use crate::evidence::{Claim, Evidence, LinkedBy, Trust};
use crate::operation::{Fact, Head, Mode, Record, State};
use crate::outcome::Surroundings;
use crate::proof::{proofs, prove, prove_that};
use crate::rig::{
    Rig, cancel, ended, keyed, made, operation, ours, receipt, refused, strong_look_up, timed_out, undo_by,
};
use crate::time::Timestamp;
use crate::tool::Class;

mod edges;

fn ended_with(contract: Contract, end: End) -> Rig {
    let mut rig = Rig::approved(Class::Reversible, contract);
    rig.send_and_end("op", end);
    rig
}

fn uncertain() -> Rig {
    ended_with(keyed(), timed_out())
}

fn closers(rig: &Rig) -> Vec<String> {
    let attempts = rig.outcome("op").attempts;
    attempts.iter().map(|a| a.closed.as_ref().map_or("open".into(), |closure| closure.rule.to_string())).collect()
}

fn rule(rig: &Rig) -> (String, String) {
    let outcome = rig.outcome("op");
    (outcome.fold_rule, outcome.state.to_string())
}

fn said(rule: &str, state: &str) -> (String, String) {
    (rule.into(), state.into())
}

fn reads(contract: Contract) -> Rig {
    // Class R may be repeated whatever its key keeps, so that what the closers say is seen.
    let mut rig = Rig::approved(Class::Read, contract);
    rig.send_and_end("op", timed_out());
    rig
}

proofs! {
    fn k1_an_answer_closes_its_own_attempt_only() {
        let mut rig = reads(Contract { stores: None, ..keyed() });
        rig.send_and_end("op", refused(422));
        prove!("K1", closers(&rig), ["open", "K1"]);
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.trusts.insert(ours(), Trust::Declared);
        rig.send_and_end("op", made("in_1"));
        prove!("K1", closers(&rig), ["open"], "executed needs P3");
        rig.trusts.insert(ours(), Trust::Unknown);
        prove!("K1", closers(&rig), ["open"]);
    }

    fn k2_a_replayed_answer_is_the_first_ones() {
        let replayed = |http: u16| End { replayed: true, ..refused(http) };
        let mut rig = reads(keyed());
        rig.send_and_end("op", replayed(402));
        prove!("K2", closers(&rig), ["K2", "K1"]);
        let mut rig = reads(keyed());
        rig.send_and_end("op", End { replayed: true, ..ended(ReportedOutcome::Error, Some(500)) });
        prove!("K2", closers(&rig), ["open", "open"], "a stored 5xx tells nothing");
    }

    fn k3_a_refused_repeat_speaks_for_earlier_sends_only_where_the_key_stores_it() {
        let of = |stores: Stores, status: u16| {
            let mut rig = reads(Contract { stores: Some(stores), ..keyed() });
            rig.send_and_end("op", refused(status));
            closers(&rig)
        };
        prove!("K3", of(Stores::AnyOnceStarted, 402), ["K3", "K1"]);
        prove!("K3", of(Stores::SuccessesOnly, 402), ["open", "K1"]);
        prove!("K3", of(Stores::AnyOnceStarted, 401), ["open", "K1"], "given before the key layer");
        prove!("K3", of(Stores::AnyOnceStarted, 429), ["open", "K1"]);
        let mut rig = reads(Contract { key_retention_s: Some(600), ..keyed() });
        rig.wait(300);
        rig.send_and_end("op", refused(402));
        prove!("K3", closers(&rig), ["open", "K1"], "the key was too old when the probe was sent");
        let region = |name: &str| Some(crate::lease::Scope { region: Some(name.into()), ..crate::lease::Scope::default() });
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.scope = region("one");
        rig.send_and_end("op", timed_out());
        rig.send_and_end("op", refused(402));
        rig.scope = region("two");
        prove!("K3", closers(&rig), ["K3", "K1"], "both went to one scope, wherever the destination is now");
    }

    fn k4_a_receipt_of_a_protected_repeat_covers_the_sends_before_it() {
        let mut rig = reads(keyed());
        rig.send_and_end("op", made("in_1"));
        prove!("K4", closers(&rig), ["K4", "K1"]);
        let mut rig = reads(Contract { stores: None, ..keyed() });
        rig.send_and_end("op", made("in_1"));
        prove!("K4", closers(&rig), ["open", "K1"], "unprotected they may have made another");
    }

    fn k4_a_receipt_by_key_is_credited_to_the_earliest_open_send() {
        let mut rig = reads(Contract { stores: None, ..keyed() });
        rig.send_and_end("op", timed_out());
        rig.receipt("op", "in_1");
        prove!("K4", closers(&rig), ["K4", "open"]);
        rig.receipt("op", "in_2");
        prove!("K4", closers(&rig), ["K4", "K4"]);
        rig.receipt("op", "in_3");
        prove!("K4", rig.outcome("op").effects.len(), 3, "a receipt that finds none open is credited to none");
    }

    fn k5_a_mismatch_whose_owner_is_known_closes_itself() {
        let mismatch = || End { error: Some("mismatch".into()), ..refused(422) };
        let contract = || Contract {
            mismatch_signals: Some(vec![crate::contract::Signal {
                error: Some("mismatch".into()),
                ..crate::contract::Signal::default()
            }]),
            ..keyed()
        };
        let shared = |owner_ended: bool, contract: Contract| {
            let mut rig = Rig::new(Class::Reversible, contract);
            let head = |rig: &Rig, id: &str| Head { key: crate::name::OperationKey::parse(id).unwrap(), ..rig.head(id, Mode::Guarded, "x") };
            for id in ["owner", "op"] {
                let head = head(&rig, id);
                rig.propose_as(head, None);
                rig.press("ben", id, ActionInput::Approve {}).unwrap();
            }
            let owner = rig.send("owner");
            if owner_ended {
                rig.end("owner", owner, made("in_1"));
            }
            rig.wait(5);
            let epoch = rig.send("op");
            // Somebody used the owner's key for this one.
            let key = rig.key_of("owner");
            let record = rig.records.get_mut(&operation("op")).unwrap();
            let facts: Vec<Fact> = record.facts.iter().cloned().map(|fact| match fact {
                Fact::Report(report) => Fact::Report(crate::attempt::Report { dest_key: key.clone(), ..report }),
                other => other,
            }).collect();
            record.facts = facts.into();
            rig.end("op", epoch, mismatch());
            (closers(&rig), rig.state("op"))
        };
        prove!("K5", shared(true, contract()), (vec!["K5".to_owned()], "failed.proven(permanent)".to_owned()));
        prove!("K5", shared(false, contract()).1, "uncertain(key_mismatch)", "its owner has something open");
        let replays = Contract { on_mismatch: Some(OnMismatch::ReplayOld), ..contract() };
        prove!("K5", shared(true, replays).1, "uncertain(key_mismatch)");
    }

    fn k6_absence_asks_for_everything_it_asks_for() {
        let contract = || Contract { lookup: strong_look_up(), ..keyed() };
        let absent_after = |seconds: u64, contract: Contract| {
            let mut rig = ended_with(contract, timed_out());
            rig.wait(seconds);
            rig.evidence("op", Claim::Absent);
            closers(&rig)
        };
        prove!("K6", absent_after(200, contract()), ["K6"]);
        prove!("K6", absent_after(100, contract()), ["open"], "too early");
        let weak = |change: fn(&mut crate::contract::LookUp)| {
            let mut contract = contract();
            change(contract.lookup.as_mut().unwrap());
            contract
        };
        prove!("K6", absent_after(200, weak(|l| l.complete = false)), ["open"]);
        prove!("K6", absent_after(200, weak(|l| l.consistency = None)), ["open"]);
        prove!("K6", absent_after(200, weak(|l| l.by = crate::contract::LookUpBy::NaturalKey)), ["open"]);
        let mut rig = ended_with(contract(), timed_out());
        rig.trusts.insert(ours(), Trust::Unknown);
        rig.wait(200);
        rig.evidence("op", Claim::Absent);
        prove!("K6", closers(&rig), ["open"], "its source is not believed");
    }

    fn k7_a_commutative_cancel_closes_and_a_no_op_needs_a_second_check() {
        let by = |noop, commutative| Contract { cancel_by_key: cancel(noop, commutative), ..keyed() };
        let mut rig = ended_with(by(false, true), timed_out());
        rig.evidence("op", Claim::CancelledByKey { found: false });
        prove!("K7", closers(&rig), ["K7"]);
        let mut rig = ended_with(by(true, false), timed_out());
        rig.wait(200);
        rig.evidence("op", Claim::CancelledByKey { found: false });
        prove!("K7", closers(&rig), ["open"]);
        rig.tool.contract.lookup = strong_look_up();
        rig.wait(10);
        rig.evidence("op", Claim::Absent);
        prove_that!("K7", ["K6", "K7"].contains(&closers(&rig)[0].as_str()));
        let mut rig = ended_with(keyed(), timed_out());
        rig.evidence("op", Claim::CancelledByKey { found: false });
        prove!("K7", closers(&rig), ["open"], "no such cancel is declared");
    }

    fn f01_a_live_lease_comes_first_and_the_rest_is_a_finding() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.claim("op", "w").unwrap();
        prove!("F1", rule(&rig), said("F1", "claimed"));
        rig.wait(60);
        rig.send("op");
        prove!("F1", rule(&rig), said("F1", "executing"));
        rig.receipt("op", "in_1");
        prove!("F1", rule(&rig), said("F1", "executing"));
        prove!("I21", rig.outcome("op").beneath_lease.map(|state| state.to_string()), Some("succeeded".into()));
        prove_that!("F1", rig.outcome("op").findings.iter().any(|f| f.code == "takes_effect_after_lease"));
        rig.wait(60);
        prove!("F1", rule(&rig), said("F8", "succeeded"));
    }

    fn f02_a_pick_stands_until_something_new_is_known() {
        let mut rig = uncertain();
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        rig.agree("op", ActionInput::Waive { receipt: Some(receipt("in_2")) }).unwrap();
        rig.agree("op", ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: Some(receipt("in_1")) }).unwrap();
        prove!("F2", rule(&rig), said("F2", "succeeded"));
        rig.wait(5);
        rig.evidence("op", Claim::Reversed { receipt: receipt("in_1") });
        prove_that!("F2", rule(&rig).0 != "F2");
    }

    fn f03_two_effects_of_an_intent_contradict() {
        let mut rig = uncertain();
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        prove!("F3", rule(&rig), said("F3", "contradicted(duplicate)"));
        prove!("F3", rig.outcome("op").effects.iter().map(|effect| effect.is_surplus).collect::<Vec<_>>(), [false, true]);
        let mut rig = uncertain();
        rig.receipt("op", "in_1");
        rig.trusts.insert(ours(), Trust::Declared);
        rig.receipt("op", "in_2");
        prove!("F3", rule(&rig), said("F3", "contradicted(duplicate_likely)"));
    }

    fn f04_f12_success_after_a_word_of_failure() {
        let mut rig = uncertain();
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        prove!("F12", rule(&rig), said("F12", "failed.attested"));
        rig.receipt("op", "in_1");
        prove!("F4", rule(&rig), said("F4", "contradicted(attestation)"));
    }

    fn f05_an_object_that_failed_afterwards_unless_we_undid_it() {
        let mut rig = ended_with(Contract { compensation: undo_by("invoice.void"), ..keyed() }, made("in_1"));
        rig.wait(5);
        let mut undone = rig.clone();
        rig.evidence("op", Claim::Reversed { receipt: receipt("in_1") });
        prove!("F5", rule(&rig), said("F5", "contradicted(reversed)"));
        undone.press("ana", "op", ActionInput::Compensate { receipt: None }).unwrap();
        let child = undone.records.keys().next_back().unwrap().to_string();
        undone.press("ben", &child, ActionInput::Approve {}).unwrap();
        undone.send_and_end(&child, made("void_1"));
        undone.evidence("op", Claim::Reversed { receipt: receipt("in_1") });
        prove!("F5", rule(&undone), said("F8", "succeeded"));
    }

    fn f06_f07_success_that_nothing_on_record_can_have_made() {
        let mut rig = ended_with(keyed(), refused(422));
        rig.receipt("op", "in_1");
        prove!("F6", rule(&rig), said("F6", "contradicted(proof_broken)"));
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.receipt("op", "in_1");
        prove!("F7", rule(&rig), said("F7", "contradicted(effect_without_attempt)"));
    }

    fn f08_one_proved_effect_with_a_watch_while_a_copy_is_possible() {
        let rig = ended_with(keyed(), made("in_1"));
        prove!("F8", (rule(&rig), rig.outcome("op").watch_until), (said("F8", "succeeded"), None));
        let mut rig = reads(Contract { stores: None, ..keyed() });
        rig.send_and_end("op", made("in_1"));
        prove!("F8", rule(&rig), said("F8", "succeeded"));
        prove_that!("F8", rig.outcome("op").watch_until.is_some());
        prove_that!("F8", rig.outcome("op").findings.iter().any(|f| f.code == "second_copy_possible"));
    }

    fn f09_f10_proof_against_a_word_of_success() {
        let mark = || ActionInput::MarkSucceeded { receipt: Some(receipt("in_1")), reference: None };
        let mut rig = ended_with(Contract { lookup: strong_look_up(), ..keyed() }, timed_out());
        rig.press("ana", "op", mark()).unwrap();
        prove!("F10", rule(&rig), said("F10", "succeeded.attested"));
        rig.wait(300);
        rig.evidence("op", Claim::Absent);
        prove!("F9", rule(&rig), said("F9", "contradicted(attestation)"));
    }

    fn f11_proof_that_agrees_with_a_word_of_failure() {
        let mut rig = ended_with(Contract { lookup: strong_look_up(), ..keyed() }, timed_out());
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        rig.wait(300);
        rig.evidence("op", Claim::Absent);
        prove!("F11", rule(&rig), said("F11", "failed.proven(attested_then_proved)"));
    }

    fn f13_a_parent_is_what_its_items_come_to() {
        let rig = ended_with(keyed(), ended(ReportedOutcome::Ok, Some(207)));
        prove!("F13", rig.state("op"), "uncertain(partial)");
        let of = |states: &[&str]| {
            let record = rig.record("op");
            let items = states.iter().enumerate().map(|(index, name)| {
                let mut item = Record::new(rig.head(&format!("item{index}"), Mode::Guarded, &format!("item:{index}")));
                let state = State::all().find(|state| state.to_string() == *name).unwrap();
                item.row = record.row.clone().map(|row| crate::operation::Projection { state, ..row });
                item
            });
            let around = Surroundings { items: items.collect(), ..rig.around(record) };
            super::fold(record, &around, rig.now).state.to_string()
        };
        prove!("F13", of(&["succeeded", "uncertain(timeout)"]), "uncertain(partial)");
        prove!("F13", of(&["succeeded", "contradicted(duplicate)"]), "uncertain(partial)");
        prove!("F13", of(&["succeeded", "succeeded"]), "succeeded");
        prove!("F13", of(&["succeeded", "succeeded.attested"]), "succeeded.attested");
        prove!("F13", of(&["succeeded", "denied"]), "succeeded(partial)");
        prove!("F13", of(&["failed.business", "cancelled"]), "failed.business");
        prove!("F13", of(&["failed.business", "failed.attested"]), "failed.attested");
        prove!("F13", of(&["superseded", "failed.proven(budget)"]), "failed.proven(permanent)");
        prove!("T49", of(&["succeeded", "failed.proven(permanent)"]), "succeeded(partial)");
    }

    fn f14_what_is_open_names_the_state_by_its_first_reason() {
        prove!("F14", rule(&uncertain()), said("F14", "uncertain(timeout)"));
        let mut rig = reads(keyed());
        rig.send_and_end("op", ended(ReportedOutcome::Error, Some(500)));
        prove!("F14", rig.state("op"), "uncertain(server_error)");
        rig.send_and_end("op", ended(ReportedOutcome::Ok, Some(202)));
        prove!("F14", rig.state("op"), "uncertain(accepted)");
        prove!("I12", rig.outcome("op").open.len(), 3);
    }

    fn f16_a_stop_stands_once_nothing_is_open() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.press("ana", "op", ActionInput::Cancel {}).unwrap();
        prove!("F16", rule(&rig), said("F16", "cancelled"));
    }

    fn f17_to_f20_nothing_is_open() {
        prove!("F17", rule(&ended_with(keyed(), refused(402))), said("F17", "failed.business"));
        prove!("F18", rule(&ended_with(keyed(), refused(422))), said("F18", "failed.proven(permanent)"));
        let mut rig = ended_with(keyed(), refused(429));
        prove!("F20", rule(&rig), said("F20", "retry_wait"));
        rig.wait(9 * 3600);
        prove!("F20", rule(&rig), said("F20", "approval_expired"));
        rig.wait(16 * 3600);
        prove!("F19", rule(&rig), said("F19", "failed.proven(deadline)"));
        let mut rig = ended_with(keyed(), refused(429));
        rig.send_and_end("op", refused(429));
        rig.send_and_end("op", refused(429));
        prove!("F19", rule(&rig), said("F19", "failed.proven(budget)"));
    }

    fn f21_nothing_was_ever_sent() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        rig.propose("op", "invoice:1:issue");
        prove!("F21", rule(&rig), said("F21", "proposed"));
        rig.press("ben", "op", ActionInput::Approve {}).unwrap();
        prove!("F21", rule(&rig), said("F21", "authorized"));
        rig.wait(9 * 3600);
        prove!("F21", rule(&rig), said("F21", "approval_expired"));
    }

    fn i27_the_fold_reads_a_set() {
        let mut rig = reads(keyed());
        rig.send_and_end("op", refused(429));
        rig.receipt("op", "in_1");
        let record = rig.record("op").clone();
        let mut backwards = record.clone();
        let mut facts: Vec<Fact> = record.facts.iter().cloned().collect();
        facts.reverse();
        facts.extend(record.facts.iter().cloned());
        backwards.facts = facts.into();
        let around = rig.around(&record);
        let (one, other) = (super::fold(&record, &around, rig.now), super::fold(&backwards, &around, rig.now));
        prove!("I27", (one.state, one.effects, one.open, closers(&rig).len()), (other.state, other.effects, other.open, other.attempts.len()));
    }

    fn evidence_by_a_person_or_business_fields_is_never_proof() {
        for (linked_by, state) in [(LinkedBy::Manual, "uncertain(timeout)"), (LinkedBy::NaturalKey, "uncertain(likely)")] {
            let mut rig = uncertain();
            let evidence = Evidence {
                id: "found".into(),
                source: ours(),
                claim: Claim::Executed { receipt: receipt("in_1") },
                object: None,
                linked_by,
                key: None,
                at: rig.now,
                provider_time: None,
                sent_at: None,
            };
            rig.tell("op", Fact::Evidence(evidence));
            prove!("I2", rig.state("op"), state, "{linked_by:?}");
        }
    }

    fn i13_a_forgotten_send_ages_from_its_approval() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.wait(600);
        let backup_at = rig.now;
        rig.wait(60);
        rig.command("op", &crate::transition::Command::Restore { backup_at }).unwrap();
        let start = Timestamp::parse_rfc3339(crate::rig::START).unwrap();
        let window = rig.outcome("op").contract.key_window().unwrap();
        prove!("3.7.6", rig.outcome("op").key_protects_until, Some(start.plus(window)));
    }
}

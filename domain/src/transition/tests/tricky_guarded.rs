//! The tricky cases that turn on keys, leases, people and identity (semantics 7).

use super::desk::Desk;
use crate::action::{Action, ActionInput, Pick};
use crate::attempt::{ReceiptFault, ReportedOutcome};
use crate::contract::{Contract, EffectIdentity};
use crate::decision::Verdict;
use crate::evidence::{Claim, Evidence, LinkedBy, PartOf};
use crate::fingerprint::{Hash, Json};
use crate::guard::Guard;
use crate::lease::Scope;
use crate::operation::{Fact, Mode};
use crate::permission::{Actor, Role};
use crate::proof::{proofs, prove, prove_that};
use crate::refusal::Refusal;
use crate::rig::{
    Rig, cancel, ended, failed_guards, keyed, made, operation, ours, person, receipt, refused, strong_look_up,
    timed_out, undo_by,
};
use crate::tool::Class;
use crate::transition::Command;

const SAME_KEY: ActionInput = ActionInput::RerunSameKey {};
const NEW: ActionInput = ActionInput::RerunNew {};

fn mark_succeeded(text: Option<&str>) -> ActionInput {
    let reference = text.is_none().then(|| "a mail from their support".to_owned());
    ActionInput::MarkSucceeded { receipt: text.map(receipt), reference }
}

/// One input for every action that has a form.
fn every_input() -> Vec<ActionInput> {
    vec![
        mark_succeeded(Some("in_1")),
        ActionInput::MarkFailed {},
        ActionInput::Adopt { statement: "switched off".into() },
        ActionInput::PickVerdict { pick: Pick::Failed, receipt: None },
        ActionInput::Assign { to: None },
        ActionInput::Comment {},
        ActionInput::Escalate {},
        ActionInput::LookUp {},
        SAME_KEY,
        NEW,
        ActionInput::ChangeArguments { arguments: r#"{"amount":101}"#.into() },
        ActionInput::Approve {},
        ActionInput::Deny {},
        ActionInput::Renew {},
        ActionInput::Revoke {},
        ActionInput::Cancel {},
        ActionInput::GrantAttempts { attempts: 1, deadline: None },
        ActionInput::AttachEvidence { receipt: Some(receipt("in_1")) },
        ActionInput::Compensate { receipt: None },
        ActionInput::Waive { receipt: None },
        ActionInput::DismissFinding { code: "same_intent_question".into() },
    ]
}

fn json(text: &str) -> Hash {
    Json::parse(text.as_bytes()).unwrap().hash()
}

/// An observed operation `a` under one key, told at nine.
fn observed(tool: &str) -> Desk {
    let mut desk = Desk::new();
    desk.declare(tool, Class::Reversible, |contract| *contract = keyed());
    desk.tell(&format!(
        r#"{{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","key":"order-1","tool":"{tool}","dest":"psp","args":{{"order":1}}}}"#
    ));
    desk
}

fn send(desk: &mut Desk, n: u32, key: &str, end: &str) {
    desk.tell(&format!(
        r#"{{"ts":"2026-10-05T09:{n:02}:00Z","ev":"attempt.started","op":"a","n":{n},"dest_key":"{key}"}}"#
    ));
    desk.tell(&format!(
        r#"{{"ts":"2026-10-05T09:{n:02}:30Z","ev":"attempt.ended","op":"a","n":{n},"dest_key":"{key}",{end}}}"#
    ));
}

proofs! {
    fn case_7_a_fresh_key_and_an_approval_that_ran_out_overnight() {
        let mut rig = Rig::uncertain(Class::Reversible, Contract { lookup: strong_look_up(), ..keyed() });
        rig.wait(9 * 3600);
        prove!("7.7", rig.row("op"), "7");
        prove!("7.7", (rig.verdict("op", Action::LookUp), rig.verdict("op", Action::RerunSameKey)), (Verdict::Safe, Verdict::Forbidden));
        let hash = rig.record("op").arguments().map(|arguments| arguments.args_hash);
        rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        prove!("7.7", rig.record("op").approvals().last().map(|approval| approval.args_hash), hash);
        prove!("7.7", rig.verdict("op", Action::RerunSameKey), Verdict::Safe);
        rig.send_and_end("op", made("in_1"));
        prove!("7.7", (rig.state("op").as_str(), rig.outcome("op").effects.len()), ("succeeded", 1));
    }

    fn case_8_a_webhook_proves_a_statement_of_failure_wrong() {
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        rig.wait(3 * 3600);
        rig.receipt("op", "in_1");
        prove!("7.8", rig.state("op"), "contradicted(attestation)");
        let pick = ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: Some(receipt("in_1")) };
        rig.agree("op", pick).unwrap();
        prove!("7.8", rig.state("op"), "succeeded");
        rig.wait(60);
        rig.receipt("op", "in_1");
        prove!("7.8", rig.state("op"), "succeeded", "its redelivery changes nothing");
        let said: Vec<_> = rig.record("op").facts.iter().filter(|fact| matches!(fact, Fact::Resolved(_))).collect();
        prove!("7.8", said.len(), 2, "the wrong statement stays on record");
    }

    fn case_9_a_rerun_succeeded_and_so_did_the_first_send() {
        let mut rig = Rig::uncertain(Class::Reversible, Contract { compensation: undo_by("invoice.void"), ..keyed() });
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        rig.wait(24 * 3600);
        rig.press("ben", "op", ActionInput::Renew {}).ok();
        rig.agree("op", NEW).unwrap();
        let new = rig.newest();
        rig.press("ben", &new, ActionInput::Approve {}).unwrap();
        rig.send_and_end(&new, made("in_2"));
        rig.wait(60);
        rig.receipt("op", "in_1");
        prove!("7.9", (rig.state("op").as_str(), rig.state(&new).as_str()), ("contradicted(duplicate)", "contradicted(duplicate)"));
        prove!("7.9", (rig.verdict(&new, Action::Compensate), rig.verdict("op", Action::PickVerdict)), (Verdict::Dual, Verdict::Dual));
        let surplus: Vec<_> = rig.outcome("op").effects.into_iter().filter(|effect| effect.is_surplus).collect();
        prove!("7.9", surplus.len(), 1);
        let chosen = ActionInput::Compensate { receipt: Some(surplus[0].receipt.clone()) };
        rig.agree("op", chosen.clone()).unwrap();
        let undo = rig.records.values().find(|record| record.head.compensates.is_some()).unwrap();
        prove!("7.9", undo.head.key.as_str(), format!("comp:op:{}", surplus[0].receipt), "a key of its own");
        prove_that!("7.9", rig.agree("op", chosen).is_err(), "exactly one");
    }

    fn case_10_marked_succeeded_and_then_proved_absent() {
        let mut rig = Rig::uncertain(Class::Reversible, Contract { lookup: strong_look_up(), ..keyed() });
        rig.agree("op", mark_succeeded(None)).unwrap();
        prove!("7.10", rig.state("op"), "succeeded.attested");
        rig.wait(600);
        rig.evidence("op", Claim::Absent);
        prove!("7.10", rig.state("op"), "contradicted(attestation)");
        rig.agree("op", ActionInput::PickVerdict { pick: Pick::Failed, receipt: None }).unwrap();
        prove!("7.10", rig.state("op"), "failed.attested");
        rig.wait(24 * 3600);
        prove!("7.10", (rig.row("op").as_str(), rig.verdict("op", Action::RerunNew)), ("26", Verdict::Confirm), "nothing is open");
        prove_that!("7.10", rig.agree("op", NEW).unwrap().rules.iter().any(|rule| rule == "T29"));
    }

    fn case_11_of_two_who_press_at_once_one_is_told_that_it_changed() {
        let mut rig = Rig::uncertain(Class::Irreversible, keyed());
        let seen = rig.record("op").version;
        rig.press("ana", "op", SAME_KEY).unwrap();
        let mut act = rig.form(person("ben"), "op", SAME_KEY);
        act.seen_version = seen;
        let refusal = rig.command("op", &Command::Act { act, new_id: operation("op9") }).unwrap_err();
        prove!("7.11", refusal, Refusal::StaleVersion { seen, current: seen + 1 });
        rig.send_and_end("op", made("in_1"));
        prove!("7.11", rig.outcome("op").attempts.len(), 2, "one repeat was sent");
    }

    fn case_14_a_frozen_sender_makes_absence_a_hint() {
        let mut rig = Rig::approved(Class::Irreversible, Contract { lookup: strong_look_up(), stores: None, ..keyed() });
        let epoch = rig.send("op");
        rig.wait(600);
        rig.evidence("op", Claim::Absent);
        prove!("7.14", (rig.state("op").as_str(), rig.row("op").as_str()), ("uncertain(crashed)", "17"));
        rig.wait(5);
        rig.end("op", epoch, made("in_1"));
        prove!("7.14", rig.state("op"), "succeeded", "what was sent late is no second effect");
    }

    fn case_15_a_worker_that_froze_before_its_dispatch_must_not_send() {
        for from_doubt in [false, true] {
            let mut rig = Rig::approved(Class::Reversible, keyed());
            if from_doubt {
                rig.send_and_end("op", timed_out());
                rig.wait(5);
            }
            let before = rig.state("op");
            let frozen = rig.claim("op", "w1").unwrap();
            let permit = rig.permit("op", frozen).unwrap();
            rig.wait(60);
            prove!("7.15", rig.state("op"), before, "it is where it was claimed from");
            let newer = rig.claim("op", "w2").unwrap();
            prove!("7.15", newer, frozen + 1);
            prove_that!("7.15", failed_guards(rig.dispatch("op", permit, "w1").unwrap_err()).contains(&Guard::PermitCurrent));
        }
    }

    fn case_16_a_key_that_ends_between_claim_and_dispatch() {
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        rig.wait(23 * 3600);
        rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        let until = rig.outcome("op").key_protects_until.unwrap();
        rig.wait(until.since(rig.now).as_secs() - 10);
        let epoch = rig.claim("op", "w").unwrap();
        let permit = rig.permit("op", epoch).unwrap();
        prove!("7.16", permit.not_after, until, "the permit ends with the key");
        rig.wait(11);
        prove_that!("7.16", failed_guards(rig.dispatch("op", permit, "w").unwrap_err()).contains(&Guard::PermitInTime));
        rig.wait(60);
        prove!("7.16", (rig.state("op").as_str(), rig.outcome("op").key_protects), ("uncertain(timeout)", false));
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.send_and_end("op", refused(429));
        rig.wait(23 * 3600 + 3500);
        rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        prove_that!("7.16", rig.claim("op", "w").is_ok(), "with nothing open the key never mattered");
    }

    fn case_18_a_signed_delivery_about_another_amount_is_no_effect() {
        for fault in [ReceiptFault::OtherAmount, ReceiptFault::TestMode] {
            let mut rig = Rig::uncertain(Class::Reversible, keyed());
            rig.evidence("op", Claim::NotOurs { receipt: receipt("in_9"), fault });
            prove!("7.18", (rig.state("op").as_str(), rig.outcome("op").effects.len()), ("uncertain(timeout)", 0));
            let found = rig.outcome("op").findings.into_iter().find(|finding| finding.code == "object_not_ours").unwrap();
            prove_that!("7.18", found.text.contains("in_9") && found.text.contains(fault.phrase()));
            prove!("7.18", found.severity, crate::operation::Severity::Integrity);
        }
        let mut desk = observed("pay");
        send(&mut desk, 1, "k", r#""outcome":"timeout""#);
        desk.tell(r#"{"ts":"2026-10-05T09:05:00Z","ev":"delivery.received","source":"psp","event_id":"e1","type":"charge.succeeded","receipt":"ch_1","receipt_fault":"other_amount","metadata":{"key":"k"}}"#);
        prove!("7.18", desk.state("a"), "uncertain(timeout)");
        prove_that!("7.18", desk.has_finding("a", "object_not_ours"));
    }

    fn case_19_a_delivery_that_was_forgotten_and_comes_again_says_nothing_new() {
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        rig.receipt("op", "in_1");
        let outcome = rig.outcome("op");
        rig.wait(4 * 24 * 3600);
        let again = Evidence {
            id: "redelivered under another id".into(),
            source: ours(),
            claim: Claim::Executed { receipt: receipt("in_1") },
            object: None,
            linked_by: LinkedBy::Key,
            key: rig.key_of("op"),
            at: rig.now,
            provider_time: None,
            sent_at: None,
        };
        rig.tell("op", Fact::Evidence(again));
        prove!("7.19", (rig.state("op").as_str(), rig.outcome("op").effects), ("succeeded", outcome.effects));
    }

    fn cases_20_to_22_what_counts_as_the_same_arguments() {
        prove!("7.20", json(r#"{"b":1,"a":"x"}"#), json("{ \"a\": \"\\u0078\", \"b\": 1.0 }"));
        let rig = Rig::approved(Class::Reversible, keyed());
        let version = rig.record("op").version;
        let mut again = rig.clone();
        let proposal = rig.record("op").proposals().next().cloned().unwrap();
        again.tell("op", Fact::Proposed(proposal));
        prove!("7.20", again.record("op").version, version, "the stored bytes stay");
        prove_that!("7.21", json(r#"{"id":9007199254740993}"#) != json(r#"{"id":9007199254740992}"#));
        let exact = Json::parse(br#"{"id":9007199254740993}"#).unwrap();
        prove!("7.21", exact.canonical(), r#"{"id":#9007199254740993e0}"#);
        prove!("I30", json(r#"{"id":9007199254740993}"#), json("{ \"id\" : 9007199254740993.0 }"));
        prove_that!("I30", json(r#"{"x":1.0}"#) != json(r#"{"x":1.1}"#));
        prove_that!("I30", json("{\"x\":\"\u{e9}\"}") != json("{\"x\":\"e\u{301}\"}"), "composed and decomposed");
        prove!("7.22", json(r#"{"amount":10}"#), json(r#"{"amount":10.00}"#));
        prove_that!("7.22", json(r#"{"amount":"10"}"#) != json(r#"{"amount":"10.00"}"#), "a text is another one");
    }

    fn case_23_the_same_intent_by_another_tool() {
        let mut desk = observed("pay");
        desk.tell(r#"{"ts":"2026-10-05T09:01:00Z","ev":"operation.proposed","op":"b","key":"order-1","tool":"pay_v2","dest":"psp","args":{"order":1}}"#);
        prove!("7.23", desk.operations(), 1, "under the same key it is the existing operation");
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        rig.propose("other", "invoice:1b:issue");
        rig.tell("other", Fact::SameIntentAsked { other: operation("op"), at: rig.now });
        prove!("7.23", rig.verdict("other", Action::Approve), Verdict::Forbidden, "under another key a person answers first");
        prove_that!("7.23", rig.press("ben", "other", ActionInput::Approve {}).is_err());
    }

    fn case_24_a_second_refund_of_the_same_order_is_answered_separate() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.send_and_end("op", made("re_1"));
        rig.propose("second", "refund:order-1:request-2");
        rig.tell("second", Fact::SameIntentAsked { other: operation("op"), at: rig.now });
        rig.press("ana", "second", ActionInput::DismissFinding { code: "same_intent_question".into() }).unwrap();
        rig.press("ben", "second", ActionInput::Approve {}).unwrap();
        prove!("7.24", rig.state("second"), "authorized");
        let why = rig.record("second").facts.iter().find_map(|fact| match fact {
            Fact::SameIntentAnswered { is_same, reason, .. } => Some((*is_same, reason.is_empty())),
            _ => None,
        });
        prove!("7.24", why, Some((false, false)), "with a reason");
    }

    fn case_25_a_key_minted_for_each_attempt_protects_nothing() {
        let mut desk = observed("pay");
        for (n, key) in [(1, "k1"), (2, "k2"), (3, "k3")] {
            send(&mut desk, n, key, r#""outcome":"timeout""#);
        }
        let outcome = desk.outcome("a");
        prove!("7.25", (outcome.key_protects, outcome.open.len()), (false, 3));
        prove_that!("7.25", desk.finding("a", "key_changed").contains("k1 → k2 → k3"));
        prove!("7.25", desk.ruling("a").on(Action::RerunSameKey).unwrap().verdict, Verdict::Forbidden);
        let adopt = ActionInput::Adopt { statement: "the import job is switched off".into() };
        desk.act("ana", "a", adopt).unwrap();
        prove_that!("7.25", desk.outcome("a-next").key_protects_not.unwrap().contains("different keys"));
    }

    fn case_26_a_key_made_of_a_run_id_changes_with_the_run() {
        let mut desk = observed("pay");
        send(&mut desk, 1, "run-1:pay", r#""outcome":"ok","http":200,"receipt":"pi_1""#);
        send(&mut desk, 2, "run-2:pay", r#""outcome":"ok","http":200,"receipt":"pi_2""#);
        prove!("7.26", desk.state("a"), "contradicted(duplicate)");
        prove_that!("7.26", desk.has_finding("a", "key_changed"));
        let guarded = Rig::approved(Class::Reversible, keyed());
        prove!("7.26", guarded.key_of("op"), guarded.clone().key_of("op"), "ours is made of the business key alone");
    }

    fn case_27_a_step_resumed_after_ten_days_meets_the_existing_operation() {
        let mut desk = observed("pay");
        send(&mut desk, 1, "k", r#""outcome":"timeout""#);
        desk.tell(r#"{"ts":"2026-10-15T09:00:00Z","ev":"operation.proposed","op":"redrive","key":"order-1","tool":"pay","dest":"psp","args":{"order":1}}"#);
        prove!("7.27", (desk.operations(), desk.state("redrive").as_str()), (1, "uncertain(timeout)"));
        desk.act("ana", "a", ActionInput::Adopt { statement: "the workflow is stopped".into() }).unwrap();
        prove_that!("7.27", desk.outcome("a-next").key_protects_not.unwrap().contains("too old"));
    }

    fn case_28_after_a_failover_the_same_key_is_a_new_one() {
        let region = |name: &str| Some(Scope { region: Some(name.into()), ..Scope::default() });
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.scope = region("one");
        rig.send_and_end("op", timed_out());
        rig.wait(5);
        let epoch = rig.claim("op", "w").unwrap();
        let permit = rig.permit("op", epoch).unwrap();
        rig.scope = region("two");
        rig.tool.version += 1;
        prove!("7.28", (rig.row("op").as_str(), rig.outcome("op").key_protects), ("2", false));
        prove_that!("7.28", rig.dispatch("op", permit, "w").is_err());
        rig.command("op", &Command::Release { epoch, reason: "moved".into() }).unwrap();
        prove!("7.28", rig.row("op"), "30");
    }

    fn case_29_a_refund_that_finds_no_charge_is_no_proof() {
        let contract = Contract { cancel_by_key: cancel(true, false), lookup: strong_look_up(), stores: None, ..keyed() };
        let mut rig = Rig::uncertain(Class::Reversible, contract);
        rig.evidence("op", Claim::CancelledByKey { found: false });
        prove!("7.29", rig.state("op"), "uncertain(timeout)");
        rig.wait(200);
        rig.evidence("op", Claim::CancelledByKey { found: false });
        rig.wait(30);
        rig.evidence("op", Claim::Absent);
        prove!("7.29", rig.state("op"), "retry_wait", "after settle, and a later look-up agrees");
    }

    fn case_31_history_is_never_sent_whatever_it_says_was_authorized() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        let head = rig.head("op", Mode::Observed, "invoice:1:issue");
        rig.propose_as(head, None);
        rig.tell("op", Fact::AuthorizedElsewhere { at: rig.now, by: None, expires_at: None, args_hash: None });
        prove!("7.31", rig.state("op"), "authorized");
        prove_that!("7.31", failed_guards(rig.claim("op", "w").unwrap_err()).contains(&Guard::ModeGuarded));
        for action in [Action::RerunSameKey, Action::RerunNew, Action::Approve] {
            prove!("7.31", rig.verdict("op", action), Verdict::Forbidden, "{action}");
        }
    }

    fn case_32_an_adopted_timeout_is_repeated_only_under_its_own_key() {
        let adopted = |contract: Contract| {
            let mut desk = Desk::new();
            desk.declare("pay", Class::Reversible, |declared| *declared = contract.clone());
            desk.tell(r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","key":"order-1","tool":"pay","dest":"psp","args":{"order":1}}"#);
            send(&mut desk, 1, "k", r#""outcome":"timeout""#);
            desk.act("ana", "a", ActionInput::Adopt { statement: "the old client is switched off".into() }).unwrap();
            desk
        };
        let desk = adopted(keyed());
        prove!("7.32", (desk.state("a-next").as_str(), desk.outcome("a-next").key_protects), ("uncertain(timeout)", true));
        prove!("7.32", desk.ruling("a-next").row, "7", "a fresh approval comes first");
        for contract in [
            Contract { on_mismatch: None, ..keyed() },
            Contract { key_retention_s: None, ..keyed() },
        ] {
            let desk = adopted(contract);
            prove!("7.32", desk.outcome("a-next").key_protects, false);
        }
    }

    fn case_35_an_intent_and_its_charge_are_one_effect_if_that_is_declared() {
        let of = |declared: bool| {
            let identity = EffectIdentity { object: "payment_intent".into(), aliases: vec!["charge".into()] };
            let contract = Contract { effect_identity: declared.then_some(identity), ..keyed() };
            let mut rig = Rig::uncertain(Class::Reversible, contract);
            rig.receipt("op", "pi_1");
            rig.wait(1);
            let charge = Evidence {
                id: "charge.succeeded".into(),
                source: ours(),
                claim: Claim::Executed { receipt: receipt("ch_1") },
                object: Some(PartOf { kind: "charge".into(), part_of: receipt("pi_1") }),
                linked_by: LinkedBy::Key,
                key: rig.key_of("op"),
                at: rig.now,
                provider_time: None,
                sent_at: None,
            };
            rig.tell("op", Fact::Evidence(charge));
            rig
        };
        let one = of(true);
        prove!("7.35", (one.state("op").as_str(), one.outcome("op").effects.len()), ("succeeded", 1));
        prove!("7.35", one.outcome("op").effects[0].names(), "pi_1 (also ch_1)");
        prove!("7.35", one.outcome("op").open.len(), 0, "and it is credited once");
        prove!("7.35", of(false).state("op"), "contradicted(duplicate)");
        let mut reversed = of(true);
        reversed.wait(60);
        reversed.evidence("op", Claim::Reversed { receipt: receipt("ch_1") });
        prove!("7.35", reversed.state("op"), "contradicted(reversed)", "what befalls the charge befalls the payment");
    }

    fn case_36_a_frozen_worker_comes_back_after_a_rerun_under_accepted_risk() {
        let mut rig = Rig::approved(Class::Reversible, Contract { stores: None, ..keyed() });
        let frozen = rig.send("op");
        rig.wait(25 * 3600);
        rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        rig.agree("op", NEW).unwrap();
        let new = rig.newest();
        rig.press("ben", &new, ActionInput::Approve {}).unwrap();
        rig.send_and_end(&new, made("in_2"));
        rig.end("op", frozen, made("in_1"));
        prove!("7.36", (rig.state("op").as_str(), rig.state(&new).as_str()), ("contradicted(duplicate)", "contradicted(duplicate)"));
        let risk = rig.record("op").facts.iter().find_map(|fact| match fact {
            Fact::RiskAccepted { permits, .. } => Some(permits.to_string()),
            _ => None,
        });
        prove!("7.36", risk, Some(new), "the record of the risk names the run");
    }

    fn case_37_a_lone_administrator_needs_the_recorded_override() {
        let alone = || Actor { role: Role::Administrator, ..person("ana") };
        let mut rig = Rig::uncertain(Class::Irreversible, keyed());
        rig.press_as(alone(), "op", mark_succeeded(Some("in_1"))).unwrap();
        prove!("7.37", rig.state("op"), "uncertain(timeout)", "one person is not two");
        let mut rig = Rig::uncertain(Class::Irreversible, keyed());
        rig.lone_override = true;
        rig.press_as(alone(), "op", mark_succeeded(Some("in_1"))).unwrap();
        prove!("7.37", rig.state("op"), "succeeded.attested");
        let mut rig = Rig::uncertain(Class::Irreversible, keyed());
        rig.lone_override = true;
        rig.press("ana", "op", mark_succeeded(Some("in_1"))).unwrap();
        prove!("7.37", rig.state("op"), "uncertain(timeout)", "and only an administrator has it");
    }

    fn case_38_a_restored_record_sends_nothing_until_it_is_acknowledged() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        let (key, backup_at) = (rig.key_of("op"), rig.now);
        rig.wait(300);
        rig.restore_pending = true;
        rig.command("op", &Command::Restore { backup_at }).unwrap();
        prove!("7.38", rig.state("op"), "uncertain(restored)");
        prove_that!("7.38", rig.claim("op", "w").is_err());
        rig.restore_pending = false;
        prove!("7.38", rig.key_of("op"), key);
        prove_that!("7.38", rig.claim("op", "w").is_ok(), "the same key protects");
    }

    fn i22_a_delivery_is_one_fact_however_often_it_comes_and_an_unsigned_one_is_none() {
        let line = |event: &str, signed: bool| {
            format!(r#"{{"ts":"2026-10-05T09:05:00Z","ev":"delivery.received","source":"psp","event_id":"{event}","delivery":"d","type":"charge.succeeded","receipt":"ch_1","signature_ok":{signed},"metadata":{{"key":"k"}}}}"#)
        };
        let mut desk = observed("pay");
        send(&mut desk, 1, "k", r#""outcome":"timeout""#);
        desk.tell(&line("e1", false));
        prove!("I22", desk.state("a"), "uncertain(timeout)");
        desk.tell(&line("e2", true));
        let version = desk.version("a");
        desk.tell(&line("e2", true));
        prove!("I22", (desk.state("a").as_str(), desk.version("a")), ("succeeded", version));
    }

    fn i29_what_is_shown_is_what_is_accepted() {
        let ends = [None, Some(timed_out()), Some(refused(429)), Some(refused(422)), Some(made("in_1"))];
        let (mut accepted, mut refusals) = (0, 0);
        for (end, with_surplus) in ends.iter().flat_map(|end| [(end, false), (end, true)]) {
            let contract = Contract { compensation: undo_by("void"), lookup: strong_look_up(), ..keyed() };
            let mut rig = Rig::approved(Class::Reversible, contract);
            match end {
                Some(end) => {
                    rig.send_and_end("op", end.clone());
                }
                None => rig.wait(9 * 3600),
            }
            if with_surplus {
                rig.receipt("op", "in_1");
                rig.receipt("op", "in_2");
            }
            for input in every_input() {
                let action = input.action();
                let shown = rig.ruling_for("op", Some(&person("ana"))).on(action).unwrap().verdict;
                let answer = rig.clone().press("ana", "op", input);
                let is_forbidden = matches!(answer, Err(Refusal::Forbidden { .. }));
                prove!("I29", is_forbidden, shown >= Verdict::Forbidden, "{action} in state {}: {answer:?}", rig.state("op"));
                if is_forbidden { refusals += 1 } else { accepted += 1 }
            }
        }
        prove_that!("I29", accepted > 50 && refusals > 50, "{accepted} and {refusals}");
    }

    fn t48_what_history_shows_goes_by_one_row() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        let head = rig.head("op", Mode::Observed, "invoice:1:issue");
        rig.propose_as(head, None);
        let authorized = Fact::AuthorizedElsewhere { at: rig.now, by: None, expires_at: None, args_hash: None };
        let decision = rig.command("op", &Command::Record(vec![authorized])).unwrap();
        prove_that!("T48", decision.rules.iter().any(|rule| rule == "T48"), "{:?}", decision.rules);
        prove!("T48", rig.state("op"), "authorized");
    }

    fn i19_a_repeat_is_ours_unless_another_layer_is_declared_to_own_it() {
        use crate::contract::RetryOwner::{Adapter, Agent, Transport, Workflow};
        let repeats = |owner| {
            let mut rig = Rig::approved(Class::Reversible, Contract { retry_owner: owner, ..keyed() });
            rig.send_and_end("op", refused(429));
            rig.wait(60);
            rig
        };
        for owner in [None, Some(Adapter), Some(Workflow)] {
            prove_that!("I19", repeats(owner).claim("op", "w").is_ok(), "{owner:?}");
        }
        for owner in [Some(Agent), Some(Transport)] {
            let mut rig = repeats(owner);
            prove!("I19", failed_guards(rig.claim("op", "w").unwrap_err()), [Guard::RetryOwnerIsUs], "{owner:?}");
            rig.press("ana", "op", SAME_KEY).unwrap();
            prove_that!("I19", rig.claim("op", "w").is_ok(), "a person's order is no automatic retry");
        }
    }

    fn i6_an_approval_covers_what_it_names_and_nothing_else() {
        use crate::approval::{Approval, Lack};
        let rig = Rig::approved(Class::Reversible, keyed());
        let given = rig.record("op").approvals().next().unwrap().clone();
        let lack = |change: fn(&mut Approval)| {
            let mut record = crate::operation::Record::new(rig.record("op").head.clone());
            let mut approval = given.clone();
            change(&mut approval);
            let proposal = rig.record("op").proposals().next().unwrap().clone();
            record.facts.extend([Fact::Proposed(proposal), Fact::Approved(approval)]);
            record.live_approval(&rig.tool, rig.now).map(|live| live.args_version).map_err(|lack| lack == Lack::CoversOther)
        };
        prove!("I6", lack(|_| {}), Ok(1));
        prove!("I6", lack(|approval| approval.args_hash = Hash::of(b"other")), Err(true));
        prove!("I6", lack(|approval| approval.args_version = 2), Err(true));
        prove!("I6", lack(|approval| approval.class = Class::Irreversible), Err(true));
        prove!("I6", lack(|approval| approval.tool = None), Err(true));
        prove!("I6", lack(|approval| approval.destination = None), Err(true));
        prove!("I6", lack(|approval| approval.expires_at = approval.granted_at), Err(false), "it has run out");
    }

    fn a_throttled_repeat_that_outlives_the_approval_waits_for_a_person() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.send_and_end("op", ended(ReportedOutcome::Throttled, Some(429)));
        rig.wait(9 * 3600);
        prove!("T42", rig.state("op"), "approval_expired");
    }
}

//! The tricky cases that turn on what one answer proves (semantics 7), told line by line.

use super::desk::Desk;
use crate::action::Action;
use crate::attempt::ReportedOutcome;
use crate::contract::{
    Consistency, Contract, LayerRetries, LookUp, LookUpBy, OnInFlight, OnMismatch, Signal, Stores, Verification,
};
use crate::decision::Verdict::Forbidden;
use crate::proof::{proofs, prove, prove_that};
use crate::rig;
use crate::tool::Class;

/// A desk with one operation `a` of a tool that promises this.
fn desk(class: Class, promise: impl Fn(&mut Contract)) -> Desk {
    let mut desk = Desk::new();
    desk.declare("pay", class, promise);
    say(&mut desk, 0, "operation.proposed", r#","key":"order-1","tool":"pay","dest":"psp","args":{"order":1}"#);
    desk
}

fn say(desk: &mut Desk, seconds: u32, event: &str, members: &str) {
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    desk.tell(&format!(r#"{{"ts":"2026-10-05T09:{minutes:02}:{seconds:02}Z","ev":"{event}","op":"a"{members}}}"#));
}

/// Attempt `n` under the operation's key, half a minute each; the members of its end follow.
fn attempt(desk: &mut Desk, n: u32, end: &str) {
    say(desk, n * 60, "attempt.started", &format!(r#","n":{n},"dest_key":"k""#));
    say(desk, n * 60 + 30, "attempt.ended", &format!(r#","n":{n},"dest_key":"k",{end}"#));
}

const TIMEOUT: &str = r#""outcome":"timeout""#;

/// The rules that closed its attempts, in order.
fn closers(desk: &Desk) -> Vec<Option<String>> {
    desk.outcome("a").attempts.iter().map(|attempt| attempt.closed.as_ref().map(|by| by.rule.to_string())).collect()
}

fn signal(http: u16, error: Option<&str>) -> Vec<Signal> {
    vec![Signal { http: Some(http), error: error.map(Into::into), ..Signal::default() }]
}

/// A key that protects: any answer is kept once execution began, for a day, as tested live.
fn protects(contract: &mut Contract) {
    contract.stores = Some(Stores::AnyOnceStarted);
    contract.on_in_flight = Some(OnInFlight::Blocks);
    contract.on_mismatch = Some(OnMismatch::Error);
    contract.key_retention_s = Some(86_400);
    contract.verification = Some(Verification::TestedLive);
}

proofs! {
    fn e01_a_guarded_claim_without_dispatch_is_no_attempt() {
        let mut desk = desk(Class::Reversible, |_| {});
        desk.guard("a");
        say(&mut desk, 10, "claim.taken", r#","claim":"c-1","lease_s":30"#);
        desk.wait_until("2026-10-05T10:00:00Z");
        prove!("E1", (desk.outcome("a").attempts.len(), desk.state("a").as_str()), (0, "proposed"));
        say(&mut desk, 20, "attempt.started", r#","claim":"c-1""#);
        prove!("E1", desk.outcome("a").attempts.len(), 1);
        prove_that!("E1", desk.state("a").starts_with("uncertain"));
    }

    fn e01_a_bare_claim_in_an_observed_stream_is_a_possible_send() {
        let mut desk = desk(Class::Reversible, |_| {});
        say(&mut desk, 10, "claim.taken", r#","claim":"c-1","lease_s":30"#);
        desk.wait_until("2026-10-05T10:00:00Z");
        prove!("E1", (desk.outcome("a").attempts.len(), desk.state("a").as_str()), (1, "uncertain(lost)"));
    }

    fn case_1_a_timeout_then_a_refused_connection_is_uncertain() {
        let mut desk = desk(Class::Reversible, |contract| contract.layer_retries = Some(LayerRetries::Off));
        attempt(&mut desk, 1, TIMEOUT);
        attempt(&mut desk, 2, r#""outcome":"conn_lost","phase":"connect""#);
        prove!("7.1", closers(&desk), [None, Some("K1".into())]);
        prove!("7.1", desk.state("a"), "uncertain(timeout)");
    }

    fn case_2_a_timeout_then_already_refunded_is_not_failed() {
        let mut desk = desk(Class::Reversible, |_| {});
        attempt(&mut desk, 1, TIMEOUT);
        attempt(&mut desk, 2, r#""outcome":"rejected","http":400,"error":"already_refunded""#);
        prove!("7.2", closers(&desk), [None, Some("K1".into())]);
        prove!("7.2", desk.state("a"), "uncertain(timeout)");
    }

    fn case_3_a_replayed_500_is_one_execution_and_never_tells_more() {
        let mut desk = desk(Class::Irreversible, |contract| {
            protects(contract);
            contract.lookup =
                Some(LookUp { by: LookUpBy::Metadata, consistency: Some(Consistency::Eventual), complete: false });
            contract.replay_marker = Some("Idempotent-Replayed: true".into());
        });
        attempt(&mut desk, 1, r#""outcome":"error","http":500"#);
        for n in 2..=6 {
            attempt(&mut desk, n, r#""outcome":"error","http":500,"headers":{"idempotent-replayed":"true"}"#);
        }
        prove!("7.3", closers(&desk), vec![None; 6]);
        prove!("7.3", desk.state("a"), "uncertain(replayed_error)");
        let ruling = desk.ruling("a");
        for action in [Action::RerunSameKey, Action::RerunNew] {
            prove!("7.3", ruling.on(action).unwrap().verdict, Forbidden);
        }
    }

    fn case_4_a_key_that_keeps_only_successes_does_not_protect_an_open_attempt() {
        let of = |stores| {
            let contract = Contract { stores: Some(stores), ..rig::keyed() };
            let mut rig = rig::Rig::approved(Class::Irreversible, contract);
            rig.send_and_end("op", rig::ended(ReportedOutcome::Error, Some(500)));
            (rig.outcome("op").key_protects, rig.state("op"))
        };
        prove!("7.4", of(Stores::SuccessesOnly), (false, "uncertain(server_error)".into()));
        prove!("7.4", of(Stores::AnyOnceStarted), (true, "uncertain(server_error)".into()));
    }

    fn case_5_a_404_after_a_removal_that_timed_out_is_at_most_likely() {
        let of = |declared: bool| {
            let mut desk = desk(Class::Irreversible, |contract| {
                contract.removes = Some(true);
                contract.gone_signals = declared.then(|| signal(404, None));
            });
            attempt(&mut desk, 1, TIMEOUT);
            attempt(&mut desk, 2, r#""outcome":"rejected","http":404"#);
            prove!("7.5", closers(&desk), [None, None]);
            desk.state("a")
        };
        prove!("7.5", of(true), "uncertain(likely)");
        prove!("7.5", of(false), "uncertain(undeclared_status)");
    }

    fn case_6_a_conflict_with_another_object_is_not_ours() {
        let exists = r#""outcome":"rejected","http":409,"receipt":"inv_7","receipt_fault":"other_amount""#;
        let of = |declared: bool| {
            let mut desk = desk(Class::Reversible, |contract| {
                contract.conflict_signals = declared.then(|| signal(409, None));
            });
            attempt(&mut desk, 1, TIMEOUT);
            attempt(&mut desk, 2, exists);
            prove!("7.6", closers(&desk), [None, None]);
            prove!("7.6", desk.outcome("a").effects, []);
            prove_that!("7.6", desk.finding("a", "natural_key_collision").contains("another amount"));
            desk.state("a")
        };
        prove!("7.6", of(true), "uncertain(undeclared_status)");
        prove!("7.6", of(false), "uncertain(undeclared_status)");
    }

    fn e28_a_refusal_names_the_object_in_the_way_and_no_effect_of_ours() {
        let mut desk = desk(Class::Reversible, |contract| contract.conflict_signals = Some(signal(409, None)));
        attempt(&mut desk, 1, r#""outcome":"rejected","http":409,"receipt":"inv_7""#);
        prove!("E28", desk.outcome("a").effects, []);
        prove!("E28", desk.state("a"), "failed.proven(permanent)");
    }

    fn e15_an_invalid_receipt_is_no_effect_and_is_found() {
        let mut desk = desk(Class::Reversible, |_| {});
        attempt(&mut desk, 1, r#""outcome":"ok","http":200,"receipt":"pi_A","receipt_fault":"test_mode""#);
        prove!("E15", desk.outcome("a").effects, []);
        prove!("E15", desk.state("a"), "uncertain(no_receipt)");
        prove_that!("E15", desk.finding("a", "receipt_invalid").contains("a test system"));
    }

    fn c346_a_receipt_from_the_wrong_mode_is_no_effect_and_what_was_in_play_is_found() {
        let mut desk = desk(Class::Reversible, |_| {});
        let end = r#""outcome":"ok","http":200,"receipt":"pi_A","circumstances":["mode_mix","hedging"]"#;
        attempt(&mut desk, 1, end);
        prove!("3.4.6", desk.outcome("a").effects, []);
        prove!("3.4.6", desk.state("a"), "uncertain(no_receipt)");
        prove_that!("3.4.6", desk.has_finding("a", "mode_mix"));
        prove_that!("3.4.4", desk.has_finding("a", "hedging"));
        prove_that!("3.4.3", !desk.has_finding("a", "early_data"));
    }

    fn case_17_a_delivery_before_the_answer_says_the_same_in_either_order() {
        let delivery = concat!(
            r#"{"ts":"2026-10-05T09:01:10Z","ev":"delivery.received","source":"psp","event_id":"e1","#,
            r#""type":"payment.succeeded","receipt":"pi_A","metadata":{"key":"k"}}"#
        );
        let answer = r#","n":1,"dest_key":"k","outcome":"ok","http":200,"receipt":"pi_A""#;
        for first in [true, false] {
            let mut desk = desk(Class::Irreversible, |_| {});
            say(&mut desk, 60, "attempt.started", r#","n":1,"dest_key":"k""#);
            if first {
                desk.tell(delivery);
                prove!("7.17", desk.state("a"), "succeeded");
            }
            say(&mut desk, 90, "attempt.ended", answer);
            if !first {
                desk.tell(delivery);
            }
            prove!("7.17", (desk.state("a").as_str(), desk.outcome("a").effects.len()), ("succeeded", 1));
        }
        // Nor does an answer that tells less take it back.
        let mut desk = desk(Class::Irreversible, |_| {});
        say(&mut desk, 60, "attempt.started", r#","n":1,"dest_key":"k""#);
        desk.tell(delivery);
        say(&mut desk, 90, "attempt.ended", r#","n":1,"dest_key":"k","outcome":"timeout""#);
        prove!("7.17", desk.state("a"), "succeeded");
    }

    fn case_33_a_401_closes_the_probe_and_nothing_before_it() {
        let mut desk = desk(Class::Irreversible, protects);
        desk.guard("a");
        attempt(&mut desk, 1, TIMEOUT);
        attempt(&mut desk, 2, r#""outcome":"rejected","http":401"#);
        prove!("7.33", closers(&desk), [None, Some("K1".into())]);
        prove!("7.33", desk.state("a"), "uncertain(timeout)");
    }

    fn case_34_a_stored_decline_closes_what_came_before_it_and_a_2xx_only_key_closes_nothing() {
        let of = |stores| {
            let mut desk = desk(Class::Irreversible, |contract| {
                protects(contract);
                contract.stores = Some(stores);
            });
            desk.guard("a");
            attempt(&mut desk, 1, TIMEOUT);
            attempt(&mut desk, 2, r#""outcome":"rejected","http":402"#);
            (closers(&desk), desk.state("a"))
        };
        let k = |rule: &str| Some(rule.to_owned());
        prove!("7.34", of(Stores::AnyOnceStarted), (vec![k("K3"), k("K1")], "failed.business".into()));
        prove!("7.34", of(Stores::SuccessesOnly), (vec![None, k("K1")], "uncertain(timeout)".into()));
    }

    fn e20_an_accepted_job_that_fails_the_next_day_is_closed_by_its_own_answer() {
        let mut desk = desk(Class::Reversible, |_| {});
        attempt(&mut desk, 1, r#""outcome":"ok","http":202"#);
        prove!("E20", desk.state("a"), "uncertain(accepted)");
        desk.tell(
            r#"{"ts":"2026-10-06T09:00:00Z","ev":"attempt.ended","op":"a","n":1,"outcome":"rejected","http":402}"#,
        );
        prove!("E20", (closers(&desk), desk.state("a")), (vec![Some("K1".into())], "failed.business".into()));
    }

    fn e19_a_204_from_a_mesh_and_a_cut_mcp_stream_are_uncertain() {
        for (end, state) in [
            (r#""outcome":"ok","http":204"#, "uncertain(no_receipt)"),
            (r#""outcome":"conn_lost","http":200"#, "uncertain(no_receipt)"),
            (r#""outcome":"error","is_error":true"#, "uncertain(no_receipt)"),
            (r#""outcome":"conn_lost","phase":"cancelled""#, "uncertain(timeout)"),
        ] {
            let mut desk = desk(Class::Reversible, |_| {});
            attempt(&mut desk, 1, end);
            prove!("E19", desk.state("a"), state, "{end}");
        }
    }

    fn e35_a_stored_answer_closes_every_attempt_under_its_key_by_the_contracts_marker_alone() {
        let of = |end: &str, marker: Option<&str>| {
            let mut desk = desk(Class::Irreversible, |contract| contract.replay_marker = marker.map(Into::into));
            attempt(&mut desk, 1, TIMEOUT);
            attempt(&mut desk, 2, &format!(r#"{end},"headers":{{"idempotent-replayed":"true"}}"#));
            (closers(&desk), desk.state("a"))
        };
        let k = |rule: &str| Some(rule.to_owned());
        let (declined, marker) = (r#""outcome":"rejected","http":402"#, Some("idempotent-replayed"));
        prove!("E35", of(declined, marker), (vec![k("K2"), k("K1")], "failed.business".into()));
        prove!("E35", of(declined, None), (vec![None, k("K1")], "uncertain(timeout)".into()));
        let failed = r#""outcome":"error","http":500"#;
        prove!("E35", of(failed, marker), (vec![None, None], "uncertain(replayed_error)".into()));
        prove!("I14", of(failed, marker).0, [None, None], "a replay of an error refuses nothing");
    }

    fn e32_a_throttled_attempt_closes_itself_only() {
        let mut desk = desk(Class::Reversible, |_| {});
        attempt(&mut desk, 1, TIMEOUT);
        attempt(&mut desk, 2, r#""outcome":"throttled","http":429,"retry_after":120"#);
        prove!("E32", closers(&desk), [None, Some("K1".into())]);
        prove!("E32", desk.state("a"), "uncertain(timeout)");
    }
}

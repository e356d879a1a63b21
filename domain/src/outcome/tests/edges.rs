//! The edges of the fold: what is equal, what comes first, what belongs to another; each a case that a small change of the
//! rules would let through.

use serde_json::json;

use super::*;
use crate::attempt::{AttemptRef, Report, ReportKind};
use crate::name::{DestinationKey, SourceOperation};
use crate::outcome::fold::promises_since_first_send;
use crate::policy::{Policy, SafetyRule};
use crate::verdict::Verdict;

fn observed(facts: Vec<ReportKind>) -> Rig {
    let mut rig = Rig::new(Class::Reversible, keyed());
    let head = rig.head("op", Mode::Observed, "invoice:1:issue");
    rig.propose_as(head, None);
    for (index, kind) in facts.into_iter().enumerate() {
        let claim = if index % 2 == 0 { index } else { index - 1 };
        rig.now = rig.now.plus(std::time::Duration::from_secs(1));
        let report = Report {
            attempt: AttemptRef::new(SourceOperation::parse("op").unwrap(), Some(format!("claim {claim}")), None),
            at: rig.now,
            provider_time: None,
            source: ours(),
            number: None,
            owner: None,
            worker: None,
            dest_key: DestinationKey::parse("k").ok(),
            budget: None,
            kind,
        };
        rig.tell("op", Fact::Report(report));
    }
    rig
}

fn started() -> ReportKind {
    ReportKind::Started { args_hash: None, deadline: None }
}

proofs! {
    fn t35_each_promise_of_a_key_is_the_strictest_since_the_first_send() {
        let contract = |value: serde_json::Value| -> Contract { serde_json::from_value(value).unwrap() };
        let today = contract(json!({
            "key_location": "a", "key_quoting": "bare", "key_retention_s": 100, "retention_starts": "first_completed",
            "retention_rule": "constant", "scope": [], "on_mismatch": "error", "on_in_flight": "codes",
            "stores": "any_once_started", "max_arrival_delay_s": 10, "key_age_margin_s": 10,
            "lookup": {"by": "key", "consistency": "strong", "complete": true}, "client_deadline_s": 7,
        }));
        let before = contract(json!({
            "key_location": "b", "key_quoting": "sf_string", "key_retention_s": 50, "retention_starts": "first_seen",
            "retention_rule": {"min_with_resource_lifetime": {"after_end_s": 5}}, "scope": ["region"],
            "on_mismatch": "executes", "on_in_flight": "blocks", "stores": "2xx_only", "max_arrival_delay_s": 20,
            "key_age_margin_s": 20, "lookup": {"by": "natural_key"}, "client_deadline_s": 9,
        }));
        let fields = |contract: &Contract| serde_json::to_value(contract).unwrap();
        let (now, strictest) = (fields(&today), fields(&Contract::strictest([&today, &before])));
        let ruled = fields(&promises_since_first_send(today.clone(), std::slice::from_ref(&before)));
        for field in [
            "key_location", "key_quoting", "key_retention_s", "retention_starts", "retention_rule", "scope",
            "on_mismatch", "on_in_flight", "stores", "max_arrival_delay_s", "key_age_margin_s",
        ] {
            prove!("T35", &ruled[field], &strictest[field], "{field}");
            // Two places of a key, or two good ways to hold a repeat, are alike in strictness; those of today are kept.
            let is_alike = matches!(field, "key_location" | "on_in_flight");
            prove_that!("T35", is_alike || ruled[field] != now[field], "{field}: {}", ruled[field]);
        }
        prove!("T35", (&ruled["lookup"], &ruled["client_deadline_s"]), (&now["lookup"], &now["client_deadline_s"]));
        prove!("T35", fields(&promises_since_first_send(today, &[])), now);
    }

    fn k3_without_its_rule_an_answer_before_the_key_layer_still_closes_nothing_else() {
        let policy = Policy::FULL.without(SafetyRule::DeclineNeedsStores);
        for (status, expected) in [(401, ["open", "K1"]), (429, ["open", "K1"]), (422, ["K3", "K1"])] {
            let mut rig = reads(Contract { stores: Some(Stores::SuccessesOnly), ..keyed() });
            rig.policy = policy;
            rig.send_and_end("op", refused(status));
            prove!("K3", closers(&rig), expected, "{status}");
        }
    }

    fn k7_an_attempt_that_was_sent_with_the_cancel_is_not_covered_and_holds_nothing_up() {
        let contract = Contract { cancel_by_key: cancel(true, false), ..keyed() };
        let mut rig = ended_with(contract, timed_out());
        rig.wait(400);
        let epoch = rig.send("op");
        let sent = rig.outcome("op").attempts[1].dispatched_at;
        rig.evidence_sent("op", Claim::CancelledByKey { found: false }, Some(sent));
        rig.end("op", epoch, timed_out());
        rig.wait(1);
        let later = rig.now;
        rig.evidence_sent("op", Claim::CancelledByKey { found: false }, Some(later));
        prove!("K7", closers(&rig), ["K7", "open"]);
    }

    fn an_attempt_runs_while_its_own_lease_does_and_not_under_a_later_one() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.send("op");
        let running = |rig: &Rig| rig.outcome("op").attempts.iter().map(|a| a.is_running).collect::<Vec<_>>();
        prove!("F1", running(&rig), [true]);
        rig.wait(60);
        prove!("F1", running(&rig), [false]);
        rig.send("op");
        prove!("F1", running(&rig), [false, true]);
    }

    fn t45_a_forgotten_send_is_one_more_than_all_that_is_on_record() {
        let mut rig = ended_with(keyed(), timed_out());
        let reports = rig.record("op").reports().count();
        let backup_at = rig.now;
        rig.command("op", &crate::transition::Command::Restore { backup_at }).unwrap();
        let numbers: Vec<u32> = rig.outcome("op").attempts.iter().map(|attempt| attempt.number).collect();
        prove!("T45", numbers.last().copied(), u32::try_from(reports + 1).ok());
        prove_that!("T45", reports > 1);
    }

    fn the_key_of_an_observed_send_protects_nothing_of_ours() {
        let rig = observed(vec![started(), ReportKind::Ended(timed_out())]);
        assert_eq!(rig.state("op"), "uncertain(timeout)");
        assert!(!rig.outcome("op").key_protects);
    }

    fn attempts_without_a_number_are_counted_in_their_order() {
        let rig = observed(vec![started(), ReportKind::Ended(timed_out()), started(), ReportKind::Ended(timed_out())]);
        let numbers: Vec<u32> = rig.outcome("op").attempts.iter().map(|attempt| attempt.number).collect();
        assert_eq!(numbers, [1, 2]);
    }

    fn of_two_ends_of_one_attempt_the_one_that_tells_more_counts() {
        for (first, second) in [(timed_out(), made("in_1")), (made("in_1"), timed_out())] {
            let mut rig = Rig::approved(Class::Reversible, keyed());
            let epoch = rig.send("op");
            rig.end("op", epoch, first);
            rig.wait(1);
            rig.end("op", epoch, second);
            let judged = rig.outcome("op").attempts.remove(0).judgement;
            prove!("E16", judged.verdict, Verdict::Executed);
        }
        for (first, second) in [(timed_out(), refused(422)), (refused(422), timed_out())] {
            let mut rig = Rig::approved(Class::Reversible, keyed());
            let epoch = rig.send("op");
            rig.end("op", epoch, first);
            rig.wait(1);
            rig.end("op", epoch, second);
            let judged = rig.outcome("op").attempts.remove(0).judgement;
            prove!("E23", judged.verdict, Verdict::RefusedPermanent);
        }
    }

    fn f4_the_success_of_another_operation_of_the_intent_is_no_word_against_this_failure() {
        let mut rig = Rig::uncertain(Class::Reversible, Contract::default());
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        prove!("F12", rig.state("op"), "failed.attested");
        rig.wait(90_000);
        rig.agree("op", ActionInput::RerunNew {}).unwrap();
        let again = rig.newest();
        rig.press("ben", &again, ActionInput::Approve {}).unwrap();
        rig.send_and_end(&again, made("in_2"));
        prove!("F8", rig.state(&again), "succeeded");
        prove!("F4", rig.state("op"), "failed.attested");
    }

    fn t9_without_its_rule_only_a_claim_from_doubt_that_sent_nothing_counts() {
        let claimed = |send: bool| {
            let mut rig = ended_with(keyed(), timed_out());
            rig.wait(60);
            let epoch = rig.claim("op", "w").unwrap();
            if send {
                let permit = rig.permit("op", epoch).unwrap();
                rig.dispatch("op", permit, "w").unwrap();
            }
            rig.wait(60);
            rig.policy = Policy::FULL.without(SafetyRule::ReturnToClaimedFrom);
            rig.state("op")
        };
        prove_that!("T9", claimed(false) != "uncertain(timeout)", "{}", claimed(false));
        prove!("T9", claimed(true), "uncertain(crashed)");
        let mut rig = ended_with(keyed(), timed_out());
        rig.policy = Policy::FULL.without(SafetyRule::ReturnToClaimedFrom);
        prove!("T9", rig.state("op"), "uncertain(timeout)", "it was not claimed from doubt");
    }

    fn k5_an_owner_that_sent_at_the_same_moment_is_none() {
        let mismatch = crate::contract::Signal { error: Some("mismatch".into()), ..crate::contract::Signal::default() };
        let told = |seconds: u64| {
            let contract = Contract { mismatch_signals: Some(vec![mismatch.clone()]), ..keyed() };
            let mut rig = Rig::new(Class::Reversible, contract);
            for id in ["owner", "op"] {
                let head = Head { key: crate::name::OperationKey::parse(id).unwrap(), ..rig.head(id, Mode::Guarded, "x") };
                rig.propose_as(head, None);
                rig.press("ben", id, ActionInput::Approve {}).unwrap();
            }
            let owner = rig.send("owner");
            rig.now = rig.now.plus(std::time::Duration::from_secs(seconds));
            let epoch = rig.send("op");
            rig.end("owner", owner, made("in_1"));
            let key = rig.key_of("owner");
            let record = rig.records.get_mut(&operation("op")).unwrap();
            let facts: Vec<Fact> = record.facts.iter().cloned().map(|fact| match fact {
                Fact::Report(report) => Fact::Report(Report { dest_key: key.clone(), ..report }),
                other => other,
            }).collect();
            record.facts = facts.into();
            rig.end("op", epoch, End { error: Some("mismatch".into()), ..refused(422) });
            // The owner's later facts do not come before this send.
            let owner = rig.records.get_mut(&operation("owner")).unwrap();
            let dispatched: Vec<Fact> = owner.facts.iter().filter(|fact| {
                !matches!(fact, Fact::Report(Report { kind: ReportKind::Ended(_), .. }))
            }).cloned().collect();
            owner.facts = dispatched.into();
            closers(&rig)
        };
        prove!("K5", told(1), ["K5"]);
        prove!("K5", told(0), ["open"]);
    }

    fn k3_the_answer_to_an_adopted_operation_speaks_for_the_send_it_took_over() {
        let mut rig = observed(vec![started(), ReportKind::Ended(timed_out())]);
        let adopt = ActionInput::Adopt { statement: "its job is switched off".into() };
        rig.press("ana", "op", adopt).unwrap();
        let child = rig.newest();
        rig.press("ben", &child, ActionInput::Approve {}).unwrap();
        rig.send_and_end(&child, refused(422));
        prove!("K3", rig.state(&child), "failed.proven(permanent)");
    }

    fn what_is_ordinary_is_no_finding() {
        let codes = |rig: &Rig| rig.outcome("op").findings.into_iter().map(|found| found.code).collect::<Vec<_>>();
        let mut rig = ended_with(keyed(), timed_out());
        assert!(!codes(&rig).contains(&"volatile_fields_differ".to_owned()), "{:?}", codes(&rig));
        let told = |rig: &mut Rig, ahead: u64| {
            let at = rig.now.plus(std::time::Duration::from_secs(ahead));
            rig.tell("op", Fact::Commented { by: crate::rig::person("ana"), at, text: format!("{ahead}") });
        };
        told(&mut rig, 60);
        assert!(!codes(&rig).contains(&"future_time".to_owned()), "a minute is ordinary");
        told(&mut rig, 61);
        assert!(codes(&rig).contains(&"future_time".to_owned()));
    }
}

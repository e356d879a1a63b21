//! The traces of semantics 5.1: each broke an earlier edition of the rules, and each comes back when its guard is
//! switched off. The switched-off half is shown by the model.

use crate::action::{Action, ActionInput, Pick};
use crate::attempt::{AttemptRef, Phase, Report, ReportKind, ReportedOutcome};
use crate::contract::{Contract, LayerRetries, Stores};
use crate::decision::Verdict;
use crate::evidence::Claim;
use crate::lease::Scope;
use crate::name::{DestinationKey, SourceOperation};
use crate::operation::{Fact, Mode};
use crate::proof::{proofs, prove, prove_that};
use crate::rig::{Rig, cancel, ended, keyed, made, ours, person, receipt, refused, strong_look_up, timed_out, undo_by};
use crate::tool::Class;
use crate::transition::Command;

const SAME_KEY: ActionInput = ActionInput::RerunSameKey {};
const NEW: ActionInput = ActionInput::RerunNew {};

fn change() -> ActionInput {
    ActionInput::ChangeArguments { arguments: r#"{"amount":101}"#.into() }
}

proofs! {
    fn trace_a01_import_never_sends() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        let head = rig.head("op", Mode::Observed, "invoice:1:issue");
        rig.propose_as(head, None);
        rig.tell("op", Fact::AuthorizedElsewhere { at: rig.now, by: None, expires_at: None, args_hash: None });
        prove!("A01", rig.state("op"), "authorized");
        prove_that!("A01", rig.claim("op", "w").unwrap_err().to_string().contains("the operation is guarded"));
        prove!("I31", rig.record("op").claims().count(), 0);
        prove!("I31", rig.ruling_for("op", None).recommended, Action::Adopt);
    }

    fn trace_a02_refused_probe_closes_only_itself() {
        for status in [429, 401] {
            let mut rig = Rig::uncertain(Class::Reversible, keyed());
            rig.send_and_end("op", refused(status));
            prove!("A02", rig.state("op"), "uncertain(timeout)", "{status}");
            prove!("I32", rig.outcome("op").open.len(), 1);
            prove!("A02", rig.verdict("op", Action::RerunNew), Verdict::Forbidden);
        }
    }

    fn trace_a03_unstored_decline() {
        let contract = Contract { stores: Some(Stores::SuccessesOnly), ..keyed() };
        let mut rig = Rig::uncertain(Class::Read, contract);
        rig.send_and_end("op", refused(402));
        prove!("A03", rig.state("op"), "uncertain(timeout)");
        rig.receipt("op", "in_1");
        prove!("A03", (rig.state("op").as_str(), rig.outcome("op").effects.len()), ("succeeded", 1));
    }

    fn trace_a04_safety_rows_first() {
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        prove!("A04", rig.row("op"), "14");
        rig.scope = Some(Scope { region: Some("eu".into()), ..Scope::default() });
        rig.refold();
        prove!("A04", rig.row("op"), "14", "a scope that was not told with the send is no change");
        rig.wait(9 * 3600);
        prove!("A04", rig.row("op"), "7", "an approval that ran out comes before the key");
        prove!("A04", rig.verdict("op", Action::RerunSameKey), Verdict::Forbidden);
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        prove!("A04", rig.row("op"), "3");
        prove!("A04", rig.verdict("op", Action::RerunSameKey), Verdict::Forbidden);
    }

    fn trace_a05_scope_moved() {
        let region = |name: &str| Some(Scope { region: Some(name.into()), ..Scope::default() });
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.scope = region("one");
        rig.send_and_end("op", timed_out());
        prove!("A05", rig.row("op"), "14");
        rig.scope = region("two");
        prove!("A05", rig.row("op"), "30");
        prove!("A05", rig.verdict("op", Action::RerunSameKey), Verdict::Forbidden);
        prove_that!("I34", rig.claim("op", "w").unwrap_err().to_string().contains("scope"));
    }

    fn trace_a06_2xx_only_key() {
        let contract = Contract { stores: Some(Stores::SuccessesOnly), ..keyed() };
        let mut rig = Rig::approved(Class::Reversible, contract);
        rig.send_and_end("op", ended(ReportedOutcome::Error, Some(500)));
        prove!("A06", (rig.state("op").as_str(), rig.row("op").as_str()), ("uncertain(server_error)", "20"));
        prove!("A06", rig.verdict("op", Action::RerunSameKey), Verdict::Forbidden);
        prove_that!("A06", rig.claim("op", "w").is_err());
    }

    fn trace_a07_claim_from_uncertain_dies() {
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        rig.wait(5);
        rig.claim("op", "w").unwrap();
        prove!("A07", rig.state("op"), "claimed");
        rig.wait(60);
        prove!("A07", rig.state("op"), "uncertain(timeout)");
        prove!("I11", rig.outcome("op").open.len(), 1);
        let (changing, new) = (rig.verdict("op", Action::ChangeArguments), rig.verdict("op", Action::RerunNew));
        prove!("A07", (changing, new), (Verdict::Forbidden, Verdict::Forbidden));
    }

    fn trace_a08_one_cent_change() {
        let mut rig = Rig::uncertain(Class::Irreversible, Contract::default());
        prove!("A08", rig.row("op"), "21");
        prove!("A08", rig.verdict("op", Action::ChangeArguments), Verdict::Forbidden);
        prove_that!("A08", rig.press("ana", "op", change()).is_err());
        rig.propose("other", "invoice:1b:issue");
        rig.tell("other", Fact::SameIntentAsked { other: rig.record("op").head.id.clone(), at: rig.now });
        prove!("A08", rig.verdict("other", Action::Approve), Verdict::Forbidden);
        let answer = ActionInput::DismissFinding { code: "same_intent_question".into() };
        rig.press("ana", "other", answer).unwrap();
        prove!("A08", rig.verdict("other", Action::Approve), Verdict::Confirm);
    }

    fn trace_a09_absence_read_late() {
        let contract = Contract { lookup: strong_look_up(), stores: None, ..keyed() };
        let mut rig = Rig::uncertain(Class::Reversible, contract);
        let sent_at = rig.now;
        rig.wait(3600);
        rig.evidence_sent("op", Claim::Absent, Some(sent_at));
        prove!("A09", rig.state("op"), "uncertain(timeout)");
        prove!("A09", rig.row("op"), "16");
        rig.wait(1);
        rig.evidence("op", Claim::Absent);
        prove!("A09", rig.state("op"), "retry_wait");
    }

    fn trace_a10_frozen_sender() {
        let contract = Contract { lookup: strong_look_up(), stores: None, ..keyed() };
        let mut rig = Rig::approved(Class::Reversible, contract);
        rig.send("op");
        rig.wait(3600);
        prove!("A10", rig.state("op"), "uncertain(crashed)");
        rig.evidence("op", Claim::Absent);
        prove!("A10", (rig.state("op").as_str(), rig.row("op").as_str()), ("uncertain(crashed)", "17"));
        rig.gone("op", "w-1");
        prove!("A10", rig.state("op"), "retry_wait", "the look-up was sent after settle, and its sender is dead");
    }

    fn trace_a11_pick_is_not_proof() {
        let mut rig = Rig::uncertain(Class::Reversible, Contract { compensation: undo_by("invoice.void"), ..keyed() });
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        rig.agree("op", ActionInput::Waive { receipt: Some(receipt("in_2")) }).unwrap();
        rig.agree("op", ActionInput::PickVerdict { pick: Pick::Failed, receipt: None }).unwrap();
        prove!("A11", rig.state("op"), "failed.attested");
        let agent = crate::permission::Actor { role: crate::permission::Role::Automation, ..person("agent") };
        prove_that!("I15", rig.press_as(agent, "op", NEW).is_err());
    }

    fn trace_a12_noop_cancel_then_create_lands() {
        let contract = Contract { cancel_by_key: cancel(true, false), stores: None, ..keyed() };
        let mut rig = Rig::uncertain(Class::Reversible, contract);
        prove!("A12", rig.verdict("op", Action::Compensate), Verdict::Confirm);
        rig.evidence("op", Claim::CancelledByKey { found: false });
        prove!("A12", rig.state("op"), "uncertain(timeout)", "before settle a cancel of nothing proves nothing");
        let (failing, new) = (rig.verdict("op", Action::MarkFailed), rig.verdict("op", Action::RerunNew));
        prove!("I5", (failing, new), (Verdict::Forbidden, Verdict::Forbidden));
        rig.wait(200);
        rig.evidence("op", Claim::CancelledByKey { found: false });
        prove!("A12", rig.state("op"), "uncertain(timeout)", "one check after settle is one too few");
        rig.wait(60);
        rig.evidence("op", Claim::CancelledByKey { found: false });
        prove!("A12", rig.state("op"), "retry_wait");
    }

    fn trace_a13_undeclared_409() {
        for (status, doubt) in [(409, "uncertain(undeclared_status)"), (404, "uncertain(undeclared_status)")] {
            let contract = Contract { intermediaries: Some(true), ..keyed() };
            let mut rig = Rig::approved(Class::Irreversible, contract);
            rig.send_and_end("op", refused(status));
            prove!("A13", rig.state("op"), doubt, "{status}");
        }
    }

    fn trace_a14_external_not_sent() {
        let connect = crate::attempt::End { phase: Some(Phase::Connect), ..ended(ReportedOutcome::ConnLost, None) };
        for (retries, state) in [(None, "uncertain(reset)"), (Some(LayerRetries::Off), "retry_wait")] {
            let mut rig = Rig::approved(Class::Reversible, Contract { layer_retries: retries, ..keyed() });
            rig.send_and_end("op", connect.clone());
            prove!("A14", rig.state("op"), state);
        }
    }

    fn trace_a15_contract_shortened() {
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        rig.wait(5);
        let epoch = rig.claim("op", "w").unwrap();
        let issued = rig.permit("op", epoch).unwrap();
        rig.tool.contract.key_retention_s = Some(60);
        rig.tool.version += 1;
        prove!("A15", rig.outcome("op").key_protects, false);
        prove_that!("A15", rig.permit("op", epoch).is_err());
        prove_that!("I35", rig.dispatch("op", issued, "w").is_err());
        // The other way round the older, stricter promise still rules.
        rig.earlier_contracts = vec![rig.tool.contract.clone()];
        rig.tool.contract.key_retention_s = Some(86_400);
        prove!("A15", rig.outcome("op").key_protects, false);
    }

    fn trace_a16_restore_forgets_sends() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.propose("idle", "invoice:2:issue");
        let key = rig.key_of("op");
        let epoch = rig.claim("op", "w").unwrap();
        let permit = rig.permit("op", epoch).unwrap();
        rig.restore_pending = true;
        let backup_at = rig.now;
        rig.wait(30);
        for id in ["op", "idle"] {
            rig.command(id, &Command::Restore { backup_at }).unwrap();
            prove!("A16", rig.state(id), "uncertain(restored)");
        }
        prove_that!("A16", rig.dispatch("op", permit, "w").is_err(), "the old permit is dead");
        prove_that!("A16", rig.record("op").epoch() > 1_000_000, "no epoch that was given and forgotten is given again");
        prove_that!("A16", rig.claim("op", "w").unwrap_err().to_string().contains("acknowledged"));
        prove!("A16", rig.verdict("op", Action::RerunSameKey), Verdict::Forbidden);
        rig.restore_pending = false;
        prove!("A16", rig.key_of("op"), key, "a forgotten send and its repeat carry the same key");
        rig.send_and_end("op", made("in_1"));
        prove!("A16", rig.state("op"), "succeeded");
    }

    fn trace_b23_edit_before_dispatch() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        let epoch = rig.claim("op", "w").unwrap();
        let old = rig.permit("op", epoch).unwrap();
        rig.command("op", &Command::Release { epoch, reason: "not needed".into() }).unwrap();
        rig.press("ana", "op", change()).unwrap();
        prove!("B23", (rig.state("op").as_str(), rig.record("op").args_version()), ("proposed", 2));
        prove_that!("B23", rig.dispatch("op", old, "w").is_err());
        prove_that!("B23", rig.claim("op", "w").is_err(), "version 1's approval does not cover version 2");
        rig.press("ben", "op", ActionInput::Approve {}).unwrap();
        prove!("B23", rig.state("op"), "authorized");
    }

    fn trace_b30_contradiction_settles() {
        let mut rig = Rig::uncertain(Class::Reversible, keyed());
        rig.receipt("op", "in_1");
        rig.receipt("op", "in_2");
        prove!("B30", rig.state("op"), "contradicted(duplicate)");
        rig.agree("op", ActionInput::Waive { receipt: Some(receipt("in_2")) }).unwrap();
        let pick = ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: Some(receipt("in_1")) };
        rig.agree("op", pick).unwrap();
        prove!("B30", rig.state("op"), "succeeded");
        rig.wait(5);
        rig.receipt("op", "in_2");
        prove!("I39", rig.state("op"), "succeeded", "a redelivery is nothing new");
        rig.receipt("op", "in_3");
        prove!("B30", rig.state("op"), "contradicted(duplicate)");
    }

    fn trace_b33_double_hidden_by_new_key() {
        let contract = Contract { lookup: None, stores: None, ..keyed() };
        let mut rig = Rig::uncertain(Class::Reversible, contract);
        rig.wait(25 * 3600);
        rig.press("ben", "op", ActionInput::Renew {}).unwrap();
        prove!("B33", rig.row("op"), "20a");
        rig.agree("op", NEW).unwrap();
        let new = rig.records.keys().find(|id| id.as_str() != "op").unwrap().to_string();
        prove!("B33", (rig.state("op").as_str(), rig.state(&new).as_str()), ("uncertain(timeout)", "proposed"));
        prove!("B33", rig.outcome(&new).open.len(), 0, "the risk names the run");
        rig.press("ben", &new, ActionInput::Approve {}).unwrap();
        rig.send_and_end(&new, made("in_2"));
        prove!("B33", rig.state(&new), "succeeded");
        rig.receipt("op", "in_1");
        prove!("B33", rig.state("op"), "contradicted(duplicate)");
        prove!("I1", rig.state(&new), "contradicted(duplicate)");
    }

    fn keys_of_two_intents_differ_and_one_intent_keeps_its_own() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.propose("other", "invoice:2:issue");
        prove_that!("I8", rig.key_of("op") != rig.key_of("other"));
        prove!("I7", rig.key_of("op"), rig.key_of("op"));
        prove_that!("I8", rig.key_of("op").is_some_and(|key| key.as_str().len() <= 36));
    }

    fn a_late_result_of_an_older_lease_is_evidence_of_its_own_send() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        let first = rig.send("op");
        rig.wait(60);
        prove!("T16", rig.state("op"), "uncertain(crashed)");
        let second = rig.claim("op", "w2").unwrap();
        rig.end("op", first, refused(429));
        prove!("I10", rig.state("op"), "claimed", "a stale epoch takes no lease away");
        rig.wait(5);
        let permit = rig.permit("op", second).unwrap();
        rig.dispatch("op", permit, "w2").unwrap();
        rig.end("op", second, made("in_1"));
        prove!("E18", rig.state("op"), "succeeded");
    }

    fn an_observed_claim_is_a_possible_send_and_a_guarded_one_is_not() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        rig.claim("op", "w").unwrap();
        prove!("E1", rig.outcome("op").attempts.len(), 0);
        rig.wait(60);
        prove!("E1", rig.state("op"), "authorized");
        let head = rig.head("seen", Mode::Observed, "invoice:3:issue");
        rig.propose_as(head, None);
        let report = Report {
            attempt: AttemptRef::new(SourceOperation::parse("seen").unwrap(), Some("c1".into()), None),
            at: rig.now,
            provider_time: None,
            source: ours(),
            number: None,
            owner: None,
            worker: None,
            dest_key: DestinationKey::parse("k").ok(),
            budget: None,
            kind: ReportKind::Claimed { lease_s: Some(30) },
        };
        rig.tell("seen", Fact::Report(report));
        prove!("F15", rig.state("seen"), "executing");
        rig.wait(31);
        prove!("F14", rig.state("seen"), "uncertain(lost)");
    }

    fn a_probe_that_the_key_refuses_is_told_why() {
        let mut rig = Rig::uncertain(Class::Irreversible, keyed());
        prove!("T17", rig.verdict("op", Action::RerunSameKey), Verdict::Confirm);
        prove_that!("T17", rig.claim("op", "w").unwrap_err().to_string().contains("a person ordered the repeat"));
        rig.press("ana", "op", SAME_KEY).unwrap();
        rig.send_and_end("op", made("in_1"));
        prove!("T17", rig.state("op"), "succeeded");
    }
}

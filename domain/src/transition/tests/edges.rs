//! What an act makes, field by field: a member that is left out must not pass unseen.

use crate::action::{Action, ActionInput, Pick};
use crate::attempt::End;
use crate::contract::{Contract, Signal};
use crate::decision::Verdict;
use crate::fingerprint::Json;
use crate::guard::Guard;
use crate::name::ToolName;
use crate::operation::{Fact, Impact, Mode, Proposal, Record};
use crate::policy::{Policy, SafetyRule};
use crate::proof::{proofs, prove, prove_that};
use crate::refusal::Refusal;
use crate::rig::{Rig, failed_guards, keyed, made, operation, receipt, refused, undo_by};
use crate::tool::{Class, Stake};

fn proposal(record: &Record) -> &Proposal {
    record.proposals().next().unwrap()
}

fn succeeded(class: Class, contract: Contract) -> Rig {
    let mut rig = Rig::approved(class, contract);
    rig.send_and_end("op", made("in_1"));
    rig
}

proofs! {
    fn t30_an_undo_is_an_operation_of_its_own_with_its_own_arguments() {
        let mut rig = succeeded(Class::Reversible, Contract { compensation: undo_by("invoice.void"), ..keyed() });
        // Told with the proposal; an undo has what the undone one has at stake, and nobody else's contract.
        let impact = Impact { amount_minor: Some(100), currency: Some("eur".into()), people: None };
        let facts: Vec<Fact> = rig.record("op").facts.iter().cloned().map(|fact| match fact {
            Fact::Proposed(told) => Fact::Proposed(Proposal {
                impact: Some(impact.clone()),
                contract: Some(Box::new(Contract { compensation: undo_by("invoice.void"), ..keyed() })),
                ..told
            }),
            other => other,
        }).collect();
        rig.records.get_mut(&operation("op")).unwrap().facts = facts.into();
        // The only effect may be named.
        let decision = rig.agree("op", ActionInput::Compensate { receipt: Some(receipt("in_1")) }).unwrap();
        let child = decision.creates.unwrap();
        let id = child.head.id.clone();
        prove!("T30", rig.newest(), id.to_string());
        prove!("T30", child.head.intent_id.as_str(), id.as_str());
        prove!("T30", child.head.compensates.as_ref(), Some(&operation("op")));
        prove!("T30", child.head.tool.as_ref(), ToolName::parse("invoice.void").ok().as_ref());
        prove!("T30", (child.head.mode, child.head.adopts.clone()), (Mode::Guarded, None));
        let told = proposal(&child);
        let arguments = Json::parse(br#"{"receipt":"in_1","undoes":"invoice:1:issue"}"#).unwrap();
        prove!("T30", told.arguments.as_ref().map(|known| known.args_hash), Some(arguments.hash()));
        prove!("T30", told.impact.as_ref(), Some(&impact));
        prove!("T30", &told.contract, &None);
        let kept = decision.arguments.unwrap();
        prove!("T30", (kept.operation, kept.args_version), (id, 1));
        prove!("T30", Json::parse(&kept.bytes).unwrap().hash(), arguments.hash());
    }

    fn t36_changed_arguments_bring_their_own_hashes_and_stake() {
        let contract = Contract {
            volatile_fields: Some(vec!["note".into()]),
            intent_fields: Some(vec!["order".into()]),
            ..keyed()
        };
        let mut rig = Rig::new(Class::Reversible, contract);
        rig.tool.stake = Stake { amount_minor: Some("amount".into()), ..Stake::default() };
        rig.propose("op", "invoice:1:issue");
        let text = r#"{"amount":101,"note":"x","order":7}"#;
        rig.press("ana", "op", ActionInput::ChangeArguments { arguments: text.into() }).unwrap();
        let json = Json::parse(text.as_bytes()).unwrap();
        let record = rig.record("op");
        let known = record.arguments().unwrap();
        prove!("T36", known.args_hash, json.hash());
        prove!("T36", known.identity_hash, Json::parse(br#"{"amount":101,"order":7}"#).unwrap().hash());
        prove!("T36", known.intent_hash, json.hash_of_members(&["order".to_owned()]));
        prove_that!("T36", known.intent_hash.is_some());
        prove!("T36", record.impact().and_then(|impact| impact.amount_minor), Some(101));
        prove!("T36", record.args_version(), 2);
    }

    fn f12_a_resolution_names_the_version_that_it_makes() {
        let mut rig = Rig::uncertain(Class::Reversible, Contract::default());
        rig.agree("op", ActionInput::MarkFailed {}).unwrap();
        let record = rig.record("op");
        prove!("F12", record.resolution().unwrap().version, record.version);
    }

    fn a_finding_is_put_away_only_if_it_is_there_and_nothing_stands_on_it() {
        let mut rig = succeeded(Class::Reversible, keyed());
        let problem = |refusal: Refusal| match refusal {
            Refusal::BadField { field, problem } => format!("{field}: {problem}"),
            other => panic!("{other}"),
        };
        let dismiss = |code: &str| ActionInput::DismissFinding { code: code.into() };
        let refusal = rig.press("ana", "op", dismiss("nonsense")).unwrap_err();
        assert_eq!(problem(refusal), "code: there is no such finding on this operation");
        rig.receipt("op", "in_2");
        assert!(rig.state("op").starts_with("contradicted"), "{}", rig.state("op"));
        let refusal = rig.press("ana", "op", dismiss("effects_exceed_intent")).unwrap_err();
        assert!(problem(refusal).contains("stands on this finding"));
    }

    fn row_3_of_two_effects_the_intended_one_is_not_undone() {
        let mut rig = succeeded(Class::Reversible, Contract { compensation: undo_by("invoice.void"), ..keyed() });
        rig.wait(5);
        rig.receipt("op", "in_2");
        let pick = ActionInput::PickVerdict { pick: Pick::Failed, receipt: None };
        prove_that!("T27", rig.agree("op", pick.clone()).is_err(), "neither undone nor waived");
        let intended = rig.agree("op", ActionInput::Compensate { receipt: Some(receipt("in_1")) }).unwrap_err();
        prove_that!("row 3", intended.to_string().contains("is the effect that was intended"), "{intended}");
        let surplus = rig.agree("op", ActionInput::Compensate { receipt: Some(receipt("in_2")) });
        prove_that!("row 3", surplus.is_ok(), "{surplus:?}");
        prove_that!("T27", rig.agree("op", pick).is_ok(), "an undo of the surplus one exists");
    }

    fn i5_without_its_rule_an_undo_is_let_through_beside_what_is_open_and_nowhere_else() {
        let contract = Contract { compensation: undo_by("invoice.void"), ..keyed() };
        let mut rig = Rig::uncertain(Class::Reversible, contract.clone());
        prove!("I5", rig.verdict("op", Action::Compensate), Verdict::Forbidden);
        rig.policy = Policy::FULL.without(SafetyRule::UndoWaitsResolution);
        prove!("I5", rig.verdict("op", Action::Compensate), Verdict::Safe);
        prove_that!("I5", rig.verdict("op", Action::RerunNew) != Verdict::Safe);
        let mut failed = Rig::approved(Class::Reversible, contract);
        failed.send_and_end("op", refused(422));
        failed.policy = Policy::FULL.without(SafetyRule::UndoWaitsResolution);
        prove!("I5", failed.verdict("op", Action::Compensate), Verdict::Forbidden);
    }

    fn t41_an_approval_taken_back_is_a_proposal_again() {
        let mut rig = Rig::approved(Class::Reversible, keyed());
        let decision = rig.press("ben", "op", ActionInput::Revoke {}).unwrap();
        prove!("T41", rig.state("op"), "proposed");
        prove_that!("T41", decision.rules.iter().any(|rule| rule == "T41"), "{:?}", decision.rules);
        prove_that!("T34", decision.rules.iter().any(|rule| rule == "T34"), "{:?}", decision.rules);
    }

    fn t17_a_mismatch_is_no_doubt_that_a_repeat_settles_but_of_a_read() {
        let mismatch = || End { error: Some("mismatch".into()), ..refused(422) };
        let claimed = |class: Class| {
            let signal = Signal { error: Some("mismatch".into()), ..Signal::default() };
            let contract = Contract { mismatch_signals: Some(vec![signal]), sole_writer: Some(true), ..keyed() };
            let mut rig = Rig::approved(class, contract);
            rig.send_and_end("op", mismatch());
            rig.wait(60);
            let due = rig.record("op").row.as_ref().unwrap().claim_at.is_some();
            (rig.claim("op", "w").map_err(failed_guards), due)
        };
        prove!("T17", claimed(Class::Read), (Ok(2), true));
        let (refusal, due) = claimed(Class::Idempotent);
        prove_that!("T17", refusal.unwrap_err().contains(&Guard::DoubtAdmitsRepeat));
        prove!("T17", due, false);
    }

    fn i31_without_its_rule_history_counts_as_an_approval_and_only_there() {
        let mut rig = Rig::new(Class::Reversible, keyed());
        let head = rig.head("op", Mode::Observed, "invoice:1:issue");
        rig.propose_as(head, None);
        let approved = Fact::AuthorizedElsewhere { at: rig.now, by: None, expires_at: None, args_hash: None };
        rig.tell("op", approved);
        prove!("I31", rig.state("op"), "authorized");
        prove_that!("I31", rig.claim("op", "w").is_err());
        rig.policy = Policy::FULL.without(SafetyRule::ObservedNeverDispatched);
        prove!("I31", rig.claim("op", "w").map_err(failed_guards), Ok(1));
        let mut proposed = Rig::new(Class::Reversible, keyed());
        proposed.propose("op", "invoice:1:issue");
        proposed.policy = Policy::FULL.without(SafetyRule::ObservedNeverDispatched);
        let refused = proposed.claim("op", "w").map_err(failed_guards).unwrap_err();
        prove_that!("I31", refused.contains(&Guard::ApprovalLive), "{refused:?}");
    }

    fn t21_a_reference_of_blanks_is_none() {
        let cited = |reference: &str| {
            let mut rig = Rig::uncertain(Class::Reversible, keyed());
            let input = ActionInput::MarkSucceeded { receipt: None, reference: Some(reference.into()) };
            rig.agree("op", input).unwrap();
            rig.record("op").resolution().unwrap().reference.clone()
        };
        prove!("T21", cited(" ticket 7 "), Some("ticket 7".to_owned()));
        prove!("T21", cited("  "), None);
    }
}

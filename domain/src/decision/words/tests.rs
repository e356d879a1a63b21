use super::*;
use crate::action::ActionInput;
use crate::contract::Contract;
use crate::decision::evaluate;
use crate::decision::tests::{guarded, observed, uncertain};
use crate::operation::{Doubt, Failure, Mode, SuccessBasis};
use crate::rig::{Rig, keyed, made, receipt, refused, strong_look_up, timed_out, undo_by};
use crate::tool::Class;

/// What is said of an action in a situation whose key, if it matters, does not protect because it is too old.
fn says(situation: &Situation, action: Action) -> String {
    let mut outcome = Rig::uncertain(Class::Reversible, Contract::default()).outcome("op");
    outcome.key_protects_not = Some("the key is too old".into());
    let ruling = evaluate(situation);
    reason(ruling.on(action).unwrap(), situation, &outcome, "Because of the row.")
}

#[test]
fn each_verdict_has_its_reason() {
    let v = Class::Reversible;
    let open = Situation { any_open: true, key_protects: true, ..uncertain(v) };
    let unprotected = Situation { key_protects: false, look_up: LookUpKind::Weak, ..open.clone() };
    let failed = guarded(State::Failed(Failure::Permanent), v);
    let succeeded = Situation { success_evidence: true, ..guarded(State::Succeeded(SuccessBasis::Receipt), v) };
    let undoable = Situation { compensation_declared: true, ..succeeded.clone() };
    let theirs = observed(State::Uncertain(Doubt::Timeout));
    let proposed = guarded(State::Proposed, v);
    let by_a_program = Situation { automation: true, ..uncertain(v) };
    for (situation, action, expected) in [
        (&by_a_program, Action::MarkSucceeded, "Asks for a person; a program may not do it."),
        (&open, Action::LookUp, "A read: it changes nothing and may settle the question."),
        (
            &open,
            Action::RerunSameKey,
            "May execute now: the key returns the first result if there is one, and executes otherwise.",
        ),
        (
            &guarded(crate::rig::retry_wait(), v),
            Action::RerunSameKey,
            "Sends again under the same key; nothing is open.",
        ),
        (&unprotected, Action::RerunSameKey, "The key does not protect a repeat: the key is too old."),
        (&failed, Action::RerunSameKey, "Because of the row."),
        (&unprotected, Action::RerunNew, "An accepted risk: the first send may still have happened."),
        (&failed, Action::RerunNew, "A new operation under a new key, with its own approval."),
        (&open, Action::RerunNew, "The first send may have happened; a new key would do it again."),
        (&succeeded, Action::RerunNew, "Because of the row."),
        (&theirs, Action::RerunSameKey, "Observed: Tallystick never sends it. Adopt it first."),
        (&theirs, Action::RerunNew, "Observed: Tallystick never sends it. Adopt it first."),
        (
            &Situation { newer_guarded: true, ..open.clone() },
            Action::RerunSameKey,
            "Another operation of the same intent is newer or has succeeded; act on that one.",
        ),
        (
            &open,
            Action::MarkSucceeded,
            "With the receipt, from the destination’s own pages. Your word stands for proof.",
        ),
        (
            &Situation { class: Class::Irreversible, ..open.clone() },
            Action::MarkSucceeded,
            "With the receipt, from the destination’s own pages. Your word, and a second person’s, stands for proof.",
        ),
        (&succeeded, Action::MarkSucceeded, "It has succeeded already."),
        (&succeeded, Action::MarkFailed, "It has succeeded, by evidence."),
        (&failed, Action::MarkFailed, "Because of the row."),
        (
            &Situation { compensation_declared: false, ..succeeded.clone() },
            Action::Compensate,
            "No way to undo it is declared.",
        ),
        (&undoable, Action::Compensate, "A new guarded operation that undoes exactly one effect."),
        (
            &Situation { cancel_by_key: crate::rig::cancel(false, true), ..uncertain(v) },
            Action::Compensate,
            "Cancels by key, whether or not the first send arrived.",
        ),
        (&Situation { compensation_declared: true, ..uncertain(v) }, Action::Compensate, "Nothing known to undo yet."),
        (
            &Situation { compensation_declared: true, success_evidence: true, ..uncertain(v) },
            Action::Compensate,
            "Because of the row.",
        ),
        (
            &Situation { actor_proposed: true, ..proposed.clone() },
            Action::Approve,
            "You proposed it; somebody else approves.",
        ),
        (&proposed, Action::Approve, "Authorises one effect with exactly these arguments."),
        (&observed(State::Proposed), Action::Approve, "Observed: approvals were given elsewhere; these are history."),
        (
            &Situation { question_open: true, ..proposed.clone() },
            Action::Approve,
            "First somebody answers whether it is the same intent as another operation.",
        ),
        (&theirs, Action::ChangeArguments, "Observed: adopt it first."),
        (&succeeded, Action::ChangeArguments, "Because of the row."),
        (&theirs, Action::Cancel, "Observed: the other system decides; adopt it first."),
        (&open, Action::Cancel, "Only what has nothing open and is not done can be stopped."),
        (&proposed, Action::Cancel, "Stops it; nothing is open."),
        (&failed, Action::GrantAttempts, "Attempts and time are not used up."),
        (&Situation { approval_live: false, ..proposed.clone() }, Action::Revoke, "There is no live approval of ours."),
        (
            &Situation { approval_live: true, ..proposed.clone() },
            Action::Revoke,
            "Takes the approval back; what is open stays open.",
        ),
        (&open, Action::PickVerdict, "Nothing is contradicted."),
        (&open, Action::Waive, "There is no surplus effect and no stuck compensation."),
        (&theirs, Action::Adopt, "Makes a guarded operation of the same intent; the other system must send no more."),
        (&open, Action::Adopt, "It is guarded already."),
        (
            &Situation { guarded_at_work: true, ..theirs.clone() },
            Action::Adopt,
            "A guarded operation of this intent is at work; act on that one.",
        ),
        (&Situation { success_evidence: true, ..theirs.clone() }, Action::Adopt, "The intent has its effect already."),
        (&Situation { success_elsewhere: true, ..theirs.clone() }, Action::Adopt, "The intent has its effect already."),
        (&observed(State::Executing), Action::Adopt, "It is still running at the other system."),
        (
            &Situation { executable: false, ..theirs.clone() },
            Action::Adopt,
            "Its tool is not declared executable, so nothing could be sent.",
        ),
        (&observed(State::Superseded), Action::Adopt, "Its state does not allow it."),
    ] {
        assert_eq!(says(situation, action), expected, "{action} of {} ({})", situation.state, situation.mode.name());
    }
}

#[test]
fn the_sends_are_told_with_their_age_and_what_is_open() {
    let known = |rig: &Rig| rig.ruling_for("op", None).known.join(" ");
    let mut rig = Rig::uncertain(Class::Reversible, keyed());
    rig.wait(58);
    assert!(known(&rig).starts_with("Sent once, 1 min ago: "), "{}", known(&rig));
    rig.send_and_end("op", refused(429));
    rig.wait(60);
    let text = known(&rig);
    assert!(text.starts_with("Sent 2 times, first 2 min ago. Attempt 2, 1 min ago: "), "{text}");
    assert!(text.contains("1 of them may still have happened."), "{text}");
    let mut both = Rig::uncertain(Class::Reversible, keyed());
    both.send_and_end("op", timed_out());
    assert!(known(&both).contains("All of them may still have happened."), "{}", known(&both));
    let mut none = Rig::approved(Class::Reversible, keyed());
    assert_eq!(known(&none), "Nothing was sent, as far as the records go.");
    none.send_and_end("op", refused(429));
    none.send_and_end("op", refused(429));
    assert!(!known(&none).contains("may still have happened"), "{}", known(&none));
}

#[test]
fn effects_and_statements_are_told() {
    let known = |rig: &Rig| rig.ruling_for("op", None).known.join(" ");
    let mut rig = Rig::approved(Class::Reversible, Contract { compensation: undo_by("void"), ..keyed() });
    rig.send_and_end("op", made("in_1"));
    assert!(known(&rig).contains("The destination shows one effect: in_1."), "{}", known(&rig));
    rig.wait(1);
    rig.receipt("op", "in_2");
    assert!(known(&rig).contains("The destination shows 2 effects: in_1, in_2. One was intended."), "{}", known(&rig));
    let mut said = Rig::uncertain(Class::Reversible, Contract { lookup: strong_look_up(), ..keyed() });
    let mark = ActionInput::MarkSucceeded { receipt: Some(receipt("in_1")), reference: None };
    said.press("ana", "op", mark).unwrap();
    said.wait(120);
    assert!(
        known(&said).contains("ana said “succeeded” 2 min ago: seen in the destination's pages"),
        "{}",
        known(&said)
    );
    assert!(!known(&said).contains("disagrees"), "{}", known(&said));
    said.wait(600);
    said.evidence("op", Claim::Absent);
    assert!(known(&said).contains("Evidence that came later disagrees with that statement."), "{}", known(&said));
}

#[test]
fn grounds_name_what_is_surplus() {
    let mut rig = Rig::uncertain(Class::Reversible, keyed());
    rig.receipt("op", "in_1");
    rig.wait(1);
    rig.receipt("op", "in_2");
    let facts: Vec<String> = rig.ruling_for("op", None).facts.into_iter().map(|fact| fact.text).collect();
    assert!(
        facts.contains(&"Receipt in_1".to_owned()) && facts.contains(&"Receipt in_2 (surplus)".to_owned()),
        "{facts:?}"
    );
    assert_eq!(rig.record("op").head.mode, Mode::Guarded);
}

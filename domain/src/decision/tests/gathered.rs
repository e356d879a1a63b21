//! What the table looks at, gathered from records; and what the ruling says of them.

use super::*;
use crate::action::ActionInput;
use crate::contract::{AsyncAccept, Contract};
use crate::evidence::Claim;
use crate::operation::Record;
use crate::outcome::Surroundings;
use crate::permission::{Actor, Role};
use crate::rig::{Rig, keyed, person, refused, strong_look_up, timed_out};
use crate::time::Timestamp;

fn situation(rig: &Rig) -> Situation {
    situation_for(rig, None)
}

fn situation_for(rig: &Rig, actor: Option<&Actor>) -> Situation {
    let record = rig.record("op");
    Situation::of(record, &rig.around(record), &rig.outcome("op"), actor, rig.now)
}

fn with_tool(rig: &Rig, change: impl Fn(&mut crate::tool::Tool)) -> Situation {
    let record: &Record = rig.record("op");
    let mut around: Surroundings = rig.around(record);
    change(&mut around.tool);
    Situation::of(record, &around, &rig.outcome("op"), None, rig.now)
}

#[test]
fn a_repeat_is_permitted_until_the_key_or_the_approval_ends() {
    let until = |rig: &Rig| rig.ruling_for("op", None).on(Action::RerunSameKey).unwrap().expires_at;
    let mut rig = Rig::uncertain(Class::Reversible, keyed());
    let approval_ends = rig.record("op").approvals().next().map(|approval| approval.expires_at);
    assert_eq!(until(&rig), approval_ends, "the approval ends before the key");
    rig.wait(20 * 3600);
    assert_eq!(until(&rig), None, "forbidden: nothing is permitted until then");
    rig.press("ben", "op", ActionInput::Renew {}).unwrap();
    assert_eq!(until(&rig), rig.outcome("op").key_protects_until, "now the key ends first");
    assert!(until(&rig).is_some_and(|at: Timestamp| at > rig.now));
    let on = |action| rig.ruling_for("op", None).on(action).unwrap().expires_at;
    assert_eq!((on(Action::LookUp), on(Action::MarkSucceeded)), (None, None));
    let mut closed = Rig::approved(Class::Reversible, keyed());
    closed.send_and_end("op", refused(429));
    assert_eq!(until(&closed), None, "with nothing open no key matters");
}

#[test]
fn the_last_answer_is_fresh_until_settle() {
    let mut rig = Rig::uncertain(Class::Reversible, keyed());
    let settle = rig.outcome("op").contract.settle().as_secs();
    assert!(situation(&rig).is_fresh);
    rig.wait(settle - 1);
    assert!(situation(&rig).is_fresh);
    rig.wait(1);
    assert!(!situation(&rig).is_fresh);
}

#[test]
fn watching_is_over_at_its_end() {
    let mut rig = Rig::uncertain(Class::Reversible, keyed());
    let watch = rig.outcome("op").contract.watch().as_secs();
    rig.wait(watch - 1);
    assert_eq!((situation(&rig).watch_over, situation(&rig).acceptance_over), (false, false));
    rig.wait(1);
    assert_eq!((situation(&rig).watch_over, situation(&rig).acceptance_over), (true, true));
}

#[test]
fn only_a_declared_tool_with_a_destination_is_executable() {
    let rig = Rig::uncertain(Class::Reversible, keyed());
    assert!(situation(&rig).executable);
    assert!(!with_tool(&rig, |tool| tool.declared = false).executable);
    assert!(!with_tool(&rig, |tool| tool.executable = false).executable);
    assert!(!with_tool(&rig, |tool| tool.destination = None).executable);
}

#[test]
fn the_override_of_a_lone_person_asks_for_the_setting_and_the_role() {
    let mut rig = Rig::uncertain(Class::Reversible, keyed());
    let administrator = Actor { role: Role::Administrator, ..person("ana") };
    assert!(!situation_for(&rig, Some(&administrator)).lone_override);
    rig.lone_override = true;
    assert!(situation_for(&rig, Some(&administrator)).lone_override);
    assert!(!situation_for(&rig, Some(&person("ana"))).lone_override);
    assert!(!situation(&rig).lone_override);
}

#[test]
fn a_look_up_is_strong_for_our_own_sends_only() {
    let strong = Contract { lookup: strong_look_up(), ..keyed() };
    let unbounded = Contract { max_arrival_delay_s: None, ..strong.clone() };
    assert_eq!(situation(&Rig::uncertain(Class::Reversible, strong.clone())).look_up, LookUpKind::Strong);
    assert_eq!(
        situation(&Rig::uncertain(Class::Reversible, unbounded)).look_up,
        LookUpKind::Strong,
        "our own sends have our own bound"
    );
    let partial = Contract {
        lookup: strong.lookup.map(|declared| crate::contract::LookUp { complete: false, ..declared }),
        ..strong.clone()
    };
    assert_eq!(situation(&Rig::uncertain(Class::Reversible, partial)).look_up, LookUpKind::Weak);
    assert_eq!(situation(&Rig::uncertain(Class::Reversible, keyed())).look_up, LookUpKind::None);
    let mut silent = Rig::uncertain(Class::Reversible, strong);
    silent.evidence("op", Claim::Unavailable);
    silent.wait(24 * 3600);
    assert_eq!(situation(&silent).look_up, LookUpKind::Strong, "for as long as the watch lasts");
    silent.wait(1);
    assert_eq!(situation(&silent).look_up, LookUpKind::None);
    silent.evidence("op", Claim::Absent);
    assert_ne!(situation(&silent).look_up, LookUpKind::None, "it answers again");
}

#[test]
fn absence_counts_when_it_was_asked_after_settle() {
    let mut rig = Rig::uncertain(Class::Reversible, Contract { lookup: strong_look_up(), stores: None, ..keyed() });
    let sent = rig.outcome("op").attempts[0].dispatched_at;
    let settled = sent.plus(rig.outcome("op").contract.settle());
    rig.wait(3600);
    rig.evidence_sent("op", Claim::Absent, Some(settled));
    assert!(!situation(&rig).absent_after_settle, "at the very moment is not after it");
    rig.wait(1);
    rig.evidence_sent("op", Claim::Absent, Some(settled.plus(std::time::Duration::from_micros(1))));
    assert!(situation(&rig).absent_after_settle);
}

#[test]
fn an_effect_is_undone_only_within_its_window() {
    let window = |window_s| {
        let compensation = crate::rig::undo_by("void").map(|undo| crate::contract::Compensation { window_s, ..undo });
        let mut rig = Rig::approved(Class::Reversible, Contract { compensation, ..keyed() });
        rig.send_and_end("op", crate::rig::made("in_1"));
        rig.wait(60);
        let at_its_end = situation(&rig).compensation_window_over;
        rig.wait(1);
        (at_its_end, situation(&rig).compensation_window_over)
    };
    assert_eq!(window(Some(60)), (false, true));
    assert_eq!(window(None), (false, false));
}

#[test]
fn attempts_or_time_used_up() {
    let mut rig = Rig::approved(Class::Reversible, keyed());
    assert!(!situation(&rig).budget_spent);
    for _ in 0..3 {
        rig.send_and_end("op", timed_out());
    }
    assert!(situation(&rig).budget_spent);
    let mut late = Rig::uncertain(Class::Reversible, keyed());
    let deadline = late.outcome("op").deadline.unwrap();
    late.wait(deadline.since(late.now).as_secs() - 1);
    assert!(!situation(&late).budget_spent);
    late.wait(1);
    assert!(situation(&late).budget_spent);
}

#[test]
fn a_repeat_of_what_was_accepted_returns_the_same_handle_if_that_is_declared() {
    let of =
        |async_accept| situation(&Rig::uncertain(Class::Reversible, Contract { async_accept, ..keyed() })).same_handle;
    let accepts = |same_handle| Some(AsyncAccept { poll: None, same_handle, deadline_s: None });
    assert_eq!([of(None), of(accepts(false)), of(accepts(true))], [false, false, true]);
}

#[test]
fn what_look_ups_found_is_told_with_what_it_means() {
    let known = |rig: &Rig| rig.ruling_for("op", None).known.join(" ");
    let mut rig = Rig::uncertain(Class::Reversible, Contract { lookup: strong_look_up(), stores: None, ..keyed() });
    assert!(!known(&rig).contains("Looked up"), "{}", known(&rig));
    rig.evidence("op", Claim::Absent);
    assert!(
        known(&rig).contains("Looked up 1 time, first 0 s ago: absent, too early to mean anything."),
        "{}",
        known(&rig)
    );
    rig.wait(60);
    rig.evidence("op", Claim::Absent);
    assert!(known(&rig).contains("Looked up 2 times, first 1 min ago"), "{}", known(&rig));
    let facts = rig.ruling_for("op", None).facts;
    assert!(facts.iter().any(|fact| fact.text.starts_with("Attempt 1: ")), "{facts:?}");
}

#[test]
fn o9a_points_at_the_operation_that_has_the_effect() {
    let elsewhere = |guarded_: bool, ever_sent| {
        let base = Situation { success_elsewhere: true, ever_sent, ..guarded(State::Proposed, Class::Reversible) };
        let mode = if guarded_ { Mode::Guarded } else { Mode::Observed };
        evaluate(&Situation { mode, ..base }).recommended
    };
    assert_eq!(elsewhere(true, false), Action::Cancel);
    assert_ne!(elsewhere(true, true), Action::Cancel);
    assert_ne!(elsewhere(false, false), Action::Cancel);
}

#[test]
fn attempts_are_granted_only_to_what_is_ours_and_used_up() {
    let spent = Situation { budget_spent: true, ..uncertain(Class::Reversible) };
    assert_eq!(verdict(&spent, Action::GrantAttempts), C);
    assert_eq!(verdict(&Situation { budget_spent: false, ..spent.clone() }, Action::GrantAttempts), F);
    assert_eq!(verdict(&Situation { mode: Mode::Observed, ..spent }, Action::GrantAttempts), F);
    let running = Situation { budget_spent: true, ..guarded(State::Executing, Class::Reversible) };
    assert_eq!(verdict(&running, Action::GrantAttempts), F);
}

#[test]
fn arguments_change_in_place_only_before_anything_of_the_intent_was_sent() {
    for state in [State::Proposed, State::Authorized, State::ApprovalExpired] {
        let unsent = Situation { intent_sent: false, ..guarded(state, Class::Reversible) };
        assert_eq!(verdict(&unsent, Action::ChangeArguments), S, "{state}");
        let sent = Situation { intent_sent: true, ..unsent };
        assert_ne!(verdict(&sent, Action::ChangeArguments), S, "{state}");
    }
    let unsent = Situation { intent_sent: false, ..guarded(State::Denied, Class::Reversible) };
    assert_ne!(verdict(&unsent, Action::ChangeArguments), S);
}

#[test]
fn o11_a_program_reruns_alone_only_what_is_proved_not_to_have_happened() {
    let by_program = |situation: Situation| Situation { automation: true, ..situation };
    let proved = by_program(guarded(State::Failed(Failure::Permanent), Class::Reversible));
    assert_eq!(verdict(&proved, Action::RerunNew), C);
    assert_eq!(verdict(&proved, Action::DismissFinding), F, "what asks for confirmation asks for a person");
    let attested =
        by_program(Situation { watch_over: true, ..guarded(State::Failed(Failure::Attested), Class::Reversible) });
    assert_eq!(verdict(&attested, Action::RerunNew), F);
    let dual = by_program(guarded(State::Failed(Failure::Permanent), Class::Irreversible));
    assert_eq!(verdict(&dual, Action::RerunNew), F, "two people are not a program");
}

use std::time::Duration;

use super::*;
use crate::action::ActionInput;
use crate::attempt::{End, Phase, ReportedOutcome};
use crate::contract::{Contract, LayerRetries};
use crate::outcome::fold;
use crate::rig::{Rig, keyed, made, refused, timed_out};
use crate::tool::Class;

fn row(rig: &Rig) -> Projection {
    rig.record("op").row.clone().unwrap()
}

fn attention(rig: &Rig) -> Option<(Reason, i64)> {
    row(rig).attention.map(|attention| (attention.reason, attention.rank))
}

fn sent(end: End) -> Rig {
    // Without a hidden retry below, what the sender says of its phases counts.
    let mut rig = Rig::approved(Class::Reversible, Contract { layer_retries: Some(LayerRetries::Off), ..keyed() });
    rig.send_and_end("op", end);
    rig
}

#[test]
fn each_end_has_its_mark() {
    let marked = |rig: &Rig| {
        let outcome = fold(rig.record("op"), &rig.around(rig.record("op")), rig.now);
        mark(&outcome.attempts[0])
    };
    let not_sent = End { phase: Some(Phase::Connect), ..End::new(ReportedOutcome::Error) };
    assert_eq!(marked(&sent(not_sent)), Mark::NotSent);
    assert_eq!(marked(&sent(refused(422))), Mark::Refused);
    assert_eq!(marked(&sent(made("in_1"))), Mark::Confirmed);
    assert_eq!(marked(&sent(timed_out())), Mark::Unknown);
    let mut running = Rig::approved(Class::Reversible, keyed());
    running.send("op");
    assert_eq!(marked(&running), Mark::Running);
}

#[test]
fn chips_tell_receipts_statements_and_look_ups() {
    let texts = |rig: &Rig| row(rig).chips.into_iter().map(|chip| chip.text).collect::<Vec<_>>();
    let mut rig = sent(made("in_1"));
    assert_eq!(texts(&rig), ["receipt in_1"]);
    for number in 2..=4 {
        rig.wait(1);
        rig.receipt("op", &format!("in_{number}"));
    }
    assert_eq!(texts(&rig), ["receipt in_1", "receipt in_2", "receipt in_3", "1 more receipts"]);
    let mut rig = Rig::uncertain(Class::Reversible, Contract::default());
    rig.evidence("op", Claim::Absent);
    assert_eq!(texts(&rig), ["absent ×1"]);
    rig.wait(40 * 60);
    rig.evidence("op", Claim::Absent);
    rig.evidence("op", Claim::Unavailable);
    assert_eq!(texts(&rig), ["absent ×2 over 40 min", "look-up unavailable ×1"]);
    rig.agree("op", ActionInput::MarkFailed {}).unwrap();
    assert_eq!(texts(&rig)[0], "stated: failed");
    // Without anything better the last open attempt's own words.
    assert_eq!(texts(&Rig::uncertain(Class::Reversible, Contract::default())).len(), 1);
}

#[test]
fn who_waits_for_a_person_and_why() {
    let mut rig = Rig::new(Class::Reversible, keyed());
    rig.propose("op", "invoice:1:issue");
    assert_eq!(attention(&rig).unwrap().0, Reason::AwaitsApproval);
    rig.press("ben", "op", ActionInput::Approve {}).unwrap();
    assert_eq!(attention(&rig), None);
    rig.wait(9 * 3600);
    assert_eq!(attention(&rig).unwrap().0, Reason::ApprovalExpired);
    let mut observed = Rig::new(Class::Reversible, keyed());
    let head = observed.head("op", Mode::Observed, "invoice:1:issue");
    observed.propose_as(head, None);
    assert_eq!(attention(&observed), None, "somebody else's proposal");
    let mut doubled = sent(made("in_1"));
    doubled.wait(1);
    doubled.receipt("op", "in_2");
    assert_eq!(attention(&doubled).unwrap().0, Reason::Contradicted);
}

#[test]
fn the_end_of_a_safe_option_outranks_everything_and_is_told_when_it_has_passed() {
    let mut rig = sent(timed_out());
    let KeyWindow::Until { until, .. } = row(&rig).key_window else { panic!("a key was sent") };
    assert_eq!(attention(&rig), Some((Reason::TimedOut, until.as_micros() / 1_000)));
    rig.wait(86_400);
    let (reason, rank) = attention(&rig).unwrap();
    assert_eq!(reason, Reason::KeyExpired);
    assert!(rank > until.as_micros() / 1_000);
}

#[test]
fn impact_counts_by_its_magnitude_then_age_and_approvals_come_last() {
    let since = Timestamp::from_micros(1_791_190_800_000_000);
    let of = |amount: i64| Impact { amount_minor: Some(amount), ..Impact::default() };
    let rank = |reason, impact: Option<&Impact>, since| attention_rank(reason, None, impact, since);
    let millis = since.as_micros() / 1_000;
    let tier = 1_i64 << 42;
    assert_eq!(rank(Reason::TimedOut, None, since), tier * 65 + millis);
    assert_eq!(rank(Reason::TimedOut, Some(&of(0)), since), tier * 65 + millis);
    assert_eq!(rank(Reason::TimedOut, Some(&of(1)), since), tier * 64 + millis);
    assert_eq!(rank(Reason::TimedOut, Some(&of(1_000)), since), tier * 55 + millis);
    assert_eq!(rank(Reason::TimedOut, Some(&of(-5)), since), tier * 65 + millis);
    let people = Impact { people: Some(1_000), ..Impact::default() };
    assert_eq!(rank(Reason::TimedOut, Some(&people), since), tier * 55 + millis);
    assert_eq!(rank(Reason::AwaitsApproval, Some(&of(1_000)), since), tier * 120 + millis);
    assert!(rank(Reason::TimedOut, None, since.plus(Duration::from_secs(1))) > rank(Reason::TimedOut, None, since));
}

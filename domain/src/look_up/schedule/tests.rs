use std::time::Duration;

use crate::action::ActionInput;
use crate::evidence::Claim;
use crate::look_up::{LookUpTemplate, next_look_up};
use crate::rig::{Rig, keyed, made, timed_out};
use crate::time::Timestamp;
use crate::tool::Class;

/// A tool with a look-up: 4 over 300 s; client deadline 30 s, D 120 s.
fn rig() -> Rig {
    let contract = crate::contract::Contract {
        lookup: crate::rig::strong_look_up(),
        lookup_count: Some(4),
        lookup_span_s: Some(300),
        stores: None,
        ..keyed()
    };
    let mut rig = Rig::approved(Class::Irreversible, contract);
    let template: LookUpTemplate = serde_json::from_str(r#"{"path":"/x","receipt":"/id"}"#).unwrap();
    rig.tool.look_up = Some(template);
    rig
}

fn due(rig: &Rig) -> Option<Timestamp> {
    let record = rig.record("op");
    let due = next_look_up(record, &rig.around(record), &rig.outcome("op"));
    assert_eq!(record.row.as_ref().unwrap().look_up_at, due, "the row says the same");
    due
}

#[test]
fn nothing_is_looked_up_before_a_send_or_after_its_proof() {
    let mut rig = rig();
    assert_eq!(due(&rig), None, "nothing was sent");
    let epoch = rig.send("op");
    assert_eq!(due(&rig), None, "an answer is still coming");
    rig.end("op", epoch, made("in_1"));
    assert_eq!(due(&rig), None, "it is known");
}

#[test]
fn the_first_is_at_once_and_the_others_after_settle_further_and_further_apart() {
    let mut rig = rig();
    rig.send_and_end("op", timed_out());
    let ended = rig.now;
    assert_eq!(due(&rig), Some(ended));
    let attempt = rig.outcome("op").attempts.remove(0);
    let settled = attempt.runs_until.plus(Duration::from_mins(2));
    let mut times = Vec::new();
    for _ in 0..3 {
        rig.evidence("op", Claim::Unavailable);
        let next = due(&rig).unwrap();
        times.push(next);
        rig.now = next;
        rig.refold();
    }
    assert!(times[0] > settled && times[0] < settled.plus(Duration::from_secs(10)), "{times:?} after {settled}");
    // Squares of a third, and up to a tenth of a share of jitter.
    let within = |at: Timestamp, s: u64| {
        at >= ended.plus(Duration::from_secs(s)) && at <= ended.plus(Duration::from_secs(s + 8))
    };
    assert!(within(times[2], 300), "{times:?}");
    assert!(times[1] >= times[0], "{times:?}");
    rig.evidence("op", Claim::Unavailable);
    assert_eq!(due(&rig), None, "four are enough; people decide");
    assert!(rig.record("op").row.as_ref().unwrap().attention.is_some());
}

#[test]
fn overdue_ones_do_not_follow_one_another_at_once() {
    let mut rig = rig();
    rig.send_and_end("op", timed_out());
    rig.wait(3_600);
    let mut times = Vec::new();
    for _ in 0..4 {
        let next = due(&rig).unwrap();
        rig.now = rig.now.max(next);
        times.push(rig.now);
        rig.evidence("op", Claim::Unavailable);
    }
    assert_eq!(due(&rig), None, "four are enough, late or not");
    // A tenth of an even share of the span.
    let apart = Duration::from_millis(7_500);
    assert!(times.windows(2).all(|pair| pair[1] >= pair[0].plus(apart)), "{times:?}");
}

#[test]
fn several_objects_in_one_answer_are_one_look_up() {
    let mut rig = rig();
    rig.send_and_end("op", timed_out());
    let sent_at = Some(rig.now);
    rig.evidence_sent("op", Claim::Ambiguous, sent_at);
    let after_one = due(&rig);
    rig.evidence_sent("op", Claim::Likely, sent_at);
    assert_eq!(due(&rig), after_one);
}

#[test]
fn a_person_may_ask_at_any_time_and_is_answered_once() {
    let mut rig = rig();
    rig.send_and_end("op", timed_out());
    for _ in 0..4 {
        rig.evidence("op", Claim::Unavailable);
        rig.wait(400);
    }
    assert_eq!(due(&rig), None);
    rig.press("ana", "op", ActionInput::LookUp {}).unwrap();
    assert_eq!(due(&rig), Some(rig.now));
    rig.wait(1);
    rig.evidence("op", Claim::Unavailable);
    assert_eq!(due(&rig), None);
}

#[test]
fn without_a_template_nobody_here_can_look() {
    let mut rig = rig();
    rig.send_and_end("op", timed_out());
    rig.tool.look_up = None;
    rig.refold();
    assert_eq!(due(&rig), None);
}

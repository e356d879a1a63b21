//! What waits for an authorization: each once, with why, who asked, and how its arguments differ.

use tallystick_domain::action::{Act, ActionInput};
use tallystick_domain::operation::{Fact, Reason};
use tallystick_domain::permission::Role;
use tallystick_domain::tool::Class;
use tallystick_domain::transition::confirmation_text;
use tallystick_ledger::approvals::Approvals;

use crate::rig::{Rig, act, actor, at, automation, proposal, viewer};

on_both! {
    what_waits_is_found_by_its_reason_and_leaves_when_it_is_decided,
    changed_arguments_come_with_what_they_differ_from,
    a_rerun_is_compared_with_what_it_runs_again,
}

async fn start(rig: &Rig) {
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    rig.declare("pay", Class::Reversible).await;
}

async fn propose(rig: &Rig, key: &str) {
    let arguments = format!(r#"{{"for":"{key}","amount":100}}"#);
    rig.ledger.propose_operation(&automation(), proposal(key, "pay", &arguments)).await.unwrap();
}

async fn press(rig: &Rig, key: &str, who: &str, input: ActionInput) {
    let listed = rig.listed(key).await.unwrap();
    let by = actor(who, Role::Administrator);
    let confirmation = Some(confirmation_text(&listed.head.key).to_owned());
    let press = Act { confirmation, ..act(&format!("{key} {}", input.action()), &by, input, listed.version) };
    let answer = rig.ledger.act(&listed.head.id, press).await.unwrap();
    assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
}

async fn approvals(rig: &Rig) -> Approvals {
    rig.ledger.approvals(&viewer()).await.unwrap()
}

fn keys(approvals: &Approvals, reason: Reason) -> Vec<&str> {
    let of = approvals.rows.iter().filter(|one| one.reason == reason);
    let mut keys: Vec<&str> = of.map(|one| one.record.head.key.as_str()).collect();
    keys.sort_unstable();
    keys
}

async fn what_waits_is_found_by_its_reason_and_leaves_when_it_is_decided(rig: Rig) {
    start(&rig).await;
    for key in ["a", "b", "c"] {
        propose(&rig, key).await;
    }
    press(&rig, "b", "ida", ActionInput::Approve {}).await;
    press(&rig, "c", "ida", ActionInput::Deny {}).await;
    let now = approvals(&rig).await;
    assert_eq!(keys(&now, Reason::AwaitsApproval), ["a"]);
    assert_eq!(now.counts, [(Reason::AwaitsApproval, 1)].into());
    assert_eq!(now.rows[0].tool.as_ref().unwrap().name.as_str(), "pay");
    // The approval runs out before anybody sends.
    rig.ledger.set_clock(at("2026-10-05T18:00:00Z")).await.unwrap();
    rig.ledger.sweep(100).await.unwrap();
    let later = approvals(&rig).await;
    assert_eq!(keys(&later, Reason::ApprovalExpired), ["b"]);
}

async fn changed_arguments_come_with_what_they_differ_from(rig: Rig) {
    start(&rig).await;
    propose(&rig, "a").await;
    press(&rig, "a", "ida", ActionInput::Approve {}).await;
    let arguments = r#"{"for":"a","amount":900}"#.to_owned();
    press(&rig, "a", "otto", ActionInput::ChangeArguments { arguments }).await;
    let now = approvals(&rig).await;
    assert_eq!(keys(&now, Reason::AwaitsApproval), ["a"], "an approval covers exactly what it was given for");
    let record = &now.rows[0].record;
    assert_eq!((record.approvals().map(|one| one.args_version).max(), record.args_version()), (Some(1), 2));
    let changes: Vec<_> = record
        .facts
        .iter()
        .filter_map(|fact| if let Fact::ArgumentsChanged { changes, .. } = fact { Some(changes) } else { None })
        .collect();
    assert_eq!(
        (changes.len(), changes[0][0].path.as_str(), changes[0][0].after.as_deref()),
        (1, "/amount", Some("900"))
    );
}

async fn a_rerun_is_compared_with_what_it_runs_again(rig: Rig) {
    start(&rig).await;
    propose(&rig, "a").await;
    press(&rig, "a", "ida", ActionInput::Approve {}).await;
    // Nobody sent it in time.
    rig.ledger.set_clock(at("2026-10-06T10:00:00Z")).await.unwrap();
    rig.ledger.sweep(100).await.unwrap();
    assert_eq!(rig.state("a").await, "failed.proven(deadline)");
    press(&rig, "a", "olga", ActionInput::RerunNew {}).await;
    let now = approvals(&rig).await;
    assert_eq!(keys(&now, Reason::AwaitsApproval), ["a~2"]);
    let earlier = now.rows[0].earlier.as_ref().unwrap();
    assert_eq!((earlier.key.as_str(), earlier.changes.as_deref()), ("a", Some(&[][..])));
}

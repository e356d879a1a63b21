//! Operator actions: one key, one act; refusals are answers and are kept; two people where two are needed.

use tallystick_domain::action::{Action, ActionInput, Pick};
use tallystick_domain::contract::{Consistency, Contract, LookUp, LookUpBy};
use tallystick_domain::name::{ActionKey, OperationId, PrincipalId, Receipt};
use tallystick_domain::operation::{Mode, State, SuccessBasis};
use tallystick_domain::permission::{Permission, Role};
use tallystick_domain::refusal::Refusal;
use tallystick_domain::tool::{Class, Tool};
use tallystick_domain::transition::confirmation_text;
use tallystick_ledger::LedgerError;
use tallystick_ledger::actions::ActionStatus;

use crate::rig::{Rig, act, actor, admin, case, operator, second_operator, tool, viewer};

on_both! {
    marking_succeeded_is_done_once_however_often_it_is_pressed,
    the_same_key_with_another_reason_is_refused_and_changes_nothing,
    two_presses_at_once_make_one_act,
    two_people_who_saw_the_same_version_cannot_both_act,
    a_refusal_is_an_answer_that_is_kept_with_its_reason,
    a_role_that_may_not_is_refused_and_recorded,
    an_unknown_operation_is_an_error,
    a_dual_act_is_done_by_two_different_people,
    a_dual_act_can_be_declined_and_asked_again,
    adopting_makes_a_guarded_operation_of_the_same_intent,
    picking_a_verdict_settles_a_contradiction,
    assigning_shows_in_the_queue_of_the_assignee,
    the_audit_log_is_paged_newest_first_and_filtered,
    every_forbidden_role_and_action_is_refused_and_recorded,
}

const KEY: &str = "credit_purchase:cart-77";

/// R01's first four lines, with a reversible tool that has a look-up: row 18.
async fn uncertain(rig: &Rig) -> (OperationId, u64) {
    let lookup = LookUp { by: LookUpBy::Key, consistency: Some(Consistency::Eventual), complete: false };
    let charge = tool("payments.charge", Class::Reversible);
    let contract = Contract { lookup: Some(lookup), ..charge.contract.clone() };
    rig.ledger.declare_tool(&admin(), Tool { contract, ..charge }).await.unwrap();
    let lines: Vec<String> = case("R01").lines().take(4).map(ToOwned::to_owned).collect();
    rig.import(&lines.join("\n")).await;
    let listed = rig.listed(KEY).await.unwrap();
    assert_eq!(listed.row.state.to_string(), "uncertain(timeout)");
    (listed.head.id, listed.version)
}

fn mark() -> ActionInput {
    ActionInput::MarkSucceeded { receipt: Some(Receipt::parse("pi_A").unwrap()), reference: None }
}

fn confirmed(mut act: tallystick_domain::action::Act) -> tallystick_domain::action::Act {
    act.confirmation = Some("cart-77".into());
    act
}

async fn marking_succeeded_is_done_once_however_often_it_is_pressed(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let press = confirmed(act("k1", &operator(), mark(), version));
    let first = rig.ledger.act(&id, press.clone()).await.unwrap();
    assert_eq!(first.record.status, ActionStatus::Done);
    assert_eq!(first.record.to, Some(State::Succeeded(SuccessBasis::Attested)));
    assert_eq!(first.record.made_version, Some(version + 1));
    assert!(!first.already_recorded);
    for _ in 0..2 {
        let again = rig.ledger.act(&id, press.clone()).await.unwrap();
        assert!(again.already_recorded);
        assert_eq!(again.record.made_version, Some(version + 1));
    }
    assert_eq!(rig.count("operator_action").await, 1);
    assert_eq!(rig.listed(KEY).await.unwrap().version, version + 1);
    rig.assert_verified().await;
}

async fn the_same_key_with_another_reason_is_refused_and_changes_nothing(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let press = confirmed(act("k1", &operator(), mark(), version));
    rig.ledger.act(&id, press.clone()).await.unwrap();
    let mut other = press.clone();
    other.reason = "another reason".into();
    let error = rig.ledger.act(&id, other).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(Refusal::ActionKeyReused {})), "{error}");
    // Another person with the same key is another press, too.
    let stranger = confirmed(act("k1", &second_operator(), mark(), version));
    assert!(rig.ledger.act(&id, stranger).await.is_err());
    assert_eq!(rig.listed(KEY).await.unwrap().version, version + 1);
    assert_eq!(rig.count("audit WHERE status = 'action_key_reused'").await, 2);
}

async fn two_presses_at_once_make_one_act(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let another = rig.another().await;
    let press = confirmed(act("k1", &operator(), mark(), version));
    let (one, two) = tokio::join!(rig.ledger.act(&id, press.clone()), another.act(&id, press.clone()));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_ne!(one.already_recorded, two.already_recorded);
    assert_eq!(rig.count("operator_action").await, 1);
    assert_eq!(rig.listed(KEY).await.unwrap().version, version + 1);
}

async fn two_people_who_saw_the_same_version_cannot_both_act(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let another = rig.another().await;
    let one = rig.ledger.act(&id, confirmed(act("k1", &operator(), mark(), version)));
    let two = another.act(&id, confirmed(act("k2", &second_operator(), mark(), version)));
    let (one, two) = tokio::join!(one, two);
    let mut statuses = [one.unwrap().record, two.unwrap().record];
    statuses.sort_by_key(|record| record.status == ActionStatus::Refused);
    assert_eq!(statuses[0].status, ActionStatus::Done);
    let stale = Refusal::StaleVersion { seen: version, current: version + 1 };
    assert_eq!(statuses[1].refusal, Some(stale));
    assert_eq!(statuses[1].act.reason, "seen on the statement", "what was typed is not lost");
    rig.assert_verified().await;
}

async fn a_refusal_is_an_answer_that_is_kept_with_its_reason(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let press = act("k1", &operator(), mark(), version);
    let answer = rig.ledger.act(&id, press.clone()).await.unwrap();
    assert_eq!(answer.record.status, ActionStatus::Refused);
    assert!(matches!(answer.record.refusal, Some(Refusal::ConfirmationMissing { .. })), "{:?}", answer.record.refusal);
    let again = rig.ledger.act(&id, press).await.unwrap();
    assert!(again.already_recorded);
    let stored = rig.ledger.action(&operator(), &ActionKey::parse("k1").unwrap()).await.unwrap().unwrap();
    assert_eq!(stored.act.reason, "seen on the statement");
    assert_eq!(rig.listed(KEY).await.unwrap().version, version);
}

async fn a_role_that_may_not_is_refused_and_recorded(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let answer = rig.ledger.act(&id, confirmed(act("k1", &viewer(), mark(), version))).await.unwrap();
    assert_eq!(answer.record.status, ActionStatus::Refused);
    let permission = Permission::Act(Action::MarkSucceeded);
    assert_eq!(answer.record.refusal, Some(Refusal::NotPermitted { role: Role::Viewer, permission }));
    assert_eq!(rig.count("operator_action").await, 1);
}

async fn an_unknown_operation_is_an_error(rig: Rig) {
    let id = OperationId::parse("nothing").unwrap();
    let error = rig.ledger.act(&id, act("k1", &operator(), mark(), 1)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Refused(Refusal::Unknown { .. })), "{error}");
    assert_eq!(rig.count("operator_action").await, 0);
}

/// R01's first four lines without a declaration: class X, two people (row 21).
async fn undeclared(rig: &Rig) -> (OperationId, u64) {
    let lines: Vec<String> = case("R01").lines().take(4).map(ToOwned::to_owned).collect();
    rig.import(&lines.join("\n")).await;
    let listed = rig.listed(KEY).await.unwrap();
    (listed.head.id, listed.version)
}

async fn a_dual_act_is_done_by_two_different_people(rig: Rig) {
    let (id, version) = undeclared(&rig).await;
    let first = rig.ledger.act(&id, confirmed(act("k1", &operator(), mark(), version))).await.unwrap();
    assert_eq!(first.record.status, ActionStatus::AwaitsSecondPerson, "{:?}", first.record.refusal);
    let awaited = ActionKey::parse("k1").unwrap();
    let key = |text: &str| ActionKey::parse(text).unwrap();
    let confirm = || Some("cart-77".to_owned());
    let alone = rig.ledger.complete_action(&operator(), &awaited, &key("k2"), version + 1, confirm()).await.unwrap();
    assert_eq!(alone.record.refusal, Some(Refusal::SamePersonTwice {}));
    let second = second_operator();
    let done = rig.ledger.complete_action(&second, &awaited, &key("k3"), version + 1, confirm()).await.unwrap();
    assert_eq!(done.record.status, ActionStatus::Done, "{:?}", done.record.refusal);
    assert_eq!(done.record.key, awaited);
    assert_eq!(done.record.second.as_ref().unwrap().id, second.id);
    let again = rig.ledger.complete_action(&second, &awaited, &key("k3"), version + 1, confirm()).await.unwrap();
    assert!(again.already_recorded);
    assert_eq!(again.record.key, awaited);
    assert_eq!(rig.state(KEY).await, "succeeded.attested");
    let late = rig.ledger.complete_action(&second, &awaited, &key("k4"), version + 2, confirm()).await.unwrap();
    assert_eq!(late.record.refusal, Some(Refusal::NotAwaited {}));
    rig.assert_verified().await;
}

async fn a_dual_act_can_be_declined_and_asked_again(rig: Rig) {
    let (id, version) = undeclared(&rig).await;
    let key = |text: &str| ActionKey::parse(text).unwrap();
    rig.ledger.act(&id, confirmed(act("k1", &operator(), mark(), version))).await.unwrap();
    let declined = rig
        .ledger
        .decline_action(&second_operator(), &key("k1"), &key("k2"), version + 1, "not on the statement".into())
        .await
        .unwrap();
    assert_eq!(declined.record.status, ActionStatus::Declined, "{:?}", declined.record.refusal);
    assert_eq!(rig.state(KEY).await, "uncertain(timeout)");
    let again = rig.ledger.act(&id, confirmed(act("k3", &operator(), mark(), version + 2))).await.unwrap();
    assert_eq!(again.record.status, ActionStatus::AwaitsSecondPerson);
}

async fn adopting_makes_a_guarded_operation_of_the_same_intent(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let input = ActionInput::Adopt { statement: "the web client is switched off".into() };
    let answer = rig.ledger.act(&id, confirmed(act("k1", &operator(), input, version))).await.unwrap();
    assert_eq!(answer.record.status, ActionStatus::Done, "{:?}", answer.record.refusal);
    let child = answer.record.created.unwrap();
    let examined = rig.ledger.operation(&operator(), &child).await.unwrap().unwrap();
    assert_eq!(examined.record.head.mode, Mode::Guarded);
    assert_eq!(examined.record.head.intent_id.as_str(), id.as_str());
    assert_eq!(examined.record.head.adopts.as_ref(), Some(&id));
    assert!(examined.relatives.iter().any(|relative| relative.link == "adopts"));
    let parent = rig.ledger.operation(&operator(), &id).await.unwrap().unwrap();
    assert!(parent.relatives.iter().any(|relative| relative.link == "adopted by"));
    rig.assert_verified().await;
}

async fn picking_a_verdict_settles_a_contradiction(rig: Rig) {
    rig.import(&case("R01")).await;
    let receipt = |text: &str| Some(Receipt::parse(text).unwrap());
    let pick = || ActionInput::PickVerdict { pick: Pick::Succeeded, receipt: receipt("pi_A") };
    let listed = rig.listed(KEY).await.unwrap();
    let press = confirmed(act("k0", &operator(), pick(), listed.version));
    let too_early = rig.ledger.act(&listed.head.id, press).await.unwrap().record;
    assert!(too_early.refusal.unwrap().to_string().contains("waive each surplus effect first: pi_B"));
    by_two(&rig, "k1", ActionInput::Waive { receipt: receipt("pi_B") }).await;
    by_two(&rig, "k2", pick()).await;
    assert!(rig.state(KEY).await.starts_with("succeeded"));
    rig.assert_verified().await;
}

/// One operator asks, another completes.
async fn by_two(rig: &Rig, key: &str, input: ActionInput) {
    let listed = rig.listed(KEY).await.unwrap();
    let press = confirmed(act(key, &operator(), input, listed.version));
    let asked = rig.ledger.act(&listed.head.id, press).await.unwrap();
    assert_eq!(asked.record.status, ActionStatus::AwaitsSecondPerson, "{:?}", asked.record.refusal);
    let (awaited, own) = (ActionKey::parse(key).unwrap(), ActionKey::parse(format!("{key}-second")).unwrap());
    let confirmation = Some("cart-77".into());
    let version = rig.listed(KEY).await.unwrap().version;
    let done = rig.ledger.complete_action(&second_operator(), &awaited, &own, version, confirmation).await.unwrap();
    assert_eq!(done.record.status, ActionStatus::Done, "{:?}", done.record.refusal);
}

async fn assigning_shows_in_the_queue_of_the_assignee(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let to = Some(PrincipalId::parse("otto").unwrap());
    rig.ledger.act(&id, act("k1", &operator(), ActionInput::Assign { to }, version)).await.unwrap();
    let query = tallystick_domain::query::QueueQuery { assignee: Some("me".into()), ..Default::default() };
    assert_eq!(rig.ledger.queue(&second_operator(), &query).await.unwrap().page.rows.len(), 1);
    assert_eq!(rig.ledger.queue(&operator(), &query).await.unwrap().page.rows.len(), 0);
}

async fn the_audit_log_is_paged_newest_first_and_filtered(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    for number in 0..5 {
        let press = act(&format!("c{number}"), &operator(), ActionInput::Comment {}, version + number);
        assert_eq!(rig.ledger.act(&id, press).await.unwrap().record.status, ActionStatus::Done);
    }
    let page = rig.ledger.actions(&viewer(), None, None, None, 3).await.unwrap();
    let keys: Vec<_> = page.rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["c4", "c3", "c2"]);
    assert_eq!(page.rows[0].operation_key, KEY);
    let rest = rig.ledger.actions(&viewer(), Some(&id), Some(Action::Comment), page.next.as_deref(), 3).await.unwrap();
    let keys: Vec<_> = rest.rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!((keys, rest.next), (vec!["c1", "c0"], None));
    assert!(rig.ledger.actions(&viewer(), None, Some(Action::Assign), None, 3).await.unwrap().rows.is_empty());
}

async fn every_forbidden_role_and_action_is_refused_and_recorded(rig: Rig) {
    let (id, version) = uncertain(&rig).await;
    let inputs = [
        mark(),
        ActionInput::MarkFailed {},
        ActionInput::Adopt { statement: "off".into() },
        ActionInput::PickVerdict { pick: Pick::Failed, receipt: None },
        ActionInput::Waive { receipt: None },
        ActionInput::Assign { to: None },
        ActionInput::Comment {},
        ActionInput::Escalate {},
    ];
    let mut refused = 0;
    for role in Role::ALL {
        for input in &inputs {
            if role.allows(Permission::Act(input.action())) {
                continue;
            }
            let press = act(&format!("{}-{}", role.name(), input.action()), &actor("x", role), input.clone(), version);
            let answer = rig.ledger.act(&id, press).await.unwrap();
            assert!(matches!(answer.record.refusal, Some(Refusal::NotPermitted { .. })), "{role:?} {input:?}");
            refused += 1;
        }
    }
    assert!(refused >= inputs.len());
    assert_eq!(rig.count("operator_action WHERE status = 'refused'").await, i64::try_from(refused).unwrap());
    let listed = rig.listed(KEY).await.unwrap();
    assert_eq!(listed.version, version);
    assert_eq!(confirmation_text(&listed.head.key), "cart-77");
}

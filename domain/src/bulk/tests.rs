//! What may be started and stopped, by whom, and what a list's hash covers.

use super::*;
use crate::decision::ActionRuling;
use crate::name::PrincipalId;
use crate::operation::Reason;
use crate::permission::Role;
use crate::query::{OperationQuery, QueueQuery};

fn actor(id: &str, role: Role) -> Actor {
    Actor { id: PrincipalId::parse(id).unwrap(), name: id.into(), role }
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse_rfc3339(text).unwrap()
}

fn item(id: &str, seen_version: u64) -> Item {
    Item { operation: OperationId::parse(id).unwrap(), seen_version, skip: None }
}

fn bulk(life: Life) -> Bulk {
    let items = [item("a", 1), item("b", 4)];
    Bulk {
        id: BulkId::parse("0190").unwrap(),
        input: ActionInput::Cancel {},
        origin: Origin::Chosen { from: None },
        items: 2,
        eligible: 2,
        hash: list_hash(&ActionInput::Cancel {}, &items),
        by: actor("olga", Role::Operator),
        made_at: at("2026-10-05T09:00:00Z"),
        life,
    }
}

fn started(reason: &str) -> Started {
    Started { at: at("2026-10-05T09:05:00Z"), reason: reason.into() }
}

fn why(outcome: Result<Option<Life>, Refusal>) -> NotStartable {
    match outcome {
        Err(Refusal::BulkNotStartable { why }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_maker_starts_what_they_saw_within_the_hour() {
    let (one, olga) = (bulk(Life::Previewed), actor("olga", Role::Operator));
    let just_in_time = one.start(&olga, one.hash, "asked by Ida", at("2026-10-05T09:59:59Z")).unwrap();
    assert!(matches!(just_in_time, Some(Life::Running(Started { reason, .. })) if reason == "asked by Ida"));
    assert_eq!(why(one.start(&olga, one.hash, "r", at("2026-10-05T10:00:00Z"))), NotStartable::Expired);
    let other = list_hash(&one.input, &[item("a", 1)]);
    assert_eq!(why(one.start(&olga, other, "r", one.made_at)), NotStartable::Differs);
    let stranger = one.start(&actor("otto", Role::Administrator), one.hash, "r", one.made_at);
    assert!(matches!(stranger, Err(Refusal::BulkOfAnother { .. })), "{stranger:?}");
    assert!(matches!(one.start(&olga, one.hash, " ", one.made_at), Err(Refusal::ReasonMissing {})));
    let empty = Bulk { eligible: 0, ..one };
    assert_eq!(why(empty.start(&olga, empty.hash, "r", empty.made_at)), NotStartable::NothingEligible);
}

#[test]
fn starting_again_is_the_same_start_also_when_it_is_long_over() {
    let olga = actor("olga", Role::Operator);
    let late = at("2026-10-07T09:00:00Z");
    for life in [Life::Running(started("r")), Life::Done { started: started("r"), at: late }] {
        let one = bulk(life);
        assert_eq!(one.start(&olga, one.hash, "r", late), Ok(None));
        assert_eq!(why(one.start(&olga, one.hash, "other", late)), NotStartable::OtherReason);
    }
    let stopped = bulk(Life::Aborted { started: None, at: late, why: Stop::Gone });
    assert_eq!(why(stopped.start(&olga, stopped.hash, "r", late)), NotStartable::Stopped);
}

#[test]
fn whoever_may_do_it_may_stop_it_and_so_may_its_maker() {
    let (one, now) = (bulk(Life::Running(started("r"))), at("2026-10-05T09:06:00Z"));
    for by in [actor("otto", Role::Operator), actor("olga", Role::Viewer)] {
        let stopped = one.abort(&by, now).unwrap().unwrap();
        assert!(matches!(&stopped, Life::Aborted { why: Stop::Asked { by: told }, .. } if *told == by));
        assert_eq!(bulk(stopped).abort(&by, now), Ok(None), "once");
    }
    assert!(matches!(one.abort(&actor("vera", Role::Viewer), now), Err(Refusal::NotPermitted { .. })));
}

#[test]
fn only_what_is_safe_is_done_beside_many_others() {
    let ruling = |verdict| Ruling {
        row: "15".into(),
        why: String::new(),
        recommended: Action::LookUp,
        actions: vec![ActionRuling {
            action: Action::RerunSameKey,
            verdict,
            reason: "The key protects no longer.".into(),
            forbidden_by: vec![],
            overlays: vec![],
            expires_at: None,
        }],
        facts: vec![],
        known: vec![],
    };
    let skip = |verdict| skip_of(&ruling(verdict), Action::RerunSameKey);
    assert_eq!(skip(Verdict::Safe), None);
    assert_eq!(skip(Verdict::Confirm), Some(Skip::NeedsConfirmation));
    assert_eq!(skip(Verdict::Dual), Some(Skip::NeedsSecondPerson));
    assert_eq!(skip(Verdict::Forbidden).unwrap().phrase(), "The key protects no longer.");
    assert!(skip_of(&ruling(Verdict::Safe), Action::Cancel).is_some(), "not ruled on is not offered");
}

#[test]
fn the_hash_covers_the_action_its_input_and_every_item() {
    let items = [item("a", 1), item("b", 4)];
    let hash = list_hash(&ActionInput::Cancel {}, &items);
    assert_ne!(hash, list_hash(&ActionInput::Escalate {}, &items));
    assert_ne!(hash, list_hash(&ActionInput::Cancel {}, &items[..1]));
    assert_ne!(hash, list_hash(&ActionInput::Cancel {}, &[item("a", 1), item("b", 5)]));
    let skipped = Item { skip: Some(Skip::NeedsSecondPerson), ..item("b", 4) };
    assert_ne!(hash, list_hash(&ActionInput::Cancel {}, &[item("a", 1), skipped]));
    let to = |id: &str| ActionInput::Assign { to: Some(PrincipalId::parse(id).unwrap()) };
    assert_ne!(list_hash(&to("olga"), &items), list_hash(&to("otto"), &items));
}

#[test]
fn an_items_key_names_the_bulk_action_and_the_operation() {
    let one = bulk(Life::Previewed);
    let act = one.act_on(&item("b", 4), one.by.clone(), "r").unwrap();
    assert_eq!((act.key.as_str(), act.seen_version, act.confirmation), ("bulk:0190:b", 4, None));
    assert_eq!(bulk_of_key("bulk:0190:b"), Some("0190"));
    assert_eq!(bulk_of_key("web-0190"), None);
}

#[test]
fn a_filter_leaves_paging_out_names_its_reader_and_is_never_everything() {
    let olga = actor("olga", Role::Operator);
    let queue = Filter::from_pairs(
        "queue",
        [("reason", "timed_out"), ("assignee", "me"), ("cause", "E12 timeout"), ("after", "1.x"), ("order", "age")],
        &olga,
    );
    let expected = QueueQuery {
        reason: Some(Reason::TimedOut),
        assignee: Some("olga".into()),
        cause: Some("E12 timeout".into()),
        ..QueueQuery::default()
    };
    assert_eq!(queue, Ok(Filter::Queue(expected)));
    let paged = Filter::from_pairs("operations", [("after", "x"), ("limit", "20")], &olga).unwrap();
    assert_eq!(paged, Filter::Operations(OperationQuery::default()));
    assert!(paged.check_names_something().is_err());
    let named = Filter::from_pairs("operations", [("tool", "pay")], &olga).unwrap();
    assert_eq!((named.check_names_something(), named.to_pairs()), (Ok(()), vec![("tool", "pay".to_owned())]));
    assert!(Filter::from_pairs("everything", [], &olga).is_err());
    let kept = serde_json::to_string(&named).unwrap();
    assert_eq!(serde_json::from_str::<Filter>(&kept).unwrap(), named);
}

#[test]
fn every_action_for_many_has_an_input_and_no_other_has() {
    for &action in Action::ALL {
        let input = input_for_many(action, None);
        assert_eq!(input.is_ok(), action.is_for_many(), "{action}");
        assert!(input.is_ok_and(|input| input.action() == action) || !action.is_for_many(), "{action}");
    }
    let to = PrincipalId::parse("otto").ok();
    assert_eq!(input_for_many(Action::Assign, to.clone()), Ok(ActionInput::Assign { to: to.clone() }));
    assert!(input_for_many(Action::Comment, to).is_err());
}

#[test]
fn an_item_stands_where_its_action_does_and_accepted_is_counted_apart_from_what_followed() {
    use crate::view::action::Reached;
    let (running, over) =
        (Life::Running(started("r")), Life::Done { started: started("r"), at: at("2026-10-05T10:00:00Z") });
    let skipped = Item { skip: Some(Skip::NeedsSecondPerson), ..item("b", 4) };
    let stale = Refusal::StaleVersion { seen: 1, current: 2 };
    let stands = |item: &Item, answer, life| Standing::of(item, answer, life);
    assert_eq!(stands(&item("a", 1), None, &running), Standing::Waiting);
    assert_eq!(stands(&item("a", 1), None, &over), Standing::NotBegun);
    assert_eq!(stands(&skipped, None, &running), Standing::Skipped);
    assert_eq!(stands(&item("a", 1), Some(None), &over), Standing::Accepted);
    assert_eq!(stands(&item("a", 1), Some(Some(&stale)), &over), Standing::Changed);
    assert_eq!(stands(&item("a", 1), Some(Some(&Refusal::ReasonMissing {})), &over), Standing::Refused);
    let reached = |is_attempted, is_confirmed| Reached { is_attempted, is_confirmed };
    let counts = Counts::of([
        (Standing::Accepted, reached(true, true)),
        (Standing::Accepted, reached(true, false)),
        (Standing::Accepted, reached(false, false)),
        (Standing::Skipped, reached(false, false)),
    ]);
    assert_eq!((counts.accepted, counts.attempted, counts.confirmed, counts.skipped), (3, 2, 1, 1));
    assert!(Standing::ALL.iter().all(|one| Standing::parse(one.name()) == Some(*one)));
}

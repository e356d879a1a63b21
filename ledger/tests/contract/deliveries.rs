//! Deliveries (semantics 1.9, I22): one row and one evidence an id, linked whenever the two sides come to know each other.

use std::collections::BTreeSet;
use std::time::Duration;

use tallystick_domain::delivery::{DeliveryTemplate, Envelope, Scheme};
use tallystick_domain::evidence::{Claim, LinkedBy};
use tallystick_domain::name::{DeliveryId, DestinationName, OperationId, WebhookName};
use tallystick_domain::operation::Head;
use tallystick_domain::query::{DeliveryFilter, LATE};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::{Class, Tool};
use tallystick_ledger::Ledger;
use tallystick_ledger::deliveries::{DeliveryQuery, Inbound, Received};
use tallystick_ledger::people::executor_actor;

use crate::executing::{answered, authorised, claim, dispatch_as, report, sending_tool, timed_out};
use crate::rig::{Rig, admin, at, automation, proposal};

on_both! {
    a_delivery_is_one_row_and_one_fact_however_often_it_comes,
    a_delivery_before_the_answer_leaves_the_lease_alone,
    a_delivery_that_knows_only_the_receipt_waits_for_the_outcome,
    a_delivery_and_the_outcome_that_names_its_receipt_never_miss_each_other,
    a_delivery_before_its_operation_is_linked_when_that_is_proposed,
    a_name_at_another_destination_is_another_name,
    a_tool_that_learns_to_read_finds_what_came_before,
    what_a_delivery_takes_back_is_a_fact_in_either_order,
    deliveries_are_listed_newest_first,
    some_deliveries_are_looked_for_a_part_of_the_list_at_a_time,
}

fn template() -> DeliveryTemplate {
    serde_json::from_str(
        r#"{"events":[{"type":"made","means":"executed"},{"type":"undone","means":"reversed"}],
            "object":"/object","receipt":"/id","key":"/key","operation_key":"/ref"}"#,
    )
    .unwrap()
}

fn reading_tool() -> Tool {
    Tool { deliveries: Some(template()), ..sending_tool("pay", Class::Reversible) }
}

async fn start(rig: &Rig) {
    rig.ledger.set_clock(at("2026-10-05T09:00:00Z")).await.unwrap();
    rig.ledger.declare_tool(&admin(), reading_tool()).await.unwrap();
}

fn delivery(id: &str, event: &str, body: &str) -> Inbound {
    Inbound {
        webhook: WebhookName::parse("psp").unwrap(),
        scheme: Scheme::Stripe,
        destination: reading_tool().destination.unwrap(),
        envelope: Envelope {
            id: DeliveryId::parse(id).unwrap(),
            event: Some(event.into()),
            happened_at: Some(at("2026-10-05T08:59:58Z")),
        },
        headers: vec![("stripe-signature".into(), "t=1,v1=00".into())],
        body: body.as_bytes().to_vec(),
    }
}

pub fn by_receipt(id: &str, event: &str, receipt: &str) -> Inbound {
    delivery(id, event, &format!(r#"{{"object":{{"id":"{receipt}"}}}}"#))
}

/// How an operation holds deliveries: by what each is linked, and what it says.
async fn held(ledger: &Ledger, id: &OperationId) -> Vec<(LinkedBy, Claim)> {
    let examined = ledger.operation(&admin(), id).await.unwrap().unwrap();
    let evidence = examined.record.evidence().filter(|evidence| evidence.source.is_webhook());
    evidence.map(|evidence| (evidence.linked_by, evidence.claim.clone())).collect()
}

async fn state(ledger: &Ledger, id: &OperationId) -> String {
    ledger.operation(&admin(), id).await.unwrap().unwrap().outcome.state.to_string()
}

/// Sends an operation; the key that went out, and the lease.
async fn sent(rig: &Rig, key: &str) -> (OperationId, String, u64) {
    let id = authorised(rig, key).await;
    let held = claim(&rig.ledger, "w").await.unwrap();
    assert_eq!(held.operation.head.id, id);
    let dispatched = rig.ledger.dispatch(&executor_actor(), &id, dispatch_as("w", held.epoch)).await.unwrap();
    (id, dispatched.destination_key.unwrap().to_string(), held.epoch)
}

async fn a_delivery_is_one_row_and_one_fact_however_often_it_comes(rig: Rig) {
    start(&rig).await;
    let (id, key, epoch) = sent(&rig, "order-1").await;
    report(&rig.ledger, &id, epoch, timed_out()).await;
    let body = format!(r#"{{"key":"{key}","object":{{"id":"ch_1"}}}}"#);
    let (first, another) = (delivery("evt_1", "made", &body), rig.another().await);
    let tries = (0..10).map(|number| {
        let (ledger, inbound) = (if number % 2 == 0 { &rig.ledger } else { &another }.clone(), first.clone());
        tokio::spawn(async move { ledger.receive_delivery(inbound).await.unwrap() })
    });
    let mut new = Vec::new();
    for one in tries.collect::<Vec<_>>() {
        match one.await.unwrap() {
            Received::New(matched) => new.push(matched),
            Received::Repeated => {}
        }
    }
    assert_eq!(new, [vec![id.clone()]], "one of ten was new");
    let receipt = tallystick_domain::name::Receipt::parse("ch_1").unwrap();
    assert_eq!(held(&rig.ledger, &id).await, [(LinkedBy::Key, Claim::Executed { receipt })]);
    assert_eq!(state(&rig.ledger, &id).await, "succeeded");
    let before = rig.count("journal").await;
    // The bytes may differ: the sender counts its own tries in them.
    let again = Inbound { body: format!(r#"{{"key":"{key}","tries":2,"object":{{"id":"ch_1"}}}}"#).into(), ..first };
    assert_eq!(rig.ledger.receive_delivery(again).await.unwrap(), Received::Repeated);
    assert_eq!((rig.count("journal").await, rig.count("delivery").await), (before, 1));
    assert_eq!(rig.texts("SELECT CAST(repeats AS TEXT) FROM delivery").await, ["10"]);
    assert!(rig.ledger.verify().await.unwrap().discrepancies.is_empty());
}

async fn a_delivery_before_the_answer_leaves_the_lease_alone(rig: Rig) {
    start(&rig).await;
    let (id, key, epoch) = sent(&rig, "order-1").await;
    let body = format!(r#"{{"key":"{key}","object":{{"id":"ch_1"}}}}"#);
    let received = rig.ledger.receive_delivery(delivery("evt_1", "made", &body)).await.unwrap();
    assert_eq!(received, Received::New(vec![id.clone()]));
    // 7.17: stored, and the lease goes on.
    assert_eq!(state(&rig.ledger, &id).await, "executing");
    assert_eq!(report(&rig.ledger, &id, epoch, timed_out()).await, "succeeded");
}

async fn a_delivery_that_knows_only_the_receipt_waits_for_the_outcome(rig: Rig) {
    start(&rig).await;
    let (id, _, epoch) = sent(&rig, "order-1").await;
    let received = rig.ledger.receive_delivery(by_receipt("evt_1", "made", "ch_1")).await.unwrap();
    assert_eq!(received, Received::New(Vec::new()), "nothing is known of ch_1 yet");
    assert!(held(&rig.ledger, &id).await.is_empty());
    // Another process learns the receipt after a restart.
    rig.ledger.close().await;
    let later = rig.another().await;
    assert_eq!(report(&later, &id, epoch, answered("ch_1")).await, "succeeded");
    let receipt = tallystick_domain::name::Receipt::parse("ch_1").unwrap();
    assert_eq!(held(&later, &id).await, [(LinkedBy::Receipt, Claim::Executed { receipt })]);
    let page = later.deliveries(&admin(), &DeliveryQuery::default()).await.unwrap();
    assert_eq!(page.rows[0].matched[0].operation_id, id);
    assert!(later.verify().await.unwrap().discrepancies.is_empty());
}

async fn a_delivery_and_the_outcome_that_names_its_receipt_never_miss_each_other(rig: Rig) {
    start(&rig).await;
    let another = rig.another().await;
    let mut all = Vec::new();
    for number in 0..12 {
        all.push((sent(&rig, &format!("order-{number}")).await, number));
    }
    let mut under_way = Vec::new();
    for ((id, _, epoch), number) in all.clone() {
        let (ledger, other) = (rig.ledger.clone(), another.clone());
        under_way.push(tokio::spawn(async move {
            report(&ledger, &id, epoch, answered(&format!("ch_{number}"))).await;
        }));
        under_way.push(tokio::spawn(async move {
            let inbound = by_receipt(&format!("evt_{number}"), "made", &format!("ch_{number}"));
            other.receive_delivery(inbound).await.unwrap();
        }));
    }
    for one in under_way {
        one.await.unwrap();
    }
    for ((id, ..), number) in all {
        assert_eq!(held(&rig.ledger, &id).await.len(), 1, "order-{number}");
    }
    assert!(rig.ledger.verify().await.unwrap().discrepancies.is_empty());
}

async fn a_delivery_before_its_operation_is_linked_when_that_is_proposed(rig: Rig) {
    start(&rig).await;
    let body = r#"{"object":{"id":"ch_1","ref":"order-1"}}"#;
    let received = rig.ledger.receive_delivery(delivery("evt_1", "made", body)).await.unwrap();
    assert_eq!(received, Received::New(Vec::new()));
    let new = proposal("order-1", "pay", r#"{"order":"order-1"}"#);
    let made = rig.ledger.propose_operation(&automation(), new).await.unwrap().operation;
    let Head { id, .. } = made.head;
    assert_eq!(held(&rig.ledger, &id).await[0].0, LinkedBy::Metadata);
    // F7: it is there, and we never sent it.
    assert_eq!(state(&rig.ledger, &id).await, "contradicted(effect_without_attempt)");
}

async fn a_name_at_another_destination_is_another_name(rig: Rig) {
    start(&rig).await;
    let (id, key, epoch) = sent(&rig, "order-1").await;
    report(&rig.ledger, &id, epoch, timed_out()).await;
    let body = format!(r#"{{"key":"{key}","object":{{"id":"ch_1","ref":"order-1"}}}}"#);
    let elsewhere =
        Inbound { destination: DestinationName::parse("other").unwrap(), ..delivery("evt_1", "made", &body) };
    assert_eq!(rig.ledger.receive_delivery(elsewhere).await.unwrap(), Received::New(Vec::new()));
    // A type that the tool does not know says nothing; neither does what is no JSON.
    for (number, (event, text)) in [("other", body.as_str()), ("made", "not json")].into_iter().enumerate() {
        let unread = delivery(&format!("evt_x{number}"), event, text);
        assert_eq!(rig.ledger.receive_delivery(unread).await.unwrap(), Received::New(Vec::new()));
    }
    assert!(held(&rig.ledger, &id).await.is_empty());
    assert_eq!(rig.count("delivery").await, 3, "all of them are kept");
}

async fn a_tool_that_learns_to_read_finds_what_came_before(rig: Rig) {
    start(&rig).await;
    rig.ledger.declare_tool(&admin(), sending_tool("pay", Class::Reversible)).await.unwrap();
    let (id, key, epoch) = sent(&rig, "order-1").await;
    report(&rig.ledger, &id, epoch, timed_out()).await;
    for number in 0..40 {
        let body = format!(r#"{{"key":"other-{number}","object":{{"id":"ch_x{number}"}}}}"#);
        rig.ledger.receive_delivery(delivery(&format!("evt_x{number}"), "made", &body)).await.unwrap();
    }
    let body = format!(r#"{{"key":"{key}","object":{{"id":"ch_1"}}}}"#);
    let received = rig.ledger.receive_delivery(delivery("evt_1", "made", &body)).await.unwrap();
    assert_eq!(received, Received::New(Vec::new()));
    rig.ledger.declare_tool(&admin(), reading_tool()).await.unwrap();
    assert_eq!(held(&rig.ledger, &id).await.len(), 1);
    assert_eq!(state(&rig.ledger, &id).await, "succeeded");
}

async fn what_a_delivery_takes_back_is_a_fact_in_either_order(rig: Rig) {
    start(&rig).await;
    for (key, order) in [("order-1", ["made", "undone"]), ("order-2", ["undone", "made"])] {
        let (id, sent_key, epoch) = sent(&rig, key).await;
        report(&rig.ledger, &id, epoch, timed_out()).await;
        for event in order {
            let body = format!(r#"{{"key":"{sent_key}","object":{{"id":"ch_{key}"}}}}"#);
            let happened_at = at(if event == "made" { "2026-10-05T08:59:58Z" } else { "2026-10-05T08:59:59Z" });
            let mut inbound = delivery(&format!("evt_{key}_{event}"), event, &body);
            inbound.envelope.happened_at = Some(happened_at);
            rig.ledger.receive_delivery(inbound).await.unwrap();
        }
        assert_eq!(state(&rig.ledger, &id).await, "contradicted(reversed)", "{order:?}");
    }
}

async fn deliveries_are_listed_newest_first(rig: Rig) {
    start(&rig).await;
    for number in 0..5 {
        rig.ledger.set_clock(at("2026-10-05T09:00:00Z").plus(Duration::from_secs(number))).await.unwrap();
        rig.ledger.receive_delivery(by_receipt(&format!("evt_{number}"), "made", "ch")).await.unwrap();
    }
    let (mut ids, mut after, mut seen) = (Vec::new(), None, BTreeSet::new());
    loop {
        let query = DeliveryQuery { after: after.clone(), limit: Some(2), only: None };
        let page = rig.ledger.deliveries(&admin(), &query).await.unwrap();
        ids.extend(page.rows.iter().map(|row| row.id.to_string()));
        match page.next {
            Some(next) if seen.insert(next.clone()) => after = Some(next),
            _ => break,
        }
    }
    assert_eq!(ids, ["evt_4", "evt_3", "evt_2", "evt_1", "evt_0"]);
}

async fn some_deliveries_are_looked_for_a_part_of_the_list_at_a_time(rig: Rig) {
    start(&rig).await;
    let (id, key, epoch) = sent(&rig, "order-1").await;
    report(&rig.ledger, &id, epoch, timed_out()).await;
    let named = |number: u32| format!("evt_{number:02}");
    for number in 0..30 {
        let body = if number == 20 { format!(r#"{{"key":"{key}","object":{{"id":"ch"}}}}"#) } else { "{}".to_owned() };
        let mut inbound = delivery(&named(number), "made", &body);
        if number == 4 {
            inbound.envelope.happened_at = Some(Timestamp::from_micros(
                at("2026-10-05T09:00:00Z").as_micros() - i64::try_from(LATE.as_micros()).unwrap(),
            ));
        }
        for _ in 0..if number == 2 { 3 } else { 1 } {
            rig.ledger.receive_delivery(inbound.clone()).await.unwrap();
        }
    }
    let look = async |only| {
        let (mut sizes, mut found, mut query) =
            (Vec::new(), Vec::new(), DeliveryQuery { only, ..DeliveryQuery::default() });
        loop {
            let page = rig.ledger.deliveries(&admin(), &query).await.unwrap();
            sizes.push(page.rows.len());
            found.extend(page.rows.iter().map(|row| row.id.to_string()));
            match page.next {
                Some(next) => query.after = Some(next),
                None => return (sizes, found),
            }
        }
    };
    // A page looks through 20 and one more; what lies beyond is on the next.
    assert_eq!(look(Some(DeliveryFilter::Repeated)).await, (vec![0, 1], vec![named(2)]));
    assert_eq!(look(Some(DeliveryFilter::Late)).await, (vec![0, 1], vec![named(4)]));
    let unmatched: Vec<_> = (0..30).rev().filter(|number| *number != 20).map(named).collect();
    assert_eq!(look(Some(DeliveryFilter::Unmatched)).await, (vec![20, 9], unmatched));
    assert_eq!(look(None).await.1.len(), 30);
}

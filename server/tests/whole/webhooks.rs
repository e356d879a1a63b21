//! Deliveries to `POST /webhooks/{source}`: what is believed, that it is recorded once, and that what it proves is what
//! happened at the destination, whatever came first.

use std::net::SocketAddr;

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use tallystick::config::{Config, WebhookConfig};
use tallystick_destination::{Contract, Delivers, Failure, LookUps, Order, Plan, Stores, Webhooks, signature};
use tallystick_domain::name::OperationId;
use tallystick_domain::permission::Role;
use tallystick_domain::time::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::executing::{Scene, declaration};
use crate::support::{Answer, App, START, time};

const OLD: &str = "whsec_the_old_one";
const NEW: &str = "whsec_the_new_one";

/// Two secrets, as files: both count while one is rotated.
struct Secrets {
    folder: tempfile::TempDir,
}

impl Secrets {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Self { folder };
        secrets.write("old", OLD);
        secrets.write("new", NEW);
        secrets
    }

    fn write(&self, name: &str, secret: &str) {
        std::fs::write(self.folder.path().join(name), format!("{secret}\n")).unwrap();
    }

    fn configure(&self, config: &mut Config) {
        let reference = |name: &str| format!("file:{}", self.folder.path().join(name).display());
        config.webhooks = vec![WebhookConfig {
            name: "psp".into(),
            scheme: "stripe".into(),
            destination: "psp".into(),
            secrets: vec![reference("old"), reference("new")],
        }];
    }
}

fn seconds(at: Timestamp) -> i64 {
    at.as_micros() / 1_000_000
}

/// How deliveries are read, beside what every charge declares. Without `names` nothing but the receipt links.
pub fn reading(contract: &Value, names: bool) -> Value {
    let mut declared = declaration("reversible", contract);
    declared["deliveries"] = json!({
        "events": [{"type": "object.created", "means": "executed"}, {"type": "object.cancelled", "means": "reversed"}],
        "object": "/data/object", "receipt": "/id", "must_echo": [{"answer": "/amount", "argument": "/amount"}]
    });
    if names {
        declared["deliveries"]["key"] = json!("/request/idempotency_key");
        declared["deliveries"]["operation_key"] = json!("/metadata/operation_key");
    }
    declared
}

/// A scene whose destination delivers to our own address.
pub struct Told {
    pub scene: Scene,
    address: SocketAddr,
    plan: Plan,
    _secrets: Secrets,
}

impl Told {
    pub async fn start(plan: Plan, delivers: Delivers, declared: Value) -> Self {
        let secrets = Secrets::new();
        let scene = Scene::start_configured(plan.clone(), |config| secrets.configure(config)).await;
        scene.app.declare("charge", declared).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = scene.app.router.clone();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let told = Self { scene, address, plan, _secrets: secrets };
        told.tells(delivers, 1, 0);
        told
    }

    /// From now on the destination tells like this; its clock is so many seconds ahead.
    pub fn tells(&self, delivers: Delivers, times: u32, ahead: i64) {
        let webhooks = Webhooks {
            address: self.address,
            path: "/webhooks/psp".into(),
            secret: OLD.into(),
            delivers,
            times,
            clock: Some(seconds(self.scene.now) + ahead),
        };
        // What was to go wrong has gone wrong by now, or is about to.
        let failures = if self.scene.destination.report().writes == 0 { self.plan.failures.clone() } else { [].into() };
        self.scene.destination.set_plan(Plan { webhooks: Some(webhooks), failures, ..self.plan.clone() });
    }

    async fn deliveries(&self) -> Vec<Value> {
        deliveries(&self.scene.app).await
    }
}

async fn deliveries(app: &App) -> Vec<Value> {
    let answer = app.client(Role::Viewer).get("/api/v1/deliveries").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["rows"].as_array().unwrap().clone()
}

/// Nothing can be looked up, and a repeat is not covered: only what the destination tells can say what happened.
pub fn blind(failure: Failure) -> (Plan, Value) {
    let contract = Contract { look_ups: LookUps::Down, stores: Stores::Nothing, ..Contract::default() };
    let plan = Plan { contract, failures: [failure].into(), ..Plan::default() };
    (plan, json!({"stores": "2xx_only", "lookup_count": 3, "lookup_span_s": 60}))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lost_answer_left_open_a_delivery_proves_and_nothing_more_is_sent() {
    let (plan, contract) = blind(Failure::ApplyThenDrop);
    let mut told = Told::start(plan, Delivers::OnCommand, reading(&contract, true)).await;
    let id = told.scene.charge("order-1").await;
    told.scene.until(&id, &["uncertain(reset)", "uncertain(timeout)"]).await;
    assert!(told.deliveries().await.is_empty());
    told.tells(Delivers::OnCommand, 2, 0);
    assert_eq!(told.scene.destination.deliver(Order::AsHappened).await, [200, 200]);
    assert_eq!(told.scene.state(&id).await, "succeeded", "by a receipt, not by a person's word");
    let operation = told.scene.operation(id.as_str()).await;
    assert_eq!(operation["receipt"], "ob_1", "{operation:#}");
    assert_eq!(evidence(&told.scene, &id).await, 1);
    assert_eq!((told.scene.effects("order-1"), told.scene.destination.report().writes), (1, 1));
    let rows = told.deliveries().await;
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!((&rows[0]["id"], &rows[0]["repeats"]), (&json!("evt_1"), &json!(1)));
    assert_eq!(rows[0]["matched"][0]["linked_by"], "key");
    assert_eq!(told.scene.destination.report().told["evt_1"], 2);
    told.scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_deliveries_of_one_event_at_once_are_one() {
    let (plan, contract) = blind(Failure::ApplyThenDrop);
    let mut told = Told::start(plan, Delivers::OnCommand, reading(&contract, true)).await;
    let id = told.scene.charge("order-1").await;
    told.scene.until(&id, &["uncertain(reset)", "uncertain(timeout)"]).await;
    let body = event("evt_9", "object.created", "ob_1", "order-1").to_string();
    let now = seconds(told.scene.now);
    let sent = (0..10).map(|_| {
        let (app, body) = (told.scene.app.anonymous(), body.clone());
        tokio::spawn(async move { post(&app, "psp", OLD, now, &body).await.json()["status"].clone() })
    });
    let mut statuses = Vec::new();
    for one in sent.collect::<Vec<_>>() {
        statuses.push(one.await.unwrap().as_str().unwrap().to_owned());
    }
    statuses.sort();
    assert_eq!(statuses.iter().filter(|status| *status == "recorded").count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| *status == "repeated").count(), 9, "{statuses:?}");
    let rows = told.deliveries().await;
    assert_eq!((rows.len(), &rows[0]["repeats"]), (1, &json!(9)));
    assert_eq!((evidence(&told.scene, &id).await, told.scene.state(&id).await), (1, "succeeded".to_owned()));
    told.scene.end().await;
}

/// How many facts an operation has from the webhook.
async fn evidence(scene: &Scene, id: &OperationId) -> usize {
    let examined = scene.app.ledger.operation(&scene.app.actors[&Role::Operator], id).await.unwrap().unwrap();
    examined.record.evidence().filter(|evidence| evidence.source.is_webhook()).count()
}

/// What was asked of an operation and to which state each led, oldest first.
async fn commands(scene: &Scene, id: &OperationId) -> Vec<(String, String)> {
    let examined = scene.app.ledger.operation(&scene.app.actors[&Role::Operator], id).await.unwrap().unwrap();
    examined.entries.into_iter().map(|entry| (entry.command, entry.to.to_string())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_overtakes_the_answer_is_kept_and_the_lease_goes_on() {
    let plan = Plan { failures: [Failure::TellFirst].into(), ..Plan::default() };
    let mut told = Told::start(plan, Delivers::AtOnce, reading(&json!({"client_deadline_s": 5}), true)).await;
    let id = told.scene.charge("order-1").await;
    told.scene.until(&id, &["succeeded"]).await;
    let order = commands(&told.scene, &id).await;
    let place = |command: &str| order.iter().position(|(known, _)| known == command).unwrap();
    assert!(place("delivery") < place("outcome"), "{order:?}");
    // 7.17: stored; the lease is not ended by it.
    assert_eq!(order[place("delivery")].1, "executing");
    assert_eq!((told.scene.effects("order-1"), told.scene.destination.report().writes), (1, 1));
    told.scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_and_taken_back_is_told_in_either_order() {
    for order in [Order::AsHappened, Order::Reversed] {
        let (plan, contract) = blind(Failure::ApplyThenDrop);
        let mut told = Told::start(plan, Delivers::OnCommand, reading(&contract, true)).await;
        let id = told.scene.charge("order-1").await;
        told.scene.until(&id, &["uncertain(reset)", "uncertain(timeout)"]).await;
        told.tells(Delivers::OnCommand, 1, 5);
        cancel_elsewhere(told.scene.destination.address()).await;
        assert_eq!(told.scene.destination.waiting_events(), 2);
        assert_eq!(told.scene.destination.deliver(order).await, [200, 200]);
        assert_eq!(told.scene.state(&id).await, "contradicted(reversed)", "{order:?}");
        assert_eq!(evidence(&told.scene, &id).await, 2);
        told.scene.end().await;
    }
}

/// Somebody else cancels the first object.
async fn cancel_elsewhere(destination: SocketAddr) {
    let mut stream = TcpStream::connect(destination).await.unwrap();
    let request = "POST /objects/ob_1/cancel HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_names_only_the_receipt_is_matched_when_the_answer_brings_it() {
    let plan = Plan { failures: [Failure::TellFirst].into(), ..Plan::default() };
    let mut told = Told::start(plan, Delivers::AtOnce, reading(&json!({"client_deadline_s": 5}), false)).await;
    let id = told.scene.charge("order-1").await;
    assert_eq!(told.scene.until(&id, &["succeeded"]).await, "succeeded");
    let rows = told.deliveries().await;
    assert_eq!(rows[0]["matched"][0]["operation_id"], id.as_str(), "{rows:#?}");
    assert_eq!(rows[0]["matched"][0]["linked_by"], "receipt");
    // Taken before the answer was sent, and a fact only once that told whose receipt it is.
    let order = commands(&told.scene, &id).await;
    let place = |command: &str| order.iter().position(|(known, _)| known == command).unwrap();
    assert!(place("outcome") < place("delivery"), "{order:?}");
    assert_eq!(evidence(&told.scene, &id).await, 1);
    told.scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_while_nobody_listens_is_told_again_and_counts_once() {
    let (plan, contract) = blind(Failure::ApplyThenDrop);
    let mut told = Told::start(plan, Delivers::OnCommand, reading(&contract, true)).await;
    let id = told.scene.charge("order-1").await;
    told.scene.until(&id, &["uncertain(reset)", "uncertain(timeout)"]).await;
    let (open, closed) = (told.address, TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap());
    told.address = closed;
    told.tells(Delivers::OnCommand, 1, 0);
    assert_eq!(told.scene.destination.deliver(Order::AsHappened).await, [0]);
    assert_eq!((told.deliveries().await.len(), told.scene.destination.waiting_events()), (0, 1));
    told.address = open;
    told.tells(Delivers::OnCommand, 1, 0);
    assert_eq!(told.scene.destination.deliver(Order::AsHappened).await, [200]);
    assert_eq!(told.scene.state(&id).await, "succeeded");
    told.scene.end().await;
}

fn event(id: &str, kind: &str, object: &str, key: &str) -> Value {
    json!({"id": id, "object": "event", "type": kind, "created": seconds(time(START)), "data": {"object": {
        "id": object, "amount": 9_007_199_254_740_993_u64, "metadata": {"operation_key": key}}}})
}

async fn post(client: &crate::support::Client, webhook: &str, secret: &str, at: i64, body: &str) -> Answer {
    let header = format!("t={at},v1={}", signature(secret, at, body.as_bytes()));
    let client = client.with("stripe-signature", header);
    client
        .send(Method::POST, &format!("/webhooks/{webhook}"), Some("application/json"), Body::from(body.to_owned()))
        .await
}

/// A console with one webhook and nothing else.
async fn listening() -> (App, Secrets) {
    let secrets = Secrets::new();
    let app = App::start_with(|config| secrets.configure(config)).await;
    (app, secrets)
}

#[tokio::test]
async fn what_is_not_signed_as_it_must_be_leaves_nothing_but_a_count() {
    let (app, secrets) = listening().await;
    let client = app.anonymous();
    let (now, body) = (seconds(time(START)), event("evt_1", "object.created", "ob_1", "order-1").to_string());
    let kind = Some("application/json");
    let unsigned = client.send(Method::POST, "/webhooks/psp", kind, Body::from(body.clone())).await;
    unsigned.assert_problem(401, "invalid-signature");
    let wrong = post(&client, "psp", "whsec_of_somebody_else", now, &body).await;
    let problem = wrong.assert_problem(401, "invalid-signature");
    assert!(!problem.to_string().contains("whsec_"), "{problem}");
    for far in [-301, 301] {
        let answer = post(&client, "psp", OLD, now + far, &body).await;
        let problem = answer.assert_problem(401, "invalid-signature");
        assert!(problem["detail"].as_str().unwrap().contains("301 s"), "{problem}");
    }
    // Signed, and changed on its way.
    let header = format!("t={now},v1={}", signature(OLD, now, body.as_bytes()));
    let changed = body.replace("ob_1", "ob_2");
    let answer = client.with("stripe-signature", header).post_text("/webhooks/psp", &changed).await;
    answer.assert_problem(401, "invalid-signature");
    post(&client, "elsewhere", OLD, now, &body).await.assert_problem(404, "unknown");
    let long = format!("{{\"id\":\"evt_2\",\"padding\":\"{}\"}}", "x".repeat(1024 * 1024));
    post(&client, "psp", OLD, now, &long).await.assert_problem(413, "too-large");
    assert_eq!(client.get("/webhooks/psp").await.status, 405);
    // Where no secret can be read nothing can be said: the sender is to come again.
    std::fs::remove_dir_all(secrets.folder.path()).unwrap();
    post(&client, "psp", OLD, now, &body).await.assert_problem(503, "secret-unavailable");
    assert!(deliveries(&app).await.is_empty());
    let metrics = app.client(Role::Viewer).get("/metrics").await.text();
    assert!(metrics.contains("tallystick_deliveries_refused_total 6"), "{metrics}");
}

#[tokio::test]
async fn two_secrets_count_while_one_is_rotated_and_are_read_at_every_delivery() {
    let (app, secrets) = listening().await;
    let (client, now) = (app.anonymous(), seconds(time(START)));
    for (number, secret) in [OLD, NEW].into_iter().enumerate() {
        let body = event(&format!("evt_{number}"), "object.created", "ob_1", "order-1").to_string();
        let answer = post(&client, "psp", secret, now + 300, &body).await;
        assert_eq!((answer.status, answer.json()["status"].as_str().unwrap()), (200, "recorded"));
    }
    secrets.write("old", "whsec_the_next_one");
    let body = event("evt_9", "object.created", "ob_1", "order-1").to_string();
    post(&client, "psp", OLD, now, &body).await.assert_problem(401, "invalid-signature");
    assert_eq!(post(&client, "psp", "whsec_the_next_one", now, &body).await.status, 200);
    assert_eq!(deliveries(&app).await.len(), 3);
}

#[tokio::test]
async fn a_sender_needs_no_account_and_a_reader_does() {
    let (app, _secrets) = listening().await;
    let body = event("evt_1", "object.created", "ob_1", "order-1").to_string();
    // A sender may bring credentials of its own; they are not ours to judge.
    let sender = app.anonymous().with("authorization", "Basic cHNwOnBzcA==");
    assert_eq!(post(&sender, "psp", OLD, seconds(time(START)), &body).await.status, 200);
    app.anonymous().get("/api/v1/deliveries").await.assert_problem(401, "not-signed-in");
    let rows = deliveries(&app).await;
    let expected = json!({
        "webhook": "psp", "id": "evt_1", "scheme": "stripe", "destination": "psp", "event": "object.created",
        "received_at": START, "happened_at": START, "late_ms": 0, "repeats": 0, "repeated_at": null, "matched": []
    });
    assert_eq!(rows, [expected]);
}

#[tokio::test]
async fn the_page_shows_what_came_how_late_how_often_and_to_which_operation() {
    let (app, _secrets) = listening().await;
    let reader = app.client(Role::Viewer).with("accept", "text/html");
    assert!(reader.get("/deliveries").await.text().contains("No delivery is on record"));
    app.declare("charge", reading(&json!({}), true)).await;
    let proposal =
        json!({"operation_key": "order-1", "tool": "charge", "arguments": {"amount": 9_007_199_254_740_993_u64}});
    let made = app.client(Role::Automation).post("/api/v1/operations", &proposal).await.json();
    app.set_clock("2026-10-05T08:04:00Z").await;
    let now = seconds(time(START)) + 240;
    for (id, object, key, times) in [("evt_1", "ob_1", "order-1", 3), ("evt_<2>", "ob_2", "order-2", 1)] {
        let body = event(id, "object.created", object, key).to_string();
        for _ in 0..times {
            assert_eq!(post(&app.anonymous(), "psp", OLD, now, &body).await.status, 200);
        }
    }
    let page = reader.get("/deliveries").await.text();
    let link = format!("href=\"/operations/{}\"", made["id"].as_str().unwrap());
    for words in [
        "2026-10-05 08:04 UTC",
        "object.created",
        "evt_1",
        "evt_&lt;2&gt;",
        "Stripe's signature",
        "4 min later",
        "3 times",
        "linked by our id in its metadata",
        "not matched",
        link.as_str(),
    ] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    assert!(page.find("evt_&lt;2&gt;") < page.find("evt_1"), "newest first");
}

//! What happened to people (R01 to R21), with Tallystick in charge of the operation: what counts is what the destination
//! has in the end, and that what is not known is shown and leads somewhere.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tallystick_destination::{Contract, Delivers, Failure, LookUps, Order, Plan, Stores};
use tallystick_domain::name::{OperationId, OperationKey};
use tallystick_domain::permission::Role;
use tallystick_domain::transition::confirmation_text;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::executing::{Scene, declaration};
use crate::support::Answer;
use crate::webhooks::{Told, blind, reading};

/// What an operation whose answer was lost is called: on a busy machine the deadline may come first.
pub const LOST: &[&str] = &["uncertain(reset)", "uncertain(timeout)"];

/// A tool of one class whose contract has these members beside the usual ones.
pub async fn declare(scene: &Scene, tool: &str, class: &str, contract: Value) {
    let mut declared = declaration(class, &contract);
    if contract.get("lookup") == Some(&Value::Null) {
        declared["look_up"] = Value::Null;
    }
    scene.app.declare(tool, declared).await;
}

/// What undoes an object. Nothing can be asked about an undo whose answer was lost.
pub async fn declare_cancel(scene: &Scene) {
    let cancel = json!({"class": "reversible", "destination": "psp", "contract": {
        "key_location": "Idempotency-Key", "layer_retries": "off", "intermediaries": false, "client_deadline_s": 1,
        "success_receipt": {"pointer": "/id"}, "verification": "tested_live"},
        "request": {"method": "POST", "path": "/objects/{/receipt}/cancel"}});
    scene.app.declare("cancel", cancel).await;
}

pub async fn propose(scene: &Scene, tool: &str, key: &str, arguments: Value) -> Answer {
    let proposal = json!({"operation_key": key, "tool": tool, "arguments": arguments});
    scene.app.client(Role::Automation).post("/api/v1/operations", &proposal).await
}

/// Proposed for the first time.
pub async fn new(scene: &Scene, tool: &str, key: &str, arguments: Value) -> OperationId {
    let answer = propose(scene, tool, key, arguments).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    OperationId::parse(answer.json()["id"].as_str().unwrap()).unwrap()
}

/// The same again is answered from the record; the state that the answer tells.
#[track_caller]
pub fn replayed(answer: &Answer, id: &OperationId) -> String {
    assert_eq!((answer.status, answer.header("idempotency-replayed")), (200, Some("true")), "{}", answer.text());
    assert_eq!(answer.json()["id"], id.as_str());
    answer.json()["state"].as_str().unwrap().to_owned()
}

/// What a person types to confirm.
fn typed(operation: &Value) -> String {
    let key = OperationKey::parse(operation["operation_key"].as_str().unwrap()).unwrap();
    confirmation_text(&key).to_owned()
}

/// Approves, and types what class X asks for.
pub async fn approve(scene: &Scene, id: &str) {
    let operation = scene.operation(id).await;
    let body = json!({"action": "approve", "reason": "checked", "confirmation": typed(&operation)});
    scene.act(id, Role::Approver, body).await;
}

/// Asks as an operator; completes as somebody else. What came of it.
pub async fn by_two(scene: &Scene, id: &OperationId, mut body: Value) -> Value {
    let operation = scene.operation(id.as_str()).await;
    body["reason"] = json!("seen in the destination's own books");
    body["confirmation"] = json!(typed(&operation));
    let asked = scene.act(id.as_str(), Role::Operator, body).await;
    assert_eq!(asked["status"], "awaits_second_person", "{asked:#}");
    let waiting = scene.operation(id.as_str()).await;
    assert_eq!(waiting["state"], operation["state"], "one person alone changes nothing");
    let approver = scene.app.client(Role::Approver).with("if-match", format!("\"{}\"", waiting["version"]));
    let approver = approver.with("idempotency-key", format!("second-{}", waiting["version"]));
    let path = format!("/api/v1/actions/{}/complete", asked["key"].as_str().unwrap());
    let done = approver.post(&path, &json!({"confirmation": typed(&operation)})).await;
    assert_eq!((done.status, &done.json()["status"]), (200, &json!("done")), "{}", done.text());
    done.json()
}

/// An action that is refused, whoever presses.
pub async fn refused(scene: &Scene, id: &str, body: Value) -> String {
    let operation = scene.operation(id).await;
    let client = scene.app.client(Role::Approver).with("if-match", format!("\"{}\"", operation["version"]));
    let client =
        client.with("idempotency-key", format!("refused-{}-{}", body["action"], operation["version"]).replace('"', ""));
    let answer = client.post(&format!("/api/v1/operations/{id}/actions"), &body).await;
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(scene.operation(id).await["state"], operation["state"], "nothing was done");
    answer.text()
}

#[track_caller]
pub fn assert_row(operation: &Value, row: &str, recommended: &str) {
    let decision = &operation["decision"];
    assert_eq!((&decision["row"], &decision["recommended"]), (&json!(row), &json!(recommended)), "{}", decision["why"]);
}

#[track_caller]
pub fn assert_verdicts(operation: &Value, expected: &[(&str, &str)]) {
    let actions = operation["decision"]["actions"].as_array().unwrap();
    for (action, verdict) in expected {
        let ruling = actions.iter().find(|ruling| ruling["action"] == *action).unwrap();
        assert_eq!(ruling["verdict"], *verdict, "{ruling:#}");
    }
}

#[track_caller]
pub fn assert_finding(operation: &Value, words: &str) {
    let findings = operation["findings"].to_string();
    assert!(findings.to_lowercase().contains(&words.to_lowercase()), "no finding says {words:?}: {findings}");
}

pub async fn pass(scene: &mut Scene, time: Duration) {
    scene.now = scene.now.plus(time);
    scene.app.ledger.set_clock(scene.now).await.unwrap();
    while scene.app.ledger.sweep(100).await.unwrap() > 0 {}
}

/// Somebody who does not ask sends this to the destination; the answer.
pub async fn send(destination: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(destination).await.unwrap();
    stream.write_all(request).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// R01 where nothing but a delivery can tell: class X, no look-up, a key that means nothing.
async fn slow_success() -> (Told, OperationId) {
    let (plan, mut contract) = blind(Failure::ApplyThenDelay { ms: 1_500 });
    contract["lookup"] = Value::Null;
    contract["compensation"] = json!({"tool": "cancel"});
    let mut declared = reading(&contract, true);
    declared["class"] = json!("irreversible");
    declared["look_up"] = Value::Null;
    let plan = Plan { keeps_requests: true, ..plan };
    let mut told = Told::start(plan, Delivers::OnCommand, declared).await;
    declare_cancel(&told.scene).await;
    let id = new(&told.scene, "charge", "cart-77", cart()).await;
    approve(&told.scene, id.as_str()).await;
    told.scene.until(&id, &["uncertain(timeout)"]).await;
    (told, id)
}

fn cart() -> Value {
    json!({"intent": "cart-77", "amount": 2000})
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_pressed_again_while_a_charge_is_slow_is_answered_from_the_record_and_charged_once() {
    let (told, id) = slow_success().await;
    let uncertain = told.scene.operation(id.as_str()).await;
    assert_row(&uncertain, "21", "escalate");
    assert_verdicts(
        &uncertain,
        &[("mark_succeeded", "dual"), ("rerun_new", "forbidden"), ("rerun_same_key", "forbidden")],
    );
    for _ in 0..3 {
        let again = propose(&told.scene, "charge", "cart-77", cart()).await;
        assert_eq!(replayed(&again, &id), "uncertain(timeout)");
    }
    assert_eq!((told.scene.effects("cart-77"), told.scene.destination.report().writes), (1, 1));
    told.tells(Delivers::OnCommand, 2, 0);
    assert_eq!(told.scene.destination.deliver(Order::AsHappened).await, [200, 200]);
    let known = told.scene.operation(id.as_str()).await;
    assert_eq!((&known["state"], &known["receipt"]), (&json!("succeeded"), &json!("ob_1")), "{known:#}");
    assert_eq!(known["counts"], json!({"operations": 1, "attempts": 1, "effects": 1}));
    told.scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_a_second_charge_that_somebody_else_made_is_found_and_exactly_that_one_is_undone() {
    let (mut told, id) = slow_success().await;
    // The web client's own retry layer: the same bytes, past Tallystick.
    let bytes = told.scene.destination.seen()[0].bytes.clone();
    assert!(send(told.scene.destination.address(), &bytes).await.starts_with("HTTP/1.1 201"));
    assert_eq!(told.scene.effects("cart-77"), 2);
    told.tells(Delivers::OnCommand, 1, 0);
    assert_eq!(told.scene.destination.deliver(Order::AsHappened).await, [200, 200]);
    let doubled = told.scene.operation(id.as_str()).await;
    assert_eq!((&doubled["state"], &doubled["receipt"]), (&json!("contradicted(duplicate)"), &json!("ob_1")));
    assert_eq!(doubled["counts"], json!({"operations": 1, "attempts": 1, "effects": 2}));
    assert_finding(&doubled, "2 effects for 1 intent");
    assert_finding(&doubled, "without a send on record");
    assert_row(&doubled, "3", "pick_verdict");
    assert_verdicts(&doubled, &[("compensate", "dual"), ("rerun_same_key", "forbidden"), ("rerun_new", "forbidden")]);
    let made = by_two(&told.scene, &id, json!({"action": "compensate", "receipt": "ob_2"})).await;
    let undo = OperationId::parse(made["created"].as_str().unwrap()).unwrap();
    approve(&told.scene, undo.as_str()).await;
    told.scene.until(&undo, &["succeeded"]).await;
    let report = told.scene.destination.report();
    assert_eq!((report.made["cart-77"], report.effects["cart-77"]), (2, 1), "made twice, one stands");
    let cancelled =
        told.scene.destination.seen().into_iter().filter(|seen| seen.bytes.starts_with(b"POST /objects/ob_2/"));
    assert_eq!(cancelled.count(), 1, "the surplus one, once");
    by_two(&told.scene, &id, json!({"action": "pick_verdict", "pick": "succeeded", "receipt": "ob_1"})).await;
    assert_eq!(told.scene.state(&id).await, "succeeded");
    told.scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r05_a_retry_after_the_key_was_forgotten_is_refused_and_two_people_say_what_happened() {
    let mut scene = Scene::start_configured(blind(Failure::ApplyThenDrop).0, |_| {}).await;
    // Protected for 900 s - 120 s - 300 s = 480 s. Nothing but the key's age ends within a day.
    let contract = json!({"key_retention_s": 900, "max_arrival_delay_s": 120, "lookup": null,
        "approval_life_s": 604_800, "operation_deadline_s": 604_800});
    declare(&scene, "stock", "irreversible", contract).await;
    let id = new(&scene, "stock", "stock:sku-9:recount-3", json!({"intent": "sku-9", "delta": 12})).await;
    approve(&scene, id.as_str()).await;
    scene.until(&id, LOST).await;
    let fresh = scene.operation(id.as_str()).await;
    assert_eq!(fresh["key_protects"], true);
    assert_verdicts(&fresh, &[("rerun_same_key", "confirm"), ("rerun_new", "forbidden")]);
    pass(&mut scene, Duration::from_hours(26)).await;
    let stale = scene.operation(id.as_str()).await;
    assert_row(&stale, "21", "escalate");
    assert_verdicts(
        &stale,
        &[
            ("rerun_same_key", "forbidden"),
            ("rerun_new", "forbidden"),
            ("mark_succeeded", "dual"),
            ("mark_failed", "dual"),
        ],
    );
    assert_eq!(stale["key_protects"], false);
    assert!(
        stale["key_protects_not"].as_str().unwrap().contains("too old: sent 1 d 2 h ago, certain for 8 min"),
        "{}",
        stale["key_protects_not"]
    );
    let again = json!({"action": "rerun_same_key", "reason": "try again", "confirmation": "recount-3"});
    refused(&scene, id.as_str(), again).await;
    assert_eq!((scene.effects("sku-9"), scene.destination.report().writes), (1, 1));
    by_two(&scene, &id, json!({"action": "mark_succeeded", "reference": "stock ledger, line 12"})).await;
    assert_eq!(scene.state(&id).await, "succeeded.attested");
    assert_eq!((scene.effects("sku-9"), scene.destination.report().writes), (1, 1));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r08_a_first_tool_replayed_by_the_approval_of_a_second_runs_once() {
    let (plan, contract) = blind(Failure::ApplyThenDrop);
    let mut scene = Scene::start_configured(plan, |_| {}).await;
    declare(&scene, "namespace.create", "reversible", contract).await;
    let (a, b) = (json!({"intent": "ns-a", "name": "ns-a"}), json!({"intent": "ns-b", "name": "ns-b"}));
    let first = new(&scene, "namespace.create", "run-5:create:ns-a", a.clone()).await;
    approve(&scene, first.as_str()).await;
    let lost = scene.until(&first, LOST).await;
    let second = new(&scene, "namespace.create", "run-5:create:ns-b", b).await;
    // The graph starts its node again before each approval.
    let again = propose(&scene, "namespace.create", "run-5:create:ns-a", a.clone()).await;
    assert_eq!(replayed(&again, &first), lost, "what is not known is said, and not tried again");
    assert_verdicts(
        &scene.operation(first.as_str()).await,
        &[("approve", "forbidden"), ("rerun_same_key", "forbidden")],
    );
    approve(&scene, second.as_str()).await;
    scene.until(&second, &["succeeded"]).await;
    let contract = Contract { stores: Stores::Nothing, look_ups: LookUps::Strong, ..Contract::default() };
    scene.destination.set_plan(Plan { contract, ..Plan::default() });
    scene.until(&first, &["succeeded"]).await;
    let again = propose(&scene, "namespace.create", "run-5:create:ns-a", a).await;
    assert_eq!(replayed(&again, &first), "succeeded");
    assert_eq!(again.json()["receipt"], "ob_1");
    assert_eq!((scene.effects("ns-a"), scene.effects("ns-b"), scene.destination.report().writes), (1, 1, 2));
    scene.end().await;
}

/// A model calls the tool that charges order 7.
async fn call(scene: &Scene, key: &str, tool_call_id: &str) -> Answer {
    let body = json!({"operation_key": key, "tool": "charge", "tool_call_id": tool_call_id,
        "arguments": {"intent": "order-7", "amount_minor": 900}});
    scene.app.client(Role::Automation).post("/api/v1/operations", &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn r09_a_run_that_starts_over_gets_its_result_and_a_key_of_the_run_is_asked_about() {
    let mut scene = Scene::start_with(Plan::default(), json!({})).await;
    let made = call(&scene, "run-8:charge:order-7", "call_1").await;
    let id = OperationId::parse(made.json()["id"].as_str().unwrap()).unwrap();
    approve(&scene, id.as_str()).await;
    scene.until(&id, &["succeeded"]).await;
    // The model's answer was 500; the whole run starts over. A tool call's id is of the turn, not of the intent.
    let again = call(&scene, "run-8:charge:order-7", "call_2").await;
    assert_eq!(replayed(&again, &id), "succeeded");
    assert_eq!(again.json()["receipt"], "ob_1", "the result that was thrown away");
    let known = scene.operation(id.as_str()).await;
    assert_eq!(known["counts"], json!({"operations": 1, "attempts": 1, "effects": 1}));
    assert_verdicts(&known, &[("rerun_new", "forbidden"), ("rerun_same_key", "forbidden")]);
    // A key made anew by each run is no name of the intent.
    let other = call(&scene, "run-9:charge:order-7", "call_3").await.json();
    assert_finding(&other, id.as_str());
    let other = other["id"].as_str().unwrap();
    let why = refused(&scene, other, json!({"action": "approve", "reason": "checked"})).await;
    assert!(why.contains("ame intent"), "{why}");
    scene.act(other, Role::Approver, json!({"action": "deny", "reason": "it is the same charge"})).await;
    assert_eq!(scene.operation(other).await["state"], "denied");
    assert_eq!((scene.effects("order-7"), scene.destination.report().writes), (1, 1));
    scene.end().await;
}

async fn pause(scene: &Scene, is_paused: bool) {
    let answer = scene
        .app
        .client(Role::Administrator)
        .put("/api/v1/destinations/psp/pause", &json!({"is_paused": is_paused}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Whatever could be sent before this has been sent.
async fn send_another(scene: &mut Scene, key: &str) {
    let id = new(scene, "transfer", key, json!({"intent": key, "to": "acct-2", "amount_minor": 1})).await;
    approve(scene, id.as_str()).await;
    scene.until(&id, &["succeeded"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r21_only_the_arguments_that_were_approved_are_sent_and_only_while_the_approval_lives() {
    let plan = Plan { keeps_requests: true, ..Plan::default() };
    let mut scene = Scene::start_configured(plan, |_| {}).await;
    declare(&scene, "transfer", "irreversible", json!({"approval_life_s": 300})).await;
    pause(&scene, true).await;
    let wire = |amount: u64| json!({"intent": "wire-77", "to": "acct-1", "amount_minor": amount});
    let id = new(&scene, "transfer", "wire:77", wire(10_000)).await;
    approve(&scene, id.as_str()).await;
    // A hook rewrites the arguments after the approval.
    let problem =
        propose(&scene, "transfer", "wire:77", wire(1_000_000)).await.assert_problem(422, "operation-key-conflict");
    let change = &problem["changes"][0];
    assert_eq!((&change["before"], &change["after"]), (&json!("10000"), &json!("1000000")), "{change}");
    assert_eq!(scene.state(&id).await, "authorized", "the first proposal and its approval stand");
    // Taken over by a person they are version 2, and nobody has approved that.
    let rewritten = json!({"action": "change_arguments", "arguments": wire(1_000_000), "reason": "the hook says so"});
    scene.act(id.as_str(), Role::Operator, rewritten).await;
    pause(&scene, false).await;
    send_another(&mut scene, "wire:78").await;
    let changed = scene.operation(id.as_str()).await;
    assert_eq!((&changed["state"], &changed["attempt_count"]), (&json!("proposed"), &json!(0)));
    let approver =
        async |scene: &Scene| scene.app.client(Role::Approver).get(&format!("/api/v1/operations/{id}")).await.json();
    assert_row(&approver(&scene).await, "32", "approve");
    // Who changed them has proposed them.
    assert_verdicts(&changed, &[("approve", "forbidden")]);
    // Edited, and approved as edited; it waits until the approval has run out.
    pause(&scene, true).await;
    let edited = json!({"action": "change_arguments", "arguments": wire(9_000), "reason": "less"});
    scene.act(id.as_str(), Role::Operator, edited).await;
    approve(&scene, id.as_str()).await;
    pass(&mut scene, Duration::from_secs(301)).await;
    pause(&scene, false).await;
    send_another(&mut scene, "wire:79").await;
    let expired = scene.operation(id.as_str()).await;
    assert_eq!(expired["state"], "approval_expired");
    assert_row(&approver(&scene).await, "34", "renew");
    assert_eq!(scene.effects("wire-77"), 0);
    let renewed = json!({"action": "renew", "reason": "still right", "confirmation": "77"});
    scene.act(id.as_str(), Role::Approver, renewed).await;
    scene.until(&id, &["succeeded"]).await;
    let seen = scene.destination.seen();
    let bodies = seen.iter().map(|seen| String::from_utf8_lossy(&seen.bytes).into_owned());
    let sent: Vec<_> = bodies.filter(|body| body.contains("\"intent\":\"wire-77\"")).collect();
    assert!(matches!(sent.as_slice(), [one] if one.contains("\"amount_minor\":9000,")), "{sent:?}");
    assert_eq!(scene.effects("wire-77"), 1);
    scene.end().await;
}

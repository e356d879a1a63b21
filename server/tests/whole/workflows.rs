//! A workflow at a real destination: its steps go one after the other, and when it goes back, what stands there in the end
//! is nothing.

use serde_json::{Value, json};
use tallystick_destination::{Contract, Failure, LookUps, Plan};
use tallystick_domain::name::OperationId;
use tallystick_domain::permission::Role;

use crate::executing::Scene;
use crate::support::App;

async fn scene(plan: Plan) -> Scene {
    let scene = Scene::start_with(plan, json!({"compensation": {"tool": "cancel"}})).await;
    let cancel = json!({"class": "reversible", "destination": "psp", "contract": {
        "key_location": "Idempotency-Key", "layer_retries": "off", "intermediaries": false, "client_deadline_s": 1,
        "success_receipt": {"pointer": "/id"}, "verification": "tested_live", "key_retention_s": 86400,
        "stores": "any_once_started"},
        "request": {"method": "POST", "path": "/objects/{/receipt}/cancel"}});
    scene.app.declare("cancel", cancel).await;
    scene
}

async fn declare(app: &App, unwinds: &str) {
    let answer = app.client(Role::Automation).put("/api/v1/workflows/order-7", &json!({"unwinds": unwinds})).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Proposes a step, and approves it as somebody else.
async fn step(scene: &Scene, key: &str, step: Value) -> OperationId {
    let id = propose(scene, key, step).await;
    approve(scene, id.as_str()).await;
    id
}

async fn propose(scene: &Scene, key: &str, step: Value) -> OperationId {
    let proposal = json!({"operation_key": key, "tool": "charge", "arguments": {"intent": key}, "step": step});
    let answer = scene.app.client(Role::Automation).post("/api/v1/operations", &proposal).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    OperationId::parse(answer.json()["id"].as_str().unwrap()).unwrap()
}

async fn approve(scene: &Scene, id: &str) {
    scene.act(id, Role::Approver, json!({"action": "approve", "reason": "checked"})).await;
}

async fn workflow(scene: &Scene) -> Value {
    scene.app.client(Role::Viewer).get("/api/v1/workflows/order-7").await.json()
}

/// Waits until an undo of this step is proposed; its id.
async fn undo_of(scene: &Scene, id: &OperationId) -> String {
    let mut wake = scene.app.ledger.wake();
    loop {
        let operation = scene.operation(id.as_str()).await;
        let undo =
            operation["relatives"].as_array().unwrap().iter().find(|one| one["link"] == "compensated by").cloned();
        if let Some(undo) = undo {
            return undo["id"].as_str().unwrap().to_owned();
        }
        wake.changed().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_go_one_after_the_other_and_what_stands_is_undone_when_one_fails() {
    let failures = [Failure::ApplyThenDrop].into();
    let mut scene = scene(Plan { failures, keeps_requests: true, ..Plan::default() }).await;
    declare(&scene.app, "by_itself").await;
    let first = step(&scene, "a", json!({"workflow": "order-7", "number": 1})).await;
    let second = step(&scene, "b", json!({"workflow": "order-7", "number": 2, "needs": ["a"]})).await;
    // The first is uncertain for a while: its answer was lost. The second waits for it.
    scene.until(&second, &["succeeded"]).await;
    let bodies: Vec<String> =
        scene.destination.seen().iter().map(|seen| String::from_utf8_lossy(&seen.bytes).into_owned()).collect();
    let of = |key: &str| {
        let needle = format!("\"intent\":\"{key}\"");
        bodies.iter().filter(|body| body.starts_with("POST")).position(|body| body.contains(&needle)).unwrap()
    };
    assert!(of("a") < of("b"), "{bodies:?}");
    scene.destination.set_plan(Plan { failures: [Failure::Decline].into(), ..Plan::default() });
    let third = propose(&scene, "c", json!({"workflow": "order-7", "number": 3})).await;
    let fourth = step(&scene, "d", json!({"workflow": "order-7", "number": 4})).await;
    approve(&scene, third.as_str()).await;
    scene.until(&third, &["failed.business"]).await;
    scene.until(&fourth, &["cancelled"]).await;
    let undo = undo_of(&scene, &second).await;
    assert_eq!(workflow(&scene).await["direction"]["direction"], "back");
    let report = scene.destination.report();
    assert_eq!((report.effects["a"], report.effects["b"]), (1, 1), "nothing is undone without an approval");
    approve(&scene, &undo).await;
    scene.until(&OperationId::parse(undo).unwrap(), &["succeeded"]).await;
    let undo = undo_of(&scene, &first).await;
    approve(&scene, &undo).await;
    scene.until(&OperationId::parse(undo).unwrap(), &["succeeded"]).await;
    let report = scene.destination.report();
    for (key, made) in [("a", 1), ("b", 1)] {
        assert_eq!((report.made[key], report.effects[key]), (made, 0), "{key} was made once, and undone");
    }
    assert!(!report.made.contains_key("d"), "it never began");
    assert_eq!(workflow(&scene).await["ending"]["ending"], "undone");
    let page = scene.app.client(Role::Viewer).with("accept", "text/html").get("/workflows/order-7").await.text();
    for words in ["Whatever succeeded is undone, or was waived.", "can be undone", "undone</a>"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_step_is_uncertain_nothing_goes_on_and_nothing_goes_back() {
    let contract = Contract { look_ups: LookUps::Down, ..Contract::default() };
    let plan = Plan { contract, failures: [Failure::ApplyThenDrop].into(), ..Plan::default() };
    let mut scene = scene(plan).await;
    let contract = json!({"stores": "2xx_only", "compensation": {"tool": "cancel"}});
    scene.app.declare("charge", crate::executing::declaration("reversible", &contract)).await;
    declare(&scene.app, "by_itself").await;
    let first = step(&scene, "a", json!({"workflow": "order-7", "number": 1})).await;
    let second = step(&scene, "b", json!({"workflow": "order-7", "number": 2})).await;
    scene.until(&first, &["uncertain(reset)"]).await;
    let page = scene.app.client(Role::Viewer).with("accept", "text/html").get("/workflows/order-7").await.text();
    assert!(page.contains("It waits for the step a, which has not succeeded."), "{page}");
    assert_eq!(scene.operation(second.as_str()).await["state"], "authorized");
    assert_eq!(scene.destination.report().writes, 1);
    // The truth is found, and it goes on.
    scene.destination.set_plan(Plan::default());
    scene.until(&second, &["succeeded"]).await;
    let report = scene.destination.report();
    assert_eq!((report.made["a"], report.made["b"]), (1, 1));
    scene.end().await;
}

#[tokio::test]
async fn a_declaration_that_is_not_understood_changes_nothing_and_a_viewer_has_no_form() {
    let app = App::start().await.with_tool().await;
    let client = app.client(Role::Automation);
    for body in [json!({"unwinds": "never"}), json!({"unwinds": "by_people", "owner": "nobody"}), json!({})] {
        let answer = client.put("/api/v1/workflows/order-7", &body).await;
        assert!((400..500).contains(&answer.status), "{}", answer.text());
    }
    assert_eq!(client.get("/api/v1/workflows/order-7").await.status, 404);
    for step in
        [json!({"workflow": "w", "number": 0}), json!({"workflow": "w"}), json!({"workflow": "w", "number": 1, "x": 1})]
    {
        let proposal = json!({"operation_key": "k", "tool": "pay", "arguments": {}, "step": step});
        let answer = client.post("/api/v1/operations", &proposal).await;
        assert!((400..500).contains(&answer.status), "{}", answer.text());
    }
    assert_eq!(client.get("/api/v1/workflows").await.json()["rows"], json!([]));
    let step = json!({"workflow": "w/ü", "number": 1});
    let proposal = json!({"operation_key": "k", "tool": "pay", "arguments": {}, "step": step});
    assert_eq!(client.post("/api/v1/operations", &proposal).await.status, 201);
    let list = app.client(Role::Viewer).with("accept", "text/html").get("/workflows").await.text();
    assert!(list.contains("href=\"/workflows/w%2F%C3%BC\""), "{list}");
    let fields = [("name", "w/ü"), ("unwinds", "by_itself"), ("owner", "")];
    let viewer = app.client(Role::Viewer).with("accept", "text/html");
    let page = viewer.get("/workflows/w%2F%C3%BC").await;
    assert!(page.status == 200 && page.text().contains("A viewer does not change this."), "{}", page.text());
    viewer.post_form("/ui/declare_workflow", &fields).await;
    let unwinds = || async { client.get("/api/v1/workflows/w%2F%C3%BC").await.json()["unwinds"].clone() };
    assert_eq!(unwinds().await, "by_people");
    let operator = app.client(Role::Operator).with("accept", "text/html");
    for _ in 0..2 {
        let answer = operator.post_form("/ui/declare_workflow", &fields).await;
        assert_eq!(answer.header("location"), Some("/workflows/w%2F%C3%BC?saved=1"), "{answer:?}");
    }
    assert_eq!(unwinds().await, "by_itself");
}

//! Proposing and acting over the API: replays, conflicts, versions, keys.

use serde_json::{Value, json};
use tallystick_domain::evidence::Trust;
use tallystick_domain::permission::Role;

use crate::support::{App, Client};

fn proposal(key: &str, arguments: &Value) -> Value {
    json!({"operation_key": key, "tool": "pay", "arguments": arguments})
}

#[tokio::test]
async fn the_same_proposal_again_is_answered_with_the_operation_that_is_there() {
    let app = App::start().await.with_tool().await;
    let agent = app.client(Role::Automation);
    let first = agent.post("/api/v1/operations", &proposal("k", &json!({"amount": 5, "to": "a"}))).await;
    assert_eq!(first.status, 201, "{}", first.text());
    assert_eq!(first.header("idempotency-replayed"), None);
    let again = agent
        .post_text("/api/v1/operations", r#"{"tool":"pay", "arguments":{"to":"a","amount":5.0},"operation_key":"k"}"#)
        .await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")), "{}", again.text());
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(agent.get("/api/v1/operations").await.json()["rows"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_key_with_other_arguments_is_a_conflict_with_a_diff_that_a_person_can_see() {
    let app = App::start().await.with_tool().await;
    let agent = app.client(Role::Automation);
    let first = agent.post("/api/v1/operations", &proposal("k", &json!({"amount": 5}))).await.json();
    let problem = agent.post("/api/v1/operations", &proposal("k", &json!({"amount": 6}))).await;
    let problem = problem.assert_problem(422, "operation-key-conflict");
    assert_eq!(problem["operation_id"], first["id"]);
    assert_eq!(problem["changes"][0]["path"], "/amount", "{problem}");
    assert_eq!((&problem["changes"][0]["before"], &problem["changes"][0]["after"]), (&json!("5"), &json!("6")));
    let id = first["id"].as_str().unwrap();
    let seen = app.client(Role::Viewer).get(&format!("/api/v1/operations/{id}")).await.json();
    assert_eq!(seen["conflicting_proposals"].as_array().unwrap().len(), 1, "{seen}");
    assert_eq!(seen["state"], "proposed");
    assert_eq!((&seen["lifecycle"], &seen["outcome"]), (&json!("proposed"), &json!("pending")), "both vocabularies");
    assert_eq!(agent.get("/api/v1/operations").await.json()["rows"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_intent_under_another_key_is_told_to_the_agent() {
    let app = App::start().await.with_tool().await;
    let agent = app.client(Role::Automation);
    let first = agent.post("/api/v1/operations", &proposal("refund-1", &json!({"order": 7}))).await.json();
    let second = agent.post("/api/v1/operations", &proposal("refund-2", &json!({"order": 7.0}))).await;
    assert_eq!(second.status, 201, "{}", second.text());
    let found = second.json()["findings"][0].clone();
    assert_eq!(found["code"], "same_intent_question", "{found}");
    assert!(found["text"].as_str().unwrap().contains(first["id"].as_str().unwrap()), "{found}");
}

#[tokio::test]
async fn arguments_are_given_back_byte_for_byte() {
    let app = App::start().await.with_tool().await;
    let agent = app.client(Role::Automation);
    let arguments = r#"{ "id":1970670598291982290,  "f" : 1.10, "u":"\u00e9" }"#;
    let body = format!(r#"{{"operation_key":"k","tool":"pay","arguments":{arguments}}}"#);
    let made = agent.post_text("/api/v1/operations", &body).await.json();
    let path = format!("/api/v1/operations/{}", made["id"].as_str().unwrap());
    assert_eq!(agent.get(&path).await.json()["arguments"], arguments);
    assert_eq!(agent.get(&format!("{path}/arguments")).await.text(), arguments);
}

#[tokio::test]
async fn pages_follow_each_other_by_their_link_and_show_each_operation_once() {
    let app = App::start().await.with_tool().await;
    let agent = app.client(Role::Automation);
    for number in 0..7 {
        let made = agent.post("/api/v1/operations", &proposal(&format!("k {number}"), &json!({}))).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let mut next = Some("/api/v1/operations?limit=3&search=k%20".to_owned());
    let (mut seen, mut pages) = (Vec::new(), 0);
    while let Some(path) = next {
        let page = agent.get(&path).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let rows = page.json()["rows"].as_array().unwrap().clone();
        seen.extend(rows.iter().map(|row| row["operation_key"].as_str().unwrap().to_owned()));
        next = page.header("link").map(|link| link.split(['<', '>']).nth(1).unwrap().to_owned());
        pages += 1;
    }
    assert_eq!((pages, seen.len()), (3, 7));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 7);
}

/// An uncertain observed operation, as the operator sees it.
async fn uncertain(app: &App) -> (Client, String, u64) {
    app.trust("feed", Trust::Verified).await;
    app.declare("charge", json!({"class": "reversible", "executable": true, "contract": {"lookup": {"by": "key", "consistency": "eventual"}}})).await;
    let lines = [
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"u","key":"order-7","tool":"charge","dest":"psp","args":{}}"#,
        r#"{"ts":"2026-10-05T09:00:01Z","ev":"attempt.started","op":"u","n":1}"#,
        r#"{"ts":"2026-10-05T09:00:02Z","ev":"attempt.ended","op":"u","n":1,"outcome":"timeout"}"#,
    ]
    .join("\n");
    app.set_clock("2026-10-05T09:10:00Z").await;
    let report = app.client(Role::Automation).events("feed", &lines).await;
    assert_eq!(report.json()["recorded"], 3, "{}", report.text());
    let operator = app.client(Role::Operator);
    let seen = operator.operation_named("u").await;
    assert_eq!(seen["state"], "uncertain(timeout)", "{seen}");
    (operator, seen["id"].as_str().unwrap().to_owned(), seen["version"].as_u64().unwrap())
}

fn mark(reason: &str) -> Value {
    json!({"action": "mark_succeeded", "receipt": "pi_A", "reason": reason, "confirmation": "order-7"})
}

#[tokio::test]
async fn the_same_action_again_does_it_once_and_gives_the_stored_answer() {
    let app = App::start().await;
    let (operator, id, version) = uncertain(&app).await;
    let press = operator.with("idempotency-key", "\"press-1\"").with("if-match", format!("\"{version}\""));
    let path = format!("/api/v1/operations/{id}/actions");
    let first = press.post(&path, &mark("seen on the dashboard")).await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (200, None), "{}", first.text());
    assert_eq!(first.json()["status"], "done");
    let again = press.with("idempotency-key", "press-1").post(&path, &mark("seen on the dashboard")).await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")), "{}", again.text());
    assert_eq!(first.json(), again.json());
    let log = operator.get("/api/v1/actions").await.json();
    assert_eq!(log["rows"].as_array().unwrap().len(), 1, "{log}");
    let after = operator.operation_named("u").await;
    assert_eq!(after["state"], "succeeded.attested", "{after}");
    press.post(&path, &mark("another reason")).await.assert_problem(422, "idempotency-key-mismatch");
}

#[tokio::test]
async fn an_action_on_an_older_version_is_refused_and_recorded() {
    let app = App::start().await;
    let (operator, id, version) = uncertain(&app).await;
    app.client(Role::Automation)
        .events("feed", r#"{"ts":"2026-10-05T09:09:00Z","ev":"attempt.started","op":"u","n":2}"#)
        .await;
    let press = operator.with("idempotency-key", "late").with("if-match", format!("\"{version}\""));
    let problem = press.post(&format!("/api/v1/operations/{id}/actions"), &mark("typed with care")).await;
    let problem = problem.assert_problem(412, "stale-version");
    assert!(problem["current_version"].as_u64().unwrap() > version);
    let kept = operator.get("/api/v1/actions/late").await.json();
    assert_eq!((&kept["status"], &kept["reason"]), (&json!("refused"), &json!("typed with care")));
}

#[tokio::test]
async fn an_action_needs_a_key_a_version_a_reason_and_its_confirmation() {
    let app = App::start().await;
    let (operator, id, version) = uncertain(&app).await;
    let path = format!("/api/v1/operations/{id}/actions");
    let version = format!("\"{version}\"");
    operator
        .with("if-match", version.as_str())
        .post(&path, &mark("r"))
        .await
        .assert_problem(400, "idempotency-key-missing");
    operator
        .with("idempotency-key", "a b")
        .with("if-match", version.as_str())
        .post(&path, &mark("r"))
        .await
        .assert_problem(400, "idempotency-key-invalid");
    operator.with("idempotency-key", "1").post(&path, &mark("r")).await.assert_problem(428, "precondition-required");
    let press = |key: &str| operator.with("idempotency-key", key).with("if-match", version.as_str());
    press("2").with("if-match", "*").post(&path, &mark("r")).await.assert_problem(400, "bad-header");
    press("3").post(&path, &mark("")).await.assert_problem(422, "reason-missing");
    let unconfirmed = json!({"action": "mark_succeeded", "receipt": "pi_A", "reason": "r"});
    press("4").post(&path, &unconfirmed).await.assert_problem(409, "unsafe-action-needs-confirmation");
    press("5").post(&path, &json!({"action": "explode", "reason": "r"})).await.assert_problem(400, "bad-body");
    let stranger = json!({"action": "mark_succeeded", "recept": "pi_A", "reason": "r"});
    let problem = press("6").post(&path, &stranger).await.assert_problem(400, "bad-body");
    assert!(problem["detail"].as_str().unwrap().contains("recept"), "{problem}");
    press("7").post("/api/v1/operations/none/actions", &mark("r")).await.assert_problem(404, "unknown");
    let bare = json!({"action": "change_arguments", "reason": "r"});
    press("8").post(&path, &bare).await.assert_problem(400, "bad-body");
    assert_eq!(operator.operation_named("u").await["state"], "uncertain(timeout)");
}

#[tokio::test]
async fn the_api_describes_itself_and_its_events() {
    let app = App::start().await;
    let description = app.anonymous().get("/api/v1/openapi.json").await.json();
    assert!(description["openapi"].as_str().unwrap().starts_with("3."));
    assert!(description["paths"]["/api/v1/operations"]["post"].is_object());
    let schema = app.anonymous().get("/api/v1/events/schema.json").await.json();
    let described: std::collections::BTreeMap<_, _> = schema["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["properties"]["ev"]["const"].as_str().unwrap().to_owned(), event["properties"].clone()))
        .collect();
    for line in crate::cases::every_line() {
        let line: Value = serde_json::from_str(&line).unwrap();
        let event = described.get(line["ev"].as_str().unwrap()).unwrap_or_else(|| panic!("{line} is not described"));
        for member in line
            .as_object()
            .unwrap()
            .keys()
            .filter(|name| !["worker_clock", "worker", "key", "saga"].contains(&name.as_str()))
        {
            assert!(event.get(member).is_some(), "{member} of {line} is not described");
        }
    }
}

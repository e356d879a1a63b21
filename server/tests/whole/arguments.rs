//! Arguments on pages: exact, in versions, and never more of them than a page can bear.

use serde_json::{Value, json};
use tallystick_domain::contract::REDACTED;
use tallystick_domain::permission::Role;

use crate::support::{Answer, App, Client};

const MIB: usize = 1024 * 1024;

/// Proposes an operation with exactly these arguments; its id.
async fn propose(app: &App, arguments: &str) -> String {
    let body = format!(r#"{{"operation_key":"order:7","tool":"pay","arguments":{arguments}}}"#);
    let made = app.client(Role::Automation).post_text("/api/v1/operations", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

/// As many bytes of arguments as are taken, with letters of two bytes.
fn largest() -> String {
    let frame = r#"{"id":1970670598291982290,"texts":""}"#.len();
    let mut text = "é".repeat((8 * MIB - frame) / 2);
    text.push_str(&"x".repeat((8 * MIB - frame) % 2));
    format!(r#"{{"id":1970670598291982290,"texts":"{text}"}}"#)
}

async fn page(client: &Client, path: &str) -> Answer {
    let page = client.with("accept", "text/html").get(path).await;
    assert_eq!(page.status, 200, "{path}: {}", page.text());
    page
}

async fn version(app: &App, id: &str) -> String {
    app.client(Role::Operator).get(&format!("/api/v1/operations/{id}")).await.json()["version"].to_string()
}

/// Sends the form of changed arguments as a browser does; where it leads.
async fn change(app: &App, id: &str, key: &str, arguments: &str) -> String {
    let seen = version(app, id).await;
    let fields = [
        ("operation_id", id),
        ("action", "change_arguments"),
        ("action_key", key),
        ("seen_version", seen.as_str()),
        ("reason", "as agreed"),
        ("arguments", arguments),
    ];
    let operator = app.client(Role::Operator).with("accept", "text/html");
    let answer = operator.post_form("/ui/submit_action", &fields).await;
    answer.header("location").unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}

#[tokio::test]
async fn eight_mib_are_kept_to_the_byte_and_no_page_carries_them() {
    let app = App::start().await.with_tool().await;
    let arguments = largest();
    assert_eq!(arguments.len(), 8 * MIB);
    let id = propose(&app, &arguments).await;
    let viewer = app.client(Role::Viewer);
    let file = viewer.get(&format!("/api/v1/operations/{id}/arguments")).await;
    assert!(file.body == arguments.as_bytes(), "{} bytes came back", file.body.len());
    assert_eq!(file.header("content-type"), Some("application/json"));
    let disposition = format!("attachment; filename=\"arguments-{id}.json\"");
    assert_eq!(file.header("content-disposition"), Some(disposition.as_str()));
    assert_eq!(file.header("x-content-type-options"), Some("nosniff"));

    let operation = page(&viewer, &format!("/operations/{id}")).await.text();
    assert!(operation.contains("The first 4,095 of 8,388,608 bytes, as received."), "a letter is not cut in two");
    assert!(operation.contains("1970670598291982290"), "a number of the part is exact");
    assert!(operation.contains(&format!("href=\"/api/v1/operations/{id}/arguments\"")));
    let operator = app.client(Role::Operator);
    let places = [
        format!("/operations/{id}"),
        format!("/operations/{id}/change_arguments"),
        format!("/operations/{id}/approve"),
    ];
    for path in places.iter().map(String::as_str).chain(["/", "/operations", "/approvals"]) {
        let shown = page(&operator, path).await;
        assert!(shown.body.len() < 100 * 1024, "{path} has {} bytes", shown.body.len());
    }
    let raw = operator.get(&format!("/api/v1/operations/{id}")).await;
    assert!(raw.body.len() < 100 * 1024 && raw.json()["arguments"].is_null(), "the raw record names where they are");
}

#[tokio::test]
async fn arguments_are_given_to_nobody_who_may_not_read() {
    let app = App::start().await.with_tool().await;
    let id = propose(&app, r#"{"amount":5}"#).await;
    let path = format!("/api/v1/operations/{id}/arguments");
    assert_eq!(app.anonymous().get(&path).await.status, 401);
    app.client(Role::Viewer).get("/api/v1/operations/none/arguments").await.assert_problem(404, "unknown");
}

#[tokio::test]
async fn what_is_too_large_to_edit_has_no_field_and_a_part_of_it_is_refused() {
    let app = App::start().await.with_tool().await;
    let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
    let id = propose(&app, &arguments).await;
    let form = page(&app.client(Role::Operator), &format!("/operations/{id}/change_arguments")).await.text();
    assert!(form.contains("too large to be edited here") && form.contains("--data-binary @-"), "{form}");
    assert!(!form.contains("<textarea") && !form.contains("/ui/submit_action"), "there is nothing to submit");

    let before = version(&app, &id).await;
    let refused = change(&app, &id, "a-part", &arguments[..4_096]).await;
    assert!(refused.contains("refused=a-part"), "{refused}");
    let said = page(&app.client(Role::Operator), &refused).await.text();
    assert!(said.contains("ends in the middle of a value") && !said.contains("<textarea"), "{said}");
    assert_eq!(version(&app, &id).await, before, "a refusal changes nothing");
    let kept = app.client(Role::Viewer).get(&format!("/api/v1/operations/{id}/arguments")).await;
    assert_eq!(kept.text(), arguments);
    // All of them are taken by API, as the page says.
    let changed = arguments.replace("\"x", "\"y");
    let body = format!(r#"{{"action":"change_arguments","reason":"as agreed","arguments":{changed}}}"#);
    let press = app.client(Role::Operator).with("idempotency-key", "whole").with("if-match", format!("\"{before}\""));
    let done = press.post_text(&format!("/api/v1/operations/{id}/actions"), &body).await;
    assert_eq!(done.status, 200, "{}", done.text());
    let kept = app.client(Role::Viewer).get(&format!("/api/v1/operations/{id}/arguments")).await;
    assert_eq!(kept.text(), changed);
}

#[tokio::test]
async fn what_stands_for_a_hidden_field_is_never_taken_for_its_value() {
    let app = App::start().await;
    let tool = json!({"class": "reversible", "executable": true, "contract": {"secret_fields": ["card"]}});
    app.declare("pay", tool).await;
    let id = propose(&app, r#"{"amount":5,"card":"4242424242424242"}"#).await;
    let shown = page(&app.client(Role::Operator), &format!("/operations/{id}")).await.text();
    assert!(shown.contains("redacted by the tool") && !shown.contains("4242424242424242"), "{shown}");
    let form = page(&app.client(Role::Operator), &format!("/operations/{id}/change_arguments")).await.text();
    assert!(form.contains("The tool hides fields") && !form.contains("<textarea"), "{form}");
    let copied = json!({"amount": 6, "card": REDACTED}).to_string();
    let refused = change(&app, &id, "copied", &copied).await;
    assert!(refused.contains("refused=copied"), "{refused}");
    let kept = app.client(Role::Viewer).get(&format!("/api/v1/operations/{id}/arguments")).await;
    assert_eq!(kept.json(), json!({"amount": 5, "card": "4242424242424242"}));
}

#[tokio::test]
async fn versions_say_in_what_they_differ_and_which_of_them_is_approved() {
    let app = App::start().await.with_tool().await;
    let first = r#"{"payee":"Caf\u00e9","amount":1.0,"at":"2026-07-31T18:30:00-07:00"}"#;
    let id = propose(&app, first).await;
    let approve = json!({"action": "approve", "reason": "looked at", "confirmation": "7"});
    let seen = version(&app, &id).await;
    let approver =
        app.client(Role::Approver).with("idempotency-key", "approve").with("if-match", format!("\"{seen}\""));
    let done = approver.post(&format!("/api/v1/operations/{id}/actions"), &approve).await;
    assert_eq!(done.status, 200, "{}", done.text());
    let second = r#"{"payee":"Cafe\u0301","amount":1.00,"at":"2026-08-01T01:30:00Z"}"#;
    change(&app, &id, "alike", second).await;
    for path in [format!("/operations/{id}"), "/approvals".to_owned()] {
        let shown = page(&app.client(Role::Approver), &path).await.text();
        for said in [
            "differs only in Unicode composition",
            "differs only in how the number is spelled",
            "names the same instant",
            "They differ only in Unicode composition, in how a number is spelled and in how the same instant is written",
            r"Caf\u00e9",
            r"Cafe\u0301",
        ] {
            assert!(shown.contains(said), "{path} does not say {said:?}: {shown}");
        }
    }
    let shown = page(&app.client(Role::Approver), &format!("/operations/{id}")).await.text();
    let (second, first) = (shown.find("Version 2").unwrap(), shown.find("Version 1").unwrap());
    assert!(second < first && shown[second..first].contains("No approval covers it."), "{shown}");
    assert!(shown[first..].contains("Approved by The approver until"), "{shown}");
}

#[tokio::test]
async fn a_refused_change_says_how_it_differs_from_what_is_in_force() {
    let app = App::start().await.with_tool().await;
    let id = propose(&app, r#"{"payee":"Caf\u00e9","amount":100}"#).await;
    let fields = |key: &'static str| {
        [("operation_id", id.as_str()), ("action", "change_arguments"), ("action_key", key), ("seen_version", "0")]
    };
    let typed = [("reason", "as agreed"), ("arguments", r#"{"payee":"Cafe\u0301","amount":100}"#)];
    let all: Vec<(&str, &str)> = fields("late").into_iter().chain(typed).collect();
    let operator = app.client(Role::Operator).with("accept", "text/html");
    let refused = operator.post_form("/ui/submit_action", &all).await;
    let form = page(&operator, refused.header("location").unwrap()).await.text();
    assert!(form.contains("How what you typed differs from the arguments in force"), "{form}");
    assert!(form.contains("They differ only in Unicode composition"), "{form}");
    assert!(form.contains("<textarea"), "what was typed is kept");
}

#[tokio::test]
async fn a_huge_difference_is_counted_and_shown_in_part() {
    let app = App::start().await.with_tool().await;
    let object = |value: &str| {
        let members: Vec<String> = (0..300).map(|name| format!("\"field-{name}\":\"{value}\"")).collect();
        format!("{{{},\"text\":\"{}\"}}", members.join(","), value.repeat(500_000))
    };
    let id = propose(&app, &object("a")).await;
    let body: Value = serde_json::from_str(&object("b")).unwrap();
    let body = json!({"operation_key": "order:7", "tool": "pay", "arguments": body});
    app.client(Role::Automation).post("/api/v1/operations", &body).await.assert_problem(422, "operation-key-conflict");
    for path in [format!("/operations/{id}"), "/approvals".to_owned()] {
        let shown = page(&app.client(Role::Operator), &path).await;
        assert!(shown.body.len() < 100 * 1024, "{path} has {} bytes", shown.body.len());
        assert!(shown.text().contains("The first 40 of 301 fields that differ."), "{}", shown.text());
    }
}

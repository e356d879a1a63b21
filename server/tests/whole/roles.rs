//! Role × action × surface, made from the action enum and the description of the API: every forbidden pair is refused, on
//! the API and on the page function alike, and what was refused is on record.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use tallystick_domain::action::Action;
use tallystick_domain::permission::{Permission, Role};

use crate::support::{Answer, App, Client};

/// What each action's form carries; a new action without an entry does not compile.
fn input(action: Action) -> Value {
    let fields = match action {
        Action::MarkSucceeded => json!({"receipt": "r"}),
        Action::Adopt => json!({"statement": "The other system sends no more."}),
        Action::PickVerdict => json!({"pick": "succeeded", "receipt": "r"}),
        Action::MarkFailed
        | Action::Assign
        | Action::Comment
        | Action::Escalate
        | Action::LookUp
        | Action::RerunSameKey
        | Action::RerunNew
        | Action::Approve
        | Action::Deny
        | Action::Renew
        | Action::Revoke
        | Action::Cancel
        | Action::AttachEvidence
        | Action::Compensate
        | Action::Waive => json!({}),
        Action::ChangeArguments => json!({"arguments": {}}),
        Action::GrantAttempts => json!({"attempts": 1}),
        Action::DismissFinding => json!({"code": "stalled"}),
    };
    let mut input = json!({"action": action.name(), "reason": "a reason", "confirmation": "k"});
    input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    input
}

async fn proposed(app: &App) -> (String, u64) {
    let body = json!({"operation_key": "k", "tool": "pay", "arguments": {}});
    let made = app.client(Role::Automation).post("/api/v1/operations", &body).await;
    assert_eq!(made.status, 201, "{}", made.text());
    (made.json()["id"].as_str().unwrap().to_owned(), made.json()["version"].as_u64().unwrap())
}

async fn press_api(client: &Client, id: &str, version: u64, key: &str, action: Action) -> Answer {
    let client = client.with("idempotency-key", key).with("if-match", format!("\"{version}\""));
    client.post(&format!("/api/v1/operations/{id}/actions"), &input(action)).await
}

async fn press_page(client: &Client, id: &str, version: u64, key: &str, action: Action) -> Answer {
    let input = input(action);
    let text = |name: &str| match &input[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let version = version.to_string();
    let values: Vec<(&str, String)> =
        ["reason", "confirmation", "receipt", "statement", "pick", "attempts", "arguments", "code"]
            .into_iter()
            .map(|name| (name, text(name)))
            .collect();
    let mut fields =
        vec![("operation_id", id), ("action", action.name()), ("action_key", key), ("seen_version", &version)];
    fields.extend(values.iter().map(|(name, value)| (*name, value.as_str())));
    client.post_form("/ui/submit_action", &fields).await
}

/// The row of the audit log under this key, as an administrator sees it.
async fn on_record(app: &App, key: &str) -> Option<Value> {
    let answer = app.client(Role::Administrator).get(&format!("/api/v1/actions/{key}")).await;
    (answer.status == 200).then(|| answer.json())
}

#[tokio::test]
async fn every_forbidden_pair_of_role_and_action_is_refused_on_the_api_and_recorded() {
    let app = App::start().await.with_tool().await;
    let (id, version) = proposed(&app).await;
    let mut refused = 0;
    for role in Role::ALL {
        for &action in Action::ALL.iter().filter(|action| !role.allows(Permission::Act(**action))) {
            let key = format!("api-{}-{}", role.name(), action.name());
            press_api(&app.client(role), &id, version, &key, action).await.assert_problem(403, "not-permitted");
            refused += 1;
            let row = on_record(&app, &key).await.unwrap_or_else(|| panic!("{key} is not on record"));
            assert_eq!((&row["status"], &row["refusal_code"]), (&json!("refused"), &json!("not-permitted")), "{key}");
            assert_eq!((&row["actor"]["role"], &row["action"]), (&json!(role.name()), &json!(action.name())));
        }
    }
    assert!(refused > Action::ALL.len(), "{refused} pairs");
    let after = app.client(Role::Viewer).get(&format!("/api/v1/operations/{id}")).await.json();
    assert_eq!((&after["state"], &after["version"]), (&json!("proposed"), &json!(version)), "nothing was done");
}

#[tokio::test]
async fn every_forbidden_pair_of_role_and_action_is_refused_on_the_page_function_and_recorded() {
    let app = App::start().await.with_tool().await;
    let (id, version) = proposed(&app).await;
    for role in Role::ALL {
        for &action in Action::ALL.iter().filter(|action| !role.allows(Permission::Act(**action))) {
            let key = format!("page-{}-{}", role.name(), action.name());
            let answer = press_page(&app.client(role), &id, version, &key, action).await;
            let row = on_record(&app, &key).await.unwrap_or_else(|| panic!("{key} is not on record: {answer:?}"));
            assert_eq!((&row["status"], &row["refusal_code"]), (&json!("refused"), &json!("not-permitted")), "{key}");
        }
    }
    let after = app.client(Role::Viewer).get(&format!("/api/v1/operations/{id}")).await.json();
    assert_eq!((&after["state"], &after["version"]), (&json!("proposed"), &json!(version)), "nothing was done");
}

#[tokio::test]
async fn no_permitted_pair_is_refused_for_its_role() {
    let app = App::start().await.with_tool().await;
    let (id, version) = proposed(&app).await;
    for role in Role::ALL {
        for &action in Action::ALL.iter().filter(|action| role.allows(Permission::Act(**action))) {
            let key = format!("{}-{}", role.name(), action.name());
            let answer = press_api(&app.client(role), &id, version, &key, action).await;
            let code = if answer.status < 300 { Value::Null } else { answer.json()["type"].clone() };
            assert_ne!(code, "urn:tallystick:problem:not-permitted", "{key}");
        }
    }
}

/// Who may call each route of the API; the least that a caller needs.
const ROUTES: &[(&str, &str, Least)] = &[
    ("get", "/api/v1/openapi.json", Least::Nobody),
    ("get", "/api/v1/events/schema.json", Least::Nobody),
    ("post", "/api/v1/events", Least::Permission(Permission::Report)),
    ("put", "/api/v1/tools/{name}", Least::Permission(Permission::DeclareTools)),
    ("get", "/api/v1/tools/{name}", Least::Permission(Permission::Read)),
    ("get", "/api/v1/tools", Least::Permission(Permission::Read)),
    ("put", "/api/v1/sources/{name}", Least::Permission(Permission::DeclareSources)),
    ("get", "/api/v1/sources", Least::Permission(Permission::Read)),
    ("post", "/api/v1/operations", Least::Permission(Permission::Propose)),
    ("get", "/api/v1/operations", Least::Permission(Permission::Read)),
    ("get", "/api/v1/operations/{id}", Least::Permission(Permission::Read)),
    ("get", "/api/v1/operations/{id}/arguments", Least::Permission(Permission::Read)),
    ("post", "/api/v1/claims", Least::Permission(Permission::Execute)),
    ("post", "/api/v1/operations/{id}/lease", Least::Permission(Permission::Execute)),
    ("post", "/api/v1/operations/{id}/dispatches", Least::Permission(Permission::Execute)),
    ("post", "/api/v1/operations/{id}/outcomes", Least::Permission(Permission::Execute)),
    ("post", "/api/v1/operations/{id}/evidence", Least::Permission(Permission::Report)),
    ("get", "/api/v1/destinations", Least::Permission(Permission::Read)),
    ("put", "/api/v1/destinations/{name}/pause", Least::Permission(Permission::Administer)),
    ("get", "/api/v1/deliveries", Least::Permission(Permission::Read)),
    ("get", "/api/v1/workers", Least::Permission(Permission::Read)),
    ("get", "/api/v1/restore", Least::Permission(Permission::Read)),
    ("post", "/api/v1/restore/acknowledgement", Least::Permission(Permission::Administer)),
    ("get", "/api/v1/workflows", Least::Permission(Permission::Read)),
    ("get", "/api/v1/workflows/{name}", Least::Permission(Permission::Read)),
    ("put", "/api/v1/workflows/{name}", Least::Permission(Permission::Propose)),
    ("get", "/api/v1/queue", Least::Permission(Permission::Read)),
    ("post", "/api/v1/operations/{id}/actions", Least::Action),
    ("post", "/api/v1/actions/{key}/complete", Least::Action),
    ("post", "/api/v1/actions/{key}/decline", Least::Action),
    ("get", "/api/v1/actions/{key}", Least::Permission(Permission::Read)),
    ("get", "/api/v1/actions", Least::Permission(Permission::Read)),
    ("post", "/api/v1/bulk", Least::Action),
    ("get", "/api/v1/bulk/{id}", Least::Permission(Permission::Read)),
    ("post", "/api/v1/bulk/{id}/start", Least::Action),
    ("post", "/api/v1/bulk/{id}/abort", Least::Action),
    ("get", "/api/v1/live", Least::Permission(Permission::Read)),
];

#[derive(Clone, Copy)]
enum Least {
    Nobody,
    Permission(Permission),
    /// As each action says; see above.
    Action,
}

fn body(path: &str) -> &'static str {
    match path {
        "/api/v1/tools/{name}" => r#"{"class":"read"}"#,
        "/api/v1/sources/{name}" => r#"{"trust":"declared"}"#,
        "/api/v1/operations" => r#"{"operation_key":"k2","tool":"pay","arguments":{}}"#,
        "/api/v1/claims" => r#"{"worker":"w","incarnation":"i","tools":["pay"]}"#,
        "/api/v1/operations/{id}/lease" => r#"{"epoch":1}"#,
        "/api/v1/operations/{id}/dispatches" => r#"{"epoch":1,"worker":"w","incarnation":"i"}"#,
        "/api/v1/operations/{id}/outcomes" => r#"{"epoch":1,"outcome":"ok"}"#,
        "/api/v1/operations/{id}/evidence" => r#"{"id":"e","claim":"absent","linked_by":"key"}"#,
        "/api/v1/destinations/{name}/pause" => r#"{"is_paused":true}"#,
        "/api/v1/workflows/{name}" => r#"{"unwinds":"by_people"}"#,
        "/api/v1/actions/{key}/complete" => "{}",
        "/api/v1/actions/{key}/decline" => r#"{"reason":"no"}"#,
        "/api/v1/bulk" => r#"{"action":"comment","operations":["none"]}"#,
        "/api/v1/bulk/{id}/start" => r#"{"hash":"00","reason":"r"}"#,
        "/api/v1/operations/{id}/actions" => r#"{"action":"comment","reason":"r"}"#,
        _ => "",
    }
}

async fn call(client: &Client, method: &str, path: &str) -> u16 {
    let filled = path.replace("{name}", "pay").replace("{id}", "none").replace("{key}", "none");
    let filled = if path == "/api/v1/events" { format!("{filled}?source=feed") } else { filled };
    let client = client.with("idempotency-key", "k-routes").with("if-match", "\"1\"");
    let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
    let kind = (path != "/api/v1/events").then_some("application/json");
    if path == "/api/v1/live" {
        // A stream has no end to wait for; a number that is not one is refused after the caller is known.
        return client.get("/api/v1/live?after=x").await.status;
    }
    client.send(method, &filled, kind, Body::from(body(path))).await.status
}

#[tokio::test]
async fn every_route_is_listed_with_who_may_call_it() {
    let app = App::start().await;
    let description = app.anonymous().get("/api/v1/openapi.json").await.json();
    let described: BTreeSet<(String, String)> = description["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone())))
        .collect();
    let listed = ROUTES.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(described, listed);
}

#[tokio::test]
async fn the_description_asks_for_a_token_exactly_where_the_api_does() {
    let app = App::start().await;
    let description = app.anonymous().get("/api/v1/openapi.json").await.json();
    let scheme = &description["components"]["securitySchemes"]["bearer"];
    assert_eq!((&scheme["type"], &scheme["scheme"]), (&json!("http"), &json!("bearer")));
    for (method, path, least) in ROUTES {
        // A call that says nothing needs what the whole description says.
        let own = &description["paths"][path][method]["security"];
        let needed = if own.is_null() { &description["security"] } else { own };
        let expected = if matches!(least, Least::Nobody) { json!([{}]) } else { json!([{"bearer": []}]) };
        assert_eq!(needed, &expected, "{method} {path}");
    }
}

#[tokio::test]
async fn nobody_gets_in_without_a_token_and_no_role_does_what_it_may_not() {
    let app = App::start().await.with_tool().await;
    for (method, path, least) in ROUTES {
        let anonymous = call(&app.anonymous(), method, path).await;
        assert_eq!(anonymous == 401, !matches!(least, Least::Nobody), "{method} {path}: {anonymous}");
        for role in Role::ALL {
            let status = call(&app.client(role), method, path).await;
            let is_allowed = match least {
                Least::Nobody | Least::Action => continue,
                Least::Permission(permission) => role.allows(*permission),
            };
            assert_eq!(status != 403, is_allowed, "{} {method} {path}: {status}", role.name());
            assert_ne!(status, 401, "{} {method} {path}", role.name());
        }
    }
}

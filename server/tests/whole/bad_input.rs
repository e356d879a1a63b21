//! Input that is wrong in every way we know: each a message that says what was not done and what to do.

use axum::body::Body;
use axum::http::Method;
use serde_json::json;
use tallystick_domain::permission::Role;

use crate::support::{Answer, App};

async fn propose(app: &App, body: &str) -> Answer {
    app.client(Role::Automation).post_text("/api/v1/operations", body).await
}

/// Nothing of it is on record.
async fn assert_no_operations(app: &App) {
    let page = app.client(Role::Viewer).get("/api/v1/operations").await.json();
    assert_eq!(page["rows"], json!([]));
}

#[tokio::test]
async fn malformed_json_is_refused_with_its_place() {
    let app = App::start().await.with_tool().await;
    let problem = propose(&app, r#"{"operation_key":"a","#).await.assert_problem(400, "malformed-json");
    assert_eq!(problem["at_byte"], 21);
    assert!(problem["detail"].as_str().unwrap().contains("Nothing was done"));
    assert_no_operations(&app).await;
}

#[tokio::test]
async fn a_duplicate_name_is_refused_wherever_it_stands() {
    let app = App::start().await.with_tool().await;
    for body in [
        r#"{"operation_key":"a","operation_key":"b","tool":"pay","arguments":{}}"#,
        r#"{"operation_key":"a","tool":"pay","arguments":{"deep":[{"x":1,"x":2}]}}"#,
    ] {
        let problem = propose(&app, body).await.assert_problem(400, "malformed-json");
        assert!(problem["detail"].as_str().unwrap().contains("occurs twice"), "{problem}");
    }
    let put = app.client(Role::Administrator);
    let body = r#"{"class":"read","class":"irreversible"}"#;
    put.send(Method::PUT, "/api/v1/tools/x", Some("application/json"), body.into())
        .await
        .assert_problem(400, "malformed-json");
    assert_no_operations(&app).await;
}

#[tokio::test]
async fn wrong_types_are_named_with_what_was_expected() {
    let app = App::start().await.with_tool().await;
    let problem =
        propose(&app, r#"{"operation_key":7,"tool":"pay","arguments":{}}"#).await.assert_problem(400, "bad-body");
    assert_eq!(problem["member"], "operation_key");
    let problem =
        propose(&app, r#"{"operation_key":"a","tool":"pay","arguments":[1]}"#).await.assert_problem(422, "bad-field");
    assert_eq!(problem["field"], "arguments");
    let admin = app.client(Role::Administrator);
    admin.put("/api/v1/tools/x", &json!({"class": 1})).await.assert_problem(400, "bad-body");
    admin.put("/api/v1/sources/x", &json!({"trust": "very much"})).await.assert_problem(400, "bad-body");
    propose(&app, "[]").await.assert_problem(400, "malformed-json");
    assert_no_operations(&app).await;
}

#[tokio::test]
async fn unknown_members_of_our_own_api_are_refused_by_name() {
    let app = App::start().await.with_tool().await;
    let problem = propose(&app, r#"{"operation_key":"a","tool":"pay","arguments":{},"argumnets":{}}"#)
        .await
        .assert_problem(400, "bad-body");
    assert_eq!(problem["member"], "argumnets");
    let admin = app.client(Role::Administrator);
    let problem =
        admin.put("/api/v1/tools/x", &json!({"class": "read", "host": "evil"})).await.assert_problem(400, "bad-body");
    assert!(problem["detail"].as_str().unwrap().contains("host"));
    let answer = admin.put("/api/v1/tools/x", &json!({"class": "read", "contract": {"retention": 5}})).await;
    assert!(answer.assert_problem(400, "bad-body")["detail"].as_str().unwrap().contains("retention"));
    assert_no_operations(&app).await;
}

#[tokio::test]
async fn missing_members_are_named() {
    let app = App::start().await.with_tool().await;
    for (body, member) in [
        (r#"{"tool":"pay","arguments":{}}"#, "operation_key"),
        (r#"{"operation_key":"a","arguments":{}}"#, "tool"),
        (r#"{"operation_key":"a","tool":"pay"}"#, "arguments"),
    ] {
        assert_eq!(propose(&app, body).await.assert_problem(400, "bad-body")["member"], member);
    }
}

#[tokio::test]
async fn a_9_mib_argument_is_refused_and_one_of_7_mib_is_taken() {
    let app = App::start().await.with_tool().await;
    let body = |mib: usize| {
        format!(r#"{{"operation_key":"a","tool":"pay","arguments":{{"text":"{}"}}}}"#, "x".repeat(mib * 1024 * 1024))
    };
    let problem = propose(&app, &body(9)).await.assert_problem(413, "too-large");
    assert!(problem["detail"].as_str().unwrap().contains("Nothing was done"));
    assert_no_operations(&app).await;
    assert_eq!(propose(&app, &body(7)).await.status, 201);
    let admin = app.client(Role::Administrator);
    let big = json!({"class": "read", "contract": {"source_url": "x".repeat(1024 * 1024)}});
    admin.put("/api/v1/tools/x", &big).await.assert_problem(413, "too-large");
}

#[tokio::test]
async fn an_empty_key_a_long_key_and_control_characters_are_refused() {
    let app = App::start().await.with_tool().await;
    for (key, said) in [
        (String::new(), "is empty"),
        ("k".repeat(300), "300 characters"),
        ("a\u{7}b".to_owned(), "U+0007"),
        ("a\nb".to_owned(), "U+000A"),
    ] {
        let body = json!({"operation_key": key, "tool": "pay", "arguments": {}}).to_string();
        let problem = propose(&app, &body).await.assert_problem(422, "bad-field");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said) && detail.contains("Nothing was done"), "{detail}");
    }
    assert_no_operations(&app).await;
    let longest = json!({"operation_key": "k".repeat(255), "tool": "pay", "arguments": {}}).to_string();
    assert_eq!(propose(&app, &longest).await.status, 201);
}

#[tokio::test]
async fn an_undeclared_tool_cannot_be_proposed_for() {
    let app = App::start().await;
    let answer = propose(&app, r#"{"operation_key":"a","tool":"nobody.knows","arguments":{}}"#).await;
    assert!((400..500).contains(&answer.status), "{}", answer.text());
    assert_no_operations(&app).await;
}

#[tokio::test]
async fn bad_lines_are_reported_by_number_and_the_rest_goes_on() {
    let app = App::start().await;
    let lines = [
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","key":"k-a"}"#,
        "not json",
        "",
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.vanished","op":"b"}"#,
        r#"{"ts":"yesterday","ev":"operation.proposed","op":"b"}"#,
        r#"{"ts":"2026-10-05T09:00:00Z","ts":"2026-10-05T09:00:01Z","ev":"operation.proposed","op":"b"}"#,
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"b","key":""}"#,
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"b","args":[1]}"#,
        r#"{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"c","key":"k-c","further":"members are ignored"}"#,
    ]
    .join("\n");
    let answer = app.client(Role::Automation).events("feed", &lines).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let report = answer.json();
    let numbers: Vec<_> = report["bad"].as_array().unwrap().iter().map(|bad| bad["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 4, 5, 6, 7, 8]);
    assert_eq!((&report["recorded"], &report["operations"]), (&json!(2), &json!(2)), "{report}");
    assert_eq!(report["bad_count"], 6);
    let again = app.client(Role::Automation).events("feed", &lines).await.json();
    assert_eq!((&again["recorded"], &again["repeated"]), (&json!(0), &json!(2)));
}

#[tokio::test]
async fn strict_stops_at_the_first_bad_line_and_nothing_after_it_is_taken() {
    let app = App::start().await;
    let lines = "{\"ts\":\"2026-10-05T09:00:00Z\",\"ev\":\"operation.proposed\",\"op\":\"a\"}\nbad\n\
                 {\"ts\":\"2026-10-05T09:00:00Z\",\"ev\":\"operation.proposed\",\"op\":\"c\"}";
    let client = app.client(Role::Automation);
    let answer = client.send(Method::POST, "/api/v1/events?source=feed&strict=true", None, lines.into()).await;
    let problem = answer.assert_problem(422, "bad-line");
    assert_eq!((&problem["line"], &problem["report"]["recorded"]), (&json!(2), &json!(1)));
    let rows = client.get("/api/v1/operations").await.json()["rows"].as_array().unwrap().len();
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn an_event_of_a_future_time_is_kept() {
    let app = App::start().await;
    let line = r#"{"ts":"2036-10-05T09:00:00Z","ev":"operation.proposed","op":"later","key":"later"}"#;
    let report = app.client(Role::Automation).events("feed", line).await.json();
    assert_eq!(report["recorded"], 1, "{report}");
    assert_eq!(app.client(Role::Viewer).operation_named("later").await["state"], "proposed");
}

#[tokio::test]
async fn a_line_longer_than_any_may_be_is_reported_and_the_next_one_taken() {
    let app = App::start().await;
    let long = format!(
        r#"{{"ts":"2026-10-05T09:00:00Z","ev":"operation.proposed","op":"a","args":{{"x":"{}"}}}}"#,
        "x".repeat(9 << 20)
    );
    let lines = format!("{long}\n{{\"ts\":\"2026-10-05T09:00:00Z\",\"ev\":\"operation.proposed\",\"op\":\"b\"}}\n");
    let report = app.client(Role::Automation).events("feed", &lines).await.json();
    assert_eq!(report["bad"][0]["line"], 1, "{report}");
    assert_eq!(report["recorded"], 1);
}

#[tokio::test]
async fn events_need_a_source_and_unknown_parameters_are_refused() {
    let app = App::start().await;
    let client = app.client(Role::Automation);
    let post = async |path: &str| client.send(Method::POST, path, None, Body::empty()).await;
    assert_eq!(post("/api/v1/events").await.assert_problem(400, "bad-query")["parameter"], "source");
    post("/api/v1/events?source=a&strikt=true").await.assert_problem(400, "bad-query");
    post("/api/v1/events?source=a&strict=maybe").await.assert_problem(400, "bad-query");
    assert_eq!(post("/api/v1/events?source=a").await.status, 200);
}

#[tokio::test]
async fn a_misspelt_filter_does_not_answer_with_everything() {
    let app = App::start().await;
    let client = app.client(Role::Viewer);
    for path in [
        "/api/v1/operations?sate=uncertain",
        "/api/v1/operations?state=lost",
        "/api/v1/operations?limit=0",
        "/api/v1/operations?limit=201",
        "/api/v1/queue?reason=bored",
        "/api/v1/actions?action=explode",
        "/api/v1/live?after=yesterday",
    ] {
        client.get(path).await.assert_problem(400, "bad-query");
    }
}

#[tokio::test]
async fn unknown_places_methods_and_media_types_are_problems_too() {
    let app = App::start().await.with_tool().await;
    let client = app.client(Role::Administrator);
    client.get("/api/v1/nowhere").await.assert_problem(404, "not-found");
    client.get("/api/nowhere").await.assert_problem(404, "not-found");
    client.get("/api/v1/operations/nothing").await.assert_problem(404, "unknown");
    client.get("/api/v1/actions/nothing").await.assert_problem(404, "unknown");
    client.get("/api/v1/tools/nothing").await.assert_problem(404, "unknown");
    let refused = client.send(Method::DELETE, "/api/v1/operations", None, Body::empty()).await;
    refused.assert_problem(405, "method-not-allowed");
    assert!(refused.header("allow").is_some_and(|allow| allow.contains("POST")), "{:?}", refused.headers);
    client.send(Method::PUT, "/api/v1/events", None, Body::empty()).await.assert_problem(405, "method-not-allowed");
    let body = r#"{"operation_key":"a","tool":"pay","arguments":{}}"#;
    let answer = client.send(Method::POST, "/api/v1/operations", Some("text/plain"), body.into()).await;
    answer.assert_problem(415, "unsupported-media-type");
    assert_no_operations(&app).await;
}

#[tokio::test]
async fn every_problem_type_is_explained_at_its_page() {
    let app = App::start().await;
    for kind in tallystick::http::problem::KINDS {
        let page = app.anonymous().get(&format!("/problems/{}", kind.code)).await;
        assert_eq!(page.status, 200, "{}", kind.code);
        assert!(page.text().contains(kind.code));
    }
}

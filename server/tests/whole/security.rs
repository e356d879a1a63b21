//! What keeps a browser from being used against the person before it.

use axum::body::Body;
use axum::http::Method;
use leptos::server_fn::axum::server_fn_paths;
use serde_json::json;
use tallystick::http::pages;
use tallystick_domain::permission::Role;

use crate::support::App;

#[tokio::test]
async fn every_server_function_answers_401_without_a_session() {
    let app = App::start().await;
    let paths: Vec<_> = server_fn_paths().collect();
    assert!(paths.len() >= 10, "the pages' functions are linked: {paths:?}");
    for (path, method) in paths {
        assert!(path.starts_with("/ui/"), "{path} is not among the pages' functions");
        assert_eq!(method, Method::POST, "{path}: a change must not hide behind a link");
        let answer = app.anonymous().send(method, path, Some("application/json"), "{}".into()).await;
        assert_eq!(answer.status, 401, "{path}: {}", answer.text());
        assert_eq!(answer.json()["error"], "signed_out", "{path}");
    }
}

#[tokio::test]
async fn forms_from_other_sites_are_refused_and_change_nothing() {
    let app = App::start().await;
    let cookie =
        app.anonymous().post_form("/sign-in", &[("login", "operator"), ("password", crate::support::PASSWORD)]).await;
    let browser = app.anonymous().with("cookie", cookie.cookie().unwrap());
    let foreign = [
        browser.with("sec-fetch-site", "cross-site"),
        browser.with("sec-fetch-site", "same-site"),
        browser.with("origin", "https://evil.example"),
    ];
    for client in foreign {
        client.post_form("/sign-out", &[]).await.assert_problem(403, "cross-site");
        client.post("/api/v1/operations", &json!({})).await.assert_problem(403, "cross-site");
        client.post_form("/ui/submit_action", &[]).await.assert_problem(403, "cross-site");
    }
    assert_eq!(browser.get("/api/v1/operations").await.status, 200, "still signed in");
    assert_eq!(browser.with("origin", "http://127.0.0.1:8642").post_form("/sign-out", &[]).await.status, 303);
}

#[tokio::test]
async fn every_page_carries_a_strict_policy_with_a_fresh_nonce() {
    let app = App::start().await;
    let client = app.client(Role::Administrator).with("accept", "text/html");
    let mut nonces = Vec::new();
    for route in pages::routes() {
        let path = route.path().replace("{id}", "none").replace("{action}", "adopt").replace("{key}", "none");
        let page = client.get(&path).await;
        let policy = page.header("content-security-policy").unwrap_or_else(|| panic!("{path} has no policy"));
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
        assert_eq!(
            policy,
            format!(
                "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
            ),
            "{path}"
        );
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(page.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
        let html = page.text();
        for script in html.split("<script").skip(1) {
            assert!(
                script.split('>').next().unwrap().contains(nonce),
                "{path}: a script without the nonce: {script:.80}"
            );
        }
        assert!(!html.contains(" style=\""), "{path}: the policy forbids inline styles");
        nonces.push(nonce.to_owned());
    }
    let pages = nonces.len();
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), pages, "each page has its own nonce");
}

#[tokio::test]
async fn a_notice_of_the_server_itself_is_under_the_same_policy() {
    let app = App::start().await;
    let page = app.anonymous().with("accept", "text/html").get("/sign-in/link/nothing").await;
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'; script-src 'self' 'nonce-"));
}

#[tokio::test]
async fn health_is_open_and_figures_are_not() {
    let app = App::start().await;
    assert_eq!(app.anonymous().get("/healthz").await.status, 200);
    assert_eq!(app.anonymous().get("/readyz").await.status, 200);
    app.anonymous().get("/metrics").await.assert_problem(401, "not-signed-in");
    let figures = app.client(Role::Viewer).get("/metrics").await;
    assert!(figures.text().contains("tallystick_http_answers_total{class=\"4xx\"} 1"), "{}", figures.text());
}

#[tokio::test]
async fn people_get_a_page_where_programs_get_a_problem() {
    let app = App::start().await;
    let person = app.client(Role::Viewer).with("accept", "text/html");
    let missing = person.get("/nowhere").await;
    assert_eq!((missing.status, missing.header("content-type")), (404, Some("text/html; charset=utf-8")));
    assert!(missing.header("content-security-policy").is_some_and(|policy| policy.contains("nonce")));
    app.client(Role::Viewer).get("/nowhere").await.assert_problem(404, "not-found");
    let foreign = person.with("sec-fetch-site", "cross-site").post_form("/sign-out", &[]).await;
    assert_eq!(foreign.status, 403);
    assert!(
        foreign.text().starts_with("<!DOCTYPE html>") && foreign.text().contains("Nothing was done"),
        "{}",
        foreign.text()
    );
    person.get("/api/v1/nowhere").await.assert_problem(404, "not-found");
}

#[tokio::test]
async fn a_form_of_3_mib_is_refused() {
    let app = App::start().await;
    let reason = "x".repeat(3 << 20);
    let program = app.client(Role::Operator);
    program.post_form("/ui/submit_action", &[("reason", &reason)]).await.assert_problem(413, "too-large");
    let person = program.with("accept", "text/html").post_form("/ui/submit_action", &[("reason", &reason)]).await;
    assert_eq!(person.status, 413);
    assert!(person.text().contains("Nothing was done"), "{}", person.text());
}

#[tokio::test]
async fn a_store_that_is_gone_is_said_everywhere_and_nobody_is_signed_out_by_it() {
    let app = App::start().await;
    let signed_in =
        app.anonymous().post_form("/sign-in", &[("login", "operator"), ("password", crate::support::PASSWORD)]).await;
    let browser = app.anonymous().with("cookie", signed_in.cookie().unwrap()).with("accept", "text/html");
    app.ledger.close().await;
    let answer = app.client(Role::Operator).get("/api/v1/operations").await;
    answer.assert_problem(503, "store-unavailable");
    assert!(answer.header("retry-after").is_some());
    let page = browser.get("/").await;
    assert_eq!(page.status, 503);
    assert!(page.text().contains("Nothing was done") && page.text().contains("still signed in"), "{}", page.text());
    let sign_in = app
        .anonymous()
        .with("accept", "text/html")
        .post_form("/sign-in", &[("login", "operator"), ("password", "p")])
        .await;
    assert_eq!(sign_in.status, 503);
    app.anonymous().get("/readyz").await.assert_problem(503, "store-unavailable");
    assert_eq!(app.anonymous().get("/healthz").await.status, 200, "the process itself lives");
}

#[tokio::test]
async fn pages_are_compressed_for_browsers_that_take_it() {
    let app = App::start().await;
    let client = app.client(Role::Viewer).with("accept", "text/html");
    assert_eq!(client.with("accept-encoding", "br, gzip").get("/").await.header("content-encoding"), Some("br"));
    assert_eq!(client.with("accept-encoding", "gzip").get("/").await.header("content-encoding"), Some("gzip"));
    assert_eq!(client.get("/").await.header("content-encoding"), None);
}

#[tokio::test]
async fn every_answer_names_its_request_and_takes_no_name_from_outside() {
    let app = App::start().await;
    let answer = app.anonymous().with("x-request-id", "mine").get("/healthz").await;
    let id = answer.header("x-request-id").unwrap();
    assert!(id != "mine" && id.len() == 16, "{id}");
    let refused = app.anonymous().send(Method::DELETE, "/healthz", None, Body::empty()).await;
    assert!(refused.header("x-request-id").is_some());
}

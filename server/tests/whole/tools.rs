//! `/tools/{name}`: what one tool promises and how well that is known, and how its declaration came to be as it is.

use serde_json::json;
use tallystick_domain::evidence::Trust;
use tallystick_domain::permission::Role;

use crate::support::App;

#[tokio::test]
async fn a_tools_page_tells_its_promises_its_versions_and_who_tries_again() {
    let app = App::start().await;
    let first = json!({"class": "reversible", "destination": "psp", "retry_owners": {"temporary": "sdk"},
        "contract": {"key_retention_s": 86_400, "verification": "tested_live", "checked_at": "2026-09-12"}});
    app.declare("pay", first).await;
    let second = json!({"class": "irreversible", "destination": "psp", "retry_owners": {"temporary": "sdk"},
        "contract": {"key_retention_s": 3_600, "verification": "claimed", "key_max_len": 64}});
    app.declare("pay", second).await;
    let client = app.client(Role::Viewer).with("accept", "text/html");
    assert!(client.get("/tools").await.text().contains("href=\"/tools/pay\""));
    let page = client.get("/tools/pay").await;
    assert_eq!(page.status, 200, "{}", page.text());
    let page = page.text();
    for words in [
        "irreversible",
        "≥ 1 h, from first seen",
        "nobody says; the unsafe answer counts",
        "key_max_len",
        "A key protects nothing of this tool before these are tested",
        "declared: sdk; no retry of it is declared",
        "/contract/key_retention_s",
        "<del>86400</del>",
        "<ins>3600</ins>",
        "the first declaration",
        "The administrator",
        "href=\"/operations?tool=pay\"",
        "by default",
    ] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
}

#[tokio::test]
async fn a_tool_that_nobody_declared_says_so_and_one_that_nobody_knows_is_not_there() {
    let app = App::start().await;
    app.trust("feed", Trust::Verified).await;
    let line = r#"{"ts":"2026-10-05T07:00:00Z","ev":"attempt.ended","op":"u","key":"k","tool":"mail/send","dest":"smtp","n":1,"outcome":"timeout"}"#;
    app.client(Role::Automation).events("feed", line).await;
    let client = app.client(Role::Viewer).with("accept", "text/html");
    let id = client.operation_named("u").await["id"].as_str().unwrap().to_owned();
    let operation = client.get(&format!("/operations/{id}")).await.text();
    assert!(operation.contains("href=\"/tools/mail%2Fsend\""), "{operation}");
    let page = client.get("/tools/mail%2Fsend").await.text();
    assert!(page.contains("Nobody declared this tool") && page.contains("No declaration is on record"), "{page}");
    let nothing = client.get("/tools/never").await;
    assert_eq!(nothing.status, 404, "{}", nothing.text());
    assert!(!nothing.text().contains("Declarations"), "{}", nothing.text());
}

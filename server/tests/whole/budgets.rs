//! `/budgets`: what a destination bears, who may pause it, and that pressing twice does it once.

use tallystick_domain::budget::BudgetKind;
use tallystick_domain::evidence::Trust;
use tallystick_domain::lease::Scope;
use tallystick_domain::name::DestinationName;
use tallystick_domain::permission::Role;
use tallystick_ledger::destinations::Configured;

use crate::scene::actor;
use crate::support::App;

async fn with_destination() -> App {
    let app = App::start().await;
    let psp = Configured {
        name: DestinationName::parse("psp").unwrap(),
        scope: Scope { account: Some("acct_1".into()), ..Scope::default() },
        budget_kind: Some(BudgetKind::Bucket),
    };
    app.ledger.configure_destinations(&[psp]).await.unwrap();
    app
}

async fn is_paused(app: &App) -> bool {
    app.ledger.destinations(&actor("ada", Role::Administrator)).await.unwrap()[0].is_paused
}

#[tokio::test]
async fn administrators_pause_and_resume_and_the_page_says_which() {
    let app = with_destination().await;
    let client = app.client(Role::Administrator).with("accept", "text/html");
    let page = client.get("/budgets").await.text();
    for words in ["psp", "account acct_1", "500 of 500 tokens left", "a retry takes 14", "Pause psp"] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    for (wish, words) in [("true", "psp is paused"), ("false", "psp is not paused")] {
        for _ in 0..2 {
            let answer = client.post_form("/ui/pause_destination", &[("name", "psp"), ("is_paused", wish)]).await;
            assert_eq!(answer.header("location"), Some("/budgets?changed=psp"));
            assert_eq!(is_paused(&app).await.to_string(), wish);
        }
        let page = client.get("/budgets?changed=psp").await.text();
        assert!(page.contains(words), "{words} is missing in {page}");
    }
}

#[tokio::test]
async fn nobody_else_pauses_and_a_name_in_the_address_is_not_repeated() {
    let app = with_destination().await;
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Administrator) {
        let client = app.client(role).with("accept", "text/html");
        client.post_form("/ui/pause_destination", &[("name", "psp"), ("is_paused", "true")]).await;
        assert!(!is_paused(&app).await, "{role:?}");
    }
    let client = app.client(Role::Administrator).with("accept", "text/html");
    let page = client.get("/budgets?changed=elsewhere").await.text();
    assert!(!page.contains("elsewhere"), "{page}");
}

#[tokio::test]
async fn a_restored_copy_is_told_on_every_page_until_somebody_has_read_it() {
    let app = with_destination().await;
    let client = app.client(Role::Administrator).with("accept", "text/html");
    let now = app.ledger.now().await.unwrap();
    app.ledger.declare_restored(&actor("ada", Role::Administrator), now).await.unwrap();
    let told = "Nothing is sent: the record is a copy of";
    for path in ["/", "/operations", "/budgets"] {
        assert!(client.get(path).await.text().contains(told), "{path}");
    }
    let restore = || async { app.ledger.restore(&actor("ada", Role::Administrator)).await.unwrap().unwrap() };
    let stale = client.post_form("/ui/acknowledge_restore", &[("declared_at", "2020-01-01T00:00:00Z")]).await;
    let page = client.get(stale.header("location").unwrap()).await.text();
    assert!(page.contains("Not acknowledged") && restore().await.acknowledged.is_none(), "{page}");
    let seen = restore().await.declared_at.to_string();
    for _ in 0..2 {
        let answer = client.post_form("/ui/acknowledge_restore", &[("declared_at", &seen)]).await;
        let page = client.get(answer.header("location").unwrap()).await.text();
        assert!(page.contains("may be sent again") && !page.contains(told), "{page}");
    }
    assert!(restore().await.acknowledged.is_some());
}

#[tokio::test]
async fn the_page_tells_costs_refill_retries_limits_and_what_was_refused() {
    let app = with_destination().await;
    app.trust("feed", Trust::Verified).await;
    let contract = serde_json::json!({"attempts_cap": 4, "client_deadline_s": 7});
    app.declare("pay", serde_json::json!({"class": "irreversible", "destination": "psp", "contract": contract})).await;
    let end = |op: &str, n: u32, outcome: &str| {
        format!(
            r#"{{"ts":"2026-10-05T07:0{n}:00Z","ev":"attempt.ended","op":"{op}","key":"key-{op}","tool":"pay","dest":"psp","n":{n},"outcome":"{outcome}"}}"#
        )
    };
    let lines = [end("a", 1, "timeout"), end("b", 1, "timeout"), end("b", 2, "timeout"), end("b", 3, "timeout")];
    app.client(Role::Automation).events("feed", &lines.join("\n")).await;
    app.ledger.count_all_outcomes(100).await.unwrap();
    let page = app.client(Role::Viewer).with("accept", "text/html").get("/budgets?window=24h").await.text();
    for words in [
        "a retry takes 14, after a timeout too",
        "a first try that succeeds brings 1",
        "never since this is kept",
        "0 dispatches in the window below",
        "Hours of UTC, the workspace's zone",
        "everything on record is counted",
        "href=\"/tools/pay\"",
        "Attempts at most",
    ] {
        assert!(page.contains(words), "{words} is missing in {page}");
    }
    // 2 first attempts, 2 retries; and the number leads to what it counts.
    let row = &page[page.find("id=\"retries\"").unwrap()..];
    let row = &row[row.find("<tbody").unwrap()..row.find("</tbody>").unwrap()];
    let cells: Vec<_> = row
        .split("<td class=\"number")
        .skip(1)
        .map(|cell| cell[cell.find('>').unwrap() + 1..].split('<').next().unwrap().trim())
        .collect();
    assert_eq!(cells, ["2", "2", "100 %"], "{row}");
    let href = row.split("href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
    let list = app.client(Role::Viewer).with("accept", "text/html").get(&href).await.text();
    assert!(list.contains("key-a") && list.contains("key-b"), "{href}: {list}");
}

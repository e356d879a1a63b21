//! `/budgets`: what a destination bears, who may pause it, and that pressing twice does it once.

use tallystick_domain::budget::BudgetKind;
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

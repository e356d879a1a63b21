//! Signing in: by password, by link, too often, and when a session has ended.

use axum::body::Body;
use axum::http::Method;
use tallystick::auth::link;
use tallystick_domain::permission::Role;

use crate::support::{Answer, App, PASSWORD};

const HTML: &str = "text/html,application/xhtml+xml";

async fn sign_in(app: &App, login: &str, password: &str, next: &str) -> Answer {
    let browser = app.anonymous().with("accept", HTML).with("sec-fetch-site", "same-origin");
    browser.post_form("/sign-in", &[("login", login), ("password", password), ("next", next)]).await
}

#[tokio::test]
async fn the_right_password_opens_a_session_and_leads_to_where_the_person_was() {
    let app = App::start().await;
    let answer = sign_in(&app, "operator", PASSWORD, "/operations?state=uncertain").await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/operations?state=uncertain")));
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("tallystick=") && set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
    let browser = app.anonymous().with("cookie", answer.cookie().unwrap());
    assert_eq!(browser.get("/api/v1/operations").await.status, 200);
}

#[tokio::test]
async fn behind_tls_the_cookie_is_secure_and_bound_to_the_host() {
    let app = App::start_with(|config| config.public_url = Some("https://tally.example.com".into())).await;
    let answer = sign_in(&app, "operator", PASSWORD, "/").await;
    let set = answer.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-tallystick=") && set.contains("Secure") && set.contains("Path=/"), "{set}");
    assert!(!set.contains("Domain"), "{set}");
}

#[tokio::test]
async fn a_session_id_is_not_kept_and_is_new_after_each_sign_in() {
    let app = App::start().await;
    let first = sign_in(&app, "operator", PASSWORD, "/").await.cookie().unwrap();
    let browser = app.anonymous().with("accept", HTML).with("cookie", first.clone());
    let again = browser.post_form("/sign-in", &[("login", "operator"), ("password", PASSWORD)]).await;
    let second = again.cookie().unwrap();
    assert_ne!(first, second);
    assert_eq!(app.anonymous().with("cookie", first).get("/api/v1/operations").await.status, 401);
    assert_eq!(app.anonymous().with("cookie", second).get("/api/v1/operations").await.status, 200);
}

#[tokio::test]
async fn nobody_is_sent_to_another_site_after_signing_in() {
    let app = App::start().await;
    for next in ["https://evil.example/", "//evil.example", "/\\evil.example"] {
        assert_eq!(sign_in(&app, "operator", PASSWORD, next).await.header("location"), Some("/"), "{next}");
    }
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_login_get_the_same_answer() {
    let app = App::start().await;
    let wrong = sign_in(&app, "operator", "wrong", "/").await;
    let unknown = sign_in(&app, "nobody", "wrong", "/").await;
    assert_eq!((wrong.status, unknown.status), (401, 401));
    assert_eq!(wrong.text(), unknown.text());
    assert!(wrong.text().contains("Nobody was signed in"));
    assert!(wrong.cookie().is_none());
    let program = app.anonymous().post_form("/sign-in", &[("login", "operator"), ("password", "wrong")]).await;
    program.assert_problem(401, "wrong-credentials");
}

#[tokio::test]
async fn an_automation_cannot_sign_in_with_a_form() {
    let app = App::start().await;
    assert_eq!(sign_in(&app, "automation", PASSWORD, "/").await.status, 401);
}

#[tokio::test]
async fn ten_wrong_passwords_close_the_login_for_a_while_and_the_right_one_opens_it_afterwards() {
    let app = App::start().await;
    for _ in 0..10 {
        assert_eq!(sign_in(&app, "operator", "wrong", "/").await.status, 401);
    }
    let refused = sign_in(&app, "operator", PASSWORD, "/").await;
    assert_eq!(refused.status, 429);
    assert!(refused.text().contains("Try again in 15 min"), "{}", refused.text());
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((890..=901).contains(&seconds), "{seconds}");
    assert!(refused.cookie().is_none());
    let program = app.anonymous().post_form("/sign-in", &[("login", "operator"), ("password", PASSWORD)]).await;
    program.assert_problem(429, "too-many-attempts");
    app.set_clock("2026-10-05T08:16:00Z").await;
    assert_eq!(sign_in(&app, "operator", PASSWORD, "/").await.status, 303);
}

#[tokio::test]
async fn a_link_signs_in_once() {
    let app = App::start().await;
    let link = link::make(&app.ledger, &app.actors[&Role::Approver].id, "").await.unwrap();
    let followed = app.anonymous().with("sec-fetch-dest", "document").get(&link).await;
    assert_eq!((followed.status, followed.header("location")), (303, Some("/")));
    let browser = app.anonymous().with("cookie", followed.cookie().unwrap());
    assert_eq!(browser.get("/api/v1/operations").await.status, 200);
    let again = app.anonymous().get(&link).await;
    assert_eq!(again.status, 410);
    assert!(again.text().contains("Nobody was signed in") && again.cookie().is_none());
}

#[tokio::test]
async fn previews_and_prefetches_do_not_use_a_link_up() {
    let app = App::start().await;
    let link = link::make(&app.ledger, &app.actors[&Role::Approver].id, "").await.unwrap();
    let anonymous = app.anonymous();
    assert!(anonymous.send(Method::HEAD, &link, None, Body::empty()).await.cookie().is_none());
    assert!(anonymous.with("sec-fetch-dest", "empty").get(&link).await.cookie().is_none());
    assert!(
        anonymous
            .with("sec-fetch-dest", "document")
            .with("sec-purpose", "prefetch")
            .get(&link)
            .await
            .cookie()
            .is_none()
    );
    assert_eq!(anonymous.get(&link).await.status, 303);
}

#[tokio::test]
async fn a_link_ends_after_an_hour() {
    let app = App::start().await;
    let link = link::make(&app.ledger, &app.actors[&Role::Approver].id, "").await.unwrap();
    app.set_clock("2026-10-05T09:00:01Z").await;
    assert_eq!(app.anonymous().get(&link).await.status, 410);
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let app = App::start().await;
    let cookie = sign_in(&app, "operator", PASSWORD, "/").await.cookie().unwrap();
    let browser = app.anonymous().with("cookie", cookie);
    assert_eq!(browser.post_form("/sign-out", &[]).await.status, 303);
    assert_eq!(browser.get("/api/v1/operations").await.status, 401);
}

#[tokio::test]
async fn a_page_without_a_session_leads_to_sign_in_and_back() {
    let app = App::start().await;
    let answer = app.anonymous().with("accept", HTML).get("/operations?state=uncertain").await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), Some("/sign-in?next=/operations%3Fstate%3Duncertain"));
    let page = app.anonymous().with("accept", HTML).get("/sign-in?next=/operations").await;
    assert_eq!(page.status, 200);
    assert!(
        page.text().contains("action=\"/sign-in\"") && page.text().contains("value=\"/operations\""),
        "{}",
        page.text()
    );
}

#[tokio::test]
async fn a_form_sent_after_its_session_ended_says_that_nothing_was_done_and_leads_back_to_it() {
    let app = App::start().await;
    let browser = app
        .anonymous()
        .with("accept", HTML)
        .with("sec-fetch-site", "same-origin")
        .with("referer", "http://127.0.0.1:8642/operations/some-id/mark_succeeded");
    let fields = [("operation_id", "some-id"), ("reason", "typed </pre><b>there</b>"), ("confirmation", "id")];
    let answer = browser.post_form("/ui/submit_action", &fields).await;
    assert_eq!(answer.status, 401);
    let page = answer.text();
    assert!(page.contains("Nothing was done"), "{page}");
    assert!(page.contains("href=\"/sign-in?next=/operations/some-id/mark_succeeded\""), "{page}");
    assert!(page.contains("typed &lt;/pre&gt;&lt;b&gt;there") && !page.contains("some-id</pre>"), "{page}");
}

#[tokio::test]
async fn the_api_without_a_token_says_how_to_get_in() {
    let app = App::start().await;
    let answer = app.anonymous().get("/api/v1/operations").await;
    answer.assert_problem(401, "not-signed-in");
    assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"));
    let wrong = app.anonymous().with("authorization", "Bearer ts_wrong").get("/api/v1/operations").await;
    wrong.assert_problem(401, "invalid-token");
}

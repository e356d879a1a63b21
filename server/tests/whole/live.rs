//! The live feed: catching up, following, and ending.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::Value;
use tallystick_domain::permission::Role;
use tokio::sync::watch;
use tower::ServiceExt;

use crate::support::App;

/// An event that was read off the stream.
#[derive(Debug, PartialEq)]
struct Heard {
    event: String,
    id: i64,
    data: Value,
}

struct Listener {
    stream: BodyDataStream,
    text: String,
}

impl Listener {
    async fn open(router: &Router, authorization: &str, path: &str, last_event_id: Option<i64>) -> Self {
        let mut request = Request::builder().uri(path).header("authorization", authorization);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(response.headers().get("content-encoding").is_none());
        Self { stream: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next event; comments are passed over. `None` when the stream has ended.
    async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                match read(&block) {
                    Some(heard) => return Some(heard),
                    None => continue,
                }
            }
            let piece =
                tokio::time::timeout(Duration::from_secs(10), self.stream.next()).await.expect("an event in time");
            self.text.push_str(std::str::from_utf8(&piece?.unwrap()).unwrap());
        }
    }
}

fn read(block: &str) -> Option<Heard> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    Some(Heard {
        event: field("event")?.to_owned(),
        id: field("id")?.parse().unwrap(),
        data: serde_json::from_str(field("data")?).unwrap(),
    })
}

fn line(op: &str) -> String {
    format!("{{\"ts\":\"2026-10-05T09:00:00Z\",\"ev\":\"operation.proposed\",\"op\":\"{op}\"}}")
}

#[tokio::test]
async fn a_listener_hears_of_changes_after_it_came_and_catches_up_after_it_was_away() {
    let app = App::start().await;
    let automation = app.client(Role::Automation);
    automation.events("feed", &line("before")).await;
    let authorization = automation.token().unwrap().to_owned();
    let mut listener = Listener::open(&app.router, &authorization, "/api/v1/live", None).await;
    assert_eq!(listener.next().await.unwrap().event, "ready");

    automation.events("feed", &line("during")).await;
    let during = app.client(Role::Viewer).operation_named("during").await;
    let heard = listener.next().await.unwrap();
    assert_eq!(
        (heard.event.as_str(), &heard.data["topic"], &heard.data["id"]),
        ("change", &Value::from("operation"), &during["id"])
    );
    assert_eq!(heard.data["sequence"], heard.id);
    drop(listener);

    automation.events("feed", &line("while away")).await;
    let away = app.client(Role::Viewer).operation_named("while%20away").await;
    let mut back = Listener::open(&app.router, &authorization, "/api/v1/live?after=0", Some(heard.id)).await;
    assert_eq!(back.next().await.unwrap().event, "ready");
    let heard = back.next().await.unwrap();
    assert_eq!((heard.event.as_str(), &heard.data["id"]), ("change", &away["id"]));
}

#[tokio::test]
async fn a_listener_that_reads_nothing_holds_nobody_up() {
    let app = App::start().await;
    let automation = app.client(Role::Automation);
    let authorization = automation.token().unwrap().to_owned();
    let idle = Listener::open(&app.router, &authorization, "/api/v1/live", None).await;
    let mut awake = Listener::open(&app.router, &authorization, "/api/v1/live", None).await;
    assert_eq!(awake.next().await.unwrap().event, "ready");
    for number in 0..50 {
        automation.events("feed", &line(&format!("op {number}"))).await;
        let heard = awake.next().await.unwrap();
        assert_eq!(heard.event, "change");
    }
    drop(idle);
}

#[tokio::test]
async fn a_number_from_another_record_means_reading_everything_again() {
    let app = App::start().await;
    let authorization = app.client(Role::Viewer).token().unwrap().to_owned();
    let mut listener = Listener::open(&app.router, &authorization, "/api/v1/live?after=999999999", None).await;
    assert_eq!(listener.next().await.unwrap().event, "ready");
    assert_eq!(listener.next().await.unwrap().event, "resync");
}

#[tokio::test]
async fn streams_end_when_the_process_ends() {
    let app = App::start().await;
    let (tell, ending) = watch::channel(false);
    let config = tallystick::config::Config::over("sqlite::memory:").unwrap();
    let router = tallystick::build_until(&config, app.ledger.clone(), ending).await.unwrap();
    let authorization = app.client(Role::Viewer).token().unwrap().to_owned();
    let mut listener = Listener::open(&router, &authorization, "/api/v1/live", None).await;
    assert_eq!(listener.next().await.unwrap().event, "ready");
    tell.send_replace(true);
    assert_eq!(listener.next().await, None);
}

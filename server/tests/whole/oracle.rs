//! The destination oracle: a listener that counts connections. Importing everything we know of, with everything running,
//! must not make one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tallystick::config::Destination;
use tallystick::destination::Destinations;
use tallystick::executor::Executor;
use tallystick_domain::evidence::Trust;
use tallystick_domain::permission::Role;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cases::CASES;
use crate::support::App;

#[tokio::test]
async fn importing_every_case_with_everything_running_sends_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let oracle = tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });

    let mut kept = None;
    let app = App::start_with(|config| {
        config.destinations = ["psp", "mail", "site", "shop", "cluster"]
            .map(|name| Destination { private_allowed: true, ..Destination::at(name, format!("http://{address}")) })
            .into();
        kept = Some(config.clone());
    })
    .await;
    let config = kept.unwrap();
    let destinations = Destinations::from_config(&config.destinations).unwrap();
    app.ledger.configure_destinations(&destinations.for_the_record()).await.unwrap();
    let (tell, ending) = watch::channel(false);
    let sweeper = tallystick::tasks::start_sweeper(app.ledger.clone(), ending.clone());
    let executor = Executor::from_config(&config, &app.ledger, &destinations).unwrap().unwrap().start(ending);
    for tool in ["payments.charge", "mail.send", "create_payment"] {
        app.declare(
            tool,
            json!({
                "class": "irreversible", "destination": "psp", "contract": {"lookup": {"by": "key"}},
                "request": {"method": "POST", "path": "/x"}, "look_up": {"path": "/x", "receipt": "/id"}
            }),
        )
        .await;
    }
    app.set_clock("2026-10-06T12:00:00Z").await;
    let mut lines = 0;
    for (name, text) in CASES {
        app.trust(name, Trust::Verified).await;
        let report = app.client(Role::Automation).events(name, text).await.json();
        assert_eq!(report["bad"], json!([]), "{name}");
        lines += report["lines"].as_u64().unwrap();
    }
    assert_eq!(lines, 97, "every line of every case was read");
    // What time alone changes is swept as well.
    while app.ledger.sweep(500).await.unwrap() > 0 {}
    let page = app.client(Role::Viewer).get("/api/v1/operations?limit=200").await.json();
    let rows = page["rows"].as_array().unwrap();
    assert!(rows.len() > 20 && rows.iter().all(|row| row["mode"] == "observed"), "{page}");

    // The oracle does count: one connection of our own proves that it listens.
    drop(tokio::net::TcpStream::connect(address).await.unwrap());
    while connections.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1, "only our own proof connected");
    tell.send_replace(true);
    sweeper.await.unwrap();
    executor.await.unwrap();
    oracle.abort();
}

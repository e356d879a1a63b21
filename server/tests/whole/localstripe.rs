//! Tallystick against a destination that nobody here wrote: `localstripe`, a Python package, as a process on loopback. It
//! takes forms, ignores idempotency keys, lists what it made, and tells by signed webhooks. What it holds in the end is what counts.
//!
//! The Python that has it is found by `TALLYSTICK_TEST_LOCALSTRIPE`; `cargo xtask test` makes one.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tallystick::config::{Config, Destination as Configured, WebhookConfig};
use tallystick::destination::Destinations;
use tallystick::executor::Executor;
use tallystick_domain::permission::Role;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::App;

const KEY: &str = "sk_test_tallystick";
const WEBHOOK_SECRET: &str = "whsec_localstripe";
/// Its own program listens everywhere and keeps its objects in one file of the machine; here it listens on a free port of
/// loopback and keeps nothing.
const LAUNCH: &str = "
import socket
from aiohttp import web
from localstripe import resources, server
resources.Store.dump_to_disk = lambda self: None
sock = socket.socket()
sock.bind(('127.0.0.1', 0))
print(sock.getsockname()[1], flush=True)
web.run_app(server.app, sock=sock, print=None)
";
/// How often a journey looks again before it gives up; a commit wakes it sooner.
const PATIENCE: u32 = 60;

/// localstripe, running.
struct LocalStripe {
    child: Child,
    address: SocketAddr,
}

impl LocalStripe {
    fn start() -> Self {
        let python = std::env::var_os("TALLYSTICK_TEST_LOCALSTRIPE")
            .expect("TALLYSTICK_TEST_LOCALSTRIPE names a Python that has localstripe: `cargo xtask test` makes one");
        let mut command = Command::new(python);
        command.args(["-c", LAUNCH]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("TALLYSTICK_TEST_LOCALSTRIPE names a Python that starts");
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let port: u16 = port.trim().parse().expect("localstripe is installed there and starts");
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) }
    }

    async fn ask(&self, method: &str, path: &str, kind: &str, body: &str) -> Value {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {KEY}\r\ncontent-type: {kind}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{method} {path}: {answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    async fn all(&self, kind: &str) -> Vec<Value> {
        let list = self.ask("GET", &format!("/v1/{kind}?limit=100"), "text/plain", "").await;
        assert_eq!(list["has_more"], false, "{list}");
        list["data"].as_array().unwrap().clone()
    }

    /// A card that can be charged.
    async fn card(&self) -> String {
        let form = "type=card&card[number]=4242424242424242&card[exp_month]=12&card[exp_year]=2030&card[cvc]=123";
        let made = self.ask("POST", "/v1/payment_methods", "application/x-www-form-urlencoded", form).await;
        made["id"].as_str().unwrap().to_owned()
    }

    async fn tells(&self, address: SocketAddr) {
        let hook = json!({"url": format!("http://{address}/webhooks/stripe"), "secret": WEBHOOK_SECRET});
        self.ask("POST", "/_config/webhooks/tallystick", "application/json", &hook.to_string()).await;
    }
}

impl Drop for LocalStripe {
    fn drop(&mut self) {
        // It ends with its test, whatever came of that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stands between us and the destination. Told to, it lets the next write through and cuts the connection when its answer
/// begins: it happened, and nobody hears of it.
pub struct Cutter {
    pub address: SocketAddr,
    pub is_armed: Arc<AtomicBool>,
}

impl Cutter {
    pub async fn before(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let cutter = Self { address: listener.local_addr().unwrap(), is_armed: Arc::default() };
        let is_armed = Arc::clone(&cutter.is_armed);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, target, Arc::clone(&is_armed)));
            }
        });
        cutter
    }
}

async fn pass_on(mut client: TcpStream, target: SocketAddr, is_armed: Arc<AtomicBool>) -> std::io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    let mut first = [0; 4];
    client.read_exact(&mut first).await?;
    server.write_all(&first).await?;
    if &first != b"POST" || !is_armed.swap(false, Ordering::SeqCst) {
        tokio::io::copy_bidirectional(&mut client, &mut server).await?;
        return Ok(());
    }
    let (mut reads, mut writes) = server.split();
    let mut head = [0; 12];
    tokio::select! {
        // The whole answer is made by then: it is in memory, and its first bytes are here.
        answered = reads.read_exact(&mut head) => answered.map(drop),
        ended = tokio::io::copy(&mut client, &mut writes) => ended.map(drop),
    }
}

/// A console with an executor, before localstripe.
struct Live {
    app: App,
    stripe: LocalStripe,
    cutter: Cutter,
    executor: JoinHandle<()>,
    end: watch::Sender<bool>,
    card: String,
    _secrets: tempfile::TempDir,
}

impl Live {
    async fn start(looks_up: bool, is_told: bool) -> Self {
        let stripe = LocalStripe::start();
        let cutter = Cutter::before(stripe.address).await;
        let secrets = tempfile::tempdir().unwrap();
        let secret = |name: &str, text: &str| {
            std::fs::write(secrets.path().join(name), text).unwrap();
            format!("file:{}", secrets.path().join(name).display())
        };
        let (key, hook) = (secret("key", KEY), secret("hook", WEBHOOK_SECRET));
        let mut kept = None;
        let app = App::start_with(|config: &mut Config| {
            config.destinations = vec![Configured {
                private_allowed: true,
                credential: Some(key),
                ..Configured::at("stripe", format!("http://{}", cutter.address))
            }];
            config.webhooks = vec![WebhookConfig {
                name: "stripe".into(),
                scheme: "stripe".into(),
                destination: "stripe".into(),
                secrets: vec![hook],
            }];
            kept = Some(config.clone());
        })
        .await;
        // What localstripe signs carries the machine's time, so the record goes by it, too.
        app.ledger.set_clock_offset(0).await.unwrap();
        let config = kept.unwrap();
        let destinations = Destinations::from_config(&config.destinations).unwrap();
        app.ledger.configure_destinations(&destinations.for_the_record()).await.unwrap();
        let (end, ending) = watch::channel(false);
        let executor = Executor::from_config(&config, &app.ledger, &destinations).unwrap().unwrap().start(ending);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if is_told {
            stripe.tells(listener.local_addr().unwrap()).await;
        }
        let router = app.router.clone();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let card = stripe.card().await;
        let live = Self { app, stripe, cutter, executor, end, card, _secrets: secrets };
        live.declare(looks_up).await;
        live
    }

    async fn declare(&self, looks_up: bool) {
        let ours = json!([{"at": "/metadata/operation_key", "value": "{operation_key}"}]);
        let contract = |echo: Value| {
            json!({
                "layer_retries": "off", "intermediaries": false, "verification": "tested_live", "client_deadline_s": 5,
                "max_arrival_delay_s": 2, "lease_s": 10, "success_receipt": {"pointer": "/id", "must_echo": [echo]},
                "lookup": {"by": "metadata", "consistency": "strong", "complete": true}
            })
        };
        let amount = json!({"answer": "/amount", "argument": "/amount"});
        let written = json!({"to": "/metadata/operation_key", "value": "{operation_key}"});
        let mut charge = json!({
            "class": "reversible", "destination": "stripe", "contract": contract(amount.clone()),
            "request": {"method": "POST", "path": "/v1/payment_intents", "body": "form", "write": [written]},
            "deliveries": {
                "events": [{"type": "payment_intent.succeeded", "means": "executed"}], "object": "/data/object",
                "receipt": "/id", "operation_key": "/metadata/operation_key",
                "matches": [{"at": "/object", "value": "payment_intent"}],
                "must_echo": [amount.clone()]
            }
        });
        charge["contract"]["compensation"] = json!({"tool": "refund"});
        if looks_up {
            charge["look_up"] = json!({
                "path": "/v1/payment_intents?limit=100", "items": "/data", "receipt": "/id", "more": "/has_more",
                "matches": ours, "must_echo": [amount]
            });
        }
        self.app.declare("charge", charge).await;
        let refund = json!({
            "class": "reversible", "destination": "stripe",
            "contract": contract(json!({"answer": "/payment_intent", "argument": "/receipt"})),
            "request": {"method": "POST", "path": "/v1/refunds", "body": "form", "only_written": true,
                "write": [{"to": "/payment_intent", "value": "{/receipt}"}, written]},
            "look_up": {"path": "/v1/refunds?limit=100", "items": "/data", "receipt": "/id", "more": "/has_more",
                "matches": ours}
        });
        self.app.declare("refund", refund).await;
    }

    async fn charge(&self, key: &str) -> String {
        let arguments = json!({"amount": 5_000, "currency": "eur", "payment_method": self.card, "confirm": true});
        let proposal = json!({"operation_key": key, "tool": "charge", "arguments": arguments});
        let answer = self.app.client(Role::Automation).post("/api/v1/operations", &proposal).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let id = answer.json()["id"].as_str().unwrap().to_owned();
        self.act(&id, Role::Approver, json!({"action": "approve", "reason": "order checked"})).await;
        id
    }

    async fn act(&self, id: &str, role: Role, body: Value) -> Value {
        let version = self.operation(id).await["version"].to_string();
        let key = format!("\"{id}-{}-{version}\"", body["action"].as_str().unwrap());
        let client = self.app.client(role).with("idempotency-key", key).with("if-match", format!("\"{version}\""));
        let answer = client.post(&format!("/api/v1/operations/{id}/actions"), &body).await;
        assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
        answer.json()
    }

    async fn operation(&self, id: &str) -> Value {
        self.app.client(Role::Operator).get(&format!("/api/v1/operations/{id}")).await.json()
    }

    /// Waits for commits until `what` comes true.
    async fn until(&self, id: &str, what: impl AsyncFn() -> bool) {
        let mut wake = self.app.ledger.wake();
        for _ in 0..PATIENCE {
            if what().await {
                return;
            }
            if tokio::time::timeout(Duration::from_secs(1), wake.changed()).await.is_err() {
                self.app.ledger.sweep(100).await.unwrap();
            }
        }
        panic!("it never came true: {:#}", self.operation(id).await);
    }

    async fn until_state(&self, id: &str, state: &str) {
        self.until(id, async || self.operation(id).await["state"] == state).await;
    }

    async fn deliveries(&self) -> Vec<Value> {
        let answer = self.app.client(Role::Viewer).get("/api/v1/deliveries").await;
        answer.json()["rows"].as_array().unwrap().clone()
    }

    /// The intents that were charged, each with our name for it.
    async fn charged(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let intents = self.stripe.all("payment_intents").await;
        let charges = self.stripe.all("charges").await;
        let charged = intents.iter().filter(|intent| intent["status"] == "succeeded");
        let charged = charged.map(|intent| (text(&intent["id"]), text(&intent["metadata"]["operation_key"]))).collect();
        assert_eq!(charges.len(), intents.len(), "every intent here was charged at once: {charges:#?}");
        charged
    }

    async fn end(self) {
        self.end.send_replace(true);
        self.executor.await.unwrap();
        assert!(self.app.ledger.verify().await.unwrap().discrepancies.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_is_made_once_told_by_a_webhook_and_given_back_once() {
    let live = Live::start(true, true).await;
    let id = live.charge("charge:order-1").await;
    live.until_state(&id, "succeeded").await;
    let receipt = live.operation(&id).await["receipt"].as_str().unwrap().to_owned();
    live.until(&id, async || !live.deliveries().await.is_empty()).await;
    let told = live.deliveries().await;
    assert_eq!(told[0]["event"], "payment_intent.succeeded", "{told:#?}");
    assert_eq!(told[0]["matched"][0]["operation_id"], id.as_str());
    assert_eq!(told[0]["matched"][0]["linked_by"], "metadata");
    // The answer and the delivery are one effect.
    assert_eq!(live.operation(&id).await["state"], "succeeded");
    assert_eq!(live.charged().await, [(receipt.clone(), "charge:order-1".to_owned())]);
    let undo = json!({"action": "compensate", "reason": "the customer left", "confirmation": "order-1"});
    let child = live.act(&id, Role::Operator, undo).await["created"].as_str().unwrap().to_owned();
    assert!(live.stripe.all("refunds").await.is_empty(), "it needs an approval of its own");
    live.act(&child, Role::Approver, json!({"action": "approve", "reason": "agreed"})).await;
    live.until_state(&child, "succeeded").await;
    let refunds = live.stripe.all("refunds").await;
    assert_eq!((refunds.len(), &refunds[0]["payment_intent"]), (1, &json!(receipt)), "{refunds:#?}");
    assert_eq!(live.stripe.all("charges").await[0]["amount_refunded"], 5_000);
    assert_eq!(live.charged().await.len(), 1);
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_by_a_look_up_and_charged_once() {
    let live = Live::start(true, false).await;
    live.cutter.is_armed.store(true, Ordering::SeqCst);
    let id = live.charge("charge:order-2").await;
    live.until_state(&id, "succeeded").await;
    let states = states(&live, &id).await;
    assert!(states.iter().any(|state| state.starts_with("uncertain(")), "{states:?}");
    let charged = live.charged().await;
    assert_eq!(charged, [(live.operation(&id).await["receipt"].as_str().unwrap().to_owned(), "charge:order-2".into())]);
    assert!(live.deliveries().await.is_empty());
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_that_nobody_can_look_up_is_proved_by_the_webhook_and_charged_once() {
    let live = Live::start(false, true).await;
    live.cutter.is_armed.store(true, Ordering::SeqCst);
    let id = live.charge("charge:order-3").await;
    live.until_state(&id, "succeeded").await;
    let states = states(&live, &id).await;
    assert!(states.iter().any(|state| state.starts_with("uncertain(")), "{states:?}");
    assert_eq!(live.charged().await.len(), 1);
    assert_eq!(live.deliveries().await[0]["matched"][0]["operation_key"], "charge:order-3");
    live.end().await;
}

/// The states that an operation went through.
async fn states(live: &Live, id: &str) -> Vec<String> {
    let id = tallystick_domain::name::OperationId::parse(id).unwrap();
    let examined = live.app.ledger.operation(&live.app.actors[&Role::Operator], &id).await.unwrap().unwrap();
    examined.entries.into_iter().map(|entry| entry.to.to_string()).collect()
}

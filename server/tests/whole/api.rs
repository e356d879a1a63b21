//! People and programs at the HTTP API of a real process: what they press is decided by that process, with the rules it has.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tallystick::auth::token;
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::{OperationId, SourceName};
use tallystick_domain::permission::Role;
use tallystick_domain::transition::confirmation_text;
use tallystick_ledger::operations::Listed;
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::outside;
use crate::scene::{Process, Scene, actor};

/// How often somebody presses again because the operation changed meanwhile.
const PRESSES: u32 = 20;

pub struct Api {
    address: String,
    tokens: BTreeMap<Role, String>,
    presses: Cell<u32>,
}

impl Api {
    /// An operator, an approver and an automation that is believed, at a [`Scene::first_process`].
    pub async fn of(scene: &Scene, process: &Process) -> Self {
        let address = process.address();
        let mut tokens = BTreeMap::new();
        for role in [Role::Operator, Role::Approver, Role::Automation] {
            let new = NewPrincipal { login: role.name().into(), name: role.name().into(), role, password_hash: None };
            let principal = scene.ledger.add_principal(&system_actor(), new).await.unwrap();
            let secret = token::new_token().unwrap();
            scene.ledger.add_token(&system_actor(), &principal.id, token::hash(&secret), "test", None).await.unwrap();
            tokens.insert(role, secret);
            if role == Role::Automation {
                let source = SourceName::parse(format!("executor/{}", principal.id)).unwrap();
                scene.ledger.declare_source(&system_actor(), &source, Trust::Verified).await.unwrap();
            }
        }
        Self { address, tokens, presses: Cell::new(0) }
    }

    /// Status and document of the answer.
    pub async fn post(&self, role: Role, path: &str, headers: &[(&str, String)], body: &str) -> (u16, Value) {
        let mut request = format!(
            "POST /api/v1/{path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n",
            self.address,
            self.tokens[&role],
            body.len()
        );
        if headers.iter().all(|(name, _)| *name != "content-type") {
            request.push_str("content-type: application/json\r\n");
        }
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        write!(request, "\r\n{body}").unwrap();
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
    }

    async fn press_once(&self, role: Role, path: &str, seen: &Listed, mut body: Value) -> (u16, Value) {
        self.presses.set(self.presses.get() + 1);
        body["confirmation"] = json!(confirmation_text(&seen.head.key));
        let key = format!("press-{}", self.presses.get());
        let headers = [("idempotency-key", key), ("if-match", format!("\"{}\"", seen.version))];
        self.post(role, path, &headers, &body.to_string()).await
    }

    async fn press_at(&self, scene: &Scene, id: &OperationId, role: Role, path: &str, body: Value) -> Option<Value> {
        for _ in 0..PRESSES {
            let (status, answer) = self.press_once(role, path, &scene.listed(id).await, body.clone()).await;
            match status {
                200 | 202 => return Some(answer),
                409 => return None,
                412 => {}
                _ => panic!("{status}: {answer:#}"),
            }
        }
        panic!("{id} changes all the time");
    }

    /// What came of an action; none where the rules forbid it.
    pub async fn press(&self, scene: &Scene, id: &OperationId, role: Role, mut body: Value) -> Option<Value> {
        body["reason"] = json!("seen in the destination's own books");
        self.press_at(scene, id, role, &format!("operations/{id}/actions"), body).await
    }

    /// An operator asks, and an approver completes where two are needed.
    pub async fn press_by_two(&self, scene: &Scene, id: &OperationId, body: Value) -> Option<Value> {
        let asked = self.press(scene, id, Role::Operator, body).await?;
        if asked["status"] != "awaits_second_person" {
            return Some(asked);
        }
        let path = format!("actions/{}/complete", asked["key"].as_str().unwrap());
        self.press_at(scene, id, Role::Approver, &path, json!({})).await
    }

    /// The operation that an action made, approved; none if it made none, or waits for a second person who does not come.
    pub async fn approve_made(&self, scene: &Scene, answer: Option<Value>) -> Option<OperationId> {
        let made = OperationId::parse(answer?["created"].as_str()?).unwrap();
        self.press(scene, &made, Role::Approver, json!({"action": "approve"})).await.expect("it may be approved");
        Some(made)
    }

    /// An executor outside asks for an operation of this tool: its lease, if it gets one.
    pub async fn claim(&self, worker: &str, tool: &str, lease_s: u64, wait_s: u64) -> Option<Held> {
        let asked =
            json!({"worker": worker, "incarnation": worker, "tools": [tool], "lease_s": lease_s, "wait_s": wait_s});
        let (status, answer) = self.post(Role::Automation, "claims", &[], &asked.to_string()).await;
        assert_eq!(status, 200, "{answer:#}");
        let held = answer["claims"].get(0)?;
        Some(Held {
            id: held["operation"]["id"].as_str().unwrap().to_owned(),
            worker: worker.to_owned(),
            epoch: held["epoch"].as_u64().unwrap(),
            key: held["destination_key"].as_str().unwrap().to_owned(),
            arguments: held["arguments"].to_string(),
        })
    }

    /// Whether it may send.
    pub async fn dispatch(&self, held: &Held) -> bool {
        let asked = json!({"epoch": held.epoch, "worker": held.worker, "incarnation": held.worker});
        let path = format!("operations/{}/dispatches", held.id);
        let (status, answer) = self.post(Role::Automation, &path, &[], &asked.to_string()).await;
        assert!(matches!(status, 200 | 409), "{status}: {answer:#}");
        status == 200
    }
}

/// What an executor outside holds.
pub struct Held {
    id: String,
    worker: String,
    epoch: u64,
    key: String,
    arguments: String,
}

impl Held {
    /// Sends it. What came of it is never reported.
    pub async fn send(&self, scene: &Scene) {
        outside::send(scene.destination.address(), &self.key, self.arguments.as_bytes()).await;
    }
}

impl Scene {
    /// One operation as its row tells of it.
    pub async fn listed(&self, id: &OperationId) -> Listed {
        let rows = self.ledger.operations_by_id(&actor("ada", Role::Administrator), std::slice::from_ref(id)).await;
        rows.unwrap().pop().expect("it is on record")
    }
}

//! Tallystick against a second destination that nobody here wrote: `moto`, a stand-in for AWS, as a process on loopback. Of its
//! APIs this is the elastic file system's, which speaks JSON and finds by GET. A file system is made under a creation token, our key:
//! the same token again makes nothing and answers 409 without the id of what is there (AWS itself names it). moto holds what it made in
//! memory; what it holds in the end is what counts.
//!
//! The Python that has it is found by `TALLYSTICK_TEST_MOTO`; `cargo xtask test` makes one.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tallystick::config::Config;
use tallystick_destination::Plan;
use tallystick_domain::name::OperationId;
use tallystick_domain::permission::Role;

use crate::cases_live::{new, send};
use crate::executing::Scene;
use crate::localstripe::Cutter;

/// moto looks at the service in it, and at nothing else.
const CREDENTIAL: &str = "AWS4-HMAC-SHA256 Credential=test/20261005/us-east-1/elasticfilesystem/aws4_request, SignedHeaders=host, Signature=none";
const FILE_SYSTEMS: &str = "/2015-02-01/file-systems";
/// Its own program has a fixed port; here it takes a free one of loopback.
const LAUNCH: &str = "
from werkzeug.serving import make_server
from moto.server import DomainDispatcherApplication, create_backend_app
server = make_server('127.0.0.1', 0, DomainDispatcherApplication(create_backend_app), threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
";

/// moto, running.
struct Moto {
    child: Child,
    address: SocketAddr,
}

impl Moto {
    fn start() -> Self {
        let python = std::env::var_os("TALLYSTICK_TEST_MOTO")
            .expect("TALLYSTICK_TEST_MOTO names a Python that has moto: `cargo xtask test` makes one");
        let mut command = Command::new(python);
        command.args(["-c", LAUNCH]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("TALLYSTICK_TEST_MOTO names a Python that starts");
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let port: u16 = port.trim().parse().expect("moto is installed there and starts");
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) }
    }

    /// Everything that it made: token and id of each.
    async fn made(&self) -> Vec<(String, String)> {
        let request = format!(
            "GET {FILE_SYSTEMS} HTTP/1.1\r\nhost: {}\r\nauthorization: {CREDENTIAL}\r\nconnection: close\r\n\r\n",
            self.address
        );
        let answer = send(self.address, request.as_bytes()).await;
        let list: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let all = list["FileSystems"].as_array().unwrap().iter();
        all.map(|one| (text(&one["CreationToken"]), text(&one["FileSystemId"]))).collect()
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        // It ends with its test, whatever came of that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A console with an executor, before moto.
async fn before(moto: &Moto, look_up: Value) -> (Scene, Cutter) {
    let cutter = Cutter::before(moto.address).await;
    let address = cutter.address;
    let scene = Scene::start_configured(Plan::default(), |config: &mut Config| {
        config.destinations[0].base_url = format!("http://{address}");
        // What names the service stands in every request instead.
        config.destinations[0].credential = None;
    })
    .await;
    declare(&scene, look_up).await;
    (scene, cutter)
}

async fn declare(scene: &Scene, look_up: Value) {
    let declared = json!({
        // The same token again comes to the same end.
        "class": "idempotent", "destination": "psp",
        "contract": {
            "layer_retries": "off", "intermediaries": false, "verification": "tested_live", "client_deadline_s": 5,
            "max_arrival_delay_s": 2, "lease_s": 10, "sole_writer": true, "success_receipt": {"pointer": "/FileSystemId"},
            "lookup": {"by": "metadata", "consistency": "strong", "complete": true}
        },
        "request": {"method": "POST", "path": FILE_SYSTEMS, "headers": {"authorization": CREDENTIAL},
            "error_pointer": "/__type", "write": [{"to": "/CreationToken", "value": "{operation_key}"}]},
        "look_up": look_up
    });
    scene.app.declare("file_system", declared).await;
}

fn look_up() -> Value {
    json!({"path": format!("{FILE_SYSTEMS}?CreationToken={{operation_key}}"), "headers": {"authorization": CREDENTIAL},
        "items": "/FileSystems", "receipt": "/FileSystemId", "more": "/NextMarker",
        "matches": [{"at": "/CreationToken", "value": "{operation_key}"}]})
}

async fn propose(scene: &Scene, key: &str) -> OperationId {
    let id = new(scene, "file_system", key, json!({"Encrypted": true})).await;
    scene.act(id.as_str(), Role::Approver, json!({"action": "approve", "reason": "the project has begun"})).await;
    id
}

async fn states(scene: &Scene, id: &OperationId) -> Vec<String> {
    let examined = scene.app.ledger.operation(&scene.app.actors[&Role::Operator], id).await.unwrap().unwrap();
    examined.entries.into_iter().map(|entry| entry.to.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_by_a_look_up_and_one_file_system_is_made() {
    let moto = Moto::start();
    let (mut scene, cutter) = before(&moto, look_up()).await;
    cutter.is_armed.store(true, Ordering::SeqCst);
    let id = propose(&scene, "project-1").await;
    scene.until(&id, &["succeeded"]).await;
    let states = states(&scene, &id).await;
    assert!(states.iter().any(|state| state.starts_with("uncertain(")), "{states:?}");
    let receipt = scene.operation(id.as_str()).await["receipt"].as_str().unwrap().to_owned();
    assert_eq!(moto.made().await, [("project-1".to_owned(), receipt)]);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_under_the_same_token_makes_nothing_and_is_not_taken_for_an_answer() {
    let moto = Moto::start();
    // Nothing can be looked up yet.
    let (mut scene, cutter) = before(&moto, Value::Null).await;
    cutter.is_armed.store(true, Ordering::SeqCst);
    let id = propose(&scene, "project-2").await;
    // The answer is lost; whoever asks again under the token is told that something is there, not what.
    scene.until(&id, &["uncertain(undeclared_status)"]).await;
    let uncertain = scene.operation(id.as_str()).await;
    assert!(uncertain["attempt_count"].as_u64().unwrap() >= 2, "{uncertain:#}");
    assert_eq!(moto.made().await.len(), 1);
    declare(&scene, look_up()).await;
    scene.until(&id, &["succeeded"]).await;
    let receipt = scene.operation(id.as_str()).await["receipt"].as_str().unwrap().to_owned();
    assert_eq!(moto.made().await, [("project-2".to_owned(), receipt)]);
    scene.end().await;
}

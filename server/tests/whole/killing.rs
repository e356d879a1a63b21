//! The real process, killed and frozen at each of its named points in the middle of twenty sends, on both stores. What
//! counts is what the destination made (semantics I28, A10).

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tallystick_destination::{Contract, Destination, Plan, Stores};
use tallystick_domain::action::{Act, ActionInput};
use tallystick_domain::name::{ActionKey, OperationId, OperationKey, PrincipalId, ToolName};
use tallystick_domain::operation::{Doubt, State, SuccessBasis};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::tool::Tool;
use tallystick_ledger::failpoint::POINTS;
use tallystick_ledger::operations::NewProposal;
use tallystick_ledger::{Ledger, OpenOptions};

const OPERATIONS: usize = 20;

/// A record on either store, a destination, and the configuration of processes over them.
struct Scene {
    ledger: Ledger,
    url: String,
    destination: Destination,
    folder: tempfile::TempDir,
    database: Option<String>,
    ids: Vec<OperationId>,
    offset: Duration,
}

impl Scene {
    /// `stores`: which answers the destination keeps under a key.
    async fn start(on_postgres: bool, stores: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (url, database) = if on_postgres {
            let name = new_database().await;
            (postgres_url(&name), Some(name))
        } else {
            (format!("sqlite:{}", folder.path().join("tally.db").display()), None)
        };
        let destination = Destination::start("127.0.0.1:0".parse().unwrap(), Plan::default()).await.unwrap();
        let config = format!(
            "[executor]\nsends = 32\nlock_folder = \"{}\"\n\n[[destination]]\nname = \"psp\"\nbase_url = \"http://{}\"\nprivate_allowed = true\n",
            folder.path().join("locks").display(),
            destination.address(),
        );
        std::fs::write(folder.path().join("tallystick.toml"), config).unwrap();
        let ledger = Ledger::open(&OpenOptions { url: url.clone(), migrate: true }).await.unwrap();
        ledger.declare_tool(&actor("ada", Role::Administrator), tool(stores)).await.unwrap();
        Self { ledger, url, destination, folder, database, ids: Vec::new(), offset: Duration::ZERO }
    }

    async fn authorise(&mut self, count: usize) {
        for number in self.ids.len()..self.ids.len() + count {
            let key = format!("order-{number}");
            let new = NewProposal {
                key: OperationKey::parse(key.as_str()).unwrap(),
                tool: ToolName::parse("charge").unwrap(),
                arguments: json!({"intent": key}).to_string().into_bytes(),
                deadline: None,
                tool_call_id: None,
            };
            let made = self.ledger.propose_operation(&actor("robot", Role::Automation), new).await.unwrap();
            let act = Act {
                key: ActionKey::parse(format!("approve {number}")).unwrap(),
                input: ActionInput::Approve {},
                actor: actor("ida", Role::Approver),
                reason: "checked".into(),
                confirmation: None,
                seen_version: made.operation.version,
            };
            let id = made.operation.head.id;
            let answer = self.ledger.act(&id, act).await.unwrap();
            assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
            self.ids.push(id);
        }
    }

    fn process(&self, failpoint: Option<&str>) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tallystick"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(self.folder.path().join("tallystick.toml"));
        command.env("TALLYSTICK_DB", &self.url).env("TALLYSTICK_LOG", "off").env("TALLYSTICK_FAILPOINT_GO", self.go());
        if let Some(name) = failpoint {
            command.env("TALLYSTICK_FAILPOINT", name);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let (tell, hits) = channel();
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok).filter(|line| line.starts_with("failpoint ")) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Process { child, hits }
    }

    fn go(&self) -> PathBuf {
        self.folder.path().join("go")
    }

    async fn pass(&mut self, seconds: u64) {
        self.offset += Duration::from_secs(seconds);
        self.ledger.set_clock_offset(i64::try_from(self.offset.as_micros()).unwrap()).await.unwrap();
    }

    async fn states(&self) -> Vec<State> {
        let rows = self.ledger.operations_by_id(&actor("ada", Role::Administrator), &self.ids).await.unwrap();
        assert_eq!(rows.len(), self.ids.len());
        rows.into_iter().map(|row| row.row.state).collect()
    }

    /// Lets time pass until every operation succeeded.
    async fn settle(&mut self) {
        let mut wake = self.ledger.wake();
        for _ in 0..60 {
            loop {
                let states = self.states().await;
                if states.iter().all(|state| *state == State::Succeeded(SuccessBasis::Receipt)) {
                    return;
                }
                if tokio::time::timeout(Duration::from_millis(1_500), wake.changed()).await.is_err() {
                    break;
                }
            }
            self.pass(20).await;
        }
        panic!("not settled: {:?}", self.states().await);
    }

    async fn assert_one_effect_each(&self) {
        let report = self.destination.report();
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        assert_eq!(report.made.len(), self.ids.len());
        assert!(report.made.values().all(|count| *count == 1), "{:?}", report.made);
        let found = self.ledger.verify().await.unwrap();
        assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
    }

    async fn end(self) {
        self.ledger.close().await;
        if let Some(name) = &self.database {
            administer(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        }
    }
}

struct Process {
    child: Child,
    hits: Receiver<String>,
}

impl Process {
    /// Waits until so many sends have come to the point.
    fn wait_for_hits(&self, count: usize) {
        for _ in 0..count {
            self.hits.recv_timeout(Duration::from_mins(1)).expect("a send comes to the point");
        }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// SIGKILL: nothing of it runs any more when this returns.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn actor(id: &str, role: Role) -> Actor {
    Actor { id: PrincipalId::parse(id).unwrap(), name: id.into(), role }
}

fn tool(stores: &str) -> Tool {
    let declared = json!({
        "name": "charge", "class": "reversible", "destination": "psp", "executable": true, "declared": true,
        "contract": {
            "key_location": "Idempotency-Key", "key_retention_s": 86400, "stores": stores,
            "on_mismatch": "error", "on_in_flight": "blocks", "scope": [], "layer_retries": "off",
            "intermediaries": false, "success_receipt": {"pointer": "/id"}, "client_deadline_s": 5,
            "max_arrival_delay_s": 2, "lease_s": 5, "replay_marker": "idempotent-replayed: true",
            "verification": "tested_live", "lookup": {"by": "key", "consistency": "strong", "complete": true}
        },
        "request": {"method": "POST", "path": "/objects"},
        "look_up": {"path": "/objects?key={key}", "items": "/data", "receipt": "/id"}
    });
    serde_json::from_value(declared).unwrap()
}

fn admin_url() -> String {
    std::env::var("TALLYSTICK_TEST_POSTGRES")
        .expect("TALLYSTICK_TEST_POSTGRES is set: `cargo xtask test` starts a PostgreSQL of its own")
}

fn postgres_url(name: &str) -> String {
    let url = admin_url();
    let (base, query) = url.split_once('?').map_or((url.as_str(), None), |(base, query)| (base, Some(query)));
    let (server, _) = base.rsplit_once('/').unwrap();
    query.map_or_else(|| format!("{server}/{name}"), |query| format!("{server}/{name}?{query}"))
}

async fn new_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tallystick_kill_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    administer(&format!("CREATE DATABASE {name}")).await;
    name
}

async fn administer(sql: &str) {
    let mut connection = sqlx::PgConnection::connect(&admin_url()).await.unwrap();
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    connection.close().await.unwrap();
}

/// Kills processes at one point until twenty sends have died there, then lets a process finish.
async fn killed_at(point: &str, on_postgres: bool) {
    let mut scene = Scene::start(on_postgres, "any_once_started").await;
    // What stops inside a commit holds the store's writer: there sends stop one by one.
    let together = if point == "during_save" { 1 } else { OPERATIONS };
    for _ in 0..OPERATIONS / together {
        scene.authorise(together).await;
        let process = scene.process(Some(point));
        process.wait_for_hits(together);
        process.kill();
    }
    let finishing = scene.process(None);
    scene.settle().await;
    scene.assert_one_effect_each().await;
    finishing.kill();
    scene.end().await;
}

macro_rules! killed {
    ($($point:ident),*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $point() {
                super::killed_at(stringify!($point), false).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $point() {
                super::killed_at(stringify!($point), true).await;
            })*
        }
        const KILLED: &[&str] = &[$(stringify!($point)),*];
    };
}

killed! { before_dispatch, after_dispatch, between_check_and_write, after_send, after_response, during_save, after_save }

#[test]
fn every_point_is_killed_at() {
    assert_eq!(KILLED, POINTS);
}

/// A sender stands still between the dispatch and its first byte for longer than lease, deadline and settle. Absence read
/// meanwhile proves nothing while it lives; when it wakes and sends, that is the one effect (A10).
async fn frozen(on_postgres: bool) {
    // A key that protects nothing: a second send would be a second effect.
    let mut scene = Scene::start(on_postgres, "2xx_only").await;
    scene
        .destination
        .set_plan(Plan { contract: Contract { stores: Stores::Nothing, ..Contract::default() }, ..Plan::default() });
    scene.authorise(1).await;
    let sleeper = scene.process(Some("between_check_and_write"));
    sleeper.wait_for_hits(1);
    sleeper.signal("STOP");
    let other = scene.process(None);
    let mut wake = scene.ledger.wake();
    // Past the lease, past settle, past several look-ups that find nothing.
    while scene.destination.report().look_ups < 4 {
        scene.pass(60).await;
        let _ = tokio::time::timeout(Duration::from_millis(1_500), wake.changed()).await;
        assert!(scene.offset < Duration::from_hours(4), "nobody looks it up: {:?}", scene.states().await);
    }
    assert_eq!(scene.states().await, [State::Uncertain(Doubt::Crashed)], "absence proves nothing while it lives");
    std::fs::write(scene.go(), "").unwrap();
    sleeper.signal("CONT");
    scene.settle().await;
    scene.assert_one_effect_each().await;
    sleeper.kill();
    other.kill();
    scene.end().await;
}

/// The same sender, killed instead of woken: its lock is free, which is proof, and the next look-up closes the attempt (K6).
#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_is_proved_dead_makes_room_for_one_more_send() {
    let mut scene = Scene::start(false, "2xx_only").await;
    scene.authorise(1).await;
    let dying = scene.process(Some("between_check_and_write"));
    dying.wait_for_hits(1);
    dying.kill();
    let other = scene.process(None);
    scene.settle().await;
    scene.assert_one_effect_each().await;
    other.kill();
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_sender_wakes_on_sqlite() {
    frozen(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_sender_wakes_on_postgres() {
    frozen(true).await;
}

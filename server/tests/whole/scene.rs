//! Real processes over a record on either store, and a destination that counts: what the tests share that kill them.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tallystick_destination::{Destination, Plan};
use tallystick_domain::action::{Act, ActionInput};
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::{
    ActionKey, DestinationName, OperationId, OperationKey, PrincipalId, SourceName, ToolName,
};
use tallystick_domain::operation::{State, SuccessBasis};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::tool::{Class, Tool};
use tallystick_ledger::operations::{NewProposal, NewStep};
use tallystick_ledger::{Ledger, OpenOptions};

/// A record on either store, a destination, and the configuration of processes over them.
pub struct Scene {
    pub ledger: Ledger,
    pub url: String,
    pub destination: Destination,
    pub folder: tempfile::TempDir,
    /// The administrative database of the cluster that the record is in.
    cluster: Option<String>,
    pub database: Option<String>,
    pub ids: Vec<OperationId>,
    pub offset: Duration,
}

impl Scene {
    /// `stores`: which answers the destination keeps under a key.
    pub async fn start(on_postgres: bool, stores: &str) -> Self {
        Self::start_in(on_postgres.then(admin_url), stores).await
    }

    /// A record in this cluster, or the embedded one.
    pub async fn start_in(cluster: Option<String>, stores: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (url, database) = if let Some(cluster) = &cluster {
            let name = new_database(cluster).await;
            (url_of(cluster, &name), Some(name))
        } else {
            (format!("sqlite:{}", folder.path().join("tally.db").display()), None)
        };
        let destination = Destination::start("127.0.0.1:0".parse().unwrap(), Plan::default()).await.unwrap();
        let config = format!(
            "[executor]\nsends = 32\nlock_folder = \"{}\"\n\n[[destination]]\nname = \"psp\"\nbase_url = \"http://{}\"\nprivate_allowed = true\nbudget = \"ratio\"\n",
            folder.path().join("locks").display(),
            destination.address(),
        );
        std::fs::write(folder.path().join("tallystick.toml"), config).unwrap();
        let ledger = Ledger::open(&OpenOptions { url: url.clone(), migrate: true }).await.unwrap();
        ledger.declare_tool(&actor("ada", Role::Administrator), tool(stores)).await.unwrap();
        Self { ledger, url, destination, folder, cluster, database, ids: Vec::new(), offset: Duration::ZERO }
    }

    pub async fn authorise(&mut self, count: usize) {
        for _ in 0..count {
            self.authorise_one("charge", None).await;
        }
    }

    /// Proposes the next order, and approves it as somebody else where its class asks for that.
    pub async fn authorise_one(&mut self, tool: &str, step: Option<NewStep>) -> OperationId {
        let key = format!("order-{}", self.ids.len());
        let new = NewProposal {
            key: OperationKey::parse(key.as_str()).unwrap(),
            tool: ToolName::parse(tool).unwrap(),
            arguments: json!({"intent": key}).to_string().into_bytes(),
            deadline: None,
            tool_call_id: None,
            step,
        };
        let made = self.ledger.propose_operation(&actor("robot", Role::Automation), new).await.unwrap();
        let id = made.operation.head.id;
        if made.operation.row.state == State::Proposed {
            let act = Act {
                key: ActionKey::parse(format!("approve {}", self.ids.len())).unwrap(),
                input: ActionInput::Approve {},
                actor: actor("ida", Role::Approver),
                reason: "checked".into(),
                confirmation: None,
                seen_version: made.operation.version,
            };
            let answer = self.ledger.act(&id, act).await.unwrap();
            assert!(answer.record.refusal.is_none(), "{:?}", answer.record.refusal);
        }
        self.ids.push(id.clone());
        id
    }

    /// Declares a tool that only executors of somebody else carry out, and believes what they say.
    pub async fn declare_for_others(&self, name: &str, class: Class, contract: serde_json::Value) {
        self.declare_as(name, class, contract).await;
        self.redeclare(name, |tool| tool.request = None).await;
        let source = SourceName::parse("executor/robot").unwrap();
        self.ledger.declare_source(&actor("ada", Role::Administrator), &source, Trust::Verified).await.unwrap();
    }

    /// Declares a tool again with a change.
    pub async fn redeclare(&self, name: &str, change: impl FnOnce(&mut Tool)) {
        let ada = actor("ada", Role::Administrator);
        let declared = self.ledger.tools(&ada).await.unwrap().into_iter().find(|tool| tool.name.as_str() == name);
        let mut declared = declared.unwrap();
        change(&mut declared);
        self.ledger.declare_tool(&ada, declared).await.unwrap();
    }

    /// Processes that start from now on find the destination in this region, at this address.
    pub fn move_to(&self, address: SocketAddr, region: &str) {
        let path = self.folder.path().join("tallystick.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let moved = text.replace(&self.destination.address().to_string(), &address.to_string());
        std::fs::write(path, format!("{moved}region = \"{region}\"\n")).unwrap();
    }

    /// What processes that start from now on pay retries from.
    pub fn pay_retries_from(&self, budget: &str) {
        let path = self.folder.path().join("tallystick.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text.replace("budget = \"ratio\"", &format!("budget = \"{budget}\""))).unwrap();
    }

    pub fn process(&self, failpoint: Option<&str>) -> Process {
        let environment: Vec<_> = failpoint.map(|name| ("TALLYSTICK_FAILPOINT", name.to_owned())).into_iter().collect();
        self.process_with(&environment)
    }

    pub fn process_with(&self, environment: &[(&str, String)]) -> Process {
        self.start_process(&[], environment)
    }

    /// The first process of a record at which nobody can sign in yet: it says where it listens.
    pub fn first_process(&self, environment: &[(&str, String)]) -> Process {
        self.start_process(&["--first-admin"], environment)
    }

    fn start_process(&self, words: &[&str], environment: &[(&str, String)]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tallystick"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(words);
        command.arg("--config").arg(self.folder.path().join("tallystick.toml"));
        command.env("TALLYSTICK_DB", &self.url).env("TALLYSTICK_LOG", "off").env("TALLYSTICK_FAILPOINT_GO", self.go());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let ((tell, hits), (tell_link, links)) = (channel(), channel());
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                let told = match line.strip_prefix("Sign in: ") {
                    Some(link) => tell_link.send(link.to_owned()).is_ok(),
                    None => !line.starts_with("failpoint ") || tell.send(line).is_ok(),
                };
                if !told {
                    return;
                }
            }
        });
        Process { child, hits, links }
    }

    /// Declares another tool whose contract has these members beside, or instead of, the usual ones.
    pub async fn declare(&self, name: &str, contract: serde_json::Value) {
        self.declare_as(name, Class::Reversible, contract).await;
    }

    /// The same of another class.
    pub async fn declare_as(&self, name: &str, class: Class, contract: serde_json::Value) {
        let usual = tool("any_once_started");
        let mut all = serde_json::to_value(&usual.contract).unwrap();
        all.as_object_mut().unwrap().extend(contract.as_object().unwrap().clone());
        let declared = Tool {
            name: ToolName::parse(name).unwrap(),
            class,
            contract: serde_json::from_value(all).unwrap(),
            ..usual
        };
        self.ledger.declare_tool(&actor("ada", Role::Administrator), declared).await.unwrap();
    }

    pub fn go(&self) -> PathBuf {
        self.folder.path().join("go")
    }

    pub async fn pass(&mut self, seconds: u64) {
        self.pass_by(Duration::from_secs(seconds)).await;
    }

    pub async fn pass_by(&mut self, time: Duration) {
        self.offset += time;
        self.ledger.set_clock_offset(i64::try_from(self.offset.as_micros()).unwrap()).await.unwrap();
    }

    /// SIGSTOP, while it writes nothing: who stands still in the middle of a commit keeps the embedded record from everybody,
    /// which is not what is looked at here.
    pub async fn freeze(&self, process: &Process) {
        process.signal("STOP");
        while !self.can_be_written().await {
            process.signal("CONT");
            tokio::task::yield_now().await;
            process.signal("STOP");
        }
    }

    async fn can_be_written(&self) -> bool {
        if self.database.is_some() {
            return true;
        }
        let options: SqliteConnectOptions = self.url.parse().unwrap();
        let mut connection = options.busy_timeout(Duration::ZERO).connect().await.unwrap();
        let is_free = connection.execute("BEGIN IMMEDIATE").await.is_ok();
        connection.close().await.unwrap();
        is_free
    }

    /// Nothing is sent to the destination while it is paused.
    pub async fn pause(&self, is_paused: bool) {
        let (ada, psp) = (actor("ada", Role::Administrator), DestinationName::parse("psp").unwrap());
        self.ledger.pause_destination(&ada, &psp, is_paused).await.unwrap();
    }

    pub async fn states(&self) -> Vec<State> {
        let rows = self.ledger.operations_by_id(&actor("ada", Role::Administrator), &self.ids).await.unwrap();
        assert_eq!(rows.len(), self.ids.len());
        rows.into_iter().map(|row| row.row.state).collect()
    }

    /// Lets time pass until every operation succeeded.
    pub async fn settle(&mut self) {
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

    pub async fn assert_one_effect_each(&self) {
        let report = self.destination.report();
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        assert_eq!(report.made.len(), self.ids.len());
        assert!(report.made.values().all(|count| *count == 1), "{:?}", report.made);
        let found = self.ledger.verify().await.unwrap();
        assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
    }

    pub async fn end(self) {
        self.ledger.close().await;
        if let (Some(cluster), Some(name)) = (&self.cluster, &self.database) {
            administer_at(cluster, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        }
    }
}

pub struct Process {
    pub child: Child,
    pub hits: Receiver<String>,
    /// The address that a first administrator signs in with.
    links: Receiver<String>,
}

impl Process {
    /// Waits until so many sends have come to the point.
    pub fn wait_for_hits(&self, count: usize) {
        for _ in 0..count {
            self.hits.recv_timeout(Duration::from_mins(1)).expect("a send comes to the point");
        }
    }

    /// Where it listens, as host and port; only of a [`Scene::first_process`].
    pub fn address(&self) -> String {
        let link = self.links.recv_timeout(Duration::from_mins(1)).expect("it prints a link");
        link.strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned()
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// SIGKILL without waiting for its end.
    pub fn signal_kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Whether it has ended by itself or by a signal.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// SIGSTOP now, SIGCONT a while later.
    pub fn freeze_for(&self, time: Duration) {
        let pid = self.child.id().to_string();
        let send = |signal: &str, pid: &str| {
            let _ = Command::new("kill").args([signal, pid]).stderr(Stdio::null()).status();
        };
        send("-STOP", &pid);
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            send("-CONT", &pid);
        });
    }

    /// SIGKILL: nothing of it runs any more when this returns.
    pub fn kill(mut self) {
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

pub fn actor(id: &str, role: Role) -> Actor {
    Actor { id: PrincipalId::parse(id).unwrap(), name: id.into(), role }
}

pub fn tool(stores: &str) -> Tool {
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

fn url_of(cluster: &str, name: &str) -> String {
    let (base, query) = cluster.split_once('?').map_or((cluster, None), |(base, query)| (base, Some(query)));
    let (server, _) = base.rsplit_once('/').unwrap();
    query.map_or_else(|| format!("{server}/{name}"), |query| format!("{server}/{name}?{query}"))
}

async fn new_database(cluster: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tallystick_kill_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    administer_at(cluster, &format!("CREATE DATABASE {name}")).await;
    name
}

pub async fn administer_at(cluster: &str, sql: &str) {
    let mut connection = sqlx::PgConnection::connect(cluster).await.unwrap();
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    connection.close().await.unwrap();
}

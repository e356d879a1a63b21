//! One record a test: a fresh database on either engine, people, and short ways to say what a test does.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tallystick_domain::action::{Act, ActionInput};
use tallystick_domain::contract::Contract;
use tallystick_domain::evidence::Trust;
use tallystick_domain::lease::Scope;
use tallystick_domain::name::{
    ActionKey, DestinationName, OperationId, OperationKey, PrincipalId, SourceName, ToolName,
};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::query::OperationQuery;
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::{Class, Tool};
use tallystick_ledger::destinations::Configured;
use tallystick_ledger::intake::IntakeReport;
use tallystick_ledger::operations::{Examined, Listed, NewProposal};
use tallystick_ledger::{Ledger, OpenOptions};
use tokio::sync::OnceCell;

/// Which engine a test runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// A record with its database.
pub struct Rig {
    pub ledger: Ledger,
    pub url: String,
    pub engine: Engine,
    database: Database,
}

enum Database {
    Folder(tempfile::TempDir),
    Named(String),
}

static TEMPLATE: OnceCell<String> = OnceCell::const_new();
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Rig {
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("record.db").display());
        let ledger = open(&url).await;
        Self { ledger, url, engine: Engine::Sqlite, database: Database::Folder(folder) }
    }

    pub async fn postgres() -> Self {
        let template = TEMPLATE.get_or_init(make_template).await;
        let name = format!("tallystick_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        administer(&format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        let url = url_of(&name);
        let ledger = open(&url).await;
        Self { ledger, url, engine: Engine::Postgres, database: Database::Named(name) }
    }

    /// Another handle on the same record, as a second process has it.
    pub async fn another(&self) -> Ledger {
        open(&self.url).await
    }

    /// The path of the file (SQLite).
    pub fn path(&self) -> std::path::PathBuf {
        match &self.database {
            Database::Folder(folder) => folder.path().join("record.db"),
            Database::Named(name) => panic!("{name} is not a file"),
        }
    }

    /// Runs raw SQL past the ledger.
    pub async fn sql(&self, sql: &str) -> u64 {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.engine {
            Engine::Sqlite => {
                let mut connection = sqlx::SqliteConnection::connect(&self.url).await.unwrap();
                connection.execute(sql).await.unwrap().rows_affected()
            }
            Engine::Postgres => {
                let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
                connection.execute(sql).await.unwrap().rows_affected()
            }
        }
    }

    /// Reads one column of text past the ledger.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.engine {
            Engine::Sqlite => {
                let mut connection = sqlx::SqliteConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
            Engine::Postgres => {
                let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
        }
    }

    /// A table's columns with their kinds: `text`, `integer`, `boolean`, `bytes`.
    pub async fn columns(&self, table: &str) -> Vec<(String, String)> {
        let sql = match self.engine {
            Engine::Sqlite => format!(
                "SELECT name || ' ' || CASE WHEN name IN ('key_given', 'needs_attention', 'is_paused') THEN 'boolean'
                    ELSE REPLACE(LOWER(type), 'blob', 'bytes') END FROM pragma_table_info('{table}') ORDER BY cid"
            ),
            Engine::Postgres => format!(
                "SELECT column_name || ' ' || REPLACE(REPLACE(data_type, 'bigint', 'integer'), 'bytea', 'bytes')
                 FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position"
            ),
        };
        let columns = self.texts(&sql).await;
        columns
            .iter()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, kind)| (name.into(), kind.into()))
            .collect()
    }

    /// Bytes as this engine writes them.
    pub fn bytes_literal(&self, hex: &str) -> String {
        match self.engine {
            Engine::Sqlite => format!("x'{hex}'"),
            Engine::Postgres => format!("'\\x{hex}'::BYTEA"),
        }
    }

    /// Counts rows past the ledger.
    pub async fn count(&self, table_and_condition: &str) -> i64 {
        let texts = self.texts(&format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table_and_condition}")).await;
        texts[0].parse().unwrap()
    }

    /// Imports lines from the source `cases`, which is verified.
    pub async fn import(&self, text: &str) -> IntakeReport {
        self.ledger.declare_source(&admin(), &source("cases"), Trust::Verified).await.unwrap();
        self.import_from("cases", text).await
    }

    /// Imports lines from a source.
    pub async fn import_from(&self, name: &str, text: &str) -> IntakeReport {
        let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        self.ledger.import_lines(&automation(), &source(name), 1, &lines).await.unwrap()
    }

    /// The operation with this key.
    pub async fn listed(&self, key: &str) -> Option<Listed> {
        let query = OperationQuery { search: Some(key.into()), limit: Some(200), ..OperationQuery::default() };
        let page = self.ledger.operations(&admin(), &query).await.unwrap();
        page.rows.into_iter().find(|row| row.head.key.as_str() == key)
    }

    /// The operation with this key, examined.
    pub async fn examined(&self, key: &str) -> Examined {
        let id = self.id(key).await;
        self.ledger.operation(&admin(), &id).await.unwrap().unwrap()
    }

    /// The id of the operation with this key.
    pub async fn id(&self, key: &str) -> OperationId {
        self.listed(key).await.unwrap_or_else(|| panic!("no operation {key}")).head.id
    }

    /// Its state, as text.
    pub async fn state(&self, key: &str) -> String {
        self.listed(key).await.unwrap_or_else(|| panic!("no operation {key}")).row.state.to_string()
    }

    /// Fails with the list when the record does not verify.
    pub async fn assert_verified(&self) {
        let found = self.ledger.verify().await.unwrap();
        assert!(found.discrepancies.is_empty(), "{:#?}", found.discrepancies);
    }

    /// Declares a tool that can be executed.
    pub async fn declare(&self, name: &str, class: Class) -> Tool {
        self.ledger.declare_tool(&admin(), tool(name, class)).await.unwrap()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let Database::Named(name) = &self.database else { return };
        let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        // A test's runtime is inside an async context already; a thread of its own can wait.
        let dropping = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(administer(&drop));
        });
        let _ = dropping.join();
    }
}

pub async fn open(url: &str) -> Ledger {
    Ledger::open(&OpenOptions { url: url.into(), migrate: true }).await.unwrap()
}

fn admin_url() -> String {
    std::env::var("TALLYSTICK_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "TALLYSTICK_TEST_POSTGRES is not set, so half of the contract cannot be shown. \
             `cargo xtask test` starts a PostgreSQL of its own and sets it."
        )
    })
}

/// The same server, another database.
pub fn url_of(name: &str) -> String {
    let url = admin_url();
    let (base, query) = url.split_once('?').map_or((url.as_str(), None), |(base, query)| (base, Some(query)));
    let (server, _) = base.rsplit_once('/').unwrap();
    query.map_or_else(|| format!("{server}/{name}"), |query| format!("{server}/{name}?{query}"))
}

pub async fn administer(sql: &str) {
    let mut connection = sqlx::PgConnection::connect(&admin_url()).await.unwrap();
    connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    connection.close().await.unwrap();
}

async fn make_template() -> String {
    let name = format!("tallystick_template_{}", std::process::id());
    administer(&format!("DROP DATABASE IF EXISTS {name}")).await;
    administer(&format!("CREATE DATABASE {name}")).await;
    // Its connections belong to a runtime that will end with its test: use one of our own.
    let url = url_of(&name);
    let made = std::thread::spawn(move || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            open(&url).await.close().await;
        });
    });
    made.join().unwrap();
    name
}

pub fn actor(id: &str, role: Role) -> Actor {
    Actor { id: PrincipalId::parse(id).unwrap(), name: id.into(), role }
}

pub fn admin() -> Actor {
    actor("ada", Role::Administrator)
}

pub fn operator() -> Actor {
    actor("olga", Role::Operator)
}

pub fn second_operator() -> Actor {
    actor("otto", Role::Operator)
}

pub fn viewer() -> Actor {
    actor("vera", Role::Viewer)
}

pub fn automation() -> Actor {
    actor("robot", Role::Automation)
}

pub fn source(name: &str) -> SourceName {
    SourceName::parse(name).unwrap()
}

pub fn at(text: &str) -> Timestamp {
    Timestamp::parse_rfc3339(text).unwrap()
}

pub fn tool(name: &str, class: Class) -> Tool {
    Tool {
        class,
        destination: Some(DestinationName::parse("psp").unwrap()),
        executable: true,
        contract: Contract { key_retention_s: Some(86_400), ..Contract::default() },
        ..Tool::undeclared(ToolName::parse(name).unwrap())
    }
}

pub fn proposal(key: &str, tool: &str, arguments: &str) -> NewProposal {
    NewProposal {
        key: OperationKey::parse(key).unwrap(),
        tool: ToolName::parse(tool).unwrap(),
        arguments: arguments.as_bytes().to_vec(),
        deadline: None,
        tool_call_id: None,
        step: None,
    }
}

pub fn act(key: &str, by: &Actor, input: ActionInput, seen_version: u64) -> Act {
    Act {
        key: ActionKey::parse(key).unwrap(),
        input,
        actor: by.clone(),
        reason: "seen on the statement".into(),
        confirmation: None,
        seen_version,
    }
}

/// A case's lines.
pub fn case(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../domain/tests/cases/{name}.ndjson", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

pub fn configured(name: &DestinationName, scope: Scope) -> Configured {
    Configured { name: name.clone(), scope, budget_kind: None }
}

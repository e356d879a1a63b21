//! A router over a fresh SQLite record with a clock that tests set, and one client for each kind of caller.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use serde_json::Value;
use tallystick::auth::{password, token};
use tallystick::config::Config;
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::SourceName;
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::time::Timestamp;
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tallystick_ledger::{Ledger, OpenOptions};
use tempfile::TempDir;
use tower::ServiceExt;

/// Everybody's password.
pub const PASSWORD: &str = "a password of some length";
/// When tests happen, unless they set the clock.
pub const START: &str = "2026-10-05T08:00:00Z";

/// The process under test.
pub struct App {
    pub router: Router,
    pub ledger: Ledger,
    tokens: BTreeMap<Role, String>,
    pub actors: BTreeMap<Role, Actor>,
    /// Removed with the app.
    _folder: TempDir,
}

impl App {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(adjust: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("tally.db").display());
        let mut config = Config::over(&url).unwrap();
        adjust(&mut config);
        let ledger = Ledger::open(&OpenOptions { url, migrate: true }).await.unwrap();
        ledger.set_clock(time(START)).await.unwrap();
        let router = tallystick::build(&config, ledger.clone()).await.unwrap();
        let mut app = Self { router, ledger, tokens: BTreeMap::new(), actors: BTreeMap::new(), _folder: folder };
        for role in Role::ALL {
            app.add(role).await;
        }
        app
    }

    async fn add(&mut self, role: Role) {
        let hash = (role == Role::Operator).then(|| password::hash_new(&PASSWORD.into()).unwrap());
        let new =
            NewPrincipal { login: role.name().into(), name: format!("The {}", role.name()), role, password_hash: hash };
        let principal = self.ledger.add_principal(&system_actor(), new).await.unwrap();
        let secret = token::new_token().unwrap();
        self.ledger.add_token(&system_actor(), &principal.id, token::hash(&secret), "test", None).await.unwrap();
        self.actors.insert(role, principal.actor());
        self.tokens.insert(role, secret);
    }

    /// A caller with this role's token.
    pub fn client(&self, role: Role) -> Client {
        Client {
            router: self.router.clone(),
            headers: vec![("authorization".into(), format!("Bearer {}", self.tokens[&role]))],
        }
    }

    pub fn anonymous(&self) -> Client {
        Client { router: self.router.clone(), headers: Vec::new() }
    }

    pub async fn set_clock(&self, at: &str) {
        self.ledger.set_clock(time(at)).await.unwrap();
    }

    pub async fn trust(&self, source: &str, trust: Trust) {
        let name = SourceName::parse(source).unwrap();
        self.ledger.declare_source(&system_actor(), &name, trust).await.unwrap();
    }

    /// Declares a tool as its administrator.
    pub async fn declare(&self, name: &str, declaration: Value) {
        let answer = self.client(Role::Administrator).put(&format!("/api/v1/tools/{name}"), &declaration).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// A tool whose proposals are simple.
    pub async fn with_tool(self) -> Self {
        self.declare("pay", serde_json::json!({"class": "irreversible", "executable": true})).await;
        self
    }
}

pub fn time(text: &str) -> Timestamp {
    Timestamp::parse_rfc3339(text).unwrap()
}

/// One caller.
#[derive(Clone)]
pub struct Client {
    router: Router,
    headers: Vec<(String, String)>,
}

impl Client {
    /// The same caller, with a further header.
    pub fn with(&self, name: &str, value: impl Into<String>) -> Self {
        let mut other = self.clone();
        other.headers.retain(|(known, _)| known != name);
        other.headers.push((name.into(), value.into()));
        other
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None, Body::empty()).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, Some("application/json"), body.to_string().into()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string()).await
    }

    pub async fn post_text(&self, path: &str, body: &str) -> Answer {
        self.send(Method::POST, path, Some("application/json"), body.to_owned().into()).await
    }

    pub async fn post_form(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body = tallystick::http::url::query(fields.iter().copied());
        self.send(Method::POST, path, Some("application/x-www-form-urlencoded"), body.into()).await
    }

    pub async fn events(&self, source: &str, lines: &str) -> Answer {
        self.send(
            Method::POST,
            &format!("/api/v1/events?source={source}"),
            Some("application/x-ndjson"),
            lines.to_owned().into(),
        )
        .await
    }

    pub async fn send(&self, method: Method, path: &str, kind: Option<&str>, body: Body) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("host", "127.0.0.1:8642");
        if let Some(kind) = kind {
            request = request.header(CONTENT_TYPE, kind);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub fn token(&self) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == AUTHORIZATION.as_str()).map(|(_, value)| value.as_str())
    }

    /// The operation that has this name at its source, as the API shows it.
    pub async fn operation_named(&self, name: &str) -> Value {
        let found = self.get(&format!("/api/v1/operations?search={name}")).await.json();
        let rows = found["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "one operation is called {name}: {found}");
        let id = rows[0]["id"].as_str().unwrap();
        self.get(&format!("/api/v1/operations/{id}")).await.json()
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// It is a problem document of this kind that says that nothing was done.
    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text());
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:tallystick:problem:{code}"), "{problem}");
        assert_eq!(problem["status"], status);
        assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()));
        assert_eq!(self.header("link").map(|link| link.contains(&format!("/problems/{code}"))), Some(true));
        problem
    }

    /// The session cookie that was set, as a browser sends it back.
    pub fn cookie(&self) -> Option<String> {
        self.header("set-cookie").and_then(|cookie| cookie.split(';').next()).map(str::to_owned)
    }
}

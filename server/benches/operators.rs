//! Many operators with the console open while work goes on: what each of them hears, how soon, and what the process takes for
//! it. Some of them never read what they are sent. `cargo xtask bench operators --operators 200 --minutes 10`.

#![expect(clippy::disallowed_methods, reason = "a bench measures with the machine's own clock")]

mod client;
mod figures;
mod served;
mod spans;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use client::Client;
use figures::{Outcome, given, row};
use served::{Server, url};
use spans::{millis, percentiles};
use tallystick::auth::token;
use tallystick_domain::permission::Role;
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tallystick_ledger::{Ledger, OpenOptions};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

const TOKEN: &str = "ts_bench";
/// One change so often.
const BETWEEN: Duration = Duration::from_millis(100);
/// So many more never read.
const DEAF: usize = 5;
/// How long the last change may take to reach everybody before it counts as missed.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let operators = number("--operators", 200);
    let lasts = Duration::from_secs(60 * u64::try_from(number("--minutes", 10))?);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("operators.db");
    new_record(&file).await?;
    let server = Server::start(&url(&file), &[])?;
    figures::head();
    server.memory_told("before anybody came", "")?;
    let said = Arc::new(Said::default());
    let mut deaf = Vec::new();
    for _ in 0..DEAF {
        deaf.push(follow(&server.address).await?);
    }
    let mut listening: Vec<JoinHandle<Outcome<Heard>>> = Vec::new();
    for _ in 0..operators {
        let stream = follow(&server.address).await?;
        listening.push(tokio::spawn(listen(stream, Arc::clone(&said))));
    }
    let start = Instant::now();
    let mut client = Client::connect(&server.address).await?;
    let mut changes = 0_u32;
    let mut has_told = false;
    while start.elapsed() < lasts {
        propose(&mut client, changes, &said).await?;
        changes += 1;
        if !has_told && start.elapsed() > lasts / 10 {
            server.memory_told("after a tenth of the time", "")?;
            has_told = true;
        }
        tokio::time::sleep(BETWEEN).await;
    }
    said.last.store(i64::from(changes), Ordering::SeqCst);
    propose(&mut client, changes, &said).await?;
    server.memory_told("at the end", "flat")?;
    let mut latencies = Vec::new();
    let mut missed = 0;
    for one in listening {
        let heard =
            tokio::time::timeout(PATIENCE, one).await.map_err(|_| "somebody never heard the last change")???;
        missed += u64::from(heard.changes != changes + 1);
        latencies.extend(heard.after);
    }
    let (median, worst) = percentiles(latencies);
    row(&format!("changes while {operators} followed"), &(changes + 1).to_string(), "", f64::NAN, "");
    row("operators who missed one", &missed.to_string(), "", f64::NAN, "0");
    row("from its commit to an operator, p50", &millis(median), "", f64::NAN, "");
    row("from its commit to an operator, p99", &millis(worst), "", f64::NAN, "");
    let percent = server.cpu_seconds()? / start.elapsed().as_secs_f64() * 100.0;
    row("processor, percent of a core", &format!("{percent:.1}"), "", f64::NAN, "");
    drop(deaf);
    if missed == 0 { Ok(()) } else { Err("a change was missed".into()) }
}

fn number(name: &str, default: usize) -> usize {
    given(name).and_then(|text| text.parse().ok()).unwrap_or(default)
}

async fn new_record(file: &Path) -> Outcome<()> {
    let ledger = Ledger::open(&OpenOptions { url: url(file), migrate: true }).await?;
    let person =
        NewPrincipal { login: "bench".into(), name: "Bench".into(), role: Role::Administrator, password_hash: None };
    let by = ledger.add_principal(&system_actor(), person).await?.actor();
    ledger.add_token(&by, &by.id, token::hash(TOKEN), "bench", None).await?;
    ledger.close().await;
    Ok(())
}

/// What the writer tells the listeners.
struct Said {
    /// When the change with this number was answered, in microseconds of `since`.
    at: AtomicI64,
    since: Instant,
    /// The number of the last change, once it is known.
    last: AtomicI64,
}

impl Default for Said {
    fn default() -> Self {
        Self { at: AtomicI64::new(0), since: Instant::now(), last: AtomicI64::new(i64::MAX) }
    }
}

impl Said {
    fn micros(&self) -> i64 {
        i64::try_from(self.since.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

async fn propose(client: &mut Client, number: u32, said: &Said) -> Outcome<()> {
    let body =
        format!(r#"{{"operation_key":"operators:{number}","tool":"invoice.create","arguments":{{"order":{number}}}}}"#);
    said.at.store(said.micros(), Ordering::SeqCst);
    let (status, answer) = client.post("/api/v1/operations", &body).await?;
    if status == 201 { Ok(()) } else { Err(format!("{status}: {}", String::from_utf8_lossy(&answer)).into()) }
}

/// What one operator heard.
struct Heard {
    changes: u32,
    after: Vec<Duration>,
}

async fn follow(address: &str) -> Outcome<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /api/v1/live HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut stream = BufReader::new(stream);
    // Who has heard `ready` hears of every later change.
    let mut line = String::new();
    while !line.starts_with("event: ready") && !line.starts_with("event:ready") {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err("the stream ended".into());
        }
    }
    Ok(stream)
}

async fn listen(mut stream: BufReader<TcpStream>, said: Arc<Said>) -> Outcome<Heard> {
    let mut heard = Heard { changes: 0, after: Vec::new() };
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err("a stream ended".into());
        }
        if line.contains("resync") {
            return Err("somebody fell behind".into());
        }
        if line.starts_with("data:") && line.contains(r#""topic":"operation""#) {
            heard.changes += 1;
            let after = said.micros() - said.at.load(Ordering::SeqCst);
            heard.after.push(Duration::from_micros(u64::try_from(after).unwrap_or(0)));
            if i64::from(heard.changes) > said.last.load(Ordering::SeqCst) {
                return Ok(heard);
            }
        }
    }
}

//! What the places of the console cost when there is much to show: each page as a browser gets it, beside the statements of
//! the same run, bare. `cargo xtask bench places --rows 10000,1000000`.

#![expect(clippy::disallowed_methods, reason = "a bench measures with the machine's own clock")]

mod client;
mod figures;
mod served;
mod spans;

use std::path::Path;
use std::time::{Duration, Instant};

use client::Client;
use figures::{Outcome, row};
use served::{Server, sizes, url};
use spans::{millis, percentiles};
use tallystick::auth::token;
use tallystick_domain::evidence::Trust;
use tallystick_domain::name::{OperationId, SourceName};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::query::{OperationQuery, QueueQuery};
use tallystick_domain::time::Timestamp;
use tallystick_domain::tool::Tool;
use tallystick_ledger::measure::{Tape, start_tape, take_tape};
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tallystick_ledger::{Ledger, OpenOptions};

const TOKEN: &str = "ts_bench";
const READS: usize = 300;
const BATCH: usize = 1_000;
const TOOLS: usize = 20;
/// So many wait for a person: one in two hundred got no answer, in five different ways, at five destinations.
const WAITS_ONE_IN: usize = 200;
const WAYS: [&str; 5] = [
    r#""outcome":"timeout""#,
    r#""outcome":"conn_lost""#,
    r#""outcome":"conn_lost","http":200"#,
    r#""outcome":"timeout","error":"deadline""#,
    r#""outcome":"conn_lost","error":"reset by peer""#,
];
const DAY: i64 = 86_400_000_000;
/// What a page may cost at the 99th percentile.
const LIMIT: &str = "≤ 50 ms";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    figures::head();
    let config = folder.path().join("tallystick.toml");
    let places = (0..WAYS.len()).map(|at| {
        // Nobody listens there: a look-up is accepted, and then finds nobody.
        format!("[[destination]]\nname = \"dest-{at}\"\nbase_url = \"http://127.0.0.1:9\"\nprivate_allowed = true\n")
    });
    std::fs::write(&config, places.collect::<String>())?;
    let mut medians: Vec<Vec<(&'static str, Duration)>> = Vec::new();
    for size in sizes() {
        let file = folder.path().join(format!("rows-{size}.db"));
        let (ledger, by) = fill(&file, size).await?;
        let places = places_of(&ledger, &by, size).await?;
        ledger.close().await;
        let server = Server::start(&url(&file), &["--config", &config.display().to_string()])?;
        server.wait_until_idle()?;
        let mut client = Client::connect(&server.address).await?;
        medians.push(read_all(&places, &file, size, &mut client).await?);
        server.memory_told(&format!("after these reads, {size} operations"), "")?;
        look_up_many(&mut client, size).await?;
    }
    if let [first, .., last] = medians.as_slice() {
        for ((name, small), (_, large)) in first.iter().zip(last) {
            let ratio = large.as_secs_f64() / small.as_secs_f64();
            row(&format!("{name}, largest ÷ smallest, p50"), &millis(*large), &millis(*small), ratio, "flat: < 2");
        }
    }
    Ok(())
}

/// A record of so many operations over the last thirty days, all of them counted.
async fn fill(file: &Path, size: usize) -> Outcome<(Ledger, Actor)> {
    let ledger = Ledger::open(&OpenOptions { url: url(file), migrate: true }).await?;
    let person =
        NewPrincipal { login: "bench".into(), name: "Bench".into(), role: Role::Administrator, password_hash: None };
    let by = ledger.add_principal(&system_actor(), person).await?.actor();
    ledger.add_token(&by, &by.id, token::hash(TOKEN), "bench", None).await?;
    for at in 0..TOOLS {
        let tool: Tool = serde_json::from_value(serde_json::json!({
            "name": format!("tool-{at}"), "class": "reversible", "destination": format!("dest-{}", at % WAYS.len()),
            "executable": true, "declared": true, "look_up": {"path": "/things?key={key}", "items": "/data", "receipt": "/id"},
            "contract": {"key_location": "Idempotency-Key", "lookup": {"by": "key", "consistency": "strong"}}
        }))?;
        ledger.declare_tool(&by, tool).await?;
    }
    let source = SourceName::parse("bench")?;
    ledger.declare_source(&by, &source, Trust::Verified).await?;
    let start = Instant::now();
    let now = ledger.now().await?;
    let step = 29 * DAY / i64::try_from(size)?;
    for first in (0..size).step_by(BATCH) {
        let lines: Vec<String> = (first..(first + BATCH).min(size)).map(|index| line(index, now, step)).collect();
        let bytes: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        let report = ledger.import_lines(&by, &source, 1, &bytes).await?;
        if let Some(bad) = report.bad.first() {
            return Err(format!("line {}: {}", bad.number, bad.reason).into());
        }
    }
    let filled = start.elapsed().as_secs_f64();
    let start = Instant::now();
    ledger.count_all_outcomes(500).await?;
    let counted = start.elapsed().as_secs_f64();
    eprintln!("filled {size} operations in {filled:.1} s, counted them in {counted:.1} s");
    Ok((ledger, by))
}

fn line(index: usize, now: Timestamp, step: i64) -> String {
    let age = step * i64::try_from(index).unwrap_or(0);
    let at = Timestamp::from_micros(now.as_micros() - 29 * DAY + age);
    let tool = index / WAITS_ONE_IN % TOOLS;
    let dest = tool % WAYS.len();
    let end = if index.is_multiple_of(WAITS_ONE_IN) {
        WAYS[index / WAITS_ONE_IN / TOOLS % WAYS.len()].to_owned()
    } else {
        format!(r#""outcome":"ok","receipt":"in_{index}""#)
    };
    format!(
        r#"{{"ts":"{at}","ev":"attempt.ended","op":"b{index}","key":"{}","tool":"tool-{tool}","dest":"dest-{dest}","n":1,"owner":"agent","dest_key":"{}",{end}}}"#,
        key(index),
        key(index)
    )
}

fn key(index: usize) -> String {
    format!("invoice:order-{index}:issue")
}

struct Place {
    name: &'static str,
    path: String,
    statements: Tape,
}

/// Each place with what it reads; the statements are those of the use case that it shows.
async fn places_of(ledger: &Ledger, by: &Actor, size: usize) -> Outcome<Vec<Place>> {
    let search = OperationQuery { search: Some(key(size / 2)), ..OperationQuery::default() };
    let found = ledger.operations(by, &search).await?.rows;
    let id: OperationId = found.first().ok_or("the key is not found")?.head.id.clone();
    let mut places = Vec::new();
    let mut add = |name, path: &str| {
        places.push(Place { name, path: path.to_owned(), statements: take_tape() });
        start_tape();
    };
    start_tape();
    ledger.queue(by, &QueueQuery::default()).await?;
    add("queue", "/");
    let grouped = QueueQuery { grouped: true, ..QueueQuery::default() };
    ledger.queue(by, &grouped).await?;
    ledger.queue_groups(by, &grouped).await?;
    add("queue in groups", "/?grouped=true");
    ledger.operations(by, &search).await?;
    add("search by key", &format!("/operations?search={}", key(size / 2)));
    ledger.operations(by, &OperationQuery { tool: Some("tool-7".into()), ..OperationQuery::default() }).await?;
    add("filter by tool", "/operations?tool=tool-7");
    ledger.operations(by, &OperationQuery { state: Some("uncertain".into()), ..OperationQuery::default() }).await?;
    add("filter by state", "/operations?state=uncertain");
    ledger.operation(by, &id).await?;
    add("operation", &format!("/operations/{id}"));
    let now = ledger.now().await?.as_micros();
    let quarter = |micros: i64| Timestamp::from_micros(micros - micros.rem_euclid(900_000_000));
    ledger.outcomes(by, quarter(now - 30 * DAY), quarter(now)).await?;
    add("outcomes of 30 days", "/outcomes?window=30d");
    ledger.layers(by).await?;
    add("layers", "/layers");
    ledger.approvals(by).await?;
    add("approvals", "/approvals");
    let _ = take_tape();
    Ok(places)
}

async fn read_all(
    places: &[Place],
    file: &Path,
    size: usize,
    client: &mut Client,
) -> Outcome<Vec<(&'static str, Duration)>> {
    let mut medians = Vec::new();
    for Place { name, path, statements } in places {
        let raw = percentiles(statements.read_again(&url(file), READS).await?);
        let ours = percentiles(client.get_many(path, READS).await?);
        for (percentile, ours, raw, target) in [("p50", ours.0, raw.0, ""), ("p99", ours.1, raw.1, LIMIT)] {
            let ratio = ours.as_secs_f64() / raw.as_secs_f64();
            row(&format!("{name}, {size} operations, {percentile}"), &millis(ours), &millis(raw), ratio, target);
        }
        medians.push((*name, ours.0));
    }
    Ok(medians)
}

/// A bulk look-up of as many as wait at one destination: its preview, and pressing start.
async fn look_up_many(client: &mut Client, size: usize) -> Outcome<()> {
    let filter = r#"{"action":"look_up","filter":{"list":"queue","destination":"dest-0"}}"#;
    let start = Instant::now();
    let (status, body) = client.post("/api/v1/bulk", filter).await?;
    let previewed = start.elapsed();
    let bulk: serde_json::Value = serde_json::from_slice(&body)?;
    let (Some(id), Some(hash), 201) = (bulk["id"].as_str(), bulk["hash"].as_str(), status) else {
        return Err(format!("the preview was answered {status}: {bulk}").into());
    };
    let start = Instant::now();
    let (status, body) = client.post(&format!("/api/v1/bulk/{id}/start"), &format!(r#"{{"hash":"{hash}"}}"#)).await?;
    let accepted = start.elapsed();
    let said = String::from_utf8_lossy(&body);
    if status >= 300 {
        return Err(format!("the start was answered {status}: {said}").into());
    }
    let items = size / WAITS_ONE_IN / WAYS.len();
    row(&format!("bulk look-up of {items}, previewed"), &millis(previewed), "", f64::NAN, "");
    row(&format!("bulk look-up of {items}, accepted"), &millis(accepted), "", f64::NAN, "≤ 300 ms");
    Ok(())
}

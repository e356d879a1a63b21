//! The figures of the main job, each beside the raw statements of the same run: the same SQL text, driver and
//! durability, with nothing of ours around them. `cargo xtask bench foundation --rows 10000,1000000`.

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
use tallystick_domain::name::{SourceName, ToolName};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::query::OperationQuery;
use tallystick_domain::tool::{Class, Tool};
use tallystick_ledger::measure::{Commits, start_tape, take_tape};
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tallystick_ledger::{Ledger, OpenOptions};

const TOKEN: &str = "ts_bench";
const CLIENTS: usize = 8;
const PROPOSALS_EACH: usize = 250;
const READS: usize = 400;
const BATCH: usize = 1_000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let sizes = sizes();
    let folder = tempfile::tempdir()?;
    figures::head();
    import(folder.path()).await?;
    let mut newest = Vec::new();
    for size in &sizes {
        let file = folder.path().join(format!("rows-{size}.db"));
        fill(&file, *size).await?;
        newest.push(pages(&file, *size).await?);
        process(&file, *size)?;
    }
    if let [first, .., last] = newest.as_slice() {
        let ratio = last.as_secs_f64() / first.as_secs_f64();
        println!(
            "{:<52} {:>11} {:>11} {ratio:>8.2}   < 2",
            "newest page by API, largest ÷ smallest",
            millis(*last),
            millis(*first)
        );
    }
    proposals(folder.path()).await
}

async fn open(file: &Path) -> Outcome<Ledger> {
    Ok(Ledger::open(&OpenOptions { url: url(file), migrate: true }).await?)
}

/// A record with an administrator who holds the token, a declared tool and a verified source.
async fn new_record(file: &Path) -> Outcome<(Ledger, Actor)> {
    let ledger = open(file).await?;
    let person =
        NewPrincipal { login: "bench".into(), name: "Bench".into(), role: Role::Administrator, password_hash: None };
    let person = ledger.add_principal(&system_actor(), person).await?;
    ledger.add_token(&person.actor(), &person.id, token::hash(TOKEN), "bench", None).await?;
    let mut tool = Tool::undeclared(ToolName::parse("invoice.create")?);
    (tool.class, tool.declared) = (Class::Reversible, true);
    ledger.declare_tool(&person.actor(), tool).await?;
    ledger.declare_source(&person.actor(), &SourceName::parse("bench")?, Trust::Verified).await?;
    Ok((ledger, person.actor()))
}

fn proposal_line(index: usize) -> String {
    format!(
        r#"{{"ts":"2026-11-01T00:00:00Z","ev":"operation.proposed","op":"b{index}","key":"invoice:order-{index}:issue","tool":"invoice.create","dest":"ledger","effect":"unsafe_write","args":{{"order":"order-{index}","amount_minor":{}}}}}"#,
        100 + index % 90_000
    )
}

fn end_line(index: usize) -> String {
    // One in two hundred got no answer, so that the queue is not empty.
    let end = if index.is_multiple_of(200) {
        r#""outcome":"timeout""#.into()
    } else {
        format!(r#""outcome":"ok","receipt":"in_{index}""#)
    };
    format!(
        r#"{{"ts":"2026-11-01T00:00:02Z","ev":"attempt.ended","op":"b{index}","key":"invoice:order-{index}:issue","tool":"invoice.create","dest":"ledger","n":1,"owner":"agent","dest_key":"invoice:order-{index}:issue",{end}}}"#
    )
}

async fn import_all(ledger: &Ledger, by: &Actor, lines: impl Iterator<Item = String>) -> Outcome<()> {
    let source = SourceName::parse("bench")?;
    let mut lines = lines.peekable();
    let mut number = 1;
    while lines.peek().is_some() {
        let batch: Vec<String> = lines.by_ref().take(BATCH).collect();
        let bytes: Vec<&[u8]> = batch.iter().map(String::as_bytes).collect();
        let report = ledger.import_lines(by, &source, number, &bytes).await?;
        if let Some(bad) = report.bad.first() {
            return Err(format!("line {}: {}", bad.number, bad.reason).into());
        }
        number += u64::try_from(batch.len())?;
    }
    Ok(())
}

/// Lines a second into the record, beside the same rows inserted bare in the same transactions.
async fn import(folder: &Path) -> Outcome<()> {
    let operations = 10_000;
    let lines = || (0..operations).flat_map(|index| [proposal_line(index), end_line(index)]);
    let (ledger, by) = new_record(&folder.join("import.db")).await?;
    start_tape();
    let start = Instant::now();
    import_all(&ledger, &by, lines()).await?;
    let ours = start.elapsed();
    let tape = take_tape();
    ledger.close().await;
    let raw_file = folder.join("import-raw.db");
    new_record(&raw_file).await?.0.close().await;
    let raw = tape.write_again(&url(&raw_file), Commits::AsWritten).await?;
    let per_second =
        |span: Duration| 2.0 * f64::from(u32::try_from(operations).unwrap_or(u32::MAX)) / span.as_secs_f64();
    row(
        "import, lines a second",
        &format!("{:.0}", per_second(ours)),
        &format!("{:.0}", per_second(raw)),
        per_second(ours) / per_second(raw),
        "≥ 0.25",
    );
    Ok(())
}

async fn fill(file: &Path, size: usize) -> Outcome<()> {
    let (ledger, by) = new_record(file).await?;
    let start = Instant::now();
    import_all(&ledger, &by, (0..size).map(end_line)).await?;
    eprintln!("filled {size} operations in {:.1} s", start.elapsed().as_secs_f64());
    ledger.close().await;
    Ok(())
}

/// The newest page of 50, by API and as a page, beside its statement; p50 and p99 of `READS` requests.
async fn pages(file: &Path, size: usize) -> Outcome<Duration> {
    let ledger = open(file).await?;
    start_tape();
    let by = Actor { role: Role::Administrator, ..system_actor() };
    ledger.operations(&by, &OperationQuery::default()).await?;
    let tape = take_tape();
    ledger.close().await;
    let raw = percentiles(tape.read_again(&url(file), READS).await?);
    let server = Server::start(&url(file), &[])?;
    let mut client = Client::connect(&server.address).await?;
    let api = percentiles(client.get_many("/api/v1/operations?limit=50", READS).await?);
    let page = percentiles(client.get_many("/operations?limit=50", READS).await?);
    let queue = percentiles(client.get_many("/", READS).await?);
    for (name, spans, target) in
        [("newest 50 by API", api, "≤ 8"), ("newest 50 as a page", page, "≤ 30"), ("queue as a page", queue, "")]
    {
        for (percentile, ours, raw) in [("p50", spans.0, raw.0), ("p99", spans.1, raw.1)] {
            let ratio = ours.as_secs_f64() / raw.as_secs_f64();
            row(&format!("{name}, {size} operations, {percentile}"), &millis(ours), &millis(raw), ratio, target);
        }
    }
    drop(client);
    server.wait_until_idle()?;
    server.memory_told(&format!("idle after these reads, {size} operations"), "")?;
    Ok(api.0)
}

/// How long from start to the first answer, and the memory of the idle process.
fn process(file: &Path, size: usize) -> Outcome<()> {
    let mut starts = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let server = Server::start(&url(file), &[])?;
        std::net::TcpStream::connect(&server.address)?;
        starts.push(start.elapsed());
        if starts.len() == 5 {
            server.wait_until_idle()?;
            server.memory_told(&format!("idle, {size} operations"), "≤ 25")?;
        }
    }
    row(&format!("start, {size} operations"), &millis(percentiles(starts).0), "", f64::NAN, "≤ 150 ms");
    Ok(())
}

/// Durable proposals over HTTP by eight clients, beside the same statements with one commit each.
async fn proposals(folder: &Path) -> Outcome<()> {
    let file = folder.join("proposals.db");
    let (ledger, by) = new_record(&file).await?;
    start_tape();
    for index in 0..CLIENTS * PROPOSALS_EACH {
        let new = tallystick_ledger::operations::NewProposal {
            key: tallystick_domain::name::OperationKey::parse(format!("tape:{index}"))?,
            tool: ToolName::parse("invoice.create")?,
            arguments: arguments(index).into_bytes(),
            deadline: None,
            tool_call_id: None,
            step: None,
        };
        ledger.propose_operation(&by, new).await?;
    }
    let tape = take_tape();
    ledger.close().await;
    let raw_file = folder.join("proposals-raw.db");
    new_record(&raw_file).await?.0.close().await;
    let raw = tape.write_again(&url(&raw_file), Commits::OneEach).await?;
    let server = Server::start(&url(&file), &[])?;
    let start = Instant::now();
    let clients: Vec<_> =
        (0..CLIENTS).map(|client| tokio::spawn(propose_many(server.address.clone(), client))).collect();
    for client in clients {
        client.await??;
    }
    let ours = start.elapsed();
    let per_second =
        |span: Duration| f64::from(u32::try_from(CLIENTS * PROPOSALS_EACH).unwrap_or(u32::MAX)) / span.as_secs_f64();
    row(
        "proposals a second over HTTP, 8 clients",
        &format!("{:.0}", per_second(ours)),
        &format!("{:.0}", per_second(raw)),
        per_second(ours) / per_second(raw),
        "≥ 0.5",
    );
    Ok(())
}

fn arguments(index: usize) -> String {
    format!(r#"{{"order":"order-{index}","amount_minor":1200}}"#)
}

async fn propose_many(address: String, client: usize) -> Outcome<()> {
    let mut connection = Client::connect(&address).await?;
    for index in 0..PROPOSALS_EACH {
        let body = format!(
            r#"{{"operation_key":"http:{client}:{index}","tool":"invoice.create","arguments":{}}}"#,
            arguments(index)
        );
        let (status, _) = connection.post("/api/v1/operations", &body).await?;
        if status != 201 {
            return Err(format!("a proposal was answered {status}").into());
        }
    }
    Ok(())
}

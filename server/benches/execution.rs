//! What a send costs the record: claim, dispatch and outcome, each its own durable transaction, beside the same statements
//! with nothing of ours around them; and what a server costs that has nothing to do. `cargo xtask bench execution --operations
//! 1000`.

#![expect(clippy::disallowed_methods, reason = "a bench measures with the machine's own clock")]

mod figures;
mod served;

use std::ops::Range;
use std::time::{Duration, Instant};

use figures::{Outcome, given, row};
use serde_json::json;
use served::Server;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tallystick_domain::action::{Act, ActionInput};
use tallystick_domain::attempt::End;
use tallystick_domain::budget::BudgetKind;
use tallystick_domain::lease::Scope;
use tallystick_domain::name::{ActionKey, DestinationName, OperationKey, SourceName, ToolName};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::tool::Tool;
use tallystick_domain::transition::Worker;
use tallystick_ledger::destinations::Configured;
use tallystick_ledger::executing::{ClaimRequest, DispatchRequest};
use tallystick_ledger::measure::{Commits, start_tape, take_tape};
use tallystick_ledger::operations::NewProposal;
use tallystick_ledger::people::{NewPrincipal, system_actor};
use tallystick_ledger::{Ledger, OpenOptions};

const TOOL: &str = "charge";
/// How many cycles one turn takes.
const SLICE: usize = 100;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let count = operations();
    let folder = tempfile::tempdir()?;
    figures::head();
    let sqlite = |name: &str| served::url(&folder.path().join(name));
    cycles("SQLite", count, &sqlite("ours.db"), &sqlite("raw.db")).await?;
    let base = std::env::var("TALLYSTICK_BENCH_POSTGRES")?;
    let (ours, raw) = (database(&base, "bench_execution").await?, database(&base, "bench_bare").await?);
    cycles("PostgreSQL", count, &ours, &raw).await?;
    for (store, url) in [("SQLite", sqlite("ours.db")), ("PostgreSQL", ours)] {
        let server = Server::start(&url, &[])?;
        let percent = server.idle_percent()?;
        row(&format!("idle, percent of a core, {store}"), &format!("{percent:.2}"), "", f64::NAN, "< 1");
        server.memory_told(&format!("idle, {store}"), "")?;
    }
    Ok(())
}

fn operations() -> usize {
    given("--operations").and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

/// A new database beside the administrative one.
async fn database(base: &str, name: &'static str) -> Outcome<String> {
    let mut connection = PgConnection::connect(base).await?;
    connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await?;
    let (address, query) = base.split_once('?').map_or((base, None), |(address, query)| (address, Some(query)));
    let (server, _) = address.rsplit_once('/').ok_or("the address names no database")?;
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    Ok(format!("{server}/{name}{query}"))
}

async fn person(ledger: &Ledger, login: &str) -> Outcome<Actor> {
    let person =
        NewPrincipal { login: login.into(), name: login.into(), role: Role::Administrator, password_hash: None };
    Ok(ledger.add_principal(&system_actor(), person).await?.actor())
}

/// A record with a tool, its destination and somebody who may do everything.
async fn new_record(url: &str) -> Outcome<(Ledger, Actor)> {
    let ledger = Ledger::open(&OpenOptions { url: url.into(), migrate: true }).await?;
    let by = person(&ledger, "bench").await?;
    let tool: Tool = serde_json::from_value(json!({
        "name": TOOL, "class": "reversible", "destination": "psp", "executable": true, "declared": true,
        "contract": {"key_location": "Idempotency-Key", "key_retention_s": 86400, "stores": "any_once_started",
            "scope": [], "layer_retries": "off", "intermediaries": false, "success_receipt": {"pointer": "/id"},
            "client_deadline_s": 5, "max_arrival_delay_s": 2, "verification": "tested_live"}
    }))?;
    ledger.declare_tool(&by, tool).await?;
    let psp = Configured {
        name: DestinationName::parse("psp")?,
        scope: Scope::default(),
        budget_kind: Some(BudgetKind::Bucket),
    };
    ledger.configure_destinations(&[psp]).await?;
    Ok((ledger, by))
}

/// Proposed and approved: nothing is missing but the send.
async fn authorise(ledger: &Ledger, [by, approver]: [&Actor; 2], index: usize) -> Outcome<()> {
    let new = NewProposal {
        key: OperationKey::parse(format!("charge:order-{index}"))?,
        tool: ToolName::parse(TOOL)?,
        arguments: format!(r#"{{"order":"order-{index}","amount_minor":1200}}"#).into_bytes(),
        deadline: None,
        tool_call_id: None,
        step: None,
    };
    let proposed = ledger.propose_operation(by, new).await?;
    let act = Act {
        key: ActionKey::parse(format!("approve-{index}"))?,
        input: ActionInput::Approve {},
        actor: approver.clone(),
        reason: "bench".into(),
        seen_version: proposed.operation.version,
        confirmation: None,
    };
    let answer = ledger.act(&proposed.operation.head.id, act).await?;
    if let Some(refusal) = answer.record.refusal {
        return Err(refusal.into());
    }
    Ok(())
}

/// Claim, dispatch and outcome of so many operations, one after the other.
async fn send_all(ledger: &Ledger, by: &Actor, receipts: Range<usize>) -> Outcome<Duration> {
    let worker = Worker { name: "bench".into(), incarnation: "bench-1".into() };
    let source = SourceName::parse("bench")?;
    let start = Instant::now();
    for index in receipts {
        let request = ClaimRequest {
            worker: worker.clone(),
            tools: vec![ToolName::parse(TOOL)?],
            limit: 1,
            lease: None,
            clock: None,
        };
        let claimed = ledger.claim(by, request).await?.into_iter().next().ok_or("nothing is left to claim")?;
        let id = &claimed.operation.head.id;
        let request = DispatchRequest {
            epoch: claimed.epoch,
            worker: worker.clone(),
            source: source.clone(),
            layer: None,
            wire: Some(br#"{"order":1}"#.to_vec()),
            wire_hash: None,
        };
        ledger.dispatch(by, id, request).await?;
        let end: End = serde_json::from_value(json!({"outcome": "ok", "receipt": format!("ch_{index}")}))?;
        ledger.report_outcome(by, id, claimed.epoch, &source, end).await?;
    }
    Ok(start.elapsed())
}

/// The figure of one store, beside the same writes bare. Both take turns, a slice each, so that whatever else the machine
/// does meets both alike; what is told is the median slice, and the median of the slices' ratios.
async fn cycles(store: &str, count: usize, ours: &str, raw: &str) -> Outcome<()> {
    let (ledger, by) = new_record(ours).await?;
    let approver = person(&ledger, "approver").await?;
    new_record(raw).await?.0.close().await;
    let (mut own, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for start in (0..count).step_by(SLICE) {
        let slice = start..(start + SLICE).min(count);
        start_tape();
        for index in slice.clone() {
            authorise(&ledger, [&by, &approver], index).await?;
        }
        take_tape().write_again(raw, Commits::AsWritten).await?;
        start_tape();
        let length = f64::from(u32::try_from(slice.len())?);
        own.push(length / send_all(&ledger, &by, slice).await?.as_secs_f64());
        bare.push(length / take_tape().write_again(raw, Commits::AsWritten).await?.as_secs_f64());
        ratios.push(own[own.len() - 1] / bare[bare.len() - 1]);
    }
    ledger.close().await;
    let [own, bare, ratio] = [own, bare, ratios].map(median);
    row(
        &format!("claim, dispatch, outcome: cycles a second, {store}"),
        &format!("{own:.0}"),
        &format!("{bare:.0}"),
        ratio,
        "≥ 0.5",
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

//! Executors of somebody else, as the record sees them: they claim, send by themselves and report, and some of them are never
//! heard of again, at any step, with nothing to prove their end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tallystick_domain::attempt::{End, ReportedOutcome};
use tallystick_domain::name::{Receipt, SourceName, ToolName};
use tallystick_domain::permission::{Actor, Role};
use tallystick_domain::time::Timestamp;
use tallystick_domain::transition::Worker;
use tallystick_ledger::Ledger;
use tallystick_ledger::executing::{ClaimRequest, Claimed, DispatchRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::chaos::Chance;
use crate::scene::actor;

/// Of so many steps one is the last of its executor.
const DIES_ONE_IN: u64 = 12;
const REST: Duration = Duration::from_millis(250);

pub struct Outside {
    pub ledger: Ledger,
    pub destination: SocketAddr,
    pub tool: &'static str,
    pub chance: Chance,
    /// How far its clock is ahead, in microseconds.
    pub ahead: i64,
    pub is_deadly: Arc<AtomicBool>,
    pub is_over: Arc<AtomicBool>,
}

impl Outside {
    /// Works until the run is over; how often one died.
    pub fn start(mut self) -> JoinHandle<u32> {
        tokio::spawn(async move {
            let (mut lives, mut deaths) = (0, 0);
            while !self.is_over.load(Ordering::SeqCst) {
                // Who comes back is another one.
                let worker = Worker { name: "outside".into(), incarnation: format!("outside-{lives}") };
                lives += 1;
                if self.live(&worker).await.is_none() {
                    deaths += 1;
                }
            }
            deaths
        })
    }

    /// Whether it comes past this step.
    fn survives(&mut self) -> Option<()> {
        (!self.is_deadly.load(Ordering::SeqCst) || self.chance.below(DIES_ONE_IN) > 0).then_some(())
    }

    /// None: it died.
    async fn live(&mut self, worker: &Worker) -> Option<()> {
        while !self.is_over.load(Ordering::SeqCst) {
            let now = self.ledger.now().await.map_or(0, Timestamp::as_micros);
            let request = ClaimRequest {
                worker: worker.clone(),
                tools: vec![ToolName::parse(self.tool).unwrap()],
                limit: 4,
                lease: None,
                clock: Some(Timestamp::from_micros(now + self.ahead)),
            };
            // The database may be away; it is asked again.
            let claimed = self.ledger.claim(&robot(), request).await.unwrap_or_default();
            self.survives()?;
            if claimed.is_empty() {
                tokio::time::sleep(REST).await;
            }
            for one in claimed {
                self.carry_out(worker, one).await?;
            }
        }
        Some(())
    }

    async fn carry_out(&mut self, worker: &Worker, claimed: Claimed) -> Option<()> {
        let id = claimed.operation.head.id.clone();
        let request = dispatch_of(worker, &claimed);
        let dispatched = self.ledger.dispatch(&robot(), &id, request).await;
        self.survives()?;
        let Ok(dispatched) = dispatched else { return Some(()) };
        let key = dispatched.destination_key.unwrap();
        let end = send(self.destination, key.as_str(), &claimed.arguments).await;
        self.survives()?;
        let _ = self.ledger.report_outcome(&robot(), &id, claimed.epoch, &source(), end).await;
        self.survives()
    }
}

/// An executor of somebody else that is so slow with repeats that keys run out in its hands. What was never sent it gives back.
pub struct Dawdler {
    pub ledger: Ledger,
    pub destination: SocketAddr,
    pub tool: &'static str,
    /// How long it takes from its claim to its dispatch.
    pub takes: Duration,
    pub is_over: Arc<AtomicBool>,
    /// How often a key had run out.
    pub too_old: Arc<AtomicU32>,
}

impl Dawdler {
    /// Works until the run is over.
    pub fn start(self) -> JoinHandle<()> {
        tokio::spawn(async move {
            let worker = Worker { name: "dawdler".into(), incarnation: "dawdler".into() };
            while !self.is_over.load(Ordering::SeqCst) {
                let request = ClaimRequest {
                    worker: worker.clone(),
                    tools: vec![ToolName::parse(self.tool).unwrap()],
                    limit: 4,
                    lease: Some(Duration::from_mins(1)),
                    clock: None,
                };
                let claimed = self.ledger.claim(&robot(), request).await.unwrap_or_default();
                let (repeats, fresh): (Vec<_>, Vec<_>) =
                    claimed.into_iter().partition(|one| one.operation.row.attempts > 0);
                for one in fresh {
                    let id = &one.operation.head.id;
                    let _ = self.ledger.release_claim(&robot(), id, one.epoch, "not mine").await;
                }
                tokio::time::sleep(if repeats.is_empty() { REST } else { self.takes }).await;
                for one in repeats {
                    let is_too_old = self.carry_out(&worker, one).await;
                    self.too_old.fetch_add(u32::from(is_too_old), Ordering::SeqCst);
                }
            }
        })
    }

    /// Whether its key had run out.
    async fn carry_out(&self, worker: &Worker, claimed: Claimed) -> bool {
        let id = claimed.operation.head.id.clone();
        let request = dispatch_of(worker, &claimed);
        match self.ledger.dispatch(&robot(), &id, request).await {
            Ok(dispatched) => {
                let key = dispatched.destination_key.unwrap();
                let end = send(self.destination, key.as_str(), &claimed.arguments).await;
                let _ = self.ledger.report_outcome(&robot(), &id, claimed.epoch, &source(), end).await;
                false
            }
            Err(refused) => refused.to_string().contains("the key is too old"),
        }
    }
}

fn source() -> SourceName {
    SourceName::parse("executor/robot").unwrap()
}

/// It builds its requests itself, and tells nothing of them.
fn dispatch_of(worker: &Worker, claimed: &Claimed) -> DispatchRequest {
    DispatchRequest {
        epoch: claimed.epoch,
        worker: worker.clone(),
        source: source(),
        layer: None,
        wire: None,
        wire_hash: None,
    }
}

pub fn robot() -> Actor {
    actor("robot", Role::Automation)
}

/// One request over one connection; what it knows of it afterwards.
pub async fn send(destination: SocketAddr, key: &str, body: &[u8]) -> End {
    let lost = || End::new(ReportedOutcome::Timeout);
    let asked = tokio::time::timeout(Duration::from_secs(2), ask(destination, key, body)).await;
    let Ok(Ok(answer)) = asked else { return lost() };
    let text = String::from_utf8_lossy(&answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return lost() };
    let Some(status) = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()) else { return lost() };
    let told: Value = serde_json::from_str(body).unwrap_or_default();
    let receipt = told["id"].as_str().and_then(|id| Receipt::parse(id).ok());
    let outcome = match (status, &receipt) {
        (200..300, Some(_)) => ReportedOutcome::Ok,
        // The body was cut, or a proxy answered.
        (200..300, None) => ReportedOutcome::Timeout,
        _ => ReportedOutcome::Error,
    };
    End { http: Some(status), receipt, ..End::new(outcome) }
}

async fn ask(destination: SocketAddr, key: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut connection = TcpStream::connect(destination).await?;
    let head = format!(
        "POST /objects HTTP/1.1\r\nhost: {destination}\r\nconnection: close\r\nidempotency-key: {key}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(&[head.as_bytes(), body].concat()).await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    Ok(answer)
}

//! A destination that misbehaves on purpose: it makes objects, under keys or not, and loses, delays, cuts and refuses what
//! it is told to. It counts effects by intent, and is the oracle: what it counts is what happened.
//!
//! An intent is the member `intent` of a request's body. `POST /objects` makes an object, `POST /objects/{id}/cancel` undoes
//! one, `POST /cancellations` undoes what stands of the intent that `undoes` names, `GET /objects?…` finds them. A
//! request may say for how long its key is kept (`key-kept-ms`). `/control` is for tests. Anything else is a violation that a test can ask for. Where a
//! plan says so, it tells by itself what happened.

mod http;
mod webhooks;
mod world;

pub use webhooks::{Delivers, Order, Webhooks, signature};
pub use world::{Contract, Failure, LookUps, Mismatch, Plan, Report, Seen, Stores};

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use http::{Request, Response, read_request};
use world::{Answering, World};

/// A running destination. It ends when this is dropped.
pub struct Destination {
    address: SocketAddr,
    world: Arc<Mutex<World>>,
    task: JoinHandle<()>,
}

impl Destination {
    /// Starts on this address; port 0 takes a free one.
    pub async fn start(address: SocketAddr, plan: Plan) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let world = Arc::new(Mutex::new(World::new(plan)));
        let serving = Arc::clone(&world);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let world = Arc::clone(&serving);
                tokio::spawn(async move { drop(serve(stream, world).await) });
            }
        });
        Ok(Self { address, world, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has seen and done.
    pub fn report(&self) -> Report {
        locked(&self.world).report()
    }

    /// What was sent to it, exactly as it came, the oldest first.
    pub fn seen(&self) -> Vec<Seen> {
        locked(&self.world).seen()
    }

    /// Behaves like this from now on; what was made and stored stays.
    pub fn set_plan(&self, plan: Plan) {
        locked(&self.world).set_plan(plan);
    }

    /// Lets one request go on that is held, or the next that will be.
    pub fn let_go(&self) {
        locked(&self.world).gate().notify_one();
    }

    /// How many events wait to be sent: for a test's word, or because nobody took them.
    pub fn waiting_events(&self) -> usize {
        locked(&self.world).waits()
    }

    /// Sends the events that wait, each as often as the plan says, one after the other. The statuses of the answers; what
    /// was not taken waits again.
    pub async fn deliver(&self, order: Order) -> Vec<u16> {
        let Some((webhooks, events)) = locked(&self.world).take_waiting(order) else { return Vec::new() };
        deliver(&self.world, &webhooks, events).await
    }

    /// Waits until it was asked for.
    pub async fn join(mut self) {
        let task = std::mem::replace(&mut self.task, tokio::spawn(async {}));
        drop(task.await);
    }

    /// Serves one connection that somebody else accepted: for TLS.
    pub async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(&self, stream: S) -> io::Result<()> {
        serve(stream, Arc::clone(&self.world)).await
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn locked(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, world: Arc<Mutex<World>>) -> io::Result<()> {
    loop {
        let next = locked(&world).failure_before_reading();
        if next {
            // Unread bytes make the kernel answer with a reset.
            return Ok(());
        }
        let Some(request) = read_request(&mut stream).await? else { return Ok(()) };
        if request.path() == "/control/deliveries" {
            let order = if request.parameter("order").is_some() { Order::Reversed } else { Order::AsHappened };
            let waiting = locked(&world).take_waiting(order);
            let statuses = match waiting {
                Some((webhooks, events)) => deliver(&world, &webhooks, events).await,
                None => Vec::new(),
            };
            stream.write_all(&Response::json(200, &serde_json::json!(statuses)).bytes(usize::MAX)).await?;
            continue;
        }
        if request.target.starts_with("/control") {
            let response = locked(&world).control(&request);
            stream.write_all(&response.bytes(usize::MAX)).await?;
            continue;
        }
        if !answer(&mut stream, &world, &request).await? {
            return Ok(());
        }
    }
}

/// Whether the connection goes on.
async fn answer<S: AsyncWrite + Unpin>(
    stream: &mut S,
    world: &Arc<Mutex<World>>,
    request: &Request,
) -> io::Result<bool> {
    let Answering { failure, .. } = locked(world).begin(request);
    match failure {
        Some(Failure::DelayBefore { ms }) => tokio::time::sleep(Duration::from_millis(ms)).await,
        Some(Failure::Hold) => {
            let gate = locked(world).gate();
            gate.notified().await;
        }
        _ => {}
    }
    // From here on it has happened, whatever the caller hears of it.
    let response = locked(world).carry_out(request, failure);
    if failure == Some(Failure::TellFirst) {
        let due = locked(world).take_due();
        if let Some((webhooks, events)) = due {
            deliver(world, &webhooks, events).await;
        }
    }
    tell(world);
    let Some(response) = response else { return Ok(false) };
    match failure {
        Some(Failure::ApplyThenDrop) => Ok(false),
        Some(Failure::ApplyThenDelay { ms }) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            write(stream, &response, usize::MAX).await
        }
        Some(Failure::CutBody) => write(stream, &response, response.body.len() / 2).await.map(|_| false),
        _ => write(stream, &response, usize::MAX).await,
    }
}

/// Sends what is to be sent by itself, beside the answer.
fn tell(world: &Arc<Mutex<World>>) {
    let Some((webhooks, events)) = locked(world).take_due() else { return };
    let world = Arc::clone(world);
    tokio::spawn(async move {
        tokio::time::sleep(webhooks.wait().unwrap_or_default()).await;
        deliver(&world, &webhooks, events).await;
    });
}

async fn deliver(world: &Mutex<World>, webhooks: &Webhooks, events: Vec<webhooks::Event>) -> Vec<u16> {
    let mut statuses = Vec::new();
    for event in events {
        for _ in 0..webhooks.times {
            let status = webhooks.send(&event).await.unwrap_or(0);
            locked(world).sent(event.clone(), (200..300).contains(&status));
            statuses.push(status);
        }
    }
    statuses
}

async fn write<S: AsyncWrite + Unpin>(stream: &mut S, response: &Response, body_bytes: usize) -> io::Result<bool> {
    stream.write_all(&response.bytes(body_bytes)).await?;
    stream.flush().await?;
    Ok(true)
}

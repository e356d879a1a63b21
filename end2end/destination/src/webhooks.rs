//! What the destination tells by itself: an event for every effect made and every one cancelled, signed as Stripe signs
//! (`t=…,v1=…`), sent at once, late, or when a test says so, in whatever order, and more than once.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// When events are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivers {
    /// As soon as they happen, be the answer on its way or not.
    #[default]
    AtOnce,
    /// So many milliseconds later.
    AfterMs(u64),
    /// When a test says so.
    OnCommand,
}

/// In which order waiting events are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As they happened.
    #[default]
    AsHappened,
    /// The last one first.
    Reversed,
}

/// Where and how events are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    /// The address that takes them: `127.0.0.1:8642`.
    pub address: SocketAddr,
    /// The path there.
    pub path: String,
    /// What they are signed with.
    pub secret: String,
    /// When they are sent.
    #[serde(default)]
    pub delivers: Delivers,
    /// How often each is sent.
    #[serde(default = "once")]
    pub times: u32,
    /// What time it is here, in seconds since 1970; the machine's own, if nothing is said.
    #[serde(default)]
    pub clock: Option<i64>,
}

const fn once() -> u32 {
    1
}

/// Something that happened here.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) body: String,
}

impl Webhooks {
    /// The event that an object came into being, or is no more.
    pub(crate) fn event(&self, number: usize, kind: &str, object: &Value, key: Option<&str>) -> Event {
        let id = format!("evt_{number}");
        let body = json!({
            "id": id, "object": "event", "type": kind, "created": self.now(),
            "request": {"idempotency_key": key}, "data": {"object": object}
        });
        Event { id, body: body.to_string() }
    }

    #[expect(clippy::disallowed_methods, reason = "the destination has a clock of its own")]
    fn now(&self) -> i64 {
        let machine = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        self.clock.unwrap_or_else(|| i64::try_from(machine()).unwrap_or(i64::MAX))
    }

    /// How long after it happened an event is sent; `None` where a test says when.
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self.delivers {
            Delivers::AtOnce => Some(Duration::ZERO),
            Delivers::AfterMs(ms) => Some(Duration::from_millis(ms)),
            Delivers::OnCommand => None,
        }
    }

    /// Sends an event once; the status of the answer.
    pub(crate) async fn send(&self, event: &Event) -> io::Result<u16> {
        let time = self.now();
        let signature = signature(&self.secret, time, event.body.as_bytes());
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nstripe-signature: t={time},v1={signature}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{}",
            self.path,
            self.address,
            event.body.len(),
            event.body
        );
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let head = String::from_utf8_lossy(&answer);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.ok_or_else(|| io::Error::other("no answer"))
    }
}

/// What Stripe puts behind `v1=`.
pub fn signature(secret: &str, time: i64, body: &[u8]) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return String::new() };
    mac.update(format!("{time}.").as_bytes());
    mac.update(body);
    mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

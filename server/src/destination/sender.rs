//! One request over one connection of its own, with no second try, and with the truth about how far it got (semantics 3.2).
//! Nothing below this retries: a connection is made, one request written, one answer read.

use std::future::Future;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri, Version};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use secrecy::ExposeSecret as _;
use tallystick_domain::request::Wire;
use tallystick_ledger::failpoint;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::Target;
use super::address::allowed;
use super::counted::{Count, Counted};

/// The most of an answer that is read.
const ANSWER_LIMIT_BYTES: usize = 1024 * 1024;

/// How far a send got before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Making the request: a credential that cannot be read (E2).
    Prepare,
    /// Looking up the address, or finding that it is not allowed (E3).
    Resolve,
    /// Connecting (E4).
    Connect,
    /// TLS (E5).
    Tls,
    /// At least one byte of the request was handed over, or that cannot be excluded (E10).
    Sent,
    /// The whole request was handed over (E12).
    Written,
    /// The head of an answer arrived and its body did not (E14).
    Head,
}

/// What came of one send.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A whole answer.
    Answer {
        /// Its status.
        status: u16,
        /// Its headers; values that are no text are left out.
        headers: Vec<(String, String)>,
        /// Its body.
        body: Bytes,
        /// How many bytes of the request were handed over.
        bytes_sent: u64,
    },
    /// No whole answer.
    Failed {
        /// How far it got.
        stage: Stage,
        /// Whether our own deadline ended it.
        is_deadline: bool,
        /// What happened, in words; never a secret.
        problem: String,
        /// The status, where a head arrived.
        status: Option<u16>,
        /// How many bytes of the request were handed over.
        bytes_sent: u64,
    },
}

struct Failure {
    stage: Stage,
    is_deadline: bool,
    problem: String,
    status: Option<u16>,
}

impl Failure {
    fn new(stage: Stage, problem: &(impl ToString + ?Sized)) -> Self {
        Self { stage, is_deadline: false, problem: problem.to_string(), status: None }
    }
}

/// Sends a request once.
pub async fn send(target: &Target, wire: &Wire, within: Duration) -> Reply {
    let deadline = Instant::now() + within;
    let mut bytes_sent = 0;
    match attempt(target, wire, deadline, &mut bytes_sent).await {
        Ok((status, headers, body)) => Reply::Answer { status, headers, body, bytes_sent },
        Err(Failure { stage, is_deadline, problem, status }) => {
            Reply::Failed { stage, is_deadline, problem, status, bytes_sent }
        }
    }
}

type Answered = (u16, Vec<(String, String)>, Bytes);

async fn attempt(target: &Target, wire: &Wire, deadline: Instant, bytes_sent: &mut u64) -> Result<Answered, Failure> {
    let request = request_of(target, wire)?;
    let stream = connect(target, deadline).await?;
    // A small request leaves in one packet as soon as it is written.
    let _ = stream.set_nodelay(true);
    match &target.tls {
        None => exchange(stream, false, request, wire, deadline, bytes_sent).await,
        Some(client) => {
            let shaken = within(deadline, Stage::Tls, client.connect(stream)).await?;
            let stream = shaken.map_err(|error| Failure::new(Stage::Tls, &error))?;
            exchange(stream, true, request, wire, deadline, bytes_sent).await
        }
    }
}

fn request_of(target: &Target, wire: &Wire) -> Result<Request<Full<Bytes>>, Failure> {
    let failed = |problem: &dyn std::fmt::Display| Failure::new(Stage::Prepare, problem);
    let secret = target.credential.as_ref().map(super::credential::Credential::filled).transpose();
    let secret = secret.map_err(|error| failed(&error))?;
    let method = Method::from_bytes(wire.method().name().as_bytes()).map_err(|error| failed(&error))?;
    let uri: Uri = wire.target().parse().map_err(|error| failed(&error))?;
    let mut request = Request::new(Full::new(Bytes::copy_from_slice(wire.body())));
    (*request.method_mut(), *request.uri_mut(), *request.version_mut()) = (method, uri, Version::HTTP_11);
    for (name, value) in wire.headers() {
        let filled = secret.as_ref().filter(|(header, _)| header == name);
        let value = match filled {
            Some((_, secret)) => HeaderValue::from_str(secret.expose_secret()).map(|mut value| {
                value.set_sensitive(true);
                value
            }),
            None => HeaderValue::from_str(value),
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| failed(&error))?;
        request.headers_mut().append(name, value.map_err(|error| failed(&error))?);
    }
    Ok(request)
}

async fn connect(target: &Target, deadline: Instant) -> Result<TcpStream, Failure> {
    let resolving = tokio::net::lookup_host((target.host.as_str(), target.port));
    let found = within(deadline, Stage::Resolve, resolving).await?;
    let found: Vec<_> = found.map_err(|error| Failure::new(Stage::Resolve, &error))?.collect();
    let addresses = allowed(&target.host, found, target.private_allowed)
        .map_err(|forbidden| Failure::new(Stage::Resolve, &forbidden))?;
    let mut last = Failure::new(Stage::Resolve, "the name has no address");
    for address in addresses {
        match within(deadline, Stage::Connect, TcpStream::connect(address)).await? {
            Ok(stream) => return Ok(stream),
            // Nothing was sent on a connection that was never made: another address of the same name may be tried.
            Err(error) => last = Failure::new(Stage::Connect, &format!("{address}: {error}")),
        }
    }
    Err(last)
}

async fn exchange<S>(
    stream: S,
    is_tls: bool,
    request: Request<Full<Bytes>>,
    wire: &Wire,
    deadline: Instant,
    bytes_sent: &mut u64,
) -> Result<Answered, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (stream, count) = Counted::new(stream);
    let length = head_bytes(&request) + wire.body().len() as u64;
    let outcome = converse(stream, request, deadline, &count, length).await;
    *bytes_sent = count.bytes();
    outcome.map_err(|failure| Failure { stage: reached(failure.stage, &count, is_tls, length), ..failure })
}

/// How many bytes the head of a request has on the wire.
fn head_bytes(request: &Request<Full<Bytes>>) -> u64 {
    let line = request.method().as_str().len() + request.uri().to_string().len() + " ".len() + " HTTP/1.1\r\n".len();
    let headers: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    (line + headers + 2) as u64
}

/// What the counter makes of a failure.
fn reached(stage: Stage, count: &Count, is_tls: bool, length: u64) -> Stage {
    match stage {
        Stage::Head => Stage::Head,
        _ if count.bytes() >= length => Stage::Written,
        _ if count.bytes() > 0 => Stage::Sent,
        // Beneath a failed write of TLS a whole record may have left; a failed write of plain text took nothing.
        _ if is_tls && count.was_tried() => Stage::Sent,
        _ if is_tls => Stage::Tls,
        _ => Stage::Connect,
    }
}

async fn converse<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    deadline: Instant,
    count: &Count,
    length: u64,
) -> Result<Answered, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = within(deadline, Stage::Connect, http1::handshake(TokioIo::new(stream))).await?;
    let (mut sender, connection) = handshake.map_err(|error| Failure::new(Stage::Connect, &error))?;
    // It ends with the conversation, or with this task.
    let driver = Driver(tokio::spawn(connection));
    failpoint::hit("between_check_and_write").await;
    let answering = async {
        let mut answering = std::pin::pin!(sender.send_request(request));
        tokio::select! {
            biased;
            answer = &mut answering => answer,
            () = count.reaches(length) => {
                failpoint::hit("after_send").await;
                answering.await
            }
        }
    };
    let answer = within(deadline, Stage::Sent, answering).await?;
    let answer = answer.map_err(|error| Failure::new(Stage::Sent, &words(&error)))?;
    let status = answer.status().as_u16();
    let of_head = |failure: Failure| Failure { stage: Stage::Head, status: Some(status), ..failure };
    let headers = answer.headers().iter();
    let headers = headers.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    let headers = headers.collect();
    let body = Limited::new(answer.into_body(), ANSWER_LIMIT_BYTES).collect();
    let body = within(deadline, Stage::Head, body).await.map_err(of_head)?;
    let body = body.map_err(|error| of_head(Failure::new(Stage::Head, &error)))?;
    drop(driver);
    Ok((status, headers, body.to_bytes()))
}

struct Driver(tokio::task::JoinHandle<Result<(), hyper::Error>>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An error with its causes.
fn words(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

async fn within<T>(deadline: Instant, stage: Stage, work: impl Future<Output = T>) -> Result<T, Failure> {
    timeout_at(deadline, work)
        .await
        .map_err(|_| Failure { is_deadline: true, ..Failure::new(stage, "no answer within the deadline") })
}

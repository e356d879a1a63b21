//! Every place at which a send can be cut, plain and over TLS: what the rules make of it, and what the server saw. *Not sent*
//! must mean that no byte of the request arrived (E2–E14, I13).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tallystick::config::Destination as Configured;
use tallystick::destination::{Destinations, Reading, Reply, end_of, send};
use tallystick_domain::attempt::End;
use tallystick_domain::contract::Contract;
use tallystick_domain::evidence::Trust;
use tallystick_domain::json::Json;
use tallystick_domain::name::{DestinationName, OperationId, OperationKey};
use tallystick_domain::request::{Names, RequestTemplate, Wire};
use tallystick_domain::tool::{Class, Stake};
use tallystick_domain::verdict::{Grounds, Instrumentation, judge};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// Larger than all buffers between the two together, so that a server that does not read stops the sender in the middle.
const LARGE_BYTES: usize = 16 * 1024 * 1024;

/// Where the server cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    /// Nobody listens.
    Refused,
    /// The connection ends before anything is read of a large request.
    BeforeReading,
    /// It ends after the first bytes of a large request.
    Amid,
    /// It ends when everything was read.
    AfterReading,
    /// Nothing more comes after everything was read.
    Silence,
    /// Half of the head of an answer.
    HalfHead,
    /// The head of a success, and half of its body.
    HalfBody,
    /// The head of a refusal, and half of its body.
    HalfRefusal,
    /// A whole answer.
    Answer,
    /// The server speaks something else than TLS.
    NoTls,
    /// The certificate is for another name.
    OtherName,
}

/// A server that cuts once; how many bytes of requests each connection brought.
struct Cutter {
    address: std::net::SocketAddr,
    ca_file: tempfile::NamedTempFile,
    seen: mpsc::UnboundedReceiver<u64>,
}

impl Cutter {
    async fn start(cut: Cut, is_tls: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let name = if cut == Cut::OtherName { "elsewhere.example" } else { "localhost" };
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let ca_file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(ca_file.path(), made.cert.pem()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (tell, seen) = mpsc::unbounded_channel();
        if cut != Cut::Refused {
            tokio::spawn(async move {
                while let Ok((mut stream, _)) = listener.accept().await {
                    let count = match (is_tls, cut) {
                        (true, Cut::NoTls) => {
                            let _ = stream.write_all(b"HTTP/1.1 400 x\r\ncontent-length: 0\r\n\r\n").await;
                            0
                        }
                        (true, _) => match acceptor.accept(stream).await {
                            Ok(stream) => serve(stream, cut).await,
                            Err(_) => 0,
                        },
                        (false, _) => serve(stream, cut).await,
                    };
                    let _ = tell.send(count);
                }
            });
        }
        Self { address, ca_file, seen }
    }
}

/// How many bytes of the request were read before the cut.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, cut: Cut) -> u64 {
    match cut {
        Cut::BeforeReading => return 0,
        Cut::Amid => {
            let mut some = [0; 64];
            return stream.read(&mut some).await.unwrap_or(0) as u64;
        }
        _ => {}
    }
    let mut request = Vec::new();
    let length = loop {
        if let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..end]).into_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            break end + 4 + length.unwrap_or(0);
        }
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return request.len() as u64;
        }
    };
    while request.len() < length && stream.read_buf(&mut request).await.unwrap_or(0) > 0 {}
    let answer: &[u8] = match cut {
        Cut::HalfHead => b"HTTP/1.1 200 x\r\ncontent-",
        Cut::HalfBody => b"HTTP/1.1 201 x\r\ncontent-length: 20\r\n\r\n{\"id\":",
        Cut::HalfRefusal => b"HTTP/1.1 422 x\r\ncontent-length: 20\r\n\r\n{\"err",
        Cut::Answer => b"HTTP/1.1 201 x\r\ncontent-length: 13\r\n\r\n{\"id\":\"ob_1\"}",
        _ => b"",
    };
    let _ = stream.write_all(answer).await;
    let _ = stream.flush().await;
    if cut == Cut::Silence {
        // Until the other side gives up.
        let _ = stream.read_buf(&mut Vec::with_capacity(1)).await;
    }
    request.len() as u64
}

fn wire(target: &tallystick::destination::Target, size: usize) -> Wire {
    let template: RequestTemplate = serde_json::from_value(json!({"method": "POST", "path": "/objects"})).unwrap();
    let text = json!({"intent": "x", "padding": "p".repeat(size)}).to_string();
    let arguments = Json::parse(text.as_bytes()).unwrap();
    let names = Names {
        key: None,
        operation_key: &OperationKey::parse("k").unwrap(),
        operation_id: &OperationId::parse("i").unwrap(),
        receipt: None,
        arguments: &arguments,
        argument_bytes: text.as_bytes(),
    };
    template.render(&Contract::default(), &names, &target.face).unwrap()
}

fn contract() -> Contract {
    serde_json::from_value(json!({
        "success_receipt": {"pointer": "/id"}, "intermediaries": false, "layer_retries": "off", "verification": "tested_live"
    }))
    .unwrap()
}

fn end(reply: &Reply) -> End {
    let contract = contract();
    let reading = Reading { contract: &contract, template: None, arguments: &Json::Null, stake: &Stake::default() };
    end_of(reply, &reading)
}

fn verdict(end: &End) -> (&'static str, String) {
    let contract = contract();
    let judged = judge(
        end,
        Grounds {
            contract: &contract,
            class: Class::Irreversible,
            trust: Trust::Verified,
            instrumentation: Instrumentation::Own,
            earlier_open: false,
        },
    );
    (judged.verdict.word(), judged.rule.to_string())
}

struct Cutting {
    verdict: (&'static str, String),
    sent: u64,
    seen: u64,
}

async fn cut_at(cut: Cut, is_tls: bool) -> Cutting {
    let mut cutter = Cutter::start(cut, is_tls).await;
    let scheme = if is_tls { "https" } else { "http" };
    let configured = Configured {
        private_allowed: true,
        ca_file: is_tls.then(|| cutter.ca_file.path().to_owned()),
        ..Configured::at("psp", format!("{scheme}://localhost:{}", cutter.address.port()))
    };
    let destinations = Destinations::from_config(&[configured]).unwrap();
    let target = destinations.get(&DestinationName::parse("psp").unwrap()).unwrap();
    let size = if matches!(cut, Cut::BeforeReading | Cut::Amid) { LARGE_BYTES } else { 10 };
    let within = Duration::from_secs(if cut == Cut::Silence { 1 } else { 20 });
    let reply = send(target, &wire(target, size), within).await;
    let end = end(&reply);
    // A name may have two addresses, of which one has no listener: only the connection that was made is counted.
    let seen = match cut {
        Cut::Refused => 0,
        _ => cutter.seen.recv().await.unwrap(),
    };
    assert!(cutter.seen.try_recv().is_err(), "{cut:?}: one connection, and no second try");
    Cutting { verdict: verdict(&end), sent: end.bytes_sent.unwrap(), seen }
}

async fn check(is_tls: bool, expected: &[(Cut, &str, &[&str])]) {
    for (cut, word, rules) in expected {
        let Cutting { verdict, sent, seen } = cut_at(*cut, is_tls).await;
        assert!(rules.contains(&verdict.1.as_str()), "{cut:?}: {verdict:?}");
        // A connection that ends at once may end before the first write or during it: either is told as it was.
        assert!(verdict.0 == *word || *cut == Cut::BeforeReading, "{cut:?}: {verdict:?}");
        if verdict.0 == "not_sent" {
            assert_eq!((sent, seen), (0, 0), "{cut:?}");
        } else {
            assert!(sent > 0 && sent >= seen, "{cut:?}: {sent} handed over, {seen} arrived");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cut_of_a_plain_connection() {
    check(
        false,
        &[
            (Cut::Refused, "not_sent", &["E4"]),
            (Cut::BeforeReading, "unknown", &["E4", "E10"]),
            (Cut::Amid, "unknown", &["E10"]),
            (Cut::AfterReading, "unknown", &["E12"]),
            (Cut::Silence, "unknown", &["E12", "E13"]),
            (Cut::HalfHead, "unknown", &["E12"]),
            (Cut::HalfBody, "unknown", &["E14"]),
            (Cut::HalfRefusal, "unknown", &["E14"]),
            (Cut::Answer, "executed", &["E16"]),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cut_of_a_connection_over_tls() {
    check(
        true,
        &[
            (Cut::Refused, "not_sent", &["E4"]),
            (Cut::NoTls, "not_sent", &["E5"]),
            (Cut::OtherName, "not_sent", &["E5"]),
            (Cut::BeforeReading, "unknown", &["E5", "E10"]),
            (Cut::Amid, "unknown", &["E10"]),
            (Cut::AfterReading, "unknown", &["E12"]),
            (Cut::Silence, "unknown", &["E12", "E13"]),
            (Cut::HalfHead, "unknown", &["E12"]),
            (Cut::HalfBody, "unknown", &["E14"]),
            (Cut::HalfRefusal, "unknown", &["E14"]),
            (Cut::Answer, "executed", &["E16"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_has_no_allowed_address_is_not_sent() {
    for (address, words) in [
        ("http://127.0.0.1:9", "not a public address"),
        ("http://nowhere.invalid", ""),
        ("http://[::1]:9", "not a public"),
    ] {
        let destinations = Destinations::from_config(&[Configured::at("psp", address)]).unwrap();
        let target = destinations.get(&DestinationName::parse("psp").unwrap()).unwrap();
        let end = end(&send(target, &wire(target, 1), Duration::from_secs(20)).await);
        assert_eq!(verdict(&end), ("not_sent", "E3".to_owned()), "{address}");
        assert!(end.error.unwrap().contains(words), "{address}");
    }
}

#[tokio::test]
async fn a_credential_that_cannot_be_read_is_not_sent_and_not_told() {
    let cutter = Cutter::start(Cut::Answer, false).await;
    let configured = Configured {
        private_allowed: true,
        credential: Some("file:/nowhere/at/all".into()),
        ..Configured::at("psp", format!("http://{}", cutter.address))
    };
    let destinations = Destinations::from_config(&[configured]).unwrap();
    let target = destinations.get(&DestinationName::parse("psp").unwrap()).unwrap();
    let end = end(&send(target, &wire(target, 1), Duration::from_secs(20)).await);
    assert_eq!(verdict(&end), ("not_sent", "E2".to_owned()));
    assert!(end.error.unwrap().contains("file:/nowhere/at/all"));
}

//! As much HTTP/1.1 as a destination needs, by hand: a server library would not let an answer be cut where a test wants it.

use std::fmt::Write as _;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

const REQUEST_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) raw: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The value of a query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(known, _)| *known == name).map(|(_, value)| decoded(value))
    }
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = hex.filter(|_| *byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self { status, headers: vec![("content-type", "application/json".into())], body: body.to_string() }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The answer with so many bytes of its body; its head promises all of them.
    pub(crate) fn bytes(&self, body_bytes: usize) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} x\r\n", self.status);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if self.status != 204 {
            let _ = write!(head, "content-length: {}\r\n", self.body.len());
        }
        head.push_str("\r\n");
        let body = &self.body.as_bytes()[..self.body.len().min(body_bytes)];
        [head.as_bytes(), body].concat()
    }
}

/// The next request; none where the connection ended.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Request>> {
    let mut raw = Vec::new();
    let end = loop {
        if let Some(end) = raw.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if raw.len() > REQUEST_LIMIT_BYTES || stream.read_buf(&mut raw).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let mut lines = head.trim_end().split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let length: usize = length.unwrap_or(0).min(REQUEST_LIMIT_BYTES);
    while raw.len() < end + length {
        if stream.read_buf(&mut raw).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Request { method, target, headers, body: raw[end..end + length].to_vec(), raw }))
}

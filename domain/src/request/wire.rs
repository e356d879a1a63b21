//! A request as bytes. They are kept before the first send, and the kept ones go out whatever the template says later.

use super::{Method, RequestError};
use crate::fingerprint::Hash;

/// A whole request in HTTP/1.1: what is kept, shown, hashed and sent. A credential stands in it as a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    method: Method,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Kept bytes that are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes kept for this operation are no request; nothing was sent")]
pub struct WireError;

impl Wire {
    pub(crate) fn new(
        method: Method,
        target: String,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<Self, RequestError> {
        let malformed = |part: String| RequestError::Malformed { part };
        if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed("the path".into()));
        }
        for (name, value) in &headers {
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let fits = |byte: u8| matches!(byte, b' '..=b'~');
            if name.is_empty() || !name.bytes().all(is_token) || !value.bytes().all(fits) || value.trim() != value {
                return Err(malformed(format!("the header {name}")));
            }
        }
        Ok(Self { method, target, headers, body })
    }

    /// Its method.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// Its path and query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Its headers, in their order; names in lower case.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// Its body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// All of it, exactly as it is sent, but for the credential.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method.name(), self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The hash by which two sends of one key are known to be the same request (J7, 3.7.4).
    pub fn hash(&self) -> Hash {
        Hash::of(&self.to_bytes())
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or(WireError)?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| WireError)?;
        let mut lines = head.split("\r\n");
        let mut first = lines.next().ok_or(WireError)?.split(' ');
        let (method, target, version) = (first.next(), first.next(), first.next());
        let method = method.and_then(Method::parse).filter(|_| version == Some("HTTP/1.1")).ok_or(WireError)?;
        let headers = lines.map(|line| {
            line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or(WireError)
        });
        let headers = headers.collect::<Result<_, _>>()?;
        Self::new(method, target.unwrap_or_default().into(), headers, bytes[end + 4..].to_vec()).map_err(|_| WireError)
    }
}

//! The smallest HTTP client that measures honestly: one kept connection, one request at a time.

#![allow(dead_code, reason = "no bench needs all of it")]

use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::{Outcome, TOKEN};

/// A kept connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    /// Connects once.
    pub async fn connect(address: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), address: address.into() })
    }

    /// The same page again and again; a few are not counted.
    pub async fn get_many(&mut self, path: &str, times: usize) -> Outcome<Vec<Duration>> {
        let mut spans = Vec::with_capacity(times);
        for index in 0..times + 20 {
            let start = Instant::now();
            let (status, _) = self.request("GET", path, "").await?;
            if status != 200 {
                return Err(format!("{path} was answered {status}").into());
            }
            if index >= 20 {
                spans.push(start.elapsed());
            }
        }
        Ok(spans)
    }

    /// The status of a post, and what came with it.
    pub async fn post(&mut self, path: &str, body: &str) -> Outcome<(u16, Vec<u8>)> {
        self.request("POST", path, body).await
    }

    async fn request(&mut self, method: &str, path: &str, body: &str) -> Outcome<(u16, Vec<u8>)> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(head.as_bytes()).await?;
        let status: u16 = self.line().await?.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or("no status")?;
        let mut length = Some(0_usize);
        loop {
            let line = self.line().await?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse()?);
            }
            if line.starts_with("transfer-encoding:") {
                length = None;
            }
        }
        let body = match length {
            Some(length) => self.take(length).await?,
            None => self.take_chunks().await?,
        };
        Ok((status, body))
    }

    async fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        Ok(line.trim_end().to_owned())
    }

    async fn take(&mut self, length: usize) -> Outcome<Vec<u8>> {
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }

    async fn take_chunks(&mut self) -> Outcome<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line().await?, 16)?;
            let mut chunk = self.take(length + 2).await?;
            if length == 0 {
                return Ok(body);
            }
            chunk.truncate(length);
            body.append(&mut chunk);
        }
    }
}

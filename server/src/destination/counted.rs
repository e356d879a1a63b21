//! A connection that counts what is written into it: *not sent* is then a fact and not a guess (E3–E5, E10).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// What was written, shared with who asks.
#[derive(Debug, Clone, Default)]
pub(super) struct Count {
    bytes: Arc<AtomicU64>,
    tried: Arc<AtomicBool>,
    grown: Arc<Notify>,
}

impl Count {
    /// How many bytes were taken.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Waits until so many bytes were taken.
    pub(super) async fn reaches(&self, bytes: u64) {
        loop {
            let grown = self.grown.notified();
            if self.bytes() >= bytes {
                return;
            }
            grown.await;
        }
    }

    /// Whether a write was begun, whatever came of it.
    pub(super) fn was_tried(&self) -> bool {
        self.tried.load(Ordering::Acquire)
    }
}

/// A stream whose written bytes are counted.
pub(super) struct Counted<S> {
    inner: S,
    count: Count,
}

impl<S> Counted<S> {
    pub(super) fn new(inner: S) -> (Self, Count) {
        let count = Count::default();
        (Self { inner, count: count.clone() }, count)
    }

    fn note(&self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.count.bytes.fetch_add(*bytes as u64, Ordering::Release);
            self.count.grown.notify_one();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // Before the write: a process that looks at this after a failure must never see less than was handed over.
        self.count.tried.store(true, Ordering::Release);
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.note(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.count.tried.store(true, Ordering::Release);
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

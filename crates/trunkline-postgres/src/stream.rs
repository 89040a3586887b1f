//! The connection's bytes. Messages of the server are observed: their size is bounded, and the state of the transaction
//! is recorded.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A byte stream of any kind.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Io for S {}

/// The state of a session, from the messages of the server.
#[derive(Debug, Default)]
pub struct SessionState {
    status: AtomicU8,
    is_too_large: AtomicBool,
}

impl SessionState {
    /// Whether no transaction is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.status.load(Ordering::Acquire) == b'I'
    }

    /// Whether a transaction is open, failed or not.
    #[must_use]
    pub fn is_in_transaction(&self) -> bool {
        matches!(self.status.load(Ordering::Acquire), b'T' | b'E')
    }

    /// Whether a transaction is open that has failed.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.status.load(Ordering::Acquire) == b'E'
    }

    /// Whether the connection ended because a message was too large.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.is_too_large.load(Ordering::Acquire)
    }
}

/// A stream whose messages from the server are observed.
pub(crate) struct ObservedStream {
    inner: Box<dyn Io>,
    scanner: Scanner,
    state: Arc<SessionState>,
}

impl ObservedStream {
    pub(crate) fn new(inner: Box<dyn Io>, max_message: usize, state: Arc<SessionState>) -> Self {
        Self { inner, scanner: Scanner { max_message, ..Scanner::default() }, state }
    }
}

impl AsyncRead for ObservedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        if this.scanner.scan(new, &this.state.status).is_err() {
            this.state.is_too_large.store(true, Ordering::Release);
            return Poll::Ready(Err(io::Error::other("a message of the server is too large")));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ObservedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}

/// The position in the messages of the server. Each is a type, its length in four bytes, and its body.
#[derive(Default)]
struct Scanner {
    max_message: usize,
    header: [u8; 5],
    /// Number of bytes of the header so far.
    filled: usize,
    /// Number of bytes of the body to come.
    remaining: usize,
}

struct TooLarge;

impl Scanner {
    /// Reads the next bytes. A message of the type `Z` contains the state of the transaction.
    fn scan(&mut self, mut bytes: &[u8], status: &AtomicU8) -> Result<(), TooLarge> {
        while let Some((first, rest)) = bytes.split_first() {
            if let Some(place) = self.header.get_mut(self.filled) {
                *place = *first;
                self.filled += 1;
                bytes = rest;
                if self.filled == self.header.len() {
                    let [_, length @ ..] = self.header;
                    // The length includes itself.
                    self.remaining = (u32::from_be_bytes(length) as usize).saturating_sub(4);
                    if self.remaining > self.max_message {
                        return Err(TooLarge);
                    }
                }
            } else if self.remaining > 0 {
                if self.header[0] == b'Z' {
                    status.store(*first, Ordering::Release);
                }
                let (_, after) = bytes.split_at(self.remaining.min(bytes.len()));
                self.remaining -= bytes.len() - after.len();
                bytes = after;
            }
            if self.filled == self.header.len() && self.remaining == 0 {
                self.filled = 0;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Scanner;

    #[test]
    fn messages_are_found_in_any_parts() {
        // ParseComplete, a notice of 6 bytes, ReadyForQuery in a transaction.
        let bytes = b"1\0\0\0\x04N\0\0\0\x0aZZZZZZZ\0\0\0\x05T";
        for size in 1..=bytes.len() {
            let mut scanner = Scanner { max_message: 6, ..Scanner::default() };
            let status = AtomicU8::new(0);
            for part in bytes.chunks(size) {
                assert!(scanner.scan(part, &status).is_ok());
            }
            assert_eq!(status.load(Ordering::Relaxed), b'T', "{size}");
        }
    }

    #[test]
    fn large_messages_are_refused() {
        let mut scanner = Scanner { max_message: 5, ..Scanner::default() };
        assert!(scanner.scan(b"D\0\0\0\x0a", &AtomicU8::new(0)).is_err());
    }
}

//! The connection's bytes. Messages of the server are observed: their size is bounded, and the state of the transaction
//! is recorded. Statements of the client get names that no other connection has.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::statement_names::{StatementNames, random_suffix};

/// A byte stream of any kind.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Io for S {}

/// The state of a session, from the messages of the server and of the client.
#[derive(Debug, Default)]
pub struct SessionState {
    status: AtomicU8,
    is_too_large: AtomicBool,
    process: AtomicU32,
    prepared: Arc<AtomicUsize>,
    suffix: String,
}

impl SessionState {
    pub(crate) fn new() -> io::Result<Self> {
        let suffix = random_suffix().map_err(io::Error::other)?;
        Ok(Self { suffix, ..Self::default() })
    }

    /// Number of statements that were prepared so far, also by the driver for itself.
    #[must_use]
    pub fn prepared_statements(&self) -> usize {
        self.prepared.load(Ordering::Acquire)
    }

    /// The end of the names of all prepared statements of the connection.
    #[must_use]
    pub fn statement_suffix(&self) -> &str {
        &self.suffix
    }

    /// The process that the server, or a pooler, has reported at the start. 0 without a report.
    pub(crate) fn process(&self) -> u32 {
        self.process.load(Ordering::Acquire)
    }

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

/// A stream whose messages from the server are observed, and whose statements are renamed.
pub(crate) struct ObservedStream {
    inner: Box<dyn Io>,
    scanner: Scanner,
    state: Arc<SessionState>,
    names: StatementNames,
    /// Bytes for the server.
    output: Vec<u8>,
    /// Number of these that have been sent.
    sent: usize,
}

/// Maximum number of bytes that are renamed at once, and wait for the server.
const MAX_OUTPUT: usize = 64 << 10;

impl ObservedStream {
    pub(crate) fn new(inner: Box<dyn Io>, max_message: usize, state: Arc<SessionState>) -> Self {
        let names = StatementNames::new(state.suffix.clone(), Arc::clone(&state.prepared));
        let scanner = Scanner { max_message, ..Scanner::default() };
        Self { inner, scanner, state, names, output: Vec::new(), sent: 0 }
    }

    /// Sends what waits for the server.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.output.get(self.sent..) {
            match ready!(Pin::new(&mut self.inner).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.sent += sent,
            }
        }
        self.output.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
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
        if this.scanner.scan(new, &this.state).is_err() {
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
        let this = self.get_mut();
        ready!(this.poll_send(context))?;
        let part = bytes.get(..MAX_OUTPUT).unwrap_or(bytes);
        this.names.rename(part, &mut this.output);
        // The rest is sent by the next call, or by the flush.
        match this.poll_send(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(part.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_send(context))?;
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_send(context))?;
        Pin::new(&mut this.inner).poll_shutdown(context)
    }
}

/// The position in the messages of the server. Each is a type, its length in four bytes, and its body.
#[derive(Default)]
struct Scanner {
    max_message: usize,
    header: [u8; 5],
    /// Number of bytes of the header so far.
    filled: usize,
    /// Number of bytes of the body so far.
    body: usize,
    /// Number of bytes of the body to come.
    remaining: usize,
}

struct TooLarge;

impl Scanner {
    /// Reads the next bytes. A message of the type `Z` contains the state of the transaction, and one of the type `K`
    /// begins with the number of the process.
    fn scan(&mut self, mut bytes: &[u8], state: &SessionState) -> Result<(), TooLarge> {
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
                let mut length = self.remaining.min(bytes.len());
                match self.header[0] {
                    b'Z' => state.status.store(*first, Ordering::Release),
                    b'K' => {
                        // The number, and not the key after it, byte by byte.
                        if self.body < 4 {
                            let process = state.process.load(Ordering::Relaxed);
                            state
                                .process
                                .store(process << 8 | u32::from(*first), Ordering::Release);
                        }
                        length = 1;
                    }
                    _ => {}
                }
                self.body += length;
                self.remaining -= length;
                bytes = bytes.get(length..).unwrap_or_default();
            }
            if self.filled == self.header.len() && self.remaining == 0 {
                (self.filled, self.body) = (0, 0);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Scanner, SessionState};

    #[test]
    fn messages_are_found_in_any_parts() {
        // BackendKeyData, ParseComplete, a notice of 6 bytes, ReadyForQuery in a transaction.
        let bytes = b"K\0\0\0\x0c\0\x01\x02\x03KKKK1\0\0\0\x04N\0\0\0\x0aZZZZZZZ\0\0\0\x05T";
        for size in 1..=bytes.len() {
            let mut scanner = Scanner { max_message: 8, ..Scanner::default() };
            let state = SessionState::default();
            for part in bytes.chunks(size) {
                assert!(scanner.scan(part, &state).is_ok());
            }
            assert!(state.is_in_transaction() && !state.is_failed(), "{size}");
            assert_eq!(state.process(), 0x0001_0203, "{size}");
        }
    }

    #[test]
    fn large_messages_are_refused() {
        let mut scanner = Scanner { max_message: 5, ..Scanner::default() };
        assert!(scanner.scan(b"D\0\0\0\x0a", &SessionState::default()).is_err());
    }
}

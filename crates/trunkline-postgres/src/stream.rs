//! The connection's bytes. Messages of the server are observed: their size is bounded, and the state of the transaction
//! is recorded. Prepared statements get names that no other connection has, or none.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::statements::{ResultFormats, Statements, random_suffix};

/// A byte stream of any kind.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Io for S {}

/// The state of a session, from the messages of the server and of the client.
#[derive(Debug, Default)]
pub struct SessionState {
    status: AtomicU8,
    is_too_large: AtomicBool,
    process: AtomicU32,
    is_shared: AtomicBool,
    formats: ResultFormats,
}

impl SessionState {
    /// Lets statements be unnamed, before the first one is prepared.
    pub(crate) fn set_shared(&self) {
        self.is_shared.store(true, Ordering::Release);
    }

    /// The formats of the next result.
    pub(crate) fn formats(&self) -> &ResultFormats {
        &self.formats
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

/// A stream whose messages from the server are observed, and whose prepared statements are renamed.
pub(crate) struct ObservedStream {
    inner: Box<dyn Io>,
    scanner: Scanner,
    state: Arc<SessionState>,
    statements: Statements,
    /// Bytes for the server.
    output: Vec<u8>,
    /// Number of these that have been sent.
    sent: usize,
    /// Bytes for the client, if the session is shared.
    input: Vec<u8>,
    /// Number of these that it has read.
    read: usize,
}

/// Maximum number of bytes of the client that are changed at once, and wait for the server.
const MAX_OUTPUT: usize = 64 << 10;

/// Maximum number of bytes of the server that are filtered at once, and wait for the client.
const MAX_INPUT: usize = 8 << 10;

impl ObservedStream {
    /// Fails if the operating system has no random numbers.
    pub(crate) fn new(
        inner: Box<dyn Io>,
        max_message: usize,
        state: Arc<SessionState>,
    ) -> io::Result<Self> {
        Ok(Self {
            inner,
            scanner: Scanner { max_message, ..Scanner::default() },
            state,
            statements: Statements::new(random_suffix().map_err(io::Error::other)?),
            output: Vec::new(),
            sent: 0,
            input: Vec::new(),
            read: 0,
        })
    }

    /// Reads messages of the server without those that the client must not see.
    fn poll_filtered(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.read == self.input.len() {
            self.input.clear();
            self.read = 0;
            let mut bytes = [0; MAX_INPUT];
            let mut part = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.inner).poll_read(context, &mut part))?;
            if part.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            let (statements, input) = (&mut self.statements, &mut self.input);
            self.scanner.scan(part.filled(), &self.state, statements, Some(input))?;
        }
        let rest = self.input.get(self.read..).unwrap_or_default();
        let rest = rest.get(..buffer.remaining()).unwrap_or(rest);
        buffer.put_slice(rest);
        self.read += rest.len();
        Poll::Ready(Ok(()))
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
        if this.state.is_shared.load(Ordering::Acquire) {
            return this.poll_filtered(context, buffer);
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        Poll::Ready(this.scanner.scan(new, &this.state, &mut this.statements, None))
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
        this.statements.is_shared = this.state.is_shared.load(Ordering::Acquire);
        this.statements.send(part, &this.state.formats, &mut this.output);
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
    /// Number of these that the client has read.
    passed: usize,
    /// Number of bytes of the body so far.
    body: usize,
    /// Number of bytes of the body to come.
    remaining: usize,
}

impl Scanner {
    /// Reads the next bytes, and appends those for the client to `output`. A message of the type `Z` contains the state of
    /// the transaction, and one of the type `K` begins with the number of the process.
    fn scan(
        &mut self,
        mut bytes: &[u8],
        state: &SessionState,
        statements: &mut Statements,
        mut output: Option<&mut Vec<u8>>,
    ) -> io::Result<()> {
        while let Some((first, rest)) = bytes.split_first() {
            if let Some(place) = self.header.get_mut(self.filled) {
                *place = *first;
                self.filled += 1;
                bytes = rest;
                if self.filled == self.header.len() {
                    self.end_header(state, statements, output.as_deref_mut())?;
                }
            } else if self.remaining > 0 {
                let mut length = self.remaining.min(bytes.len());
                match self.header[0] {
                    b'Z' => {
                        state.status.store(*first, Ordering::Release);
                        statements.note_ready(*first);
                    }
                    b'K' => {
                        // The number, and not the key after it, byte by byte.
                        if self.body < 4 {
                            let process = state.process.load(Ordering::Relaxed);
                            let process = process << 8 | u32::from(*first);
                            state.process.store(process, Ordering::Release);
                        }
                        length = 1;
                    }
                    _ => {}
                }
                let (now, later) = bytes.split_at(length);
                if let Some(output) = output.as_deref_mut() {
                    output.extend_from_slice(now);
                }
                self.body += length;
                self.remaining -= length;
                bytes = later;
            }
            if self.filled == self.header.len() && self.remaining == 0 {
                (self.filled, self.body) = (0, 0);
            }
        }
        self.passed = if output.is_none() { self.filled % self.header.len() } else { self.passed };
        Ok(())
    }

    fn end_header(
        &mut self,
        state: &SessionState,
        statements: &mut Statements,
        output: Option<&mut Vec<u8>>,
    ) -> io::Result<()> {
        let [kind, length @ ..] = self.header;
        // The length includes itself.
        self.remaining = (u32::from_be_bytes(length) as usize).saturating_sub(4);
        if self.remaining > self.max_message {
            state.is_too_large.store(true, Ordering::Release);
            return Err(io::Error::other("a message of the server is too large"));
        }
        let passed = std::mem::take(&mut self.passed);
        if let Some(output) = output
            && !statements.is_hidden(kind)
        {
            output.extend_from_slice(self.header.get(passed..).unwrap_or_default());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Scanner, SessionState};
    use crate::statements::Statements;

    #[test]
    fn messages_are_found_in_any_parts() {
        // BackendKeyData, ParseComplete, a notice of 6 bytes, ReadyForQuery in a transaction.
        let bytes = b"K\0\0\0\x0c\0\x01\x02\x03KKKK1\0\0\0\x04N\0\0\0\x0aZZZZZZZ\0\0\0\x05T";
        for size in 1..=bytes.len() {
            let mut scanner = Scanner { max_message: 8, ..Scanner::default() };
            let state = SessionState::default();
            let mut statements = Statements::new(String::new());
            for part in bytes.chunks(size) {
                scanner.scan(part, &state, &mut statements, None).unwrap();
            }
            assert!(state.is_in_transaction() && !state.is_failed(), "{size}");
            assert_eq!(state.process(), 0x0001_0203, "{size}");
        }
    }

    /// The session counts as shared from any place on. Two of three ParseComplete are hidden.
    #[test]
    fn messages_are_hidden_in_any_parts() {
        const PARSE: &[u8] = b"P\0\0\0\x0bs0\0t\0\0\0S\0\0\0\x04Q\0\0\0\x06q\0";
        const BIND: &[u8] = b"B\0\0\0\x08\0s0\0S\0\0\0\x04Q\0\0\0\x06q\0";
        let before = b"N\0\0\0\x081111";
        let reply = b"1\0\0\0\x04Z\0\0\0\x05IZ\0\0\0\x05I";
        let bound = b"2\0\0\0\x04D\0\0\0\x0611Z\0\0\0\x05I";
        let hidden = [b"1\0\0\0\x04", &bound[..]].concat();
        let bytes = [before, &reply[..], &hidden, b"Z\0\0\0\x05I", &hidden].concat();
        let expected = [before, &reply[..], bound, b"Z\0\0\0\x05I", bound].concat();
        for size in 1..=bytes.len() {
            for direct in 0..=before.len() {
                let mut scanner = Scanner { max_message: 8, ..Scanner::default() };
                let state = SessionState::default();
                let mut statements = Statements::new(String::new());
                statements.send(b"\0\0\0\x04", &state.formats, &mut Vec::new());
                let mut output = bytes[..direct].to_vec();
                scanner.scan(&bytes[..direct], &state, &mut statements, None).unwrap();
                statements.is_shared = true;
                for sent in [PARSE, BIND, BIND] {
                    statements.send(sent, &state.formats, &mut Vec::new());
                }
                for part in bytes[direct..].chunks(size) {
                    scanner.scan(part, &state, &mut statements, Some(&mut output)).unwrap();
                }
                assert_eq!(output, expected, "{direct} and parts of {size}");
            }
        }
    }

    #[test]
    fn large_messages_are_refused() {
        let mut scanner = Scanner { max_message: 5, ..Scanner::default() };
        let mut statements = Statements::new(String::new());
        let state = SessionState::default();
        assert!(scanner.scan(b"D\0\0\0\x0a", &state, &mut statements, None).is_err());
        assert!(state.is_too_large());
    }
}

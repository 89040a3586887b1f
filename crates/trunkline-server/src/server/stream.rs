//! The socket of a connection. It reports progress to the watch, and closes without losing a reply.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::watch::Watch;

/// The maximum time for discarding the rest of a request after the last reply.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Stream<S> {
    socket: S,
    watch: Arc<Watch>,
    /// The number of received bytes of [`PREFACE`], or `None` for HTTP/1. HTTP/2 frames may arrive at any time
    /// and do not start a request.
    preface: Option<usize>,
    linger: Option<Pin<Box<Sleep>>>,
}

/// The beginning of the HTTP/2 connection preface (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI ";

/// Maximum bytes of one read. hyper doubles its buffer after each read that fills it, and never shrinks it. With
/// larger reads, slow bodies would use 128 KiB per connection.
const READ: usize = 16 << 10;

impl<S> Stream<S> {
    pub(super) fn new(socket: S, watch: Arc<Watch>) -> Self {
        Self { socket, watch, preface: Some(0), linger: None }
    }

    fn received(&mut self, bytes: &[u8]) {
        let Some(expected) = self.preface.map(|received| &PREFACE[received..]) else {
            return self.watch.received();
        };
        if expected.is_empty() {
            return;
        }
        let count = expected.len().min(bytes.len());
        let received = PREFACE.len() - expected.len() + count;
        self.preface = (bytes[..count] == expected[..count]).then_some(received);
        if self.preface == Some(PREFACE.len()) {
            self.watch.is_http2();
        } else {
            self.watch.received();
        }
    }

    /// Reports to the watch whether sending makes progress.
    fn sent(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match sent {
            Poll::Pending => self.watch.write_stalled(),
            Poll::Ready(_) => self.watch.write_progressed(),
        }
        sent
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if buffer.remaining() > READ {
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(READ));
            ready!(Pin::new(&mut self.socket).poll_read(cx, &mut part))?;
            let count = part.filled().len();
            buffer.advance(count);
        } else {
            ready!(Pin::new(&mut self.socket).poll_read(cx, buffer))?;
        }
        let received = &buffer.filled()[before..];
        if !received.is_empty() {
            self.received(received);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.sent(sent)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    /// Shuts down the write half, then discards the rest of the request: closing a socket with unread bytes
    /// resets the connection, and the client may lose the reply.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_shutdown(cx))?;
        let mut buffer = [0; 4096];
        loop {
            if let Some(linger) = &mut self.linger
                && linger.as_mut().poll(cx).is_ready()
            {
                return Poll::Ready(Ok(()));
            }
            let mut read = ReadBuf::new(&mut buffer);
            match Pin::new(&mut self.socket).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {}
                Poll::Pending if self.linger.is_some() => return Poll::Pending,
                Poll::Pending if self.watch.is_cut_short() => {}
                _ => return Poll::Ready(Ok(())),
            }
            self.linger.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total = buffers.iter().map(|buffer| buffer.len()).sum();
        if total > SMALL {
            let sent = Pin::new(&mut self.socket).poll_write_vectored(cx, buffers);
            return self.sent(sent);
        }
        let mut joined = [0; SMALL];
        let mut rest = joined.as_mut_slice();
        for buffer in buffers {
            let (start, end) = rest.split_at_mut(buffer.len());
            start.copy_from_slice(buffer);
            rest = end;
        }
        self.poll_write(cx, &joined[..total])
    }
}

/// The maximum size of a reply, including headers, that is copied into one buffer. Writing one buffer is faster
/// than writing two.
const SMALL: usize = 2048;

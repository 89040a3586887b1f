//! A connection's socket: it tells the watch what happens, and ends without losing a reply.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::watch::Watch;

/// How long a closing connection takes in what the client still sends.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Stream<S> {
    socket: S,
    watch: Arc<Watch>,
    /// How much of [`PREFACE`] has come; none when something else came. HTTP/2 frames come at any
    /// time, and are no heads.
    preface: Option<usize>,
    linger: Option<Pin<Box<Sleep>>>,
}

/// What an HTTP/2 connection begins with, as far as it takes to tell (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI ";

/// Maximum bytes of one read. hyper doubles its buffer for each read that fills it and keeps that as long as
/// the connection; with larger reads, bodies that do not end would take 128 KiB of each connection.
const READ: usize = 16 << 10;

impl<S> Stream<S> {
    pub(super) fn new(socket: S, watch: Arc<Watch>) -> Self {
        Self { socket, watch, preface: Some(0), linger: None }
    }

    fn received(&mut self, bytes: &[u8]) {
        let Some(expected) = self.preface.map(|come| &PREFACE[come..]) else {
            return self.watch.received();
        };
        if expected.is_empty() {
            return;
        }
        let count = expected.len().min(bytes.len());
        let come = PREFACE.len() - expected.len() + count;
        self.preface = (bytes[..count] == expected[..count]).then_some(come);
        if self.preface == Some(PREFACE.len()) {
            self.watch.is_http2();
        } else {
            self.watch.received();
        }
    }

    /// Tells the watch whether the client takes what it is sent.
    fn sent(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match sent {
            Poll::Pending => self.watch.stalled(),
            Poll::Ready(_) => self.watch.taken(),
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

    /// Closes our half, then takes in what the client may still be sending: a socket that is closed
    /// with bytes unread resets the connection, and the client may lose the reply.
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

/// A reply of up to so many bytes, head included, is copied together: the system takes one buffer
/// in less time than two.
const SMALL: usize = 2048;

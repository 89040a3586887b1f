use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};

use super::config::ChannelConfig;
use super::connection::Connection;
use super::link::{Connect, Link};
use crate::error::{Failure, TransportError};
use crate::transport::{Message, Transport, TransportFuture};

/// A transport over an open byte stream, such as a socket or an in-memory pipe. The channel ends with the
/// stream.
#[derive(Debug)]
pub struct Channel {
    link: Link<SingleConnection<Stream>>,
}

impl Channel {
    /// Creates a channel over `stream`, with default settings.
    #[must_use]
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        Self::with_config(stream, ChannelConfig::default())
    }

    /// Creates a channel over `stream`.
    #[must_use]
    pub fn with_config(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        settings: ChannelConfig,
    ) -> Self {
        let in_flight = settings.in_flight;
        let stream = Stream { stream: Box::pin(stream), settings };
        Self { link: Link::new(SingleConnection::new(TARGET, stream), in_flight) }
    }
}

/// The name of the server in error messages.
const TARGET: &str = "the other end of the stream";

impl Transport for Channel {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(self.link.send(message))
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed(TARGET)
    }
}

/// A connection that cannot be reopened.
pub(crate) struct SingleConnection<T> {
    target: String,
    start: Mutex<Option<T>>,
}

/// Starts a connection, in the runtime of the first call.
pub(crate) trait Start: Send + 'static {
    fn start(self, target: &str) -> Result<Connection, Failure>;
}

impl<T> SingleConnection<T> {
    pub(crate) fn new(target: impl Into<String>, start: T) -> Self {
        Self { target: target.into(), start: Mutex::new(Some(start)) }
    }
}

impl<T: Start> Connect for SingleConnection<T> {
    async fn connect(&self, before: Option<Failure>) -> Result<Connection, Failure> {
        let target = self.target.clone();
        match self.start.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(start) => start.start(&target),
            None => {
                let broken =
                    || TransportError::Broken { target: target.clone(), source: None }.into();
                let source = Arc::new(before.unwrap_or_else(broken));
                Err(TransportError::Connect { target, source }.into())
            }
        }
    }
}

/// A boxed stream.
pub(crate) struct Stream {
    stream: Pin<Box<dyn Duplex>>,
    settings: ChannelConfig,
}

trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Duplex for T {}

impl Start for Stream {
    fn start(self, target: &str) -> Result<Connection, Failure> {
        let (input, output) = tokio::io::split(self.stream);
        let no_cause = std::future::ready(None);
        Ok(Connection::start(target.to_owned(), input, output, &self.settings, no_cause))
    }
}

impl<T> fmt::Debug for SingleConnection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleConnection").field("target", &self.target).finish_non_exhaustive()
    }
}

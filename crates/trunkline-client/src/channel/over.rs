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

/// Calls over a stream that is there already: a socket, one end of a pipe in memory. When it ends, so
/// does the channel.
#[derive(Debug)]
pub struct Channel {
    link: Link<Once<Stream>>,
}

impl Channel {
    /// A channel over `stream`, with default settings.
    #[must_use]
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        Self::with_config(stream, ChannelConfig::default())
    }

    /// A channel over `stream`.
    #[must_use]
    pub fn with_config(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        settings: ChannelConfig,
    ) -> Self {
        let in_flight = settings.in_flight;
        let stream = Stream { stream: Box::pin(stream), settings };
        Self { link: Link::new(Once::new(TARGET, stream), in_flight) }
    }
}

/// How errors name the other end of a stream.
const TARGET: &str = "the other end of the stream";

impl Transport for Channel {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(self.link.send(message))
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed(TARGET)
    }
}

/// A connection that cannot be made again.
pub(crate) struct Once<T> {
    target: String,
    start: Mutex<Option<T>>,
}

/// What a connection is started from, in the runtime of the first call.
pub(crate) trait Start: Send + 'static {
    fn start(self, target: &str) -> Result<Connection, Failure>;
}

impl<T> Once<T> {
    pub(crate) fn new(target: impl Into<String>, start: T) -> Self {
        Self { target: target.into(), start: Mutex::new(Some(start)) }
    }
}

impl<T: Start> Connect for Once<T> {
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

/// A stream of any type.
pub(crate) struct Stream {
    stream: Pin<Box<dyn Duplex>>,
    settings: ChannelConfig,
}

trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Duplex for T {}

impl Start for Stream {
    fn start(self, target: &str) -> Result<Connection, Failure> {
        let (input, output) = tokio::io::split(self.stream);
        let unknown = std::future::ready(None);
        Ok(Connection::start(target.to_owned(), input, output, &self.settings, unknown))
    }
}

impl<T> fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("target", &self.target).finish_non_exhaustive()
    }
}

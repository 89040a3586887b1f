use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::UnixStream;

use super::channel::{ChannelConfig, Connect, Connection, Link};
use super::error::{Failure, TransportError};
use super::transport::{Message, Transport, TransportFuture};

/// A transport over a unix socket, as served by `trunkline::unix`.
///
/// It connects with the first call, and reconnects with the next call after the connection has closed.
#[derive(Debug)]
pub struct Unix {
    target: String,
    link: Link<Socket>,
}

struct Socket {
    path: PathBuf,
    target: String,
    settings: ChannelConfig,
}

impl Unix {
    /// Creates a transport to the server at the socket, with default settings.
    pub fn connect(path: impl Into<PathBuf>) -> Self {
        Self::connect_with(path, ChannelConfig::default())
    }

    /// Creates a transport to the server at the socket.
    pub fn connect_with(path: impl Into<PathBuf>, settings: ChannelConfig) -> Self {
        let path = path.into();
        let target = format!("unix:{}", path.display());
        let in_flight = settings.in_flight;
        let socket = Socket { path, target: target.clone(), settings };
        Self { target, link: Link::new(socket, in_flight) }
    }
}

impl Transport for Unix {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(self.link.send(message))
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.target)
    }
}

impl Connect for Socket {
    async fn connect(&self, _before: Option<Failure>) -> Result<Connection, Failure> {
        let target = self.target.clone();
        match UnixStream::connect(&self.path).await {
            Ok(stream) => {
                let (input, output) = stream.into_split();
                let no_cause = std::future::ready(None);
                Ok(Connection::start(target, input, output, &self.settings, no_cause))
            }
            Err(error) => {
                let source = Arc::new(error);
                Err(TransportError::Connect { target, source }.into())
            }
        }
    }
}

impl Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("path", &self.path).finish_non_exhaustive()
    }
}

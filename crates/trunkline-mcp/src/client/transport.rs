use std::fmt;
use std::process::Command;

use tokio::io::{AsyncRead, AsyncWrite};
use trunkline::client::Http;

use super::stdio::StdioConfig;

/// The way to reach a server.
pub struct Transport(pub(super) Kind);

pub(super) enum Kind {
    Http(Http),
    Stdio { command: Command, config: StdioConfig },
    Stream { input: Box<dyn AsyncRead + Send + Unpin>, output: Box<dyn AsyncWrite + Send + Unpin> },
}

impl Transport {
    /// A server that is started as a child process, and ends with the client. Messages are lines of its stdin and
    /// stdout. The standard streams of `command` are replaced.
    #[must_use]
    pub fn stdio(command: Command, config: StdioConfig) -> Self {
        Self(Kind::Stdio { command, config })
    }

    /// A server at the other end of two streams, whose messages are lines, such as a socket, or a server in this
    /// process over [`tokio::io::duplex`] or pipes.
    pub fn stream(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self(Kind::Stream { input: Box::new(input), output: Box::new(output) })
    }
}

/// Streamable HTTP, or HTTP+SSE if the server does not support it.
impl From<Http> for Transport {
    fn from(http: Http) -> Self {
        Self(Kind::Http(http))
    }
}

/// A child process with the default configuration.
impl From<Command> for Transport {
    fn from(command: Command) -> Self {
        Self::stdio(command, StdioConfig::default())
    }
}

/// Omits the arguments and the environment of a command.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Http(http) => http.fmt(f),
            // Arguments and variables may contain secrets.
            Kind::Stdio { command, .. } => {
                f.debug_tuple("Stdio").field(&command.get_program()).finish()
            }
            Kind::Stream { .. } => f.write_str("Stream"),
        }
    }
}

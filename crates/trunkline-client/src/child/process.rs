use std::borrow::Cow;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe;

use super::reaper::{ExitHandle, Reaper};
use crate::channel::{self, Connection, Link, SingleConnection, Start};
use crate::error::{Cause, Failure, TransportError};
use crate::transport::{Message, Transport, TransportFuture};

/// A transport to a child process over its stdin and stdout, as served by `trunkline::stdio`. The child
/// inherits stderr unless `command` redirects it.
///
/// Dropping the transport ends the process: its stdin is closed, and it is killed if it has not exited after
/// [`ChildConfig::grace`]. A thread reaps it in any case. A process that exits earlier is not restarted, and
/// the errors of calls contain its exit status.
#[derive(Debug)]
pub struct Child {
    target: String,
    link: Link<SingleConnection<Pipes>>,
    reaper: Reaper,
}

impl Child {
    /// Starts a process, with default settings. Replaces the stdin and stdout of `command`.
    ///
    /// # Errors
    /// When the process does not start.
    pub fn spawn(command: Command) -> Result<Self, TransportError> {
        Self::spawn_with(command, ChildConfig::default())
    }

    /// Starts a process. Replaces the stdin and stdout of `command`.
    ///
    /// # Errors
    /// When the process does not start.
    pub fn spawn_with(mut command: Command, settings: ChildConfig) -> Result<Self, TransportError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source: std::io::Error| TransportError::Spawn {
            program: program.clone(),
            source: Arc::new(source),
        };
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let target = format!("{program} (process {})", process.id());
        let reaper = Reaper::start(process, settings.grace).map_err(failed)?;
        let in_flight = settings.channel.in_flight;
        let pipes = Pipes { stdin, stdout, exit: reaper.handle(), settings: settings.channel };
        let link = Link::new(SingleConnection::new(target.clone(), pipes), in_flight);
        Ok(Self { target, link, reaper })
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.reaper.id()
    }
}

impl Transport for Child {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(self.link.send(message))
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.target)
    }
}

/// The parent's ends of the pipes.
struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    exit: ExitHandle,
    settings: channel::ChannelConfig,
}

impl Start for Pipes {
    fn start(self, target: &str) -> Result<Connection, Failure> {
        let failed = |source: std::io::Error| TransportError::Connect {
            target: target.to_owned(),
            source: Arc::new(source),
        };
        let closed = || failed(std::io::ErrorKind::BrokenPipe.into());
        let (stdin, stdout) = self.stdin.zip(self.stdout).ok_or_else(closed)?;
        let output = pipe::Sender::from_owned_fd(stdin.into()).map_err(failed)?;
        let input = pipe::Receiver::from_owned_fd(stdout.into()).map_err(failed)?;
        let handle = self.exit;
        let exit_cause = async move { handle.exit().await.map(|exit| Arc::new(exit) as Cause) };
        Ok(Connection::start(target.to_owned(), input, output, &self.settings, exit_cause))
    }
}

/// Configuration of a [`Child`](crate::Child).
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// The configuration of the channel to the process.
    pub channel: channel::ChannelConfig,
    /// The grace period for the process to exit after its stdin is closed or it has closed its stdout. After
    /// that, it is killed. Default 2 s.
    pub grace: Duration,
}

impl Default for ChildConfig {
    fn default() -> Self {
        Self { channel: channel::ChannelConfig::default(), grace: Duration::from_secs(2) }
    }
}

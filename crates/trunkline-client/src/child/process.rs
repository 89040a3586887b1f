use std::borrow::Cow;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use tokio::net::unix::pipe;

use super::config::ChildConfig;
use super::keeper::{Asking, Keeper};
use crate::channel::{self, Connection, Link, Once, Start};
use crate::error::{Cause, Failure, TransportError};
use crate::transport::{Message, Transport, TransportFuture};

/// Calls to a process of ours, over its stdin and stdout: what `stdio` serves. Its
/// stderr is this process's own.
///
/// The process ends when this is dropped: its stdin is closed; if it has not ended after
/// [`ChildConfig::grace`], it is killed. In any case it is reaped, on a thread. When it ends before, it
/// is not started again, and calls are told how it ended.
#[derive(Debug)]
pub struct Child {
    target: String,
    link: Link<Once<Pipes>>,
    keeper: Keeper,
}

impl Child {
    /// Starts a process, with default settings. What `command` says of stdin and stdout is replaced.
    ///
    /// # Errors
    /// When it does not start.
    pub fn spawn(command: Command) -> Result<Self, TransportError> {
        Self::spawn_with(command, ChildConfig::default())
    }

    /// Starts a process. What `command` says of stdin and stdout is replaced.
    ///
    /// # Errors
    /// When it does not start.
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
        let keeper = Keeper::start(process, settings.grace).map_err(failed)?;
        let in_flight = settings.channel.in_flight;
        let pipes = Pipes { stdin, stdout, asking: keeper.asking(), settings: settings.channel };
        let link = Link::new(Once::new(target.clone(), pipes), in_flight);
        Ok(Self { target, link, keeper })
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.keeper.id()
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

/// Our ends of the process's pipes.
struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    asking: Asking,
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
        let asking = self.asking;
        let farewell = async move { asking.exit().await.map(|exit| Arc::new(exit) as Cause) };
        Ok(Connection::start(target.to_owned(), input, output, &self.settings, farewell))
    }
}

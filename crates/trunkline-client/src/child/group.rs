use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::unix::pipe;

use super::reaper::{Ending, Reaper};
use crate::error::{Cause, TransportError};

/// A process that leads its own process group, and the parent's ends of its pipes. This is for protocols other than
/// JSON-RPC with [`Child`](crate::Child).
///
/// Dropping [`group`](Self::group) ends the processes of the group, so close stdin before.
#[derive(Debug)]
#[non_exhaustive]
pub struct GroupLeader {
    /// The process's stdin.
    pub stdin: pipe::Sender,
    /// The process's stdout.
    pub stdout: pipe::Receiver,
    /// The process's stderr.
    pub stderr: pipe::Receiver,
    /// The handle to end the group.
    pub group: ProcessGroup,
}

/// A process group, which ends when this is dropped: its leader has [`GroupConfig::grace`] to exit, then the group
/// gets SIGTERM, and after [`GroupConfig::term_grace`] SIGKILL. When the leader has exited, the rest of the group is
/// killed. A thread does this.
#[derive(Debug)]
pub struct ProcessGroup(Reaper);

/// Configuration of a [`GroupLeader`].
#[derive(Debug, Clone)]
pub struct GroupConfig {
    /// The time for the leader to exit after its stdin is closed. Default 2 s.
    pub grace: Duration,
    /// The time for the leader to exit after SIGTERM. Default 2 s.
    pub term_grace: Duration,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self { grace: Duration::from_secs(2), term_grace: Duration::from_secs(2) }
    }
}

impl GroupLeader {
    /// Starts a process in a new process group. Replaces the stdin, stdout and stderr of `command`.
    ///
    /// # Errors
    /// When the process does not start.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O enabled.
    pub fn spawn(command: &mut Command, config: &GroupConfig) -> Result<Self, TransportError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source: std::io::Error| TransportError::Spawn {
            program: program.clone(),
            source: Arc::new(source),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.process_group(0).spawn().map_err(failed)?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let GroupConfig { grace, term_grace } = *config;
        let reaper = Reaper::start(process, Ending::Group { grace, term_grace }).map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        Ok(Self {
            stdin: pipe::Sender::from_owned_fd(stdin.into()).map_err(failed)?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into()).map_err(failed)?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into()).map_err(failed)?,
            group: ProcessGroup(reaper),
        })
    }
}

impl ProcessGroup {
    /// The process id of the leader.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends the group, and returns how the leader exited.
    pub async fn end(&self) -> Option<Cause> {
        self.0.handle().exit().await.map(|exit| Arc::new(exit) as Cause)
    }
}

//! Processes that end together.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use trunkline::client::{Cause, TransportError};

/// The interval for checking whether the leader has exited.
const POLL: Duration = Duration::from_millis(5);

/// A process that leads its own process group, and the parent's ends of its pipes.
///
/// Dropping the group ends its processes, so close stdin before.
pub(super) struct GroupLeader {
    pub(super) stdin: pipe::Sender,
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
    pub(super) group: ProcessGroup,
}

/// A process group, which ends when this is dropped: its leader has some time to exit, then the group gets SIGTERM, and
/// after some more time SIGKILL. When the leader has exited, the rest of the group is killed. A thread does this.
pub(super) struct ProcessGroup {
    id: u32,
    /// Receives the way in which the leader exited. The end of the channel also ends the group.
    requests: mpsc::Sender<oneshot::Sender<Exit>>,
}

/// The way in which a process exited.
#[derive(Debug, Clone, thiserror::Error)]
enum Exit {
    #[error("process exited: {0}")]
    Exited(ExitStatus),
    #[error("process closed its output but did not exit, and was killed")]
    Killed,
    #[error("exit status of the process is unknown: {0}")]
    Unknown(String),
}

impl GroupLeader {
    /// Starts a process in a new process group. Replaces the stdin, stdout and stderr of `command`. `grace` is the time
    /// for the leader to exit after its stdin is closed, and `term_grace` that after SIGTERM.
    pub(super) fn spawn(
        command: &mut Command,
        grace: Duration,
        term_grace: Duration,
    ) -> Result<Self, TransportError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source: io::Error| TransportError::Spawn {
            program: program.clone(),
            source: Arc::new(source),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.process_group(0).spawn().map_err(failed)?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let group = ProcessGroup::start(process, grace, term_grace).map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        Ok(Self {
            stdin: pipe::Sender::from_owned_fd(stdin.into()).map_err(failed)?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into()).map_err(failed)?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into()).map_err(failed)?,
            group,
        })
    }
}

impl ProcessGroup {
    fn start(mut leader: Child, grace: Duration, term_grace: Duration) -> io::Result<Self> {
        let id = leader.id();
        let (sender, requests) = mpsc::channel::<oneshot::Sender<Exit>>();
        thread::Builder::new().name("trunkline-child".to_owned()).spawn(move || {
            let first = requests.recv();
            let exit = end(&mut leader, grace, term_grace);
            for request in first.into_iter().chain(requests) {
                // The receiver may have been dropped.
                drop(request.send(exit.clone()));
            }
        })?;
        Ok(Self { id, requests: sender })
    }

    /// The process id of the leader.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Ends the group, and returns how the leader exited.
    pub(super) async fn end(&self) -> Option<Cause> {
        let (sender, exit) = oneshot::channel();
        self.requests.send(sender).ok()?;
        exit.await.ok().map(|exit| Arc::new(exit) as Cause)
    }
}

/// Waits until a leader whose pipes are closed exits, or ends its group. Reaps it in any case.
fn end(leader: &mut Child, grace: Duration, term_grace: Duration) -> Exit {
    let group = i32::try_from(leader.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| {
        if let Some(group) = group
            && let Err(error) = kill_process_group(group, signal)
        {
            tracing::debug!(%error, "cannot signal a process group");
        }
    };
    let ended = match has_exited(group, grace) {
        Ok(false) => {
            signal(Signal::TERM);
            has_exited(group, term_grace)
        }
        ended => ended,
    };
    // The id of the group is not reused before the leader is reaped.
    signal(Signal::KILL);
    let reaped = match ended {
        Ok(true) => leader.wait().map(Exit::Exited),
        Ok(false) => leader.kill().and_then(|()| leader.wait()).map(|_| Exit::Killed),
        Err(error) => Err(error),
    };
    reaped.unwrap_or_else(|error| Exit::Unknown(error.to_string()))
}

/// Waits until a process has exited, for at most `limit`. Does not reap it.
fn has_exited(process: Option<Pid>, limit: Duration) -> io::Result<bool> {
    let until = Instant::now() + limit;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let id = process.ok_or(io::ErrorKind::NotFound)?;
    loop {
        match waitid(WaitId::Pid(id), options) {
            Ok(Some(_)) => return Ok(true),
            Ok(None) | Err(Errno::INTR) if Instant::now() < until => thread::sleep(POLL),
            Ok(None) | Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

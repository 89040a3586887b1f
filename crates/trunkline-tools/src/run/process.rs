//! One process of a tool, with all that it starts.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::value::RawValue;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::{Child, Command};
use tokio::select;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::cgroup::Cgroup;
use super::error::RunError;
use super::pipes::{Pipes, TooMuch};
use super::tool::Tool;
use crate::config::ProcessLimits;
use crate::launcher::{self, Report};

/// How long a killed process may take to go.
const TO_GO: Duration = Duration::from_secs(5);
/// How long the pipes are read after the end, if what has left the group holds them open.
const LEFT_OVER: Duration = Duration::from_secs(1);

/// How long it may take to end a process that nobody waits for any more, at most.
pub(super) const ENDING: Duration = Duration::from_secs(20);

/// A tool that is about to run.
pub(super) struct Process {
    pub(super) tool: Arc<Tool>,
    pub(super) launch: Option<Launch>,
    /// The variable.
    pub(super) path: OsString,
    pub(super) grace: Duration,
}

/// A launcher, and what it is to set.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) limits: ProcessLimits,
    pub(super) cgroup: Option<Cgroup>,
}

/// How a process came to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    ByItself,
    TooMuchOutput,
    TimedOut,
    Cancelled,
}

impl End {
    async fn of(running: &Running, deadline: Instant, cancel: &CancellationToken) -> Self {
        select! {
            biased;
            () = cancel.cancelled() => Self::Cancelled,
            () = sleep_until(deadline) => Self::TimedOut,
            () = running.group.leader_ended() => Self::ByItself,
        }
    }
}

impl Process {
    /// Runs it. Nothing of it is left when this returns, unless it has left its process group where there
    /// is no launcher.
    pub(super) async fn run(
        mut self,
        input: String,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, RunError> {
        let deadline = Instant::now() + self.tool.manifest.timeout;
        let cgroup = self.launch.as_mut().and_then(|launch| launch.cgroup.take());
        let (mut running, line) = Running::start(&self, cgroup).map_err(RunError::Unstarted)?;
        let (report, line) = line.map(UnixStream::into_split).unzip();
        let manifest = &self.tool.manifest;
        let mut pipes = Pipes::of(&mut running.child, line, input, manifest.max_output_bytes);
        let end = End::of(&running, deadline, cancel);
        let mut end = pipes.serve_until(end).await.unwrap_or(End::TooMuchOutput);
        if matches!(end, End::TimedOut | End::Cancelled) {
            if !pipes.ask_to_end() {
                running.group.signal(Signal::TERM);
            }
            let leader = timeout(self.grace, running.group.leader_ended());
            drop(pipes.serve_until(leader).await);
        }
        pipes.hang_up();
        let status = running.kill().await;
        // What was written before the end.
        let left = timeout(LEFT_OVER, pipes.serve()).await;
        if end == End::ByItself && matches!(left, Ok(Err(TooMuch))) {
            end = End::TooMuchOutput;
        }
        let stderr = pipes.stderr();
        match end {
            End::ByItself => {
                let status = status.map_err(RunError::Unstarted)?;
                let signal = match read_report(report).await {
                    Some(Report::NotStarted(reason)) => {
                        return Err(RunError::Unstarted(io::Error::other(reason)));
                    }
                    Some(Report::Signal(signal)) => Some(signal),
                    None => status.signal(),
                };
                match (signal, status.code()) {
                    (Some(signal), _) => Err(RunError::Killed { signal, stderr }),
                    (None, Some(0)) => self.tool.result(pipes.output(), stderr),
                    (None, code) => {
                        Err(RunError::Failed { exit_code: code.unwrap_or_default(), stderr })
                    }
                }
            }
            End::TooMuchOutput => {
                let max_output_bytes = manifest.max_output_bytes;
                Err(RunError::TooMuchOutput { max_output_bytes })
            }
            End::TimedOut => {
                let timeout_ms = manifest.timeout.as_millis().try_into().unwrap_or(u64::MAX);
                Err(RunError::TimedOut { timeout_ms, stderr })
            }
            End::Cancelled => Err(RunError::Cancelled),
        }
    }

    fn command(&self, cgroup: Option<&Cgroup>, stdin: Stdio) -> Command {
        let manifest = &self.tool.manifest;
        let mut command = match &self.launch {
            Some(launch) => {
                let mut command = Command::new(&launch.program);
                command.args(&launch.arguments);
                command.args(launcher::arguments(&launch.limits, cgroup.map(Cgroup::path)));
                command.arg(&manifest.program);
                command
            }
            None => Command::new(&manifest.program),
        };
        command
            .args(&manifest.arguments)
            .current_dir(&manifest.folder)
            .env_clear()
            .envs(manifest.env.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("PATH", &self.path)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }
}

/// Reads the report of a launcher that has ended. It was written before that.
async fn read_report(line: Option<OwnedReadHalf>) -> Option<Report> {
    const MAX_BYTES: u64 = 4 << 10;
    const MAX_TIME: Duration = Duration::from_secs(1);
    let mut report = Vec::new();
    let read = async { line?.take(MAX_BYTES).read_to_end(&mut report).await.ok() };
    drop(timeout(MAX_TIME, read).await);
    Report::parse(&String::from_utf8_lossy(&report))
}

/// A process that was started. When this is dropped, it is killed with its group; a launcher ends it then.
struct Running {
    // Dropped first: as long as the leader was not reaped, the group's number is nobody else's.
    group: Group,
    child: Child,
    cgroup: Option<Cgroup>,
}

impl Running {
    /// Starts it. There is a line to its launcher, if it has one.
    fn start(process: &Process, cgroup: Option<Cgroup>) -> io::Result<(Self, Option<UnixStream>)> {
        let is_launched = process.launch.is_some();
        let (line, stdin) = if is_launched {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            (Some(UnixStream::from_std(ours)?), Stdio::from(OwnedFd::from(theirs)))
        } else {
            (None, Stdio::piped())
        };
        let child = process.command(cgroup.as_ref(), stdin).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok((Self { group: Group { leader, is_launched }, child, cgroup }, line))
    }

    /// Kills what is left of it, and then takes the leader's status, which frees its number.
    async fn kill(&mut self) -> io::Result<ExitStatus> {
        if self.group.is_launched {
            // It ends what it has launched, and then itself.
            drop(timeout(TO_GO, self.group.leader_ended()).await);
        }
        self.group.signal(Signal::KILL);
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.end(TO_GO).await;
        }
        let status = timeout(TO_GO, self.child.wait()).await;
        if status.is_ok() {
            self.group.leader = None;
        }
        status.unwrap_or_else(|late| Err(io::Error::new(io::ErrorKind::TimedOut, late)))
    }
}

/// The process group of a tool, or of its launcher, whose number is that of its leader.
struct Group {
    /// Until its status is taken.
    leader: Option<Pid>,
    is_launched: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader
            && let Err(error) = kill_process_group(leader, signal)
        {
            tracing::debug!(%error, "a process group is gone");
        }
    }

    /// Waits for the leader's end, and leaves it a zombie: what it has started can still be told by its
    /// number.
    async fn leader_ended(&self) {
        let Some(leader) = self.leader else { return };
        let wait = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
        };
        // It ends with the leader, which is killed if this is dropped.
        drop(spawn_blocking(wait).await);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_launched {
            self.signal(Signal::KILL);
        }
    }
}

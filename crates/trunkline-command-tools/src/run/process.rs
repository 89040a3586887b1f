//! A process of a tool, with everything that it starts.

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
use super::pipes::{OutputTooLarge, Pipes};
use super::tool::Tool;
use crate::config::ProcessLimits;
use crate::launcher::{self, Report};

/// The maximum wait for a killed process to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum time to read the pipes after the end, if a process that left the group holds them open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum duration of the termination of a process.
pub(super) const MAX_TERMINATION_TIME: Duration = Duration::from_secs(20);

/// A tool that is about to run.
pub(super) struct Process {
    pub(super) tool: Arc<Tool>,
    pub(super) launch: Option<Launch>,
    /// The value of `PATH`.
    pub(super) path: OsString,
    pub(super) grace: Duration,
}

/// A launcher, and the limits that it sets.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) limits: ProcessLimits,
    pub(super) cgroup: Option<Cgroup>,
}

/// The reason why a process ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Exited,
    OutputTooLarge,
    TimedOut,
    Cancelled,
}

impl End {
    async fn wait(running: &Running, deadline: Instant, cancel: &CancellationToken) -> Self {
        select! {
            biased;
            () = cancel.cancelled() => Self::Cancelled,
            // Before the deadline: on a busy machine, both may be ready.
            () = running.group.leader_ended() => Self::Exited,
            () = sleep_until(deadline) => Self::TimedOut,
        }
    }
}

impl Process {
    /// Runs the process, and ends everything that it has started before returning. Without a launcher, processes that
    /// left the process group continue.
    pub(super) async fn run(
        mut self,
        input: String,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, RunError> {
        let deadline = Instant::now() + self.tool.manifest.timeout;
        let cgroup = self.launch.as_mut().and_then(|launch| launch.cgroup.take());
        let (mut running, launcher) =
            Running::start(&self, cgroup).map_err(RunError::NotStarted)?;
        let (report, launcher) = launcher.map(UnixStream::into_split).unzip();
        let manifest = &self.tool.manifest;
        let mut pipes = Pipes::new(&mut running.child, launcher, input, manifest.max_output_bytes);
        let end = End::wait(&running, deadline, cancel);
        let mut end = pipes.serve_until(end).await.unwrap_or(End::OutputTooLarge);
        if matches!(end, End::TimedOut | End::Cancelled) {
            if !pipes.request_termination() {
                running.group.signal(Signal::TERM);
            }
            let leader = timeout(self.grace, running.group.leader_ended());
            drop(pipes.serve_until(leader).await);
        }
        pipes.close_launcher();
        let status = running.kill().await;
        // Read the output that was written before the end.
        let left = timeout(DRAIN_TIMEOUT, pipes.serve()).await;
        if end == End::Exited && matches!(left, Ok(Err(OutputTooLarge))) {
            end = End::OutputTooLarge;
        }
        let stderr = pipes.stderr();
        match end {
            End::Exited => {
                let status = status.map_err(RunError::NotStarted)?;
                let signal = match read_report(report).await {
                    Some(Report::NotStarted(reason)) => {
                        return Err(RunError::NotStarted(io::Error::other(reason)));
                    }
                    Some(Report::Signal(signal)) => Some(signal),
                    None => status.signal(),
                };
                match (signal, status.code()) {
                    (Some(signal), _) => Err(RunError::Killed { signal, stderr }),
                    (None, Some(0)) => self.tool.parse_result(pipes.output(), stderr),
                    (None, code) => {
                        Err(RunError::Failed { exit_code: code.unwrap_or_default(), stderr })
                    }
                }
            }
            End::OutputTooLarge => {
                let max_output_bytes = manifest.max_output_bytes;
                Err(RunError::OutputTooLarge { max_output_bytes })
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

/// Reads the report that a launcher wrote before it ended.
async fn read_report(launcher: Option<OwnedReadHalf>) -> Option<Report> {
    const MAX_BYTES: u64 = 4 << 10;
    const MAX_TIME: Duration = Duration::from_secs(1);
    let mut report = Vec::new();
    let read = async { launcher?.take(MAX_BYTES).read_to_end(&mut report).await.ok() };
    drop(timeout(MAX_TIME, read).await);
    Report::parse(&String::from_utf8_lossy(&report))
}

/// A running process. When this is dropped, its group is killed; if it has a launcher, the launcher ends it.
struct Running {
    // Dropped first: the id of the group cannot be reused until the leader is reaped.
    group: Group,
    child: Child,
    cgroup: Option<Cgroup>,
}

impl Running {
    /// Starts a process. Returns the socket to its launcher, if it has one.
    fn start(process: &Process, cgroup: Option<Cgroup>) -> io::Result<(Self, Option<UnixStream>)> {
        let is_launched = process.launch.is_some();
        let (launcher, stdin) = if is_launched {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            (Some(UnixStream::from_std(ours)?), Stdio::from(OwnedFd::from(theirs)))
        } else {
            (None, Stdio::piped())
        };
        let child = process.command(cgroup.as_ref(), stdin).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok((Self { group: Group { leader, is_launched }, child, cgroup }, launcher))
    }

    /// Kills the remaining processes, and then takes the leader's status, which frees its id.
    async fn kill(&mut self) -> io::Result<ExitStatus> {
        if self.group.is_launched {
            // The launcher ends the program and then itself.
            drop(timeout(KILL_TIMEOUT, self.group.leader_ended()).await);
        }
        self.group.signal(Signal::KILL);
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.end(KILL_TIMEOUT).await;
        }
        let status = timeout(KILL_TIMEOUT, self.child.wait()).await;
        if status.is_ok() {
            self.group.leader = None;
        }
        status.unwrap_or_else(|late| Err(io::Error::new(io::ErrorKind::TimedOut, late)))
    }
}

/// The process group of a tool or of its launcher. Its id is that of the leader.
struct Group {
    /// Set until its status is taken.
    leader: Option<Pid>,
    is_launched: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader
            && let Err(error) = kill_process_group(leader, signal)
        {
            tracing::debug!(%error, "cannot signal a process group");
        }
    }

    /// Waits for the leader's end, and leaves it a zombie, so that its group keeps the id.
    async fn leader_ended(&self) {
        let Some(leader) = self.leader else { return };
        let wait = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
        };
        // The thread ends with the leader, which is killed if this is dropped.
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

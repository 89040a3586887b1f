//! One process of a tool, with all that it starts.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::value::RawValue;
use tokio::process::{Child, Command};
use tokio::select;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::cgroup::Cgroup;
use super::pipes::{Pipes, TooMuch};
use super::{RunError, Tool, result};
use crate::tools::settings::ProcessLimits;

/// How long a killed process may take to go.
const TO_GO: Duration = Duration::from_secs(5);
/// How long the pipes are read after the end, if what has left the group holds them open.
const LEFT_OVER: Duration = Duration::from_secs(1);

/// A tool that is about to run.
pub(super) struct Process {
    pub(super) tool: Arc<Tool>,
    pub(super) launch: Option<Launch>,
    /// The variable.
    pub(super) path: OsString,
    pub(super) grace: Duration,
    pub(super) deadline: Instant,
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

impl Process {
    /// Runs it. Nothing of it is left when this returns, unless it has left its process group where there
    /// are no cgroups.
    pub(super) async fn run(
        mut self,
        input: String,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, RunError> {
        let cgroup = self.launch.as_mut().and_then(|launch| launch.cgroup.take());
        let mut running = Running::start(&self, cgroup).map_err(RunError::Unstarted)?;
        let manifest = &self.tool.manifest;
        let mut pipes = Pipes::of(&mut running.child, input, manifest.max_output_bytes);
        let mut end =
            pipes.serve_until(self.end(&running, cancel)).await.unwrap_or(End::TooMuchOutput);
        if matches!(end, End::TimedOut | End::Cancelled) {
            running.group.signal(Signal::TERM);
            let leader = timeout(self.grace, running.group.leader_ended());
            drop(pipes.serve_until(leader).await);
        }
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
                self.result(status, pipes.output(), stderr)
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

    async fn end(&self, running: &Running, cancel: &CancellationToken) -> End {
        select! {
            biased;
            () = cancel.cancelled() => End::Cancelled,
            () = sleep_until(self.deadline) => End::TimedOut,
            () = running.group.leader_ended() => End::ByItself,
        }
    }

    fn result(
        &self,
        status: ExitStatus,
        output: &[u8],
        stderr: String,
    ) -> Result<Box<RawValue>, RunError> {
        match (status.code(), status.signal()) {
            (Some(0), _) => result::read(&self.tool, output, stderr),
            (Some(exit_code), _) => Err(RunError::Failed { exit_code, stderr }),
            (None, signal) => Err(RunError::Killed { signal: signal.unwrap_or_default(), stderr }),
        }
    }

    fn command(&self, cgroup: Option<&Cgroup>) -> Command {
        let manifest = &self.tool.manifest;
        let mut command = match &self.launch {
            Some(launch) => launch.command(cgroup),
            None => Command::new(&manifest.program),
        };
        if self.launch.is_some() {
            command.arg(&manifest.program);
        }
        command
            .args(&manifest.arguments)
            .current_dir(&manifest.folder)
            .env_clear()
            .envs(manifest.env.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("PATH", &self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }
}

impl Launch {
    fn command(&self, cgroup: Option<&Cgroup>) -> Command {
        let ProcessLimits { cpu_seconds, memory_bytes, file_bytes, open_files, processes } =
            self.limits;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        for (flag, limit) in [
            ("--cpu-seconds", cpu_seconds),
            ("--memory-bytes", memory_bytes),
            ("--file-bytes", file_bytes),
            ("--open-files", open_files),
            ("--processes", processes),
        ] {
            command.arg(flag).arg(limit.to_string());
        }
        if let Some(cgroup) = cgroup {
            command.arg("--cgroup").arg(cgroup.path());
        }
        command.arg("--");
        command
    }
}

/// A process that was started. When this is dropped, it is killed with its group.
struct Running {
    // Dropped first: as long as the leader was not reaped, the group's number is nobody else's.
    group: Group,
    child: Child,
    cgroup: Option<Cgroup>,
}

impl Running {
    fn start(process: &Process, cgroup: Option<Cgroup>) -> io::Result<Self> {
        let child = process.command(cgroup.as_ref()).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self { group: Group { leader }, child, cgroup })
    }

    /// Kills what is left of it, and then takes the leader's status, which frees its number.
    async fn kill(&mut self) -> io::Result<ExitStatus> {
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

/// The process group of a tool, whose number is that of its leader.
struct Group {
    /// Until its status is taken.
    leader: Option<Pid>,
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
        self.signal(Signal::KILL);
    }
}

//! The thread that waits for a child process and reaps it.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

/// The interval for checking whether the process has exited.
const POLL: Duration = Duration::from_millis(5);

/// The owner of a child process. Ends the process when dropped.
#[derive(Debug)]
pub(super) struct Reaper {
    id: u32,
    handle: ExitHandle,
}

/// Ends the process and returns how it exited.
#[derive(Debug, Clone)]
pub(super) struct ExitHandle(mpsc::Sender<Request>);

enum Request {
    /// End the process.
    End,
    /// End the process and send how it exited.
    Exit(oneshot::Sender<Exit>),
}

/// The way in which a process exited.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Exit {
    #[error("process exited: {0}")]
    Exited(ExitStatus),
    #[error("process closed its output but did not exit, and was killed")]
    Killed,
    #[error("exit status of the process is unknown: {0}")]
    Unknown(String),
}

/// The way to end a process whose stdin is closed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    /// The process is killed after the grace period.
    Kill { grace: Duration },
    /// The process leads a group. After the grace period, the group gets SIGTERM, and after `term_grace` it is
    /// killed. The rest of the group is killed when the leader has exited.
    Group { grace: Duration, term_grace: Duration },
}

impl Reaper {
    pub(super) fn start(mut process: Child, ending: Ending) -> io::Result<Self> {
        let id = process.id();
        let (sender, requests) = mpsc::channel();
        thread::Builder::new().name("trunkline-child".to_owned()).spawn(move || {
            // The first request ends the process, and so does the end of the channel.
            let first = requests.recv();
            let exit = ending.end(&mut process);
            let rest = std::iter::from_fn(|| requests.recv().ok());
            for request in first.into_iter().chain(rest) {
                if let Request::Exit(sender) = request {
                    // The receiver may have been dropped.
                    drop(sender.send(exit.clone()));
                }
            }
        })?;
        Ok(Self { id, handle: ExitHandle(sender) })
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn handle(&self) -> ExitHandle {
        self.handle.clone()
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        // If the thread has ended, the process has been reaped.
        drop(self.handle.0.send(Request::End));
    }
}

impl ExitHandle {
    /// Returns how the process exited, at the latest after its grace period.
    pub(super) async fn exit(&self) -> Option<Exit> {
        let (sender, exit) = oneshot::channel();
        self.0.send(Request::Exit(sender)).ok()?;
        exit.await.ok()
    }
}

impl Ending {
    /// Waits until a process whose pipes are closed exits, or ends it. Reaps it in any case.
    fn end(self, process: &mut Child) -> Exit {
        let ended = match self {
            Self::Kill { grace } => has_exited(process, grace),
            Self::Group { grace, term_grace } => {
                let group = group_of(process);
                let ended = match has_exited(process, grace) {
                    Ok(false) => {
                        signal(group, Signal::TERM);
                        has_exited(process, term_grace)
                    }
                    ended => ended,
                };
                // The id of the group is not reused before the leader is reaped.
                signal(group, Signal::KILL);
                ended
            }
        };
        let reaped = match ended {
            Ok(true) => process.wait().map(Exit::Exited),
            Ok(false) => process.kill().and_then(|()| process.wait()).map(|_| Exit::Killed),
            Err(error) => Err(error),
        };
        reaped.unwrap_or_else(|error| Exit::Unknown(error.to_string()))
    }
}

/// Waits until a process has exited, for at most `limit`. Does not reap it.
fn has_exited(process: &Child, limit: Duration) -> io::Result<bool> {
    let until = Instant::now() + limit;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let id = group_of(process).ok_or(io::ErrorKind::NotFound)?;
    loop {
        match waitid(WaitId::Pid(id), options) {
            Ok(Some(_)) => return Ok(true),
            Ok(None) | Err(rustix::io::Errno::INTR) if Instant::now() < until => {
                thread::sleep(POLL);
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The group that a process leads, if it leads one.
fn group_of(process: &Child) -> Option<Pid> {
    Pid::from_raw(process.id().try_into().ok()?)
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group
        && let Err(error) = kill_process_group(group, signal)
    {
        tracing::debug!(%error, "cannot signal a process group");
    }
}

//! The thread that waits for a child process and reaps it.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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

impl Reaper {
    pub(super) fn start(mut process: Child, grace: Duration) -> io::Result<Self> {
        let id = process.id();
        let (sender, requests) = mpsc::channel();
        thread::Builder::new().name("trunkline-child".to_owned()).spawn(move || {
            // The first request ends the process, and so does the end of the channel.
            let first = requests.recv();
            let exit = end(&mut process, grace);
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

/// Waits until a process whose pipes are closed exits, or kills it after the grace period. Reaps it in any case.
fn end(process: &mut Child, grace: Duration) -> Exit {
    let until = Instant::now() + grace;
    let ended = loop {
        match process.try_wait() {
            Ok(Some(status)) => break Ok(Exit::Exited(status)),
            Ok(None) if Instant::now() < until => thread::sleep(POLL),
            Ok(None) => break process.kill().and_then(|()| process.wait()).map(|_| Exit::Killed),
            Err(error) => break Err(error),
        }
    };
    ended.unwrap_or_else(|error| Exit::Unknown(error.to_string()))
}

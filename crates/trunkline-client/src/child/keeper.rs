//! The thread that sees a process to its end.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How often to look whether a process that is to end has ended.
const POLL: Duration = Duration::from_millis(5);

/// Keeps a process until this is dropped, or it is asked how the process has ended.
#[derive(Debug)]
pub(super) struct Keeper {
    id: u32,
    asking: Asking,
}

/// Ends the process, and asks how it has ended.
#[derive(Debug, Clone)]
pub(super) struct Asking(mpsc::Sender<Question>);

enum Question {
    /// Nobody wants the process any more.
    End,
    Exit(oneshot::Sender<Exit>),
}

/// How a process has ended.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Exit {
    #[error("the process has ended: {0}")]
    Ended(ExitStatus),
    #[error("the process closed its output but did not end, and was killed")]
    Killed,
    #[error("how the process has ended is not known: {0}")]
    Unknown(String),
}

impl Keeper {
    pub(super) fn start(mut process: Child, grace: Duration) -> io::Result<Self> {
        let id = process.id();
        let (sender, questions) = mpsc::channel();
        thread::Builder::new().name("trunkline-child".to_owned()).spawn(move || {
            // Whatever comes first, be it that nobody is left to ask, the process is to end.
            let first = questions.recv();
            let exit = end(&mut process, grace);
            let rest = std::iter::from_fn(|| questions.recv().ok());
            for question in first.into_iter().chain(rest) {
                if let Question::Exit(sender) = question {
                    // Who does not wait needs not be told.
                    drop(sender.send(exit.clone()));
                }
            }
        })?;
        Ok(Self { id, asking: Asking(sender) })
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn asking(&self) -> Asking {
        self.asking.clone()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // A thread that is gone has seen the end.
        drop(self.asking.0.send(Question::End));
    }
}

impl Asking {
    /// How the process has ended, which it has at the latest after its grace.
    pub(super) async fn exit(&self) -> Option<Exit> {
        let (sender, exit) = oneshot::channel();
        self.0.send(Question::Exit(sender)).ok()?;
        exit.await.ok()
    }
}

/// Waits for the end of a process whose pipes are closed. Its time up, it is killed; in any case it is
/// reaped.
fn end(process: &mut Child, grace: Duration) -> Exit {
    let until = Instant::now() + grace;
    loop {
        match process.try_wait() {
            Ok(Some(status)) => return Exit::Ended(status),
            Ok(None) if Instant::now() < until => thread::sleep(POLL),
            Ok(None) => break,
            Err(error) => return Exit::Unknown(error.to_string()),
        }
    }
    match process.kill().and_then(|()| process.wait()) {
        Ok(_) => Exit::Killed,
        Err(error) => Exit::Unknown(error.to_string()),
    }
}

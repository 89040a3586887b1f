//! The record kept in files: a log of what a server was asked and answered, for each of its lives.
//!
//! A log is one JSON object a line, an [`Entry`](super::Entry) as `/history` shows it, redacted and cut
//! as there. A session is the life of a server, from its start on; its log is a file, or several parts
//! where one would be too large. Files, and bytes in all, are bounded: the oldest make room.
//!
//! It is written by a thread of its own, behind the calls, which never wait for it: entries wait in a
//! queue of bounded bytes. Where that is full, a line `{"lost":N}` says how many entries are missing.

mod files;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::history::History;
use crate::queue::Queue;
use files::Files;
pub use files::{LogConfig, LogFile};

use crate::queue::lock;
pub use crate::stats::{MethodStats, Stats};
use writer::{State, Writer};

/// The log of a [`History`], in a folder. Clones are the same log.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
    queue: Arc<Queue>,
    /// Tells, by its end, that the thread has ended.
    ended: Mutex<Receiver<()>>,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The folder, or a file in it, cannot be written.
    #[error("no log can be written in {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no thread for it.
    #[error("there is no thread that could write a log")]
    Thread(#[source] io::Error),
}

impl Log {
    /// Begins the log of a session with all that `history` records from now on, in a folder, which is
    /// made if it is missing. Nobody but the user who runs this can read what is written.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(
        folder: impl Into<PathBuf>,
        history: &History,
        config: LogConfig,
    ) -> Result<Self, LogError> {
        let folder = folder.into();
        let queue = Arc::new(Queue::new(config.queue_bytes));
        let files = Files::open(&folder, config);
        let files = files.map_err(|source| LogError::Folder { folder: folder.clone(), source })?;
        let writer = Writer::new(Arc::clone(&queue), files);
        let state = writer.state();
        let (ends, ended) = channel();
        let write = move || {
            writer.run();
            drop(ends);
        };
        thread::Builder::new().name("log".to_owned()).spawn(write).map_err(LogError::Thread)?;
        history.queue_to(Arc::clone(&queue));
        let ended = Mutex::new(ended);
        Ok(Self(Arc::new(Shared { folder, state, queue, ended })))
    }

    /// Where the files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// The files of all sessions, newest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn files(&self) -> io::Result<Vec<LogFile>> {
        files::listed(&self.0.folder, &self.current())
    }

    /// What was counted in this session.
    #[must_use]
    pub fn stats(&self) -> Stats {
        lock(&self.0.state).counters.stats()
    }

    /// Why the last entries could not be written. None once entries are written again.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        lock(&self.0.state).problem.clone()
    }

    /// Writes what was recorded so far, and ends the log. Blocks, for so long at most, and tells whether
    /// all was written in that time.
    #[must_use = "what is not written in time is missing"]
    pub fn close(&self, patience: Duration) -> bool {
        self.0.queue.close();
        let ended = lock(&self.0.ended).recv_timeout(patience);
        ended == Err(std::sync::mpsc::RecvTimeoutError::Disconnected)
    }

    /// The name of the file that is written to.
    pub fn current(&self) -> String {
        lock(&self.0.state).current.clone()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}

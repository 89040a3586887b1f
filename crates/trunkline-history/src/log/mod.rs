//! Log files of a history.
//!
//! A log has one JSON object per line: an [`Entry`](super::Entry), redacted and truncated, in the format of
//! `/history`. A session lasts from the start of a server to its end; its log is one file, or several parts if
//! the size limit is reached. The number and total size of files are limited: the oldest are removed.
//!
//! A dedicated thread writes the log, so calls never wait for it. Entries wait in a queue of limited size. If
//! the queue is full, a line `{"lost":N}` reports the number of missing entries.

mod files;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::history::History;
use crate::queue::{Logged, Queue, WriterThread, lock};
use files::Files;
pub use files::{LogConfig, LogFile};

pub use crate::stats::{MethodStats, Stats};
use writer::{State, Writer};

/// The log of a [`History`] in a folder. Clones share the log.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
    thread: WriterThread<Logged>,
}

/// The time to collect further entries.
const COLLECT: Duration = Duration::from_millis(20);

/// The error for a log that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The folder or a file in it cannot be created.
    #[error("cannot write log files in {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread that writes the log")]
    Thread(#[source] io::Error),
}

impl Log {
    /// Starts the log of a session, which receives all further entries of `history`. Creates the folder if it
    /// is missing. Only the current user can read the files.
    ///
    /// # Errors
    /// When the folder is not writable or the thread cannot be started.
    pub fn open(
        folder: impl Into<PathBuf>,
        history: &History,
        config: LogConfig,
    ) -> Result<Self, LogError> {
        let folder = folder.into();
        let queue = Arc::new(Queue::new(config.queue_bytes, COLLECT));
        let files = Files::open(&folder, config);
        let files = files.map_err(|source| LogError::Folder { folder: folder.clone(), source })?;
        let mut writer = Writer::new(Arc::clone(&queue), files);
        let state = writer.state();
        let write = move |items| writer.write_all(items);
        let thread = WriterThread::start("log", queue, write).map_err(LogError::Thread)?;
        history.queue_to(Arc::clone(thread.queue()));
        Ok(Self(Arc::new(Shared { folder, state, thread })))
    }

    /// The folder of the files.
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

    /// The statistics of this session.
    #[must_use]
    pub fn stats(&self) -> Stats {
        lock(&self.0.state).counters.stats()
    }

    /// The reason why the last entries could not be written. `None` once writing succeeds again.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.0.thread.queue().problem()
    }

    /// Writes all entries recorded so far and closes the log. Blocks for at most `timeout`, and returns whether
    /// all entries were written in that time.
    #[must_use = "entries that are not written in time are lost"]
    pub fn close(&self, timeout: Duration) -> bool {
        self.0.thread.close(timeout)
    }

    /// The name of the current file.
    pub fn current(&self) -> String {
        lock(&self.0.state).current.clone()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("folder", &self.0.folder).finish_non_exhaustive()
    }
}

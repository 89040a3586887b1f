//! The audit log: a file with an entry before and after each call that changes data.
//!
//! An entry is a line with a JSON object. It is durable (`fdatasync`) before [`AuditLog::append`] returns. One sync
//! serves all entries that wait for it. A dedicated thread writes the file, each entry with one `write` to its end.
//!
//! A process that is killed during a write may leave the beginning of a line. The next entry then starts on a new line,
//! so that readers lose no other entry. If the file is renamed or removed, the next entry creates it again.

mod entry;
mod error;
mod writer;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::queue::{Queue, WriterThread};
pub use entry::{AuditEntry, AuditedCall, Ending, Event};
pub use error::AuditError;
use writer::{LogFile, Pending};

/// The limits of an [`AuditLog`].
#[derive(Debug, Clone)]
pub struct AuditConfig {
    /// Maximum number of entries that wait to be written. Further ones fail. Default 8,192.
    pub queue: usize,
    /// Maximum time until an entry is durable. Default 5 s.
    pub timeout: Duration,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { queue: 8_192, timeout: Duration::from_secs(5) }
    }
}

/// An audit log. Clones share the file.
#[derive(Clone)]
pub struct AuditLog(Arc<Shared>);

struct Shared {
    path: PathBuf,
    config: AuditConfig,
    thread: WriterThread<Pending>,
}

/// The error for an audit log that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be opened for appending.
    #[error("cannot open the audit log {}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The path is that of a folder, a pipe or a device, which cannot be synced.
    #[error("the audit log {} is not a regular file", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread that writes the audit log")]
    Thread(#[source] io::Error),
}

impl AuditLog {
    /// Opens the file, or creates it with mode 0600, and starts the thread that writes it.
    ///
    /// # Errors
    /// When the file cannot be opened, or is not a regular file, or the thread cannot be started.
    pub fn open(path: impl Into<PathBuf>, config: AuditConfig) -> Result<Self, OpenError> {
        let path = path.into();
        let opened = LogFile::open(&path);
        let mut file = opened.map_err(|source| OpenError::File { path: path.clone(), source })?;
        if !file.is_regular() {
            return Err(OpenError::NotRegular { path });
        }
        // One sync serves the entries that arrive during the one before.
        let queue = Arc::new(Queue::new(config.queue, Duration::ZERO));
        let problems = Arc::clone(&queue);
        let write = move |group| writer::write(&mut file, group, &problems);
        let thread = WriterThread::start("audit", queue, write).map_err(OpenError::Thread)?;
        Ok(Self(Arc::new(Shared { path, config, thread })))
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Appends an entry and waits until it is durable.
    ///
    /// # Errors
    /// When the entry is not durable in time.
    ///
    /// # Cancel safety
    /// The entry is written even if this future is dropped.
    pub async fn append(&self, entry: &AuditEntry<'_>) -> Result<(), AuditError> {
        let (reply, durable) = oneshot::channel();
        self.push(Pending { line: entry.to_line(), reply: Some(reply) })?;
        match timeout(self.0.config.timeout, durable).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(AuditError::Closed),
            Err(_) => Err(AuditError::Timeout(self.0.config.timeout)),
        }
    }

    /// Appends an entry without waiting until it is written, for calls whose caller has gone.
    ///
    /// # Errors
    /// When too many entries wait, or the log is closed.
    pub fn append_later(&self, entry: &AuditEntry<'_>) -> Result<(), AuditError> {
        self.push(Pending { line: entry.to_line(), reply: None })
    }

    fn push(&self, pending: Pending) -> Result<(), AuditError> {
        let mut pushed = Err(AuditError::Full);
        let is_open = self.0.thread.queue().push(1, |waiting, fits| {
            if fits {
                waiting.push(pending);
                pushed = Ok(());
            }
        });
        if is_open { pushed } else { Err(AuditError::Closed) }
    }

    /// The reason why the last entries could not be written. `None` once writing succeeds again.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.0.thread.queue().problem()
    }

    /// Writes the waiting entries and closes the log. Blocks for at most `timeout`, and returns whether all entries were
    /// processed in that time.
    #[must_use = "entries that are not written in time are lost"]
    pub fn close(&self, timeout: Duration) -> bool {
        self.0.thread.close(timeout)
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("path", &self.0.path).finish_non_exhaustive()
    }
}

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::{Connection, InterruptHandle};
use tokio_util::sync::CancellationToken;

use super::lock;
use crate::error::Error;

/// What ends one job early, shared by its caller and its reader.
pub(super) struct Stop {
    limit: Duration,
    deadline: Instant,
    abandoned: CancellationToken,
    /// The handle of the connection that the job runs on. It is taken away under this lock when the job
    /// ends, so a late interrupt cannot hit the next job of the connection.
    running: Mutex<Option<InterruptHandle>>,
}

/// Operations of SQLite's virtual machine between two looks at the clock.
const OPERATIONS_PER_CHECK: i32 = 1_000;

/// Longer than any process runs, and within the range of every clock.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

/// The moment that comes `wait` after `start`, however long that is.
pub(super) fn moment(start: Instant, wait: Duration) -> Instant {
    start + wait.min(FAR)
}

impl Stop {
    pub(super) fn new(started: Instant, limit: Duration) -> Self {
        Self {
            limit,
            deadline: moment(started, limit),
            abandoned: CancellationToken::new(),
            running: Mutex::new(None),
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn timeout_error(&self) -> Error {
        Error::Timeout { limit: self.limit }
    }

    /// Puts a connection under this stop, until [`detach`](Self::detach).
    pub(super) fn attach(self: &Arc<Self>, connection: &Connection) -> rusqlite::Result<()> {
        let stop = Arc::clone(self);
        connection.progress_handler(OPERATIONS_PER_CHECK, Some(move || stop.is_over()))?;
        *lock(&self.running) = Some(connection.get_interrupt_handle());
        Ok(())
    }

    pub(super) fn detach(&self) {
        *lock(&self.running) = None;
    }

    pub(super) fn is_over(&self) -> bool {
        self.abandoned.is_cancelled() || Instant::now() >= self.deadline
    }

    /// Why the job was interrupted.
    pub(super) fn reason(&self) -> Error {
        if self.abandoned.is_cancelled() { Error::Cancelled } else { self.timeout_error() }
    }

    fn abandon(&self) {
        self.abandoned.cancel();
        if let Some(handle) = lock(&self.running).as_ref() {
            handle.interrupt();
        }
    }
}

/// Abandons the job when the caller's future goes, answered or not.
pub(super) struct Guard<'s>(&'s Stop);

impl<'s> Guard<'s> {
    pub(super) fn new(stop: &'s Stop) -> Self {
        Self(stop)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

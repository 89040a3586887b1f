use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::process::Pid;

use super::lock;
use crate::error::Error;
use crate::file::Link;
use crate::security::Role;
use rusqlite::InterruptHandle;

/// What ends one job early, shared by its caller and its worker.
pub(super) struct Stop {
    limit: Duration,
    deadline: Instant,
    /// When the caller went, answered or not.
    abandoned: OnceLock<Instant>,
    /// Whether the job's changes are being made to last. Then nothing ends it early. It changes under the
    /// lock of `running` only.
    commits: AtomicBool,
    /// The thread that the job runs on.
    #[cfg(target_os = "linux")]
    thread: OnceLock<Pid>,
    /// The handle of the connection that the job runs on. It is taken away under this lock when the job
    /// ends, so a late interrupt cannot hit the next job of the connection.
    running: Mutex<Option<InterruptHandle>>,
}

/// Operations of SQLite's virtual machine between two looks at the clock.
const OPERATIONS_PER_CHECK: i32 = 1_000;

/// How long SQLite may take to let go of a job that is over.
pub(super) const GRACE: Duration = Duration::from_secs(1);

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
            abandoned: OnceLock::new(),
            commits: AtomicBool::new(false),
            #[cfg(target_os = "linux")]
            thread: OnceLock::new(),
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
    pub(super) fn attach(self: &Arc<Self>, link: &Link) -> rusqlite::Result<()> {
        #[cfg(target_os = "linux")]
        self.thread.get_or_init(rustix::thread::gettid);
        let stop = Arc::clone(self);
        let connection = &link.connection;
        match link.role.clone() {
            Role::Reader => {
                connection.progress_handler(OPERATIONS_PER_CHECK, Some(move || stop.is_over()))?;
            }
            Role::Writer(clearance) => connection.progress_handler(
                OPERATIONS_PER_CHECK,
                Some(move || clearance.is_over_limit() || stop.is_over()),
            )?,
        }
        *lock(&self.running) = Some(connection.get_interrupt_handle());
        Ok(())
    }

    pub(super) fn detach(&self) {
        *lock(&self.running) = None;
    }

    pub(super) fn is_over(&self) -> bool {
        !self.commits.load(Ordering::Relaxed)
            && (self.abandoned.get().is_some() || Instant::now() >= self.deadline)
    }

    /// Passes the point behind which the job cannot be ended early, unless it is over already.
    pub(super) fn begin_commit(&self) -> bool {
        let _running = lock(&self.running);
        if self.is_over() {
            return false;
        }
        self.commits.store(true, Ordering::Relaxed);
        true
    }

    /// Comes back before that point: nothing was committed.
    pub(super) fn retreat(&self) {
        let _running = lock(&self.running);
        self.commits.store(false, Ordering::Relaxed);
    }

    /// From when on a job that has not ended is stuck in one step of SQLite.
    pub(super) fn stuck_from(&self) -> Instant {
        self.abandoned.get().copied().unwrap_or(self.deadline) + GRACE
    }

    /// Gives the job's thread the lowest priority, for good: without a privilege it cannot be raised again. Only Linux
    /// has a priority for each thread.
    pub(super) fn slow_down(&self) {
        #[cfg(target_os = "linux")]
        if let Some(thread) = self.thread.get()
            && let Err(error) = rustix::process::setpriority_process(Some(*thread), 19)
        {
            tracing::debug!(%error, "the priority of a stuck reader cannot be lowered");
        }
    }

    /// Why the job was interrupted.
    pub(super) fn reason(&self) -> Error {
        if self.abandoned.get().is_some() { Error::Cancelled } else { self.timeout_error() }
    }

    /// Ends the job, and tells whether that was still possible.
    pub(super) fn abandon(&self) -> bool {
        let running = lock(&self.running);
        if self.commits.load(Ordering::Relaxed) {
            return false;
        }
        self.abandoned.get_or_init(Instant::now);
        if let Some(handle) = running.as_ref() {
            handle.interrupt();
        }
        true
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

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::process::Pid;

use super::lock;
use crate::model::error::Error;
use crate::sqlite::file::HardenedConnection;
use crate::sqlite::security::Role;
use rusqlite::InterruptHandle;

/// The deadline and the cancellation of one job, shared by its caller and its worker.
pub(super) struct Cancellation {
    limit: Duration,
    deadline: Instant,
    /// When the caller's future was dropped, answered or not.
    cancelled_at: OnceLock<Instant>,
    /// Whether the job's changes are being committed. Then it cannot be ended early. Changes only under the lock of
    /// `running`.
    is_committing: AtomicBool,
    /// The thread that the job runs on.
    #[cfg(target_os = "linux")]
    thread: OnceLock<Pid>,
    /// The handle of the job's connection. It is removed under this lock when the job ends, so that a late interrupt
    /// cannot affect the next job.
    running: Mutex<Option<InterruptHandle>>,
}

/// Operations of SQLite's virtual machine between two checks of the deadline.
const OPERATIONS_PER_CHECK: i32 = 1_000;

/// The time after the end of a job after which its worker counts as stuck.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Longer than any process runs, and within the range of every clock.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

/// The time `wait` after `start`, however long that is.
pub(super) fn deadline(start: Instant, wait: Duration) -> Instant {
    start + wait.min(FAR)
}

impl Cancellation {
    pub(super) fn new(started: Instant, limit: Duration) -> Self {
        Self {
            limit,
            deadline: deadline(started, limit),
            cancelled_at: OnceLock::new(),
            is_committing: AtomicBool::new(false),
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

    /// Applies it to a connection, until [`detach`](Self::detach).
    pub(super) fn attach(
        self: &Arc<Self>,
        connection: &HardenedConnection,
    ) -> rusqlite::Result<()> {
        #[cfg(target_os = "linux")]
        self.thread.get_or_init(rustix::thread::gettid);
        let cancellation = Arc::clone(self);
        let HardenedConnection { inner: connection, role, .. } = connection;
        match role.clone() {
            Role::Reader(_) => {
                connection
                    .progress_handler(OPERATIONS_PER_CHECK, Some(move || cancellation.is_over()))?;
            }
            Role::Writer(writer_state) => connection.progress_handler(
                OPERATIONS_PER_CHECK,
                Some(move || writer_state.is_over_limit() || cancellation.is_over()),
            )?,
        }
        *lock(&self.running) = Some(connection.get_interrupt_handle());
        Ok(())
    }

    pub(super) fn detach(&self) {
        *lock(&self.running) = None;
    }

    pub(super) fn is_over(&self) -> bool {
        !self.is_committing.load(Ordering::Relaxed)
            && (self.cancelled_at.get().is_some() || Instant::now() >= self.deadline)
    }

    /// Begins the commit, after which the job cannot be ended early, unless the job is over already.
    pub(super) fn begin_commit(&self) -> bool {
        let _running = lock(&self.running);
        if self.is_over() {
            return false;
        }
        self.is_committing.store(true, Ordering::Relaxed);
        true
    }

    /// Ends a commit that failed: nothing was committed.
    pub(super) fn end_commit(&self) {
        let _running = lock(&self.running);
        self.is_committing.store(false, Ordering::Relaxed);
    }

    /// The time from which an unfinished job counts as stuck in one step of SQLite.
    pub(super) fn stuck_from(&self) -> Instant {
        self.cancelled_at.get().copied().unwrap_or(self.deadline) + GRACE
    }

    /// Sets the lowest priority for the job's thread. It cannot be raised again without privileges. Only Linux has
    /// priorities of threads.
    pub(super) fn slow_down(&self) {
        #[cfg(target_os = "linux")]
        if let Some(thread) = self.thread.get()
            && let Err(error) = rustix::process::setpriority_process(Some(*thread), 19)
        {
            tracing::debug!(%error, "the priority of a stuck reader cannot be lowered");
        }
    }

    /// The reason for the interruption.
    pub(super) fn reason(&self) -> Error {
        if self.cancelled_at.get().is_some() { Error::Cancelled } else { self.timeout_error() }
    }

    /// Ends the job, and returns whether that was still possible.
    pub(super) fn cancel(&self) -> bool {
        let running = lock(&self.running);
        if self.is_committing.load(Ordering::Relaxed) {
            return false;
        }
        self.cancelled_at.get_or_init(Instant::now);
        if let Some(handle) = running.as_ref() {
            handle.interrupt();
        }
        true
    }
}

/// Cancels the job when the caller's future is dropped, answered or not.
pub(super) struct DropGuard<'s>(&'s Cancellation);

impl<'s> DropGuard<'s> {
    pub(super) fn new(cancellation: &'s Cancellation) -> Self {
        Self(cancellation)
    }
}

impl Drop for DropGuard<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

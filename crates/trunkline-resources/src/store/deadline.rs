use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{Instant as TokioInstant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::Error;

/// The time by which a command must be done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    limit: Duration,
    at: TokioInstant,
}

/// Longer than any process runs, and within the range of every clock.
const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self { limit, at: TokioInstant::now() + limit.min(FAR) }
    }

    pub(super) fn at(self) -> TokioInstant {
        self.at
    }

    /// The remaining time.
    pub(super) fn rest(self) -> Duration {
        self.at.into_std().saturating_duration_since(Instant::now())
    }

    pub(super) fn is_over(self) -> bool {
        self.rest().is_zero()
    }

    pub(super) fn timeout(self) -> Error {
        Error::Timeout { limit: self.limit }
    }

    /// The outcome of `event`; the error is the reason for the end of the wait.
    pub(super) async fn in_time<T>(
        self,
        cancel: &CancellationToken,
        event: impl Future<Output = T>,
    ) -> Result<T, Error> {
        tokio::select! {
            biased;
            outcome = event => Ok(outcome),
            () = cancel.cancelled() => Err(Error::Cancelled),
            () = sleep_until(self.at) => Err(self.timeout()),
        }
    }
}

/// Whether a command was begun, and whether its caller has gone: each side learns which came first.
pub(super) struct Claim {
    state: AtomicU8,
    deadline: Deadline,
}

const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

impl Claim {
    pub(super) fn new(deadline: Deadline) -> Self {
        Self { state: AtomicU8::new(0), deadline }
    }

    /// Begins the command, unless it is over. A thread calls it once.
    pub(super) fn begin(&self) -> bool {
        !self.deadline.is_over()
            && self.state.compare_exchange(0, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The caller goes. True if the command was not begun, and so never will be.
    pub(super) fn abandon(&self) -> bool {
        self.state.fetch_or(ABANDONED, Ordering::AcqRel) & BEGUN == 0
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.state.load(Ordering::Acquire) & ABANDONED != 0
    }

    /// Whether no caller waits for the outcome any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_abandoned() || self.deadline.is_over()
    }

    /// The reason why the command is over.
    pub(super) fn reason(&self) -> Error {
        if self.is_abandoned() { Error::Cancelled } else { self.deadline.timeout() }
    }
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{Instant as TokioInstant, sleep_until};

use crate::error::StoreError;

/// The limits of a task, and whether it was started or abandoned by its caller. Atomic, so that the thread and the caller
/// agree on which happened first.
pub(crate) struct Claim {
    /// An estimate of its memory.
    pub(crate) bytes: usize,
    state: AtomicU8,
    limit: Duration,
    pub(crate) deadline: TokioInstant,
}

const STARTED: u8 = 1;
const ABANDONED: u8 = 2;

/// Longer than the life of any process, and within the range of every clock.
const MAX_LIMIT: Duration = Duration::from_secs(30 * 365 * 86_400);

impl Claim {
    pub(crate) fn new(limit: Duration, bytes: usize) -> Arc<Self> {
        let deadline = TokioInstant::now() + limit.min(MAX_LIMIT);
        Arc::new(Self { bytes, state: AtomicU8::new(0), limit, deadline })
    }

    /// The remaining time.
    pub(crate) fn rest(&self) -> Duration {
        self.deadline.into_std().saturating_duration_since(Instant::now())
    }

    /// Starts the task, or returns the reason why it is over. Called once, by the thread.
    pub(crate) fn begin(&self) -> Result<(), StoreError> {
        if self.is_over() || self.state.fetch_or(STARTED, Ordering::AcqRel) & ABANDONED != 0 {
            return Err(self.reason());
        }
        Ok(())
    }

    /// Abandons the task. Returns true if the task was not started; then it never will be.
    pub(crate) fn abandon(&self) -> bool {
        self.state.fetch_or(ABANDONED, Ordering::AcqRel) & STARTED == 0
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.state.load(Ordering::Acquire) & ABANDONED != 0
    }

    /// Whether the caller no longer waits for the outcome.
    pub(crate) fn is_over(&self) -> bool {
        self.is_abandoned() || self.rest().is_zero()
    }

    /// The reason why the task is over.
    pub(crate) fn reason(&self) -> StoreError {
        if self.is_abandoned() { StoreError::Cancelled } else { self.timeout() }
    }

    fn timeout(&self) -> StoreError {
        StoreError::Timeout { limit: self.limit }
    }

    /// Waits for `event`. The error is the reason why the wait ended.
    pub(crate) async fn in_time<T>(
        &self,
        cancel: impl Future<Output = ()>,
        event: impl Future<Output = T>,
    ) -> Result<T, StoreError> {
        tokio::select! {
            biased;
            outcome = event => Ok(outcome),
            () = cancel => Err(StoreError::Cancelled),
            () = sleep_until(self.deadline) => Err(self.timeout()),
        }
    }
}

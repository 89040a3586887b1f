use std::time::{Duration, Instant};

use tokio::time::{Instant as TokioInstant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::Error;

/// When a command has to be done.
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

    /// How much time is left.
    pub(super) fn rest(self) -> Duration {
        self.at.into_std().saturating_duration_since(Instant::now())
    }

    pub(super) fn is_over(self) -> bool {
        self.rest().is_zero()
    }

    pub(super) fn timeout(self) -> Error {
        Error::Timeout { limit: self.limit }
    }

    /// What `event` results in; the error is why it is waited for no longer.
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

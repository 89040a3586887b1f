//! What is asked again, and when.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use tokio::time::{Instant, sleep};

use super::error::ModelError;
use super::settings::Settings;

/// A request that has failed, and whether it may be made again.
pub(super) struct Retry {
    error: ModelError,
    may: bool,
    /// How long the server wants us to wait.
    after: Option<Duration>,
}

/// Those that are left.
pub(super) struct Retries {
    left: u32,
    next: Duration,
    longest: Duration,
    deadline: Instant,
}

/// Before the first that nobody has said a time for; twice as long before each next one.
const FIRST: Duration = Duration::from_millis(250);

impl Retry {
    pub(super) fn of(error: ModelError) -> Self {
        let may = matches!(error, ModelError::Unreachable(_));
        Self { error, may, after: None }
    }

    pub(super) fn of_status(status: StatusCode, headers: &HeaderMap, reason: String) -> Self {
        let error = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let after = retry_after(headers);
                let error = ModelError::Busy { status, retry_after: after };
                return Self { error, may: true, after };
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ModelError::Unauthorized { status },
            _ => ModelError::Refused { status, reason },
        };
        Self { error, may: false, after: None }
    }
}

impl Retries {
    pub(super) fn new(settings: &Settings, deadline: Instant) -> Self {
        let Settings { max_retries, max_retry_wait, .. } = *settings;
        Self { left: max_retries, next: FIRST, longest: max_retry_wait, deadline }
    }

    /// Waits until the request may be made again; or gives back why it has failed.
    pub(super) async fn wait(&mut self, retry: Retry) -> Result<(), ModelError> {
        let Retry { error, may, after } = retry;
        let wait = after.unwrap_or(self.next);
        let in_time = Instant::now().checked_add(wait).is_some_and(|then| then < self.deadline);
        if !may || self.left == 0 || wait > self.longest || !in_time {
            return Err(error);
        }
        self.left -= 1;
        self.next = self.next.saturating_mul(2).min(self.longest);
        tracing::info!(cause = %error, wait_ms = wait.as_millis() as u64, "the model is asked again");
        sleep(wait).await;
        Ok(())
    }
}

/// The seconds that the header tells. A date in it is as good as nothing: clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

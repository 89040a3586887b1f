//! Retries of failed requests.

use std::time::{Duration, SystemTime};

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use httpdate::parse_http_date;
use tokio::time::{Instant, sleep};

use super::config::ModelConfig;
use super::error::ModelError;

/// A failed request.
pub(super) struct Retry {
    error: ModelError,
    is_retryable: bool,
    /// The wait that the server requests.
    after: Option<Duration>,
}

/// The remaining retries.
pub(super) struct Retries {
    left: u32,
    next_wait: Duration,
    max_wait: Duration,
    deadline: Instant,
}

/// The wait before the first retry if the server requests none. It doubles with each retry.
const FIRST_WAIT: Duration = Duration::from_millis(250);

impl Retry {
    pub(super) fn new(error: ModelError) -> Self {
        let is_retryable = matches!(error, ModelError::Unreachable(_));
        Self { error, is_retryable, after: None }
    }

    pub(super) fn from_status(status: StatusCode, headers: &HeaderMap, reason: String) -> Self {
        let error = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let after = retry_after(headers);
                let error = ModelError::Busy { status, retry_after: after };
                return Self { error, is_retryable: true, after };
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ModelError::Unauthorized { status },
            _ => ModelError::Refused { status, reason },
        };
        Self { error, is_retryable: false, after: None }
    }
}

impl Retries {
    pub(super) fn new(config: &ModelConfig, deadline: Instant) -> Self {
        let ModelConfig { max_retries, max_retry_wait, .. } = *config;
        Self { left: max_retries, next_wait: FIRST_WAIT, max_wait: max_retry_wait, deadline }
    }

    /// Waits until the request may be retried. Returns its error if it may not.
    pub(super) async fn wait(&mut self, retry: Retry) -> Result<(), ModelError> {
        let Retry { error, is_retryable, after } = retry;
        let wait = after.unwrap_or(self.next_wait);
        let in_time = Instant::now().checked_add(wait).is_some_and(|then| then < self.deadline);
        if !is_retryable || self.left == 0 || wait > self.max_wait || !in_time {
            return Err(error);
        }
        self.left -= 1;
        self.next_wait = self.next_wait.saturating_mul(2).min(self.max_wait);
        tracing::info!(cause = %error, wait_ms = wait.as_millis() as u64, "retrying the model request");
        sleep(wait).await;
        Ok(())
    }
}

/// The wait of a `Retry-After` header, which has seconds or a date by the clock of the server.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let after = text(RETRY_AFTER)?;
    if let Ok(seconds) = after.parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = parse_http_date(after).ok()?;
    // Clocks differ: prefer that of the server.
    let now = text(DATE).and_then(|date| parse_http_date(date).ok());
    // A date in the past means no wait.
    Some(then.duration_since(now.unwrap_or_else(SystemTime::now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::header::{DATE, RETRY_AFTER};
    use http::{HeaderMap, HeaderValue};

    use super::retry_after;

    #[test]
    fn parses_retry_after() {
        const NOON: &str = "Sun, 06 Nov 1994 12:00:00 GMT";
        for (after, date, expected) in [
            ("0", NOON, Some(0)),
            (" 2.5 ", NOON, Some(2_500)),
            ("Sun, 06 Nov 1994 12:00:07 GMT", NOON, Some(7_000)),
            ("Sunday, 06-Nov-94 12:01:00 GMT", NOON, Some(60_000)),
            ("Sun Nov  6 12:00:01 1994", NOON, Some(1_000)),
            ("Sun, 06 Nov 1994 11:59:59 GMT", NOON, Some(0)),
            ("Sun, 06 Nov 1994 12:00:07 GMT", "now", Some(0)),
            ("soon", NOON, None),
            ("-1", NOON, None),
            ("NaN", NOON, None),
            ("1e300", NOON, None),
            ("", NOON, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(after));
            headers.insert(DATE, HeaderValue::from_static(date));
            let found = retry_after(&headers);
            assert_eq!(found, expected.map(Duration::from_millis), "{after:?} at {date:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}

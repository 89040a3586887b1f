//! Retries of calls.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, RandomState};
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use tokio::time::Instant;
use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;

use super::error::{Failure, ProtocolError, TransportError};
use super::wire::Wire;

/// The retry policy for calls to idempotent methods. A call is retried if the connection fails or breaks, if
/// the server is busy (-32005) or limits the rate (-32010), and if a gateway returns HTTP 429, 502, 503 or
/// 504. The timeout of the call covers all attempts.
///
/// Layers see a single call, regardless of the number of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The maximum number of attempts, including the first. Default 3.
    pub attempts: u32,
    /// The maximum wait before the second attempt, doubled for each further attempt. Each wait is random up
    /// to this maximum, so that clients that failed together do not retry together. A wait requested by the
    /// server (`data.retry_after_ms`) is added. Default 100 ms.
    pub backoff: Duration,
    /// The upper limit of each wait, not including the wait requested by the server. Default 2 s.
    pub max_backoff: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        let backoff = Duration::from_millis(100);
        Self { attempts: 3, backoff, max_backoff: Duration::from_secs(2) }
    }
}

impl Retry {
    /// Sends a call until it succeeds or fails with an error that is not retried.
    pub(super) async fn run(
        self,
        wire: &Wire,
        call: Call,
        attempts: Attempts,
    ) -> Result<Outcome, Failure> {
        let mut count = 0;
        loop {
            count += 1;
            let result = wire.call(call.duplicate()).await;
            if count >= self.attempts || !is_retryable(&result) {
                return result;
            }
            let wait = requested_wait(&result).saturating_add(self.wait(count, attempts));
            match Instant::now().checked_add(wait) {
                Some(at) if at < attempts.until => tokio::time::sleep_until(at).await,
                // Another attempt would exceed the timeout. The failure is more specific than a timeout error.
                _ => return result,
            }
        }
    }

    /// The wait after this number of attempts.
    fn wait(self, count: u32, Attempts { seed, .. }: Attempts) -> Duration {
        let doubled = self.backoff.saturating_mul(1 << count.saturating_sub(1).min(16));
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let random = hasher.hash_one((seed, count)) as f64 / u64::MAX as f64;
        let longest = doubled.min(self.max_backoff);
        Duration::try_from_secs_f64(longest.as_secs_f64() * random).unwrap_or(longest)
    }
}

/// Marks a call that may be retried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempts {
    until: Instant,
    /// The seed of the random waits. The calls of a batch share it, so that their retries share a message.
    seed: u64,
}

impl Attempts {
    pub(super) fn until(until: Instant) -> Self {
        Self { until, seed: RandomState::new().hash_one(()) }
    }
}

/// The wait requested by the server.
fn requested_wait(result: &Result<Outcome, Failure>) -> Duration {
    #[derive(Deserialize)]
    struct Data {
        retry_after_ms: u64,
    }
    let data = match result {
        Ok(outcome) => outcome.as_result().err().and_then(ErrorObject::data),
        Err(_) => None,
    };
    let data: Option<Data> = data.and_then(|data| serde_json::from_str(data.get()).ok());
    Duration::from_millis(data.map_or(0, |data| data.retry_after_ms))
}

fn is_retryable(result: &Result<Outcome, Failure>) -> bool {
    const GATEWAY: [StatusCode; 4] = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    match result {
        Ok(outcome) => matches!(outcome.code(), Some(code::BUSY | code::RATE_LIMITED)),
        Err(Failure::Transport(error)) => {
            matches!(error, TransportError::Connect { .. } | TransportError::Broken { .. })
        }
        Err(Failure::Protocol(ProtocolError::Refused { status, .. })) => GATEWAY.contains(status),
        Err(Failure::Protocol(_)) => false,
    }
}

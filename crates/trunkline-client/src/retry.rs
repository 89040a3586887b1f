//! Calls that are made again.

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

/// The retries of calls of idempotent methods: when the connection fails or breaks, when the server is
/// busy (-32005) or limits the rate (-32010), and when a gateway reports the same (HTTP 429, 502, 503,
/// 504). All attempts together have the call's timeout.
///
/// Layers see one call, however often it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The maximum number of attempts, including the first. Default 3.
    pub attempts: u32,
    /// The maximum wait before the second attempt; it doubles from attempt to attempt. Each wait is
    /// random up to it, so that clients that failed together do not return together. The time that a
    /// server requests (`data.retry_after_ms`) is added.
    /// Default 100 ms.
    pub backoff: Duration,
    /// The maximum of all waits, without the time that servers request. Default 2 s.
    pub max_backoff: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        let backoff = Duration::from_millis(100);
        Self { attempts: 3, backoff, max_backoff: Duration::from_secs(2) }
    }
}

impl Retry {
    /// Makes a call until it ends in something that another attempt would not better.
    pub(super) async fn run(
        self,
        wire: &Wire,
        call: Call,
        attempts: Attempts,
    ) -> Result<Outcome, Failure> {
        let mut count = 0;
        loop {
            count += 1;
            let ended = wire.call(call.again()).await;
            if count >= self.attempts || !is_worth_another(&ended) {
                return ended;
            }
            let wait = wanted_wait(&ended).saturating_add(self.wait(count, attempts));
            match Instant::now().checked_add(wait) {
                Some(at) if at < attempts.until => tokio::time::sleep_until(at).await,
                // Too late for another attempt. The failure is more specific than a timeout.
                _ => return ended,
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

/// Marks a call that may be made again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempts {
    until: Instant,
    /// The source of random waits. The calls of a batch share it, and so their retries share a message.
    seed: u64,
}

impl Attempts {
    pub(super) fn until(until: Instant) -> Self {
        Self { until, seed: RandomState::new().hash_one(()) }
    }
}

/// The wait that the server asks for.
fn wanted_wait(ended: &Result<Outcome, Failure>) -> Duration {
    #[derive(Deserialize)]
    struct Data {
        retry_after_ms: u64,
    }
    let data = match ended {
        Ok(outcome) => outcome.as_result().err().and_then(ErrorObject::data),
        Err(_) => None,
    };
    let wanted: Option<Data> = data.and_then(|data| serde_json::from_str(data.get()).ok());
    Duration::from_millis(wanted.map_or(0, |data| data.retry_after_ms))
}

fn is_worth_another(ended: &Result<Outcome, Failure>) -> bool {
    const GATEWAY: [StatusCode; 4] = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    match ended {
        Ok(outcome) => matches!(outcome.code(), Some(code::BUSY | code::RATE_LIMITED)),
        Err(Failure::Transport(error)) => {
            matches!(error, TransportError::Connect { .. } | TransportError::Broken { .. })
        }
        Err(Failure::Protocol(ProtocolError::Refused { status, .. })) => GATEWAY.contains(status),
        Err(Failure::Protocol(_)) => false,
    }
}

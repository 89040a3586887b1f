//! Calls that are made again.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;
use tower::{Layer, Service};

use super::error::Failure;
use crate::call::Call;
use crate::error::{BoxError, ErrorObject, code};
use crate::outcome::Outcome;

/// Whether and how often calls of idempotent methods are made again: after a failure of the
/// transport, and when the server says that it is busy (-32005) or was asked too often (-32010). All
/// attempts together have the call's timeout.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retry {
    /// How often a call is made at most, the first time included. Default 3.
    pub attempts: u32,
    /// The longest wait before the second attempt; it doubles from attempt to attempt. Each wait is
    /// chosen at random up to it, so that clients that failed together do not come back together.
    /// Default 100 ms.
    pub backoff: Duration,
    /// The longest wait of all. Default 2 s.
    pub max_backoff: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        let backoff = Duration::from_millis(100);
        Self { attempts: 3, backoff, max_backoff: Duration::from_secs(2) }
    }
}

impl Retry {
    /// How long to wait after so many attempts.
    fn wait(&self, attempts: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(1 << attempts.saturating_sub(1).min(16));
        let random = RandomState::new().hash_one(attempts) as f64 / u64::MAX as f64;
        doubled.min(self.max_backoff).mul_f64(random)
    }
}

/// Marks a call that may be made again until then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idempotent {
    pub(super) until: Instant,
}

#[derive(Debug, Clone)]
pub(super) struct RetryLayer(Retry);

impl RetryLayer {
    pub(super) fn new(retry: Retry) -> Self {
        Self(retry)
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retrying<S>;

    fn layer(&self, inner: S) -> Retrying<S> {
        Retrying { inner, retry: self.0.clone() }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Retrying<S> {
    inner: S,
    retry: Retry,
}

impl<S> Service<Call> for Retrying<S>
where
    S: Service<Call, Response = Outcome, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Outcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Outcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match call.extensions().get::<Idempotent>() {
            Some(&Idempotent { until }) if self.retry.attempts > 1 => {
                Box::pin(run(self.inner.clone(), self.retry.clone(), call, until))
            }
            _ => Box::pin(self.inner.call(call)),
        }
    }
}

async fn run<S>(
    mut service: S,
    retry: Retry,
    call: Call,
    until: Instant,
) -> Result<Outcome, BoxError>
where
    S: Service<Call, Response = Outcome, Error = BoxError> + Send,
{
    let mut attempts = 0;
    loop {
        attempts += 1;
        let ended = service.call(call.again()).await;
        if attempts >= retry.attempts || !is_worth_another(&ended) {
            return ended;
        }
        let at = Instant::now() + retry.wait(attempts).max(wanted_wait(&ended));
        // There is no time for another attempt: what went wrong says more than that time is up.
        if at >= until {
            return ended;
        }
        tokio::time::sleep_until(at).await;
    }
}

/// How long the server wants us to wait, if it says so.
fn wanted_wait(ended: &Result<Outcome, BoxError>) -> Duration {
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

fn is_worth_another(ended: &Result<Outcome, BoxError>) -> bool {
    match ended {
        Ok(outcome) => matches!(outcome.code(), Some(code::BUSY | code::RATE_LIMITED)),
        Err(error) => matches!(error.downcast_ref(), Some(Failure::Transport(_))),
    }
}

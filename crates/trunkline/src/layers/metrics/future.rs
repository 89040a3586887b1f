use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::Counters;
use crate::outcome::Outcome;
use crate::router::Registered;

/// The future of a call that is counted.
pub struct MetricsFuture<F> {
    inner: F,
    count: Count,
}

pub(super) enum Method {
    Registered(Arc<Registered>),
    Unknown(Arc<Counters>),
    Uncounted,
}

/// Counts a call as cancelled when it is dropped before its end.
struct Count {
    method: Method,
    ended: bool,
}

impl<F> MetricsFuture<F> {
    /// The count starts before the call does, since a handler that is not async runs in `start`.
    pub(super) fn new(method: Method, start: impl FnOnce() -> F) -> Self {
        let count = Count { method, ended: false };
        if let Some(counters) = count.counters() {
            counters.start();
        }
        Self { inner: start(), count }
    }
}

impl<F> Future for MetricsFuture<F>
where
    F: Future<Output = Result<Outcome, Infallible>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Ok(outcome) = ready!(Pin::new(&mut self.inner).poll(cx));
        self.count.ended = true;
        if let Some(counters) = self.count.counters() {
            counters.end(outcome.code());
        }
        Poll::Ready(Ok(outcome))
    }
}

impl Count {
    fn counters(&self) -> Option<&Counters> {
        match &self.method {
            Method::Registered(operation) => Some(operation.counters()),
            Method::Unknown(counters) => Some(counters),
            Method::Uncounted => None,
        }
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        if !self.ended
            && let Some(counters) = self.counters()
        {
            counters.cancel();
        }
    }
}

impl<F> fmt::Debug for MetricsFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsFuture")
    }
}

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use crate::call::Registered;
use crate::metrics::{Counters, End};
use crate::outcome::Outcome;

/// The future of a call that is counted.
pub struct MetricsFuture<F> {
    inner: F,
    count: Option<Count>,
}

pub(super) enum Method {
    Registered(Arc<Registered>),
    Other(Arc<Counters>),
}

/// Counts a call as cancelled when it is dropped before its end.
struct Count {
    method: Method,
    started: Instant,
    end: End,
}

impl<F> MetricsFuture<F> {
    /// The count starts before the call does, since a handler that is not async runs in `start`.
    pub(super) fn new(method: Option<Method>, start: impl FnOnce() -> F) -> Self {
        let count = method.map(Count::new);
        Self { inner: start(), count }
    }
}

impl<F, E> Future for MetricsFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = ready!(Pin::new(&mut self.inner).poll(cx));
        if let Some(mut count) = self.count.take() {
            count.end = match &ended {
                Ok(outcome) => End::of(outcome.code()),
                Err(_) => End::Failed,
            };
        }
        Poll::Ready(ended)
    }
}

impl Count {
    fn new(method: Method) -> Self {
        method.counters().start();
        Self { method, started: Instant::now(), end: End::Cancelled }
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.method.counters().end(self.end, self.started.elapsed());
    }
}

impl Method {
    fn counters(&self) -> &Counters {
        match self {
            Self::Registered(operation) => operation.counters(),
            Self::Other(counters) => counters,
        }
    }
}

impl<F> fmt::Debug for MetricsFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsFuture")
    }
}

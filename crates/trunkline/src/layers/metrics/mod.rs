//! Counters for each method.

mod counters;
mod future;
mod layer;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use crate::call::Call;
use crate::outcome::Outcome;

pub(crate) use counters::Counters;
pub use counters::MethodMetrics;
use future::Method;
pub use future::MetricsFuture;
pub use layer::MetricsLayer;

/// Counts calls, failures and cancellations.
///
/// Calls of registered methods are counted under their names, all others together: a client
/// cannot make new labels.
#[derive(Debug, Clone)]
pub struct Metrics<S> {
    inner: S,
    unknown: Arc<Counters>,
    on: bool,
}

impl<S> Service<Call> for Metrics<S>
where
    S: Service<Call, Response = Outcome, Error = Infallible>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = Infallible;
    type Future = MetricsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let method = match call.operation() {
            _ if !self.on => Method::Uncounted,
            Some(operation) => Method::Registered(Arc::clone(operation)),
            None => Method::Unknown(Arc::clone(&self.unknown)),
        };
        MetricsFuture::new(method, || self.inner.call(call))
    }
}

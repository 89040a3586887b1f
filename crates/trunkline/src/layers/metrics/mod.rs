//! Counters and durations for each method, and `GET /metrics`.

mod future;
mod layer;
mod text;

use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use crate::call::Call;
use crate::outcome::Outcome;

pub use crate::endpoints::metrics::door;
pub use crate::metrics::{Histogram, MethodMetrics};
pub use future::MetricsFuture;
pub use layer::MetricsLayer;
pub use text::{MEDIA_TYPE, text};

use future::Method;
use layer::Others;

/// Counts calls, failures and cancellations, and how long they take.
///
/// Calls of registered methods are counted under their names, all others together: a client
/// cannot make new labels.
#[derive(Debug, Clone)]
pub struct Metrics<S> {
    inner: S,
    others: Arc<Others>,
    on: bool,
}

impl<S, E> Service<Call> for Metrics<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = MetricsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let method = self.on.then(|| match call.operation() {
            Some(operation) => Method::Registered(Arc::clone(operation)),
            None => Method::Other(Arc::clone(self.others.of(&call.method()))),
        });
        MetricsFuture::new(method, || self.inner.call(call))
    }
}

//! A limit on the calls that run at the same time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::ready;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use trunkline_core::call::{Call, CallFuture};

use super::layered::{CallLayer, CallService, layer};
use super::timeout::ClientWait;

/// Limits the calls that run at the same time, over all services that this layer wraps. The others wait for a permit.
///
/// Handlers that are not async are not counted: they run on the threads of the runtime without
/// interruption, so the number of threads limits them. A call that waits for its client ([`ClientWait`]) is not counted
/// during the wait, so that clients that do not respond do not use up the permits.
///
/// A call waits in its future, not in `poll_ready`, so that a timeout around this layer includes the wait.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimitLayer {
    permits: Option<Arc<Semaphore>>,
}

impl ConcurrencyLimitLayer {
    /// At most `calls` run at the same time.
    #[must_use]
    pub fn new(calls: usize) -> Self {
        Self::optional(Some(calls))
    }

    pub(crate) fn optional(calls: Option<usize>) -> Self {
        let semaphore = |calls: usize| Arc::new(Semaphore::new(calls.min(Semaphore::MAX_PERMITS)));
        Self { permits: calls.map(semaphore) }
    }
}

layer!(ConcurrencyLimitLayer);

impl CallLayer for ConcurrencyLimitLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        let immediate = call.operation().is_some_and(|operation| operation.is_immediate());
        let Some(permits) = self.permits.as_ref().filter(|_| !immediate) else {
            return inner.run(call);
        };
        let waits = call.extensions().get::<ClientWait>().cloned();
        let (permits, permit) = (Arc::clone(permits), Arc::clone(permits).try_acquire_owned().ok());
        let Some(permit) = permit else {
            let mut inner = inner.take();
            return CallFuture::boxed(async move {
                // The semaphore is never closed.
                let permit = Arc::clone(&permits).acquire_owned().await.ok();
                running(inner.run(call), permits, permit, waits).await
            });
        };
        let future = inner.run(call);
        if future.is_ready() { future } else { running(future, permits, Some(permit), waits) }
    }
}

/// The future of a call that has a permit, except during the waits for its client.
fn running<E: Send + 'static>(
    future: CallFuture<E>,
    permits: Arc<Semaphore>,
    mut permit: Option<OwnedSemaphorePermit>,
    wait: Option<ClientWait>,
) -> CallFuture<E> {
    let mut next: Option<Acquire> = None;
    future.polled_by(move |future, cx| {
        let is_waiting = || wait.as_ref().is_some_and(ClientWait::is_current);
        if permit.is_some() || is_waiting() {
            next = None;
        } else {
            let next = next.get_or_insert_with(|| Box::pin(Arc::clone(&permits).acquire_owned()));
            // The semaphore is never closed.
            permit = ready!(next.as_mut().poll(cx)).ok();
        }
        let polled = Pin::new(future).poll(cx);
        if polled.is_ready() || is_waiting() {
            permit = None;
        }
        polled
    })
}

type Acquire = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

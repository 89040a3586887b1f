//! A bound on the calls that run at the same time.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tower::{Layer, Service};

use trunkline_core::call::Call;
use trunkline_core::outcome::Outcome;

/// Bounds the calls that run at the same time, over all that this layer wraps.
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

impl<S> Layer<S> for ConcurrencyLimitLayer {
    type Service = ConcurrencyLimit<S>;

    fn layer(&self, inner: S) -> ConcurrencyLimit<S> {
        ConcurrencyLimit { inner, permits: self.permits.clone() }
    }
}

/// Lets a number of calls run and the others wait for their turn.
///
/// Handlers that are not async are not counted: each runs on its thread to its end, so the
/// runtime's threads bound them.
///
/// All clones share one count. It waits in the call's future, not in `poll_ready`, so a timeout
/// around it counts the wait too.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit<S> {
    inner: S,
    permits: Option<Arc<Semaphore>>,
}

impl<S, E> Service<Call> for ConcurrencyLimit<S>
where
    S: Service<Call, Response = Outcome, Error = E> + Clone + Unpin,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = ConcurrencyLimitFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let immediate = call.operation().is_some_and(|operation| operation.is_immediate());
        let Some(permits) = self.permits.as_ref().filter(|_| !immediate) else {
            return ConcurrencyLimitFuture::running(self.inner.call(call), None);
        };
        match Arc::clone(permits).try_acquire_owned() {
            Ok(permit) => ConcurrencyLimitFuture::running(self.inner.call(call), Some(permit)),
            Err(_) => {
                ConcurrencyLimitFuture::waiting(self.inner.clone(), call, Arc::clone(permits))
            }
        }
    }
}

/// The future of a call that may have to wait for its turn.
pub struct ConcurrencyLimitFuture<S: Service<Call>>(State<S>);

enum State<S: Service<Call>> {
    Waiting { service: S, call: Option<Call>, permit: Acquire },
    Running { inner: S::Future, permit: Option<OwnedSemaphorePermit> },
}

type Acquire = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

impl<S: Service<Call>> ConcurrencyLimitFuture<S> {
    fn running(inner: S::Future, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self(State::Running { inner, permit })
    }

    fn waiting(service: S, call: Call, permits: Arc<Semaphore>) -> Self {
        let permit = Box::pin(permits.acquire_owned());
        Self(State::Waiting { service, call: Some(call), permit })
    }
}

impl<S, E> Future for ConcurrencyLimitFuture<S>
where
    S: Service<Call, Response = Outcome, Error = E> + Unpin,
    S::Future: Unpin,
{
    type Output = Result<Outcome, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut self.0 {
                State::Running { inner, permit } => {
                    let outcome = ready!(Pin::new(inner).poll(cx));
                    *permit = None;
                    return Poll::Ready(outcome);
                }
                State::Waiting { service, call, permit } => {
                    // The semaphore is never closed.
                    let permit = ready!(permit.as_mut().poll(cx)).ok();
                    let call = call.take().expect("a call waits until it runs");
                    let inner = service.call(call);
                    self.0 = State::Running { inner, permit };
                }
            }
        }
    }
}

impl<S: Service<Call>> fmt::Debug for ConcurrencyLimitFuture<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConcurrencyLimitFuture")
    }
}

//! A limit on the calls that run at the same time.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tower::{Layer, Service};

use trunkline_core::call::Call;
use trunkline_core::outcome::Outcome;

/// Limits the calls that run at the same time, over all services that this layer wraps.
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

/// Runs a limited number of calls; the others wait for a permit.
///
/// Handlers that are not async are not counted: they run on the threads of the runtime without
/// interruption, so the number of threads limits them.
///
/// All clones share the permits. A call waits in its future, not in `poll_ready`, so that a timeout
/// around this service includes the wait.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit<S> {
    inner: S,
    permits: Option<Arc<Semaphore>>,
}

impl<S, E> Service<Call> for ConcurrencyLimit<S>
where
    S: Service<Call, Response = Outcome, Error = E> + Clone,
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
                // Only the service that was polled is ready, its clone may not be.
                let clone = self.inner.clone();
                let service = mem::replace(&mut self.inner, clone);
                ConcurrencyLimitFuture::waiting(service, call, Arc::clone(permits))
            }
        }
    }
}

pin_project! {
    /// The future of a call that may wait for a permit.
    pub struct ConcurrencyLimitFuture<S: Service<Call>> {
        #[pin]
        state: State<S, S::Future>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, F> {
        Waiting { start: Option<(S, Call)>, permit: Acquire },
        Running { #[pin] inner: F, permit: Option<OwnedSemaphorePermit> },
    }
}

impl<S: Service<Call>> ConcurrencyLimitFuture<S> {
    fn running(inner: S::Future, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self { state: State::Running { inner, permit } }
    }

    fn waiting(service: S, call: Call, permits: Arc<Semaphore>) -> Self {
        let permit = Box::pin(permits.acquire_owned());
        Self { state: State::Waiting { start: Some((service, call)), permit } }
    }
}

type Acquire = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

impl<S, E> Future for ConcurrencyLimitFuture<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Output = Result<Outcome, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProjection::Running { inner, permit } => {
                    let outcome = ready!(inner.poll(cx));
                    *permit = None;
                    return Poll::Ready(outcome);
                }
                StateProjection::Waiting { start, permit } => {
                    // The semaphore is never closed.
                    let permit = ready!(permit.as_mut().poll(cx)).ok();
                    let (mut service, call) = start.take().expect("a call starts once");
                    let inner = service.call(call);
                    state.set(State::Running { inner, permit });
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

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

use super::timeout::ClientWait;

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
/// interruption, so the number of threads limits them. A call that waits for its client ([`ClientWait`]) is not counted
/// during the wait, so that clients that do not respond do not use up the permits.
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
            return ConcurrencyLimitFuture::new(State::running(self.inner.call(call), None), None);
        };
        let wait = call.extensions().get::<ClientWait>().cloned();
        let waits = wait.map(|wait| Waits { wait, permits: Arc::clone(permits), permit: None });
        let state = match Arc::clone(permits).try_acquire_owned() {
            Ok(permit) => State::running(self.inner.call(call), Some(permit)),
            Err(_) => {
                // Only the service that was polled is ready, its clone may not be.
                let clone = self.inner.clone();
                let service = mem::replace(&mut self.inner, clone);
                State::Waiting { start: Some((service, call)), permit: acquire(permits) }
            }
        };
        ConcurrencyLimitFuture::new(state, waits)
    }
}

pin_project! {
    /// The future of a call that may wait for a permit.
    pub struct ConcurrencyLimitFuture<S: Service<Call>> {
        #[pin]
        state: State<S, S::Future>,
        waits: Option<Waits>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, F> {
        Waiting { start: Option<(S, Call)>, permit: Acquire },
        Running { #[pin] inner: F, permit: Option<OwnedSemaphorePermit> },
    }
}

/// The waits of a call for its client, during which it has no permit.
struct Waits {
    wait: ClientWait,
    permits: Arc<Semaphore>,
    /// The next permit, after a wait.
    permit: Option<Acquire>,
}

impl<S, F> State<S, F> {
    fn running(inner: F, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self::Running { inner, permit }
    }
}

impl<S: Service<Call>> ConcurrencyLimitFuture<S> {
    fn new(state: State<S, S::Future>, waits: Option<Waits>) -> Self {
        Self { state, waits }
    }
}

impl Waits {
    /// Waits for a permit if the call has none and does not wait for its client.
    fn poll_permit(
        &mut self,
        held: &mut Option<OwnedSemaphorePermit>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if held.is_some() || self.wait.is_current() {
            self.permit = None;
            return Poll::Ready(());
        }
        let permit = self.permit.get_or_insert_with(|| acquire(&self.permits));
        // The semaphore is never closed.
        *held = ready!(permit.as_mut().poll(cx)).ok();
        self.permit = None;
        Poll::Ready(())
    }
}

fn acquire(permits: &Arc<Semaphore>) -> Acquire {
    Box::pin(Arc::clone(permits).acquire_owned())
}

type Acquire = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

impl<S, E> Future for ConcurrencyLimitFuture<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Output = Result<Outcome, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (mut state, waits) = (this.state, this.waits);
        loop {
            match state.as_mut().project() {
                StateProjection::Running { inner, permit } => {
                    if let Some(waits) = waits {
                        ready!(waits.poll_permit(permit, cx));
                    }
                    let polled = inner.poll(cx);
                    let is_waiting = waits.as_ref().is_some_and(|waits| waits.wait.is_current());
                    if polled.is_ready() || is_waiting {
                        *permit = None;
                    }
                    return polled;
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

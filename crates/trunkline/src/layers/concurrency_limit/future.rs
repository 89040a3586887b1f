use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tower::Service;

use crate::call::Call;
use crate::outcome::Outcome;

/// The future of a call that may have to wait for its turn.
pub struct ConcurrencyLimitFuture<S: Service<Call>>(State<S>);

enum State<S: Service<Call>> {
    Waiting { service: S, call: Option<Call>, permit: Acquire },
    Running { inner: S::Future, permit: Option<OwnedSemaphorePermit> },
}

type Acquire = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

impl<S: Service<Call>> ConcurrencyLimitFuture<S> {
    pub(super) fn running(inner: S::Future, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self(State::Running { inner, permit })
    }

    pub(super) fn waiting(service: S, call: Call, permits: Arc<Semaphore>) -> Self {
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

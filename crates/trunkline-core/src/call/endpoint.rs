//! Services of calls whose types are erased.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tower_service::Service;

use super::Call;
use super::future::CallFuture;
use crate::outcome::Outcome;

/// A service of calls whose type is erased: a handler with its layers, or in a client the server with its layers. It is
/// always ready. Cloning is cheap.
pub struct Endpoint<E = Infallible>(Arc<dyn Fn(Call) -> CallFuture<E> + Send + Sync>);

impl<E: Send + 'static> Endpoint<E> {
    /// An endpoint that passes calls to a function.
    pub fn new(call: impl Fn(Call) -> CallFuture<E> + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    /// An endpoint from a service, whose readiness each call awaits.
    pub fn from_service<S>(service: S) -> Self
    where
        S: Service<Call, Response = Outcome, Error = E> + Clone + Send + Sync + 'static,
        S::Future: Send,
    {
        Self::new(move |call| run_when_ready(service.clone(), call))
    }

    /// Calls the service.
    #[inline]
    pub fn run(&self, call: Call) -> CallFuture<E> {
        (self.0)(call)
    }
}

/// Calls a service when it is ready.
#[inline]
pub fn run_when_ready<S>(mut service: S, call: Call) -> CallFuture<S::Error>
where
    S: Service<Call, Response = Outcome, Error: Send, Future: Send> + Send + 'static,
{
    // Most services are ready. The waker is replaced if this one is not.
    match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(())) => CallFuture::of(service.call(call)),
        Poll::Ready(Err(error)) => CallFuture::value(Err(error)),
        Poll::Pending => CallFuture::boxed(async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            service.call(call).await
        }),
    }
}

impl<E: Send + 'static> Service<Call> for Endpoint<E> {
    type Response = Outcome;
    type Error = E;
    type Future = CallFuture<E>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture<E> {
        self.run(call)
    }
}

impl<E> Clone for Endpoint<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E> fmt::Debug for Endpoint<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

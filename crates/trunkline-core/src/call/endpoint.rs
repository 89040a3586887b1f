//! Handlers with their layers, as services.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use super::Call;
use super::future::CallFuture;
use crate::outcome::Outcome;

/// A handler with its layers, as a service. Layers wrap endpoints.
#[derive(Clone)]
pub struct Endpoint(Arc<dyn Route>);

/// The type-erased handler of a call.
pub(crate) trait Route: Send + Sync {
    fn call(&self, call: Call) -> CallFuture;
}

impl Endpoint {
    pub(crate) fn new(route: impl Route + 'static) -> Self {
        Self(Arc::new(route))
    }

    /// An endpoint from a service, which must always be ready.
    pub fn from_service<T>(service: T) -> Self
    where
        T: Service<Call, Response = Outcome, Error = Infallible> + Clone + Send + Sync + 'static,
        T::Future: Send,
    {
        Self::new(Boxed(service))
    }

    pub(crate) fn call(&self, call: Call) -> CallFuture {
        self.0.call(call)
    }
}

impl Service<Call> for Endpoint {
    type Response = Outcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        self.0.call(call)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

struct Boxed<T>(T);

impl<T> Route for Boxed<T>
where
    T: Service<Call, Response = Outcome, Error = Infallible> + Clone + Send + Sync + 'static,
    T::Future: Send,
{
    fn call(&self, call: Call) -> CallFuture {
        // Called when the future is polled, so that the service does not run before that.
        let mut service = self.0.clone();
        CallFuture::from_future(async move {
            let Ok(outcome) = service.call(call).await;
            outcome
        })
    }
}

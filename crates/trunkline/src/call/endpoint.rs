//! Handlers with the layers around them, as services.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::{Layer, Service};

use super::Call;
use super::future::CallFuture;
use super::oneshot::Oneshot;
use crate::error::{BoxError, ErrorObject, RpcError, code};
use crate::outcome::Outcome;

/// A handler with its layers, as a service. This is what a [layer](crate::Router::layer) wraps.
#[derive(Clone)]
pub struct Endpoint(Arc<dyn Route>);

/// Where types end: the one erasure between a call and its handler.
pub(crate) trait Route: Send + Sync {
    fn call(&self, call: Call) -> CallFuture;
}

impl Endpoint {
    pub(crate) fn new(route: impl Route + 'static) -> Self {
        Self(Arc::new(route))
    }

    pub(crate) fn call(&self, call: Call) -> CallFuture {
        self.0.call(call)
    }

    /// This endpoint inside `layer`.
    pub(crate) fn layered<L>(self, layer: &L) -> Self
    where
        L: Layer<Self>,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError>,
        <L::Service as Service<Call>>::Future: Send,
    {
        Self(Arc::new(Layered(layer.layer(self))))
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

struct Layered<T>(T);

impl<T> Route for Layered<T>
where
    T: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
    T::Error: Into<BoxError>,
    T::Future: Send,
{
    fn call(&self, call: Call) -> CallFuture {
        let service = self.0.clone();
        CallFuture::later(async move {
            match Oneshot::new(service, call).await {
                Ok(outcome) => outcome,
                Err(error) => outcome_of(error.into()),
            }
        })
    }
}

/// The policy for errors of tower's own layers and of any other:
///
/// | error | reply |
/// |---|---|
/// | [`ErrorObject`] | itself |
/// | tower's `Elapsed` | -32004 timed out |
/// | tower's `Overloaded` | -32005 busy |
/// | any other | -32603, and the cause goes to the log |
pub(crate) fn outcome_of(error: BoxError) -> Outcome {
    if error.is::<tower::timeout::error::Elapsed>() {
        return Outcome::error(ErrorObject::new(code::TIMEOUT, "Call timed out"));
    }
    if error.is::<tower::load_shed::error::Overloaded>() {
        return Outcome::error(ErrorObject::new(code::BUSY, "Server is busy"));
    }
    Outcome::error(error.into_error_object())
}

//! The server as a tower service, wrapped in the layers of a client.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::util::Oneshot;
use tower::{Layer, Service};
use trunkline_core::call::Call;
use trunkline_core::error::BoxError;
use trunkline_core::outcome::Outcome;

use super::retry::{Attempts, Retry};
use super::wire::Wire;

/// The server, wrapped in the layers added so far. [`Client::layer`](super::Client::layer) adds a layer. Its
/// errors are [`Failure`](super::Failure)s and the errors of layers.
#[derive(Clone)]
pub struct Remote(Arc<dyn Route>);

/// The future outcome of a remote call.
pub struct RemoteFuture(Answer);

type Answer = Pin<Box<dyn Future<Output = Result<Outcome, BoxError>> + Send>>;

/// A service whose layer types are erased.
trait Route: Send + Sync {
    fn call(&self, call: Call) -> Answer;
}

impl Remote {
    pub(super) fn new(wire: Arc<Wire>, retry: Option<Retry>) -> Self {
        Self(Arc::new(Direct { wire, retry }))
    }

    pub(super) fn layered<L>(self, layer: &L) -> Self
    where
        L: Layer<Self>,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError>,
        <L::Service as Service<Call>>::Future: Send,
    {
        Self(Arc::new(Layered(layer.layer(self))))
    }
}

struct Direct {
    wire: Arc<Wire>,
    retry: Option<Retry>,
}

impl Route for Direct {
    fn call(&self, call: Call) -> Answer {
        let wire = Arc::clone(&self.wire);
        match (self.retry, call.extensions().get::<Attempts>()) {
            (Some(retry), Some(&attempts)) => {
                Box::pin(
                    async move { retry.run(&wire, call, attempts).await.map_err(BoxError::from) },
                )
            }
            _ => Box::pin(async move { wire.call(call).await.map_err(BoxError::from) }),
        }
    }
}

struct Layered<T>(T);

impl<T> Route for Layered<T>
where
    T: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
    T::Error: Into<BoxError>,
    T::Future: Send,
{
    fn call(&self, call: Call) -> Answer {
        let service = self.0.clone();
        Box::pin(async move { Oneshot::new(service, call).await.map_err(Into::into) })
    }
}

impl Service<Call> for Remote {
    type Response = Outcome;
    type Error = BoxError;
    type Future = RemoteFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> RemoteFuture {
        RemoteFuture(self.0.call(call))
    }
}

impl Future for RemoteFuture {
    type Output = Result<Outcome, BoxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remote")
    }
}

impl fmt::Debug for RemoteFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteFuture")
    }
}

//! Erased handlers and the layers around them.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::{Layer, Service};

use super::handler::Handler;
use super::reply::CallFuture;
use crate::blocking::Pool;
use crate::call::Call;
use crate::error::BoxError;
use crate::layers::handle_error::outcome_of;
use crate::oneshot::Oneshot;
use crate::outcome::Outcome;

/// A handler with its layers, as a service. This is what a [layer](crate::Router::layer) wraps.
#[derive(Clone)]
pub struct Endpoint(Arc<dyn Route>);

/// Where types end: the one erasure between a call and its handler.
trait Route: Send + Sync {
    fn call(&self, call: Call) -> CallFuture;
}

impl Endpoint {
    pub(super) fn call(&self, call: Call) -> CallFuture {
        self.0.call(call)
    }

    /// This endpoint inside `layer`.
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

struct Handled<H, M, S> {
    handler: H,
    state: S,
    pool: Pool,
    marker: PhantomData<fn() -> M>,
}

impl<H: Handler<M, S>, M, S: Send + Sync> Route for Handled<H, M, S> {
    fn call(&self, mut call: Call) -> CallFuture {
        if let Some(error) = call.take_refusal() {
            return CallFuture::ready(Outcome::error(error));
        }
        self.handler.call(call, &self.state, &self.pool)
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

/// A handler that waits for its state.
pub(super) trait MakeEndpoint<S>: Send {
    fn make(self: Box<Self>, state: S, pool: &Pool) -> Endpoint;
}

pub(super) struct Unbound<H, M> {
    pub(super) handler: H,
    pub(super) marker: PhantomData<fn() -> M>,
}

impl<H, M, S> MakeEndpoint<S> for Unbound<H, M>
where
    H: Handler<M, S>,
    M: 'static,
    S: Send + Sync + 'static,
{
    fn make(self: Box<Self>, state: S, pool: &Pool) -> Endpoint {
        let pool = pool.clone();
        Endpoint(Arc::new(Handled { handler: self.handler, state, pool, marker: PhantomData }))
    }
}

/// A handler whose state has been given before the router was built.
pub(super) struct Bound<S> {
    pub(super) make: Box<dyn MakeEndpoint<S>>,
    pub(super) state: S,
}

impl<S: Send, S2> MakeEndpoint<S2> for Bound<S> {
    fn make(self: Box<Self>, _: S2, pool: &Pool) -> Endpoint {
        self.make.make(self.state, pool)
    }
}

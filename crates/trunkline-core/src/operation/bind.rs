//! Handlers with their state.

use std::marker::PhantomData;

use super::handler::Handler;
use crate::call::{Call, CallFuture, Endpoint, Route};
use crate::outcome::Outcome;

struct HandlerEndpoint<H, M, S> {
    handler: H,
    state: S,
    marker: PhantomData<fn() -> M>,
}

impl<H: Handler<M, S>, M, S: Send + Sync> Route for HandlerEndpoint<H, M, S> {
    fn call(&self, mut call: Call) -> CallFuture {
        if let Some(error) = call.take_refusal() {
            return CallFuture::ready(Outcome::error(error));
        }
        self.handler.call(call, &self.state)
    }
}

/// A handler without its state.
pub(super) trait MakeEndpoint<S>: Send {
    fn make(self: Box<Self>, state: S) -> Endpoint;
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
    fn make(self: Box<Self>, state: S) -> Endpoint {
        Endpoint::new(HandlerEndpoint { handler: self.handler, state, marker: PhantomData })
    }
}

/// A handler whose state was set before the router is built.
pub(super) struct Bound<S> {
    pub(super) make: Box<dyn MakeEndpoint<S>>,
    pub(super) state: S,
}

impl<S: Send, S2> MakeEndpoint<S2> for Bound<S> {
    fn make(self: Box<Self>, _: S2) -> Endpoint {
        self.make.make(self.state)
    }
}

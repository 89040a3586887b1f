//! Operations: what is registered, and what every door may know of it.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

use super::handler::Handler;
use super::route::{Bound, Endpoint, MakeEndpoint, Unbound};
use crate::blocking::Pool;

/// An operation to register: a name, a handler, and what describes it.
pub struct Operation<S = ()> {
    pub(super) description: Description,
    make: Box<dyn MakeEndpoint<S>>,
    immediate: bool,
    pub(super) layers: Vec<LayerFn>,
    pub(super) place: &'static Location<'static>,
}

/// Wraps an endpoint in one layer.
pub(super) type LayerFn = std::sync::Arc<dyn Fn(Endpoint) -> Endpoint + Send + Sync>;

/// What is known of an operation apart from its handler.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Description {
    /// The method's name: `namespace.verb`.
    pub name: String,
    /// What it does, for people and models.
    pub text: Option<String>,
    /// The names of its params, in the order of their positions.
    pub params: Vec<&'static str>,
}

impl<S> Operation<S> {
    /// An operation that is called `name` and answered by `handler`.
    #[track_caller]
    pub fn new<H, M>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M, S>,
        M: 'static,
        S: Send + Sync + 'static,
    {
        let params = handler.declared();
        let immediate = handler.is_immediate();
        let description = Description { name: name.into(), text: None, params };
        let make = Box::new(Unbound { handler, marker: PhantomData });
        Self { description, make, immediate, layers: Vec::new(), place: Location::caller() }
    }

    /// Says what the operation does, for people and models.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description.text = Some(text.into());
        self
    }

    /// The same operation with its state given.
    pub(super) fn bind<S2>(self, state: S) -> Operation<S2>
    where
        S: Send + 'static,
    {
        let make = Box::new(Bound { make: self.make, state });
        Operation {
            description: self.description,
            make,
            immediate: self.immediate,
            layers: self.layers,
            place: self.place,
        }
    }

    /// Whether a call of it has ended when its service returns. Layers may wait.
    pub(super) fn is_immediate(&self) -> bool {
        self.immediate && self.layers.is_empty()
    }

    /// The endpoint, innermost layer first.
    pub(super) fn endpoint(self, state: S, pool: &Pool) -> Endpoint {
        let endpoint = self.make.make(state, pool);
        self.layers.iter().fold(endpoint, |endpoint, layer| layer(endpoint))
    }
}

impl<S> fmt::Debug for Operation<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Operation").field(&self.description).finish()
    }
}

//! The registry: operations by name, and the service that calls them.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustc_hash::FxHashMap;
use tower::Service;

use super::description::Description;
use super::operation::Operation;
use super::reply::CallFuture;
use super::route::Endpoint;
use crate::blocking::Pool;
use crate::call::Call;
use crate::error::ErrorObject;
use crate::layers::metrics::Counters;
use crate::outcome::Outcome;

/// A registered operation.
#[derive(Debug)]
pub struct Registered {
    description: Description,
    endpoint: Endpoint,
    immediate: bool,
    counters: Counters,
}

impl Registered {
    pub(super) fn new(operation: Operation, pool: &Pool) -> Self {
        let description = operation.description.clone();
        let immediate = operation.is_immediate();
        let endpoint = operation.endpoint((), pool);
        Self { description, endpoint, immediate, counters: Counters::default() }
    }

    /// The method's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// What is known of the operation.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Whether a call has ended when its service returns, so that it never waits.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// All operations of a built router, in the order of their registration.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    operations: Vec<Arc<Registered>>,
    /// The names are ours, so the hash need not withstand chosen ones.
    by_name: FxHashMap<Box<[u8]>, Arc<Registered>>,
}

impl Registry {
    /// `operations` have different names.
    pub(super) fn new(operations: Vec<Arc<Registered>>) -> Self {
        let entry = |operation: &Arc<Registered>| {
            (operation.name().as_bytes().into(), Arc::clone(operation))
        };
        let by_name = operations.iter().map(entry).collect();
        Self { operations, by_name }
    }

    pub(crate) fn operations(&self) -> &[Arc<Registered>] {
        &self.operations
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&Arc<Registered>> {
        self.by_name.get(name)
    }
}

/// Calls the operation that a call was resolved to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dispatch;

impl Service<Call> for Dispatch {
    type Response = Outcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        match call.operation().cloned() {
            Some(operation) => operation.endpoint.call(call),
            None => {
                CallFuture::ready(Outcome::error(ErrorObject::method_not_found(&call.method())))
            }
        }
    }
}

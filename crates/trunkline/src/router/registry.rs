//! The registry: operations by name, and the service that calls them.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use super::description::Description;
use super::operation::Operation;
use super::reply::CallFuture;
use super::route::Endpoint;
use crate::blocking::Pool;
use crate::call::Call;
use crate::error::ErrorObject;
use crate::layers::metrics::Counters;
use crate::openrpc::OpenRpc;
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
#[derive(Debug)]
pub(crate) struct Registry {
    operations: Vec<Arc<Registered>>,
    /// The same, in the order of their names.
    by_name: Vec<Arc<Registered>>,
    openrpc: OpenRpc,
}

impl Registry {
    /// `operations` have different names.
    pub(super) fn new(operations: Vec<Arc<Registered>>, openrpc: OpenRpc) -> Self {
        let mut by_name = operations.clone();
        by_name.sort_by(|one, other| one.name().cmp(other.name()));
        Self { operations, by_name, openrpc }
    }

    pub(crate) fn openrpc(&self) -> &OpenRpc {
        &self.openrpc
    }

    pub(crate) fn operations(&self) -> &[Arc<Registered>] {
        &self.operations
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&Arc<Registered>> {
        let by_name = |operation: &Arc<Registered>| operation.name().as_bytes().cmp(name);
        self.by_name.binary_search_by(by_name).ok().map(|index| &self.by_name[index])
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
        // Whatever operation it is for, it has no params that one could take.
        if let Some(refusal) = call.aside().and_then(|aside| aside.refusal()) {
            return CallFuture::ready(Outcome::error(refusal.clone()));
        }
        match call.operation().cloned() {
            Some(operation) => operation.endpoint.call(call),
            None => {
                CallFuture::ready(Outcome::error(ErrorObject::method_not_found(&call.method())))
            }
        }
    }
}

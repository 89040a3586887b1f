//! An operation that can be called.

use std::sync::Arc;

use super::build::Place;
use super::description::Description;
use super::operation::Operation;
use super::route::Endpoint;
use crate::blocking::Pool;
use crate::layers::metrics::Counters;
use crate::layers::timeout::Pulse;

/// A registered operation.
#[derive(Debug)]
pub struct Registered {
    description: Description,
    pub(super) endpoint: Endpoint,
    immediate: bool,
    fixed: bool,
    timeout: Option<Pulse>,
    counters: Arc<Counters>,
    pub(super) place: Place,
}

impl Registered {
    /// An operation that stays as long as its service.
    pub(super) fn fixed(operation: Operation, pool: &Pool) -> Self {
        Self::new(operation, pool, true, Arc::default())
    }

    /// An operation that may go. It counts on where another one of its name has ended.
    pub(super) fn passing(operation: Operation, pool: &Pool, counters: Arc<Counters>) -> Self {
        Self::new(operation, pool, false, counters)
    }

    fn new(operation: Operation, pool: &Pool, fixed: bool, counters: Arc<Counters>) -> Self {
        let description = operation.description.clone();
        let (immediate, place) = (operation.is_immediate(), operation.place);
        let timeout = operation.timeout.map(Pulse::new);
        let endpoint = operation.endpoint((), pool);
        Self { description, endpoint, immediate, fixed, timeout, counters, place }
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

    /// Whether the operation is there as long as its service is: it is none of those that
    /// [come and go](crate::Changing).
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Whether a call has ended when its service returns, so that it never waits.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate
    }

    /// The time that calls of it may take, if that is another than of other operations.
    pub(crate) fn timeout(&self) -> Option<&Pulse> {
        self.timeout.as_ref()
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

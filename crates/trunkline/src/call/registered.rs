//! An operation that can be called.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use super::description::Description;
use super::endpoint::Endpoint;
use crate::metrics::Counters;

/// A registered operation.
#[derive(Debug)]
pub struct Registered {
    pub(crate) description: Description,
    pub(crate) endpoint: Endpoint,
    pub(crate) is_immediate: bool,
    pub(crate) is_fixed: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) place: &'static Location<'static>,
}

impl Registered {
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
        self.is_fixed
    }

    /// Whether a call has ended when its service returns, so that it never waits.
    pub(crate) fn is_immediate(&self) -> bool {
        self.is_immediate
    }

    /// The time that calls of it may take, if that is another than of other operations.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

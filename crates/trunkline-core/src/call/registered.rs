//! An operation that can be called.

use std::panic::Location;
use std::time::Duration;

use super::description::Description;
use super::endpoint::Endpoint;
use crate::extensions::Extensions;

/// A registered operation.
#[derive(Debug)]
pub struct RegisteredOperation {
    pub(crate) description: Description,
    pub(crate) endpoint: Endpoint,
    pub(crate) is_immediate: bool,
    pub(crate) is_static: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) extensions: Extensions,
    pub(crate) location: &'static Location<'static>,
}

impl RegisteredOperation {
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
    /// come and go.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.is_static
    }

    /// Whether a call has ended when its service returns, so that it never waits.
    pub fn is_immediate(&self) -> bool {
        self.is_immediate
    }

    /// The time that calls of it may take, if that is another than of other operations.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// What the service keeps for this operation: values that handlers and layers find by type.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }
}

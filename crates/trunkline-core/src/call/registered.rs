//! Registered operations.

use std::panic::Location;
use std::time::Duration;

use super::description::Description;
use super::endpoint::Endpoint;
use crate::conversion::ParamTypes;
use crate::extensions::Extensions;

/// A registered operation.
#[derive(Debug)]
pub struct RegisteredOperation {
    pub(crate) description: Description,
    pub(crate) endpoint: Endpoint,
    /// `None` if params are not converted.
    pub(crate) types: Option<ParamTypes>,
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

    /// The description of the operation.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The JSON text of params, [converted](crate::operation::Operation::strict_params) to the types of the schema as for
    /// a call. `None` if they are unchanged. For code that validates params before it makes a call.
    ///
    /// `params` is valid JSON: an object, an array, or a string that is the text of an object.
    #[must_use]
    pub fn convert(&self, params: &[u8]) -> Option<Vec<u8>> {
        self.types.as_ref()?.convert(params)
    }

    #[inline]
    pub(crate) fn types(&self) -> Option<&ParamTypes> {
        self.types.as_ref()
    }

    /// Whether the operation is static, as opposed to one that can be replaced while the service runs.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.is_static
    }

    /// Whether the outcome is ready when its service returns.
    pub fn is_immediate(&self) -> bool {
        self.is_immediate
    }

    /// The timeout of its calls, if it differs from the default.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// The values that the service keeps for this operation, by type.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }
}

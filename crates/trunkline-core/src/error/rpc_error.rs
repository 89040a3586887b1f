//! Conversion between handler errors and error objects.

use std::convert::Infallible;
use std::error::Error;

use super::ErrorObject;
use crate::schema::Schema;

/// Any error, for use with `?`.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// An error that a handler may return.
///
/// Derive it for errors that clients should distinguish; see `derive(RpcError)`. For all other errors use
/// [`BoxError`]: the client gets -32603, and the cause is logged.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler's error",
    note = "derive `RpcError` for it, or return `Result<_, trunkline::BoxError>`: the client then sees -32603 and the cause is logged"
)]
pub trait RpcError: Sized {
    /// Converts the error into an error object.
    fn into_error_object(self) -> ErrorObject;

    /// Converts an error object back, if it represents an error of this type.
    fn from_error_object(error: &ErrorObject) -> Option<Self>;

    /// The possible errors, for descriptions. Default: empty.
    #[must_use]
    fn descriptions() -> Vec<ErrorDescription> {
        Vec::new()
    }
}

/// The description of an error of an operation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ErrorDescription {
    /// The code.
    pub code: i64,
    /// The message. It contains fields as `{name}`.
    pub message: String,
    /// The schema of the data, if any.
    pub data: Option<Schema>,
}

impl ErrorDescription {
    /// A description of an error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Sets the schema of the data.
    #[must_use]
    pub fn with_data(mut self, data: Option<Schema>) -> Self {
        self.data = data;
        self
    }
}

impl RpcError for ErrorObject {
    fn into_error_object(self) -> ErrorObject {
        self
    }

    fn from_error_object(error: &ErrorObject) -> Option<Self> {
        Some(error.clone())
    }
}

/// A boxed [`ErrorObject`] is sent to the client. Any other error is logged, and the client gets -32603.
impl RpcError for BoxError {
    fn into_error_object(self) -> ErrorObject {
        match self.downcast::<ErrorObject>() {
            Ok(error) => *error,
            Err(cause) => ErrorObject::internal_error(&*cause),
        }
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }
}

impl RpcError for Infallible {
    fn into_error_object(self) -> ErrorObject {
        match self {}
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }
}

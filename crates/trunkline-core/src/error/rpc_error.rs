//! How a handler's error becomes an error object, and how a client gets it back.

use std::convert::Infallible;
use std::error::Error;

use super::ErrorObject;
use crate::schema::Schema;

/// Any error at all, as `?` makes it.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// An error that a handler may return.
///
/// Derive it for the errors that clients should tell apart; see
/// `derive(RpcError)`. Everything else goes through [`BoxError`]: the
/// client sees -32603 without the cause, which goes to the log.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler's error",
    note = "derive `RpcError` for it, or return `Result<_, trunkline::BoxError>`: the client then sees -32603 and the cause is logged"
)]
pub trait RpcError: Sized {
    /// What the client is told.
    fn into_error_object(self) -> ErrorObject;

    /// The error that `error` stands for, if it is one of these.
    fn from_error_object(error: &ErrorObject) -> Option<Self>;

    /// The errors that there are, for descriptions. Default: none are known.
    #[must_use]
    fn descriptions() -> Vec<ErrorDescription> {
        Vec::new()
    }
}

/// One error of an operation: what stands in its error object.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ErrorDescription {
    /// The code.
    pub code: i64,
    /// The message, as it is written: fields stand in it as `{name}`.
    pub message: String,
    /// What the data are, if there are any.
    pub data: Option<Schema>,
}

impl ErrorDescription {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with data.
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

/// An [`ErrorObject`] in the box is sent as it is; any other error is logged, and the client sees
/// -32603.
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

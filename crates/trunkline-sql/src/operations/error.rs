//! The domain's errors as error objects.

use serde::Serialize;
use trunkline::{ErrorObject, code};

use crate::model::error::{Details, Error, ErrorClass};

impl From<Error> for ErrorObject {
    fn from(error: Error) -> Self {
        if error.class() == ErrorClass::Database {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::error!(%error, source, "the database failed");
        }
        let data = Data { reason: error.to_string(), details: error.details() };
        let (code, message) = match (&error, error.class()) {
            (
                Error::BadArgument { .. }
                | Error::BadColumn { .. }
                | Error::BadFilter { .. }
                | Error::BadCursor { .. }
                | Error::BadParams { .. },
                _,
            ) => (code::INVALID_PARAMS, "Invalid params"),
            (Error::Timeout { .. }, _) => (code::TIMEOUT, "Call timed out"),
            (_, ErrorClass::Retry) => (code::BUSY, "Server is busy"),
            _ => (code::DATABASE, "Database error"),
        };
        Self::new(code, message).with_data(&data)
    }
}

#[derive(Serialize)]
struct Data {
    reason: String,
    #[serde(flatten)]
    details: Details,
}

//! Error objects for bodies and requests that are invalid.

use serde::Serialize;

use super::{BodyError, InvalidRequest};
use crate::error::{ErrorObject, code};

impl From<&BodyError> for ErrorObject {
    fn from(error: &BodyError) -> Self {
        let (code, message) = match error {
            BodyError::Empty | BodyError::Parse(_) | BodyError::NotUtf8 { .. } => {
                (code::PARSE_ERROR, "Parse error")
            }
            BodyError::EmptyBatch | BodyError::TooLong | BodyError::BatchTooLong { .. } => {
                (code::INVALID_REQUEST, "Invalid Request")
            }
        };
        let offset = error.offset();
        let reason = error.text();
        Self::new(code, message).with_data(&ParseErrorData { reason: &reason, offset })
    }
}

impl From<&InvalidRequest> for ErrorObject {
    fn from(invalid: &InvalidRequest) -> Self {
        let member = invalid.reason.member();
        let reason = invalid.reason.text();
        Self::new(code::INVALID_REQUEST, "Invalid Request")
            .with_data(&InvalidRequestData { reason, member })
    }
}

#[derive(Serialize)]
struct ParseErrorData<'a> {
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
}

#[derive(Serialize)]
struct InvalidRequestData {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<&'static str>,
}

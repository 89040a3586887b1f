//! What a client is told of a body that holds no request.

use serde::Serialize;

use super::{InvalidRequest, Unreadable};
use crate::error::{ErrorObject, code};

impl From<&Unreadable> for ErrorObject {
    fn from(unreadable: &Unreadable) -> Self {
        let (code, message) = match unreadable {
            Unreadable::Empty | Unreadable::Parse(_) | Unreadable::NotUtf8 { .. } => {
                (code::PARSE_ERROR, "Parse error")
            }
            Unreadable::EmptyBatch | Unreadable::TooLong | Unreadable::BatchTooLong { .. } => {
                (code::INVALID_REQUEST, "Invalid Request")
            }
        };
        let offset = unreadable.offset();
        let reason = unreadable.text();
        Self::new(code, message).with_data(&Place { reason: &reason, offset })
    }
}

impl From<&InvalidRequest> for ErrorObject {
    fn from(invalid: &InvalidRequest) -> Self {
        let member = invalid.reason.member();
        let reason = invalid.reason.text();
        Self::new(code::INVALID_REQUEST, "Invalid Request").with_data(&Member { reason, member })
    }
}

#[derive(Serialize)]
struct Place<'a> {
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
}

#[derive(Serialize)]
struct Member {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<&'static str>,
}

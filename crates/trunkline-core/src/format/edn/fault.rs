//! Conversion of EDN errors to error objects.

use serde::Serialize;
use trunkline_edn::{Error, Step};

use crate::error::{ErrorObject, code};

/// -32700: the text is not EDN.
pub(crate) fn unreadable(error: &Error) -> ErrorObject {
    let position = error.position();
    let data = Unreadable {
        reason: error.reason().to_string(),
        path: error.path().to_string(),
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        offset: position.map(|position| position.offset),
    };
    ErrorObject::new(code::PARSE_ERROR, "Parse error").with_data(&data)
}

/// -32603: valid EDN cannot be represented in JSON, or vice versa. The path is relative to the message.
pub fn unconvertible(error: Error, member: Option<&str>) -> ErrorObject {
    let error = match member {
        Some(member) => error.within(Step::key(member)),
        None => error,
    };
    let data = Unconvertible { path: error.path().to_string(), reason: error.reason().to_string() };
    ErrorObject::new(code::INTERNAL_ERROR, "JSON conversion error").with_data(&data)
}

#[derive(Serialize)]
struct Unreadable {
    reason: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
}

#[derive(Serialize)]
struct Unconvertible {
    path: String,
    reason: String,
}

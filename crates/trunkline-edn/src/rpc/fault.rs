//! Errors of messages in EDN.

use ::serde::Serialize;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::format::CodecError;

use crate::error::Error;
use crate::location::Step;

/// -32700: the text is not EDN.
pub(super) fn unreadable(error: &Error) -> CodecError {
    let position = error.position();
    let data = Unreadable {
        reason: error.reason().to_string(),
        path: Some(error.path().to_string()),
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        offset: position.map(|position| position.offset),
    };
    parse_error(format!("invalid EDN: {error}"), &data)
}

/// -32700: the bytes are not the text of a message.
pub(super) fn not_text(text: &str, reason: &str, offset: usize) -> CodecError {
    let (reason, offset) = (reason.to_owned(), Some(offset));
    parse_error(text, &Unreadable { reason, offset, ..Unreadable::default() })
}

fn parse_error(text: impl Into<String>, data: &Unreadable) -> CodecError {
    let object = ErrorObject::new(code::PARSE_ERROR, "Parse error").with_data(data);
    CodecError::new(text, object)
}

/// -32603: a value cannot be represented in JSON, or vice versa. The path is relative to the message, of which the value
/// is a member, if given.
#[must_use]
pub fn unconvertible(error: Error, member: Option<&str>) -> ErrorObject {
    let error = match member {
        Some(member) => error.within(Step::key(member)),
        None => error,
    };
    let data = Unconvertible { path: error.path().to_string(), reason: error.reason().to_string() };
    ErrorObject::new(code::INTERNAL_ERROR, "JSON conversion error").with_data(&data)
}

#[derive(Default, Serialize)]
struct Unreadable {
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
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

//! Error objects for invalid messages.

use serde::Serialize;
use trunkline::{ErrorObject, code};

use crate::excerpt::excerpt;

#[derive(Serialize)]
struct Reason<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'a str>,
    reason: &'a str,
}

/// -32602, with the place as a JSON Pointer (RFC 6901).
pub(crate) fn invalid(pointer: &str, reason: &str) -> ErrorObject {
    let data = Reason { pointer: Some(pointer), reason };
    ErrorObject::new(code::INVALID_PARAMS, "Invalid params").with_data(&data)
}

/// The JSON Pointer of a member (RFC 6901, section 3), whose name may be any text.
pub(super) fn pointer(base: &str, member: &str) -> String {
    format!("{base}/{}", excerpt(member).replace('~', "~0").replace('/', "~1"))
}

pub(super) fn refused(code: i64, message: &'static str, reason: &str) -> ErrorObject {
    ErrorObject::new(code, message).with_data(&Reason { pointer: None, reason })
}

/// The error message without line and column, which would be relative to a part of the message.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

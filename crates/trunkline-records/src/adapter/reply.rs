use http::StatusCode;
use serde::{Deserialize, Serialize};
use trunkline::{ErrorObject, Outcome, code};

use crate::command::Command;
use crate::excerpt::excerpt;

/// The reply to a native command: a status, and a body unless that is 204.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NativeReply {
    /// The status of the response.
    pub status: StatusCode,
    /// The body as JSON text.
    pub body: Option<Vec<u8>>,
}

impl NativeReply {
    /// The reply for the outcome of a command: `{"result": …}` with 200, or 201 for `create`; 204 for `delete`;
    /// `{"error": "…"}` with the status of the error.
    #[must_use]
    pub fn of(command: &Command, outcome: &Outcome) -> Self {
        let result = match outcome.as_result() {
            Ok(result) => result,
            Err(error) if error.code() == code::METHOD_NOT_FOUND => {
                let Command { command, resource, .. } = command;
                let (command, resource) = (excerpt(command), excerpt(resource));
                return Self::unknown(&format!("unknown command {command:?} of {resource:?}"));
            }
            Err(error) => return Self::error(error),
        };
        let (status, head) = match &*command.command {
            "delete" if result == b"null" => {
                return Self { status: StatusCode::NO_CONTENT, body: None };
            }
            "create" => (StatusCode::CREATED, &b"{\"statusCode\":201,\"result\":"[..]),
            _ => (StatusCode::OK, &b"{\"result\":"[..]),
        };
        Self { status, body: Some([head, result, b"}"].concat()) }
    }

    /// The reply for an error.
    #[must_use]
    pub fn error(error: &ErrorObject) -> Self {
        Self::failed(status(error.code()), &text(error))
    }

    /// The reply to an unreadable message.
    #[cfg(feature = "records")]
    pub(crate) fn unreadable(error: &ErrorObject) -> Self {
        Self::failed(StatusCode::BAD_REQUEST, &text(error))
    }

    /// The reply to an unknown command.
    pub(crate) fn unknown(text: &str) -> Self {
        Self::failed(StatusCode::BAD_REQUEST, text)
    }

    /// A reply with status 200 and this JSON text.
    #[cfg(feature = "records")]
    pub(crate) fn plain(json: impl Into<Vec<u8>>) -> Self {
        Self { status: StatusCode::OK, body: Some(json.into()) }
    }

    fn failed(status: StatusCode, text: &str) -> Self {
        #[derive(Serialize)]
        struct Failed<'a> {
            error: &'a str,
        }
        let body = serde_json::to_vec(&Failed { error: text }).ok();
        Self { status, body }
    }
}

/// The HTTP status of an error code; 500 for application errors.
fn status(code: i64) -> StatusCode {
    match code {
        code::PARSE_ERROR
        | code::INVALID_REQUEST
        | code::METHOD_NOT_FOUND
        | code::INVALID_PARAMS
        | code::DATABASE
        | code::REPLY_TOO_LARGE => StatusCode::BAD_REQUEST,
        code::NOT_FOUND => StatusCode::NOT_FOUND,
        code::CONFLICT => StatusCode::CONFLICT,
        code::UNAUTHENTICATED => StatusCode::UNAUTHORIZED,
        code::FORBIDDEN => StatusCode::FORBIDDEN,
        code::RATE_LIMITED => StatusCode::TOO_MANY_REQUESTS,
        code::CONFIRMATION => StatusCode::PRECONDITION_REQUIRED,
        code::BUSY | code::AUDIT => StatusCode::SERVICE_UNAVAILABLE,
        code::TIMEOUT => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The message of an error: `data.reason`, if present.
fn text(error: &ErrorObject) -> String {
    #[derive(Deserialize)]
    struct Data {
        reason: Option<String>,
        /// The name of the param, if the reason does not contain it.
        param: Option<String>,
        incident: Option<String>,
        /// Schema violations.
        #[serde(default)]
        errors: Vec<Fault>,
    }
    #[derive(Deserialize)]
    struct Fault {
        pointer: String,
        reason: String,
    }
    let data = error.data().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    let message = error.message();
    match data {
        Some(Data { reason: Some(reason), param: Some(param), .. }) => format!("{param}: {reason}"),
        Some(Data { reason: Some(reason), .. }) => reason,
        Some(Data { incident: Some(incident), .. }) => format!("{message} (incident {incident})"),
        Some(Data { errors, .. }) if !errors.is_empty() => {
            let message = |fault: Fault| match &*fault.pointer {
                "" => fault.reason,
                pointer => format!("{pointer}: {}", fault.reason),
            };
            errors.into_iter().map(message).collect::<Vec<_>>().join("; ")
        }
        _ => message.to_owned(),
    }
}

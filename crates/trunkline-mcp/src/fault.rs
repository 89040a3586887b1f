//! Refusals by the protocol. A tool that fails is not a fault: its result has `isError`.

use http::StatusCode;
use serde_json::json;
use trunkline::{ErrorObject, code};

use crate::capabilities::missing_tasks;
use crate::protocol::error_code::{HEADER_MISMATCH, UNSUPPORTED_VERSION};
use crate::protocol::{Legacy, MODERN, shortened};

pub(crate) const BAD_ID: &str = "an id must be a string or an integer";
pub(crate) const DUPLICATE_ID: &str = "a request with this id is already running";

/// The reason why a message is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A member that is missing from a request of the stateless era, or malformed.
    Meta(&'static str),
    HeaderMismatch(String),
    /// The revision that `_meta` names.
    UnsupportedVersion(String),
    /// The revision in the header of a request without one in `_meta`.
    UnknownVersionHeader(String),
    UnknownMethod(String),
    UnknownTool {
        name: String,
        code: i64,
    },
    UnknownPrompt(String),
    UnknownResource {
        uri: String,
        code: i64,
    },
    /// The client does not support tasks, which the request concerns.
    MissingTasks,
    /// Params that are malformed for any method.
    Malformed(&'static str),
    Params(&'static str),
    Request(&'static str),
    /// A limit of the server is reached.
    Busy,
}

impl Fault {
    pub(crate) fn error(&self) -> ErrorObject {
        match self {
            Self::Meta(member) => ErrorObject::new(code::INVALID_PARAMS, "Invalid params")
                .with_data(&json!({ "reason": format!(
                    "`params._meta[\"{member}\"]` is missing or malformed; \
                     revision {MODERN} requires it"
                ) })),
            Self::HeaderMismatch(reason) => {
                ErrorObject::new(HEADER_MISMATCH, format!("Header mismatch: {reason}"))
            }
            Self::UnsupportedVersion(requested) => {
                ErrorObject::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
                    .with_data(&json!({ "supported": [MODERN], "requested": requested }))
            }
            Self::UnknownVersionHeader(requested) => ErrorObject::new(
                code::INVALID_REQUEST,
                "Unsupported revision in the MCP-Protocol-Version header",
            )
            .with_data(&json!({ "supported": all_versions(), "requested": requested })),
            Self::UnknownMethod(method) => ErrorObject::method_not_found(&shortened(method)),
            Self::UnknownTool { name, code } => {
                ErrorObject::new(*code, format!("Unknown tool: {}", shortened(name))).with_data(
                    &json!({ "reason": "unknown tool; `tools/list` returns the available ones" }),
                )
            }
            Self::UnknownPrompt(name) => {
                let reason = format!(
                    "unknown prompt `{}`; `prompts/list` returns the available ones",
                    shortened(name)
                );
                ErrorObject::invalid_params(&reason)
            }
            Self::MissingTasks => missing_tasks(),
            Self::UnknownResource { uri, code } => resource_not_found(uri, *code),
            Self::Malformed(reason) | Self::Params(reason) => ErrorObject::invalid_params(reason),
            Self::Busy => ErrorObject::new(code::BUSY, "Server is busy"),
            Self::Request(reason) => ErrorObject::new(code::INVALID_REQUEST, "Invalid Request")
                .with_data(&json!({ "reason": reason })),
        }
    }

    /// Its status at the MCP endpoint, in the stateless era or before it.
    pub(crate) fn status(&self, modern: bool) -> StatusCode {
        match self {
            Self::Meta(_)
            | Self::HeaderMismatch(_)
            | Self::UnsupportedVersion(_)
            | Self::UnknownVersionHeader(_)
            | Self::MissingTasks
            | Self::Request(_) => StatusCode::BAD_REQUEST,
            Self::UnknownMethod(_) if modern => StatusCode::NOT_FOUND,
            Self::Malformed(_) if modern => StatusCode::BAD_REQUEST,
            Self::UnknownMethod(_)
            | Self::UnknownTool { .. }
            | Self::UnknownPrompt(_)
            | Self::UnknownResource { .. }
            | Self::Malformed(_)
            | Self::Busy
            | Self::Params(_) => StatusCode::OK,
        }
    }
}

/// A URI is that of the request, which clients compare, so it is not shortened.
pub(crate) fn resource_not_found(uri: &str, code: i64) -> ErrorObject {
    ErrorObject::new(code, "Resource not found").with_data(&json!({ "uri": uri }))
}

fn all_versions() -> Vec<&'static str> {
    Legacy::names().into_iter().chain([MODERN]).collect()
}

//! The HTTP status of JSON-RPC replies.

use http::StatusCode;

use trunkline_core::error::code;
use trunkline_core::reply::Reply;

/// The HTTP status of JSON-RPC errors.
///
/// Batches always return 200, since each member has its own outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatusPolicy {
    /// 200 for all JSON-RPC replies.
    AlwaysOk,
    /// 401 for -32007 and 403 for -32008, with `WWW-Authenticate`; 429 for -32010, with `Retry-After`; 200 for
    /// all others. HTTP clients and proxies see refusals of callers, but not errors of calls.
    #[default]
    ByRefusal,
    /// Like [`ByRefusal`](Self::ByRefusal), and 400 for -32700 and -32600, 500 for -32603 and -32000, for
    /// gateways and monitors that only evaluate the status.
    ByError,
}

impl StatusPolicy {
    /// The status of a reply; 204 if there is no reply, as for notifications.
    #[must_use]
    pub fn status(self, reply: &Reply) -> StatusCode {
        if reply.is_none() {
            return StatusCode::NO_CONTENT;
        }
        let Some(code) = reply.code() else { return StatusCode::OK };
        match (self, code) {
            (Self::AlwaysOk, _) => StatusCode::OK,
            (_, code::UNAUTHENTICATED) => StatusCode::UNAUTHORIZED,
            (_, code::FORBIDDEN) => StatusCode::FORBIDDEN,
            (_, code::RATE_LIMITED) => StatusCode::TOO_MANY_REQUESTS,
            (Self::ByError, code::PARSE_ERROR | code::INVALID_REQUEST) => StatusCode::BAD_REQUEST,
            (Self::ByError, code::INTERNAL_ERROR | code::APPLICATION) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            _ => StatusCode::OK,
        }
    }
}

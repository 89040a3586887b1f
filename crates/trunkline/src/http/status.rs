//! The HTTP status of JSON-RPC replies.

use http::StatusCode;

use crate::error::code;
use crate::rpc::Reply;

/// Which status a JSON-RPC error has. Deployments disagree, so it is a setting.
///
/// Batches are always 200: each of their members has an outcome of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatusPolicy {
    /// 200: a JSON-RPC reply was delivered, whatever it says.
    #[default]
    AlwaysOk,
    /// 400 for -32700 and -32600, 500 for -32603, 200 for all else: for gateways and monitors
    /// that look at the status only.
    ByError,
}

impl StatusPolicy {
    pub(super) fn status(self, reply: &Reply) -> StatusCode {
        match (self, reply) {
            (_, Reply::None) => StatusCode::NO_CONTENT,
            (Self::ByError, Reply::Single { code: Some(code), .. }) => match *code {
                code::PARSE_ERROR | code::INVALID_REQUEST => StatusCode::BAD_REQUEST,
                code::INTERNAL_ERROR => StatusCode::INTERNAL_SERVER_ERROR,
                _ => StatusCode::OK,
            },
            _ => StatusCode::OK,
        }
    }
}

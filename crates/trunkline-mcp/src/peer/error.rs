use std::time::Duration;

use serde_json::json;
use trunkline::{ErrorObject, RpcError, code};

use crate::capabilities::MissingCapability;

/// The reason why a request to a client has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The client does not support the request, or the protocol of the call has no requests to clients.
    #[error(transparent)]
    Unsupported(#[from] MissingCapability),
    /// The client has returned an error.
    #[error("the client refused `{method}`: {error}")]
    Refused {
        /// The method of the request.
        method: &'static str,
        /// The error.
        error: ErrorObject,
    },
    /// The result does not conform to the protocol, or content does not match the requested schema.
    #[error("the client's response to `{method}` is invalid: {reason}")]
    Malformed {
        /// The method of the request.
        method: &'static str,
        /// The defect.
        reason: String,
    },
    /// The client did not respond in time.
    #[error("the client did not respond to `{method}` within {} s", after.as_secs())]
    Timeout {
        /// The method of the request.
        method: &'static str,
        /// The configured time.
        after: Duration,
    },
    /// The client has gone, or has ended its session.
    #[error("the client has disconnected")]
    Disconnected,
    /// Two concurrent requests of a call have the same key.
    #[error("another request of this call has the key `{key}`")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// Too many requests to the client are pending, or it does not read its messages.
    #[error("too many requests to the client are pending")]
    Busy,
    /// The schema of the requested content is not a flat object of primitive values, which elicitation requires.
    #[error("an elicitation schema must be an object of primitive values: {reason}")]
    Schema {
        /// The defect.
        reason: String,
    },
}

/// A missing capability is error -32021, a timeout -32004, too many requests -32005, and the other reasons -32603.
impl RpcError for PeerError {
    fn into_error_object(self) -> ErrorObject {
        let text = self.to_string();
        let reason = |code, message: &'static str| {
            ErrorObject::new(code, message).with_data(&json!({ "reason": text }))
        };
        match self {
            Self::Unsupported(missing) => missing.into_error_object(),
            Self::Timeout { .. } => reason(code::TIMEOUT, "Client did not respond"),
            Self::Busy => reason(code::BUSY, "Client is busy"),
            Self::Refused { .. } | Self::Malformed { .. } | Self::Disconnected => {
                reason(code::INTERNAL_ERROR, "Request to the client failed")
            }
            Self::Schema { .. } | Self::DuplicateKey { .. } => ErrorObject::internal(&text),
        }
    }

    fn from_error_object(error: &ErrorObject) -> Option<Self> {
        MissingCapability::from_error_object(error).map(Self::Unsupported)
    }
}

impl PeerError {
    pub(super) fn unsupported(capability: &str) -> Self {
        Self::Unsupported(MissingCapability { capability: capability.to_owned() })
    }
}

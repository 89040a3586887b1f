//! The errors of calls.

use std::time::Duration;

use serde_json::{Map, json};
use trunkline::protocol::excerpt;
use trunkline::{ErrorDescription, ErrorObject, RpcError, code};

use crate::name::UpstreamName;

/// The reason why a call of a tool has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The upstream is not connected. The call was not sent.
    #[error("the upstream `{upstream}` is not available; try again later")]
    Unavailable {
        /// The upstream.
        upstream: UpstreamName,
        /// The delay until the next attempt to connect, if it is known.
        retry_after: Option<Duration>,
    },
    /// Too many calls are running and waiting. The call was not sent.
    #[error("too many concurrent calls of the upstream `{upstream}`")]
    Busy {
        /// The upstream.
        upstream: UpstreamName,
    },
    /// The arguments of a prompt are not texts.
    #[error("invalid arguments: {reason}")]
    Arguments {
        /// The upstream.
        upstream: UpstreamName,
        /// The reason.
        reason: String,
    },
    /// The upstream has no subscriptions to resources, or refuses this one.
    #[error("the upstream `{upstream}` does not support subscriptions to this resource")]
    NoSubscriptions {
        /// The upstream.
        upstream: UpstreamName,
    },
    /// The caller answers a question of a call that has ended, or of another one.
    #[error(
        "the call of the upstream `{upstream}` that asked for this input has ended; call again without the input"
    )]
    Ended {
        /// The upstream.
        upstream: UpstreamName,
    },
    /// The timeout elapsed. The tool may have run.
    #[error("the upstream `{upstream}` did not answer within {} ms", after.as_millis())]
    Timeout {
        /// The upstream.
        upstream: UpstreamName,
        /// The timeout.
        after: Duration,
    },
    /// The upstream answered with an error.
    #[error("the upstream `{upstream}` refused the call: {}", excerpt(error.message(), 500))]
    Refused {
        /// The upstream.
        upstream: UpstreamName,
        /// The error.
        error: ErrorObject,
    },
    /// The connection failed, or the answer is invalid. The tool may have run.
    #[error("the call of the upstream `{upstream}` failed: {reason}")]
    Failed {
        /// The upstream.
        upstream: UpstreamName,
        /// The reason.
        reason: String,
    },
}

const FAILED: &str = "The tool failed";
const TIMED_OUT: &str = "The tool timed out";
const BUSY: &str = "Too many running tools";

/// `data.kind` is the kind of error, `data.reason` the message, `data.upstream` the name of the upstream, and
/// `data.error` the error of the upstream, if it returned one.
impl RpcError for UpstreamError {
    fn into_error_object(self) -> ErrorObject {
        let reason = self.to_string();
        let mut details = Map::new();
        let (code, message, kind, upstream) = match self {
            Self::Unavailable { upstream, retry_after } => {
                if let Some(after) = retry_after {
                    let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                    details.insert("retry_after_ms".to_owned(), after.into());
                }
                (code::TOOL_EXECUTION, FAILED, "unavailable", upstream)
            }
            Self::Arguments { upstream, .. } => {
                (code::INVALID_PARAMS, "Invalid params", "arguments", upstream)
            }
            Self::Busy { upstream } => (code::BUSY, BUSY, "busy", upstream),
            Self::NoSubscriptions { upstream } => {
                (code::INVALID_PARAMS, "Invalid params", "no_subscriptions", upstream)
            }
            Self::Ended { upstream } => (code::TOOL_EXECUTION, FAILED, "ended", upstream),
            Self::Timeout { upstream, after } => {
                let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                details.insert("timeout_ms".to_owned(), after.into());
                (code::TIMEOUT, TIMED_OUT, "timeout", upstream)
            }
            Self::Refused { upstream, error } => {
                let (code, message, data) = (error.code(), error.message(), error.data());
                let error = json!({ "code": code, "message": message, "data": data });
                details.insert("error".to_owned(), error);
                (code::TOOL_EXECUTION, FAILED, "refused", upstream)
            }
            Self::Failed { upstream, .. } => (code::TOOL_EXECUTION, FAILED, "failed", upstream),
        };
        details.insert("kind".to_owned(), kind.into());
        details.insert("reason".to_owned(), reason.into());
        details.insert("upstream".to_owned(), upstream.as_str().into());
        ErrorObject::new(code, message).with_data(&details)
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        vec![
            ErrorDescription::new(code::TOOL_EXECUTION, FAILED),
            ErrorDescription::new(code::TIMEOUT, TIMED_OUT),
            ErrorDescription::new(code::BUSY, BUSY),
        ]
    }
}

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use trunkline::client::TransportError;
use trunkline::client::http::Bearer;
use trunkline::protocol::excerpt;

/// The error of a model request.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The URL of the endpoint is invalid.
    #[error("invalid model URL {url:?}: {reason}")]
    Address {
        /// The URL without a user, a password and a query, which may be secret.
        url: String,
        /// The problem.
        reason: String,
    },
    /// The endpoint cannot be reached.
    #[error("the model's endpoint cannot be reached")]
    Unreachable(#[source] TransportError),
    /// The connection failed, or the reply is not valid HTTP.
    #[error("the connection to the model failed")]
    Broken(#[source] TransportError),
    /// The request timed out.
    #[error("the model timed out: it did not {stage} within {} ms", after.as_millis())]
    Timeout {
        /// The stage of the request.
        stage: Stage,
        /// The timeout.
        after: Duration,
    },
    /// The endpoint rejects the key, or requires one.
    #[error("the model's endpoint rejects the key, or requires one (HTTP {status})")]
    Unauthorized {
        /// The status.
        status: StatusCode,
    },
    /// The endpoint is still too busy after the retries.
    #[error("the model's endpoint is too busy (HTTP {status})")]
    Busy {
        /// The status.
        status: StatusCode,
        /// The wait that the endpoint requests.
        retry_after: Option<Duration>,
    },
    /// The endpoint rejects the request or has failed.
    #[error("the model's endpoint returned HTTP {status}: {reason}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The error text of the endpoint.
        reason: String,
    },
    /// The endpoint reports a failure within its reply.
    #[error("the model failed: {reason}")]
    Failed {
        /// The error text of the endpoint.
        reason: String,
    },
    /// The model or the content filter of its endpoint declines to answer.
    #[error("the model refuses to answer: {reason}")]
    Declined {
        /// The error text of the endpoint.
        reason: String,
    },
    /// The reply contains neither text nor calls.
    #[error("the model's reply is empty")]
    Empty,
    /// The reply contains only reasoning. Some servers take an answer as reasoning.
    #[error("the model's reply has only reasoning; check the reasoning parser of the endpoint")]
    OnlyReasoning,
    /// The endpoint reports that the model wrote an invalid call.
    #[error("the endpoint rejects the tool call of the model")]
    MalformedCall,
    /// The reply exceeds a limit.
    #[error("there are more than {limit} bytes in the model's {what}")]
    TooLarge {
        /// The part that exceeds it: the `reply` as a whole, its `text`, or its `calls`.
        what: &'static str,
        /// The limit in bytes.
        limit: usize,
    },
    /// The reply is not a chat completion.
    #[error("the model's reply is not a chat completion: {reason}")]
    Malformed {
        /// The problem.
        reason: String,
    },
    /// The reply ended before it was complete.
    #[error("the model's reply ended early")]
    CutOff,
}

/// The stage of a request that timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Waiting for the first token of the reply.
    FirstToken,
    /// Waiting for the next piece of the reply.
    Token,
    /// The reply as a whole.
    Whole,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstToken => "begin its reply",
            Self::Token => "continue its reply",
            Self::Whole => "complete its reply",
        })
    }
}

impl ModelError {
    pub(super) fn timeout(stage: Stage, after: Duration) -> Self {
        Self::Timeout { stage, after }
    }

    pub(super) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }

    /// Truncates the texts of the endpoint, and redacts the key, which some endpoints repeat.
    pub(super) fn redacted(mut self, key: Option<&Bearer>) -> Self {
        if let Self::Refused { reason, .. }
        | Self::Failed { reason }
        | Self::Declined { reason }
        | Self::Malformed { reason } = &mut self
        {
            if let Some(key) = key {
                *reason = key.redact(reason);
            }
            *reason = excerpt(reason, MAX_ERROR_CHARS).into_owned();
        }
        self
    }

    /// Whether the model has replied, but has neither answered nor called a tool. Another reply may.
    pub(crate) fn is_without_answer(&self) -> bool {
        matches!(self, Self::Empty | Self::OnlyReasoning | Self::MalformedCall)
    }

    /// The kind of the error, for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Address { .. } => "address",
            Self::Unreachable(_) => "unreachable",
            Self::Broken(_) => "broken",
            Self::Timeout { .. } => "timeout",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Busy { .. } => "busy",
            Self::Refused { .. } | Self::Declined { .. } => "refused",
            Self::Failed { .. } => "failed",
            Self::Empty | Self::OnlyReasoning => "empty",
            Self::MalformedCall => "malformed_call",
            Self::TooLarge { .. } => "too_large",
            Self::Malformed { .. } => "malformed",
            Self::CutOff => "cut_off",
        }
    }
}

impl From<TransportError> for ModelError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::TooLarge { limit, .. } => Self::TooLarge { what: "reply", limit },
            error if error.is_unsent() => Self::Unreachable(error),
            error => Self::Broken(error),
        }
    }
}

/// The maximum length of an endpoint's error text, in characters.
const MAX_ERROR_CHARS: usize = 300;

/// Extracts the message from an error text; endpoints wrap it in one object or two, or in an array. A gateway adds the
/// error of its provider as `raw`.
pub(super) fn error_message(text: &str) -> String {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let json = json.as_array().and_then(|errors| errors.first()).unwrap_or(&json);
    let error = &json["error"];
    let messages = [&error["message"], error, &json["message"], &json["detail"]];
    let message = messages.into_iter().find_map(Value::as_str);
    let cause = error["metadata"]["raw"].as_str().filter(|cause| !cause.trim().is_empty());
    match (message.unwrap_or(text).trim(), cause) {
        ("", None) => "no details".to_owned(),
        ("", Some(cause)) => error_message(cause),
        (message, None) => message.to_owned(),
        (message, Some(cause)) => format!("{message}: {}", error_message(cause)),
    }
}

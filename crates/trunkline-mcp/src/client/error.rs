use http::StatusCode;
use trunkline::client::{Error as CallError, Failure, ProtocolError, TransportError};

use super::authorization::AuthorizationError;
use super::handler::HandlerError;
use crate::protocol::shortened;

/// Why an MCP request has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request has failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The first requests have failed: the server does not support MCP, or it refuses this client.
    #[error("cannot begin MCP")]
    Initialize(#[source] RequestError),
    /// The server supports other revisions only.
    #[error("the server supports other versions of MCP: {}", .0.join(", "))]
    Versions(Vec<String>),
    /// A result is not what the specification requires.
    #[error("the result of {method} does not conform to MCP: {reason}")]
    Malformed {
        /// The method.
        method: &'static str,
        /// The defect.
        reason: String,
    },
    /// A list exceeds [`max_pages`](super::McpClientConfig::max_pages),
    /// [`max_items`](super::McpClientConfig::max_items) or [`list_bytes`](super::McpClientConfig::list_bytes).
    #[error("the result of {method} has more than {limit}")]
    ListTooLong {
        /// The method.
        method: &'static str,
        /// The limit, such as `100 pages`.
        limit: String,
    },
    /// No access token was obtained.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
    /// The server required input that the handler does not provide. It requires a result with `resultType`
    /// `input_required` ("Multi Round-Trip Requests").
    #[error("the server requires input from the client ({method})")]
    Input {
        /// The method of the server's request.
        method: String,
        /// The reason.
        source: HandlerError,
    },
    /// The server required input more often than [`max_rounds`](super::McpClientConfig::max_rounds).
    #[error("the server required input more than {0} times for one request")]
    TooManyRounds(usize),
    /// The task of a call was cancelled.
    #[error("the task `{id}` was cancelled{}", message.as_ref().map(|it| format!(": {it}")).unwrap_or_default())]
    TaskCancelled {
        /// The id of the task.
        id: String,
        /// The message of the server.
        message: Option<String>,
    },
    /// The server does not notify of changes of this resource.
    #[error("the server does not support subscriptions to `{0}`")]
    NoSubscription(String),
}

/// Why a request has no result, with the HTTP status if there was a reply.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct RequestError {
    /// The error.
    pub error: CallError,
    /// The status of the reply.
    pub status: Option<StatusCode>,
}

impl Error {
    pub(super) fn malformed(method: &'static str, reason: impl ToString) -> Self {
        Self::Malformed { method, reason: shortened(&reason.to_string()) }
    }

    /// The error for these versions, of which the first ones are shown.
    pub(super) fn versions(versions: Vec<String>) -> Self {
        const SHOWN: usize = 20;
        Self::Versions(versions.iter().take(SHOWN).map(|version| shortened(version)).collect())
    }

    /// The error object that the server returned, if any.
    #[must_use]
    pub fn error_object(&self) -> Option<&trunkline::ErrorObject> {
        match self {
            Self::Request(error) | Self::Initialize(error) => error.error.error_object(),
            _ => None,
        }
    }

    /// Whether the same request may succeed later: the server could not be reached, or returned a temporary error.
    pub(super) fn is_temporary(&self) -> bool {
        const TEMPORARY: [StatusCode; 2] =
            [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        match (self.error_object(), self.status()) {
            (Some(error), _) => error.is_temporary(),
            (None, Some(status)) => !status.is_client_error() || TEMPORARY.contains(&status),
            (None, None) => true,
        }
    }

    /// The code of the error that the server returned, if any.
    pub(super) fn code(&self) -> Option<i64> {
        Some(self.error_object()?.code())
    }

    /// The HTTP status of the reply, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Request(error) | Self::Initialize(error) => error.status,
            _ => None,
        }
    }
}

impl RequestError {
    pub(super) fn with_status(error: impl Into<CallError>, status: StatusCode) -> Self {
        Self { error: error.into(), status: Some(status) }
    }
}

macro_rules! from {
    ($($source:ty),*) => {$(
        impl From<$source> for RequestError {
            fn from(error: $source) -> Self {
                Self { error: error.into(), status: None }
            }
        }

        impl From<$source> for Error {
            fn from(error: $source) -> Self {
                Self::Request(error.into())
            }
        }
    )*};
}

from!(CallError, Failure, ProtocolError, TransportError);

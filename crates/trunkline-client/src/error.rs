//! Errors of calls.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use trunkline_core::error::{BoxError, ErrorObject, RpcError};

/// The error of a call. `E` is the error type of the method; untyped calls use any error object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E = ErrorObject> {
    /// The method returned one of its declared errors.
    #[error("{0}")]
    Application(E),
    /// The server returned an error that the method does not declare: -32601, -32004, ….
    #[error(transparent)]
    Rpc(ErrorObject),
    /// The call did not reach the server, or its reply did not reach the client.
    #[error(transparent)]
    Transport(TransportError),
    /// The reply is invalid, or not a reply to this call.
    #[error(transparent)]
    Protocol(ProtocolError),
    /// The params are neither an object nor an array. Nothing was sent.
    #[error("cannot send the params: {0}")]
    Params(ErrorObject),
    /// The call was added to a batch of another client and was not sent. Clones count as the same client.
    #[error("call not sent: it was created by another client than the batch")]
    OtherClient,
    /// The slot belongs to another batch, whose replies have the result.
    #[error("slot belongs to another batch")]
    OtherBatch,
    /// A layer of the client failed.
    #[error("client layer failed")]
    Layer(#[source] BoxError),
}

impl<E: RpcError> Error<E> {
    /// Converts an error object.
    pub(super) fn of(error: ErrorObject) -> Self {
        E::from_error_object(&error).map_or(Self::Rpc(error), Self::Application)
    }
}

impl<E> Error<E> {
    /// Converts an error of the transport or of a layer.
    pub(super) fn from_service(error: BoxError) -> Self {
        match error.downcast::<Failure>() {
            Ok(failure) => (*failure).into(),
            Err(error) => Self::Layer(error),
        }
    }

    /// Whether the call timed out.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Transport(TransportError::Timeout { .. }))
    }
}

impl Error {
    /// The error object returned by the server, if any.
    #[must_use]
    pub fn error_object(&self) -> Option<&ErrorObject> {
        match self {
            Self::Application(error) | Self::Rpc(error) => Some(error),
            _ => None,
        }
    }
}

/// The error of a transport: no reply, or an invalid one.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The reply is missing or incomplete.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The reply is invalid.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl<E> From<Failure> for Error<E> {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Transport(error) => Self::Transport(error),
            Failure::Protocol(error) => Self::Protocol(error),
        }
    }
}

impl<E> From<TransportError> for Error<E> {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl<E> From<ProtocolError> for Error<E> {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

/// An error of a library or the operating system. All calls on a broken connection share it.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// The reason why a reply is missing or incomplete.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The address is invalid.
    #[error("invalid address {target:?}: {reason}")]
    Address {
        /// The address.
        target: String,
        /// The defect and the remedy.
        reason: String,
    },
    /// The connection to the server failed. The call was not run.
    #[error("cannot connect to {target}")]
    Connect {
        /// The server.
        target: String,
        /// The cause.
        source: Cause,
    },
    /// No trusted root certificates are available to verify https servers.
    #[error("no trusted root certificates found on this machine")]
    NoRoots {
        /// The error of reading the certificates of the machine.
        source: Option<Cause>,
    },
    /// The child process does not start.
    #[error("cannot start {program}")]
    Spawn {
        /// The program.
        program: String,
        /// The I/O error.
        source: Cause,
    },
    /// The message exceeds the limit for requests. Nothing was sent.
    #[error("message to {target} has {bytes} bytes; the limit is {limit} bytes")]
    RequestTooLarge {
        /// The server.
        target: String,
        /// The size of the message in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The message cannot be represented in the format of the transport. Nothing was sent.
    #[error("cannot convert the message to {target}: {reason}")]
    Inconvertible {
        /// The server.
        target: String,
        /// The defect.
        reason: String,
    },
    /// The connection closed before the reply was complete. The call may have run.
    #[error("connection to {target} closed before the reply was complete")]
    Broken {
        /// The server.
        target: String,
        /// The cause, if known.
        source: Option<Cause>,
    },
    /// The reply is not HTTP.
    #[error("reply from {target} is not HTTP")]
    NotHttp {
        /// The server.
        target: String,
        /// The defect.
        source: Cause,
    },
    /// The call timed out. It may have run.
    #[error("{target} did not answer within {} ms", after.as_millis())]
    Timeout {
        /// The server.
        target: String,
        /// The timeout of the call.
        after: Duration,
        /// The last output of the server, if it is a process.
        source: Option<Cause>,
    },
    /// The reply exceeds the limit. The rest of it was not read.
    #[error("reply from {target} exceeds {limit} bytes")]
    TooLarge {
        /// The server.
        target: String,
        /// The limit in bytes.
        limit: usize,
    },
}

impl TransportError {
    /// Whether the call was certainly not run.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            Self::Address { .. }
                | Self::Inconvertible { .. }
                | Self::Connect { .. }
                | Self::NoRoots { .. }
                | Self::Spawn { .. }
                | Self::RequestTooLarge { .. }
        )
    }
}

/// A violation of JSON-RPC 2.0 or of the transport's protocol in a reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A redirect. Redirects are not followed: a call is meant for the addressed server only.
    #[error("HTTP {status}: redirect to {to:?} was not followed")]
    Redirect {
        /// The status.
        status: StatusCode,
        /// The target of the redirect.
        to: String,
    },
    /// The HTTP status is an error, and the body is not a JSON-RPC error.
    #[error("HTTP {status}, without a JSON-RPC reply: {beginning:?}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The beginning of the body.
        beginning: String,
    },
    /// The HTTP status is a success, and the body is empty.
    #[error("HTTP {status}, with no reply to the call")]
    Empty {
        /// The status.
        status: StatusCode,
    },
    /// The body is of another media type.
    #[error("reply has media type {media_type:?} instead of JSON: {beginning:?}")]
    MediaType {
        /// The media type.
        media_type: String,
        /// The beginning of the body.
        beginning: String,
    },
    /// The body is not the expected stream of server-sent events.
    #[error("reply has media type {media_type:?} instead of an event stream: {beginning:?}")]
    NoEvents {
        /// The media type.
        media_type: String,
        /// The beginning of the body.
        beginning: String,
    },
    /// The body is not a response object.
    #[error("invalid JSON-RPC 2.0 response: {reason}: {beginning:?}")]
    Malformed {
        /// The defect.
        reason: String,
        /// The beginning of the body.
        beginning: String,
    },
    /// The id of the reply is not that of the call.
    #[error("reply does not belong to this call: its id is {found}, not {expected}")]
    WrongId {
        /// The id of the call, or the ids of the batch.
        expected: String,
        /// The id of the reply.
        found: String,
    },
    /// A reply to a notification.
    #[error("unexpected reply to a notification, with id {id}")]
    Unexpected {
        /// The id of the reply.
        id: String,
    },
    /// Two replies to one call.
    #[error("duplicate reply to the call with id {id}")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The server replied, but not to this call.
    #[error("no reply to the call with id {id}")]
    Missing {
        /// The id.
        id: String,
    },
    /// The result does not have the expected type.
    #[error("unexpected result: {reason}")]
    Result {
        /// The defect.
        reason: String,
    },
}

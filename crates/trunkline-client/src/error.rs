//! Why a call has no result.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use trunkline_core::error::{BoxError, ErrorObject, RpcError};

/// Why a call has no result. `E` is the method's own error: of an untyped call, any error object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E = ErrorObject> {
    /// The method has returned one of its own errors.
    #[error("{0}")]
    Application(E),
    /// The server has returned an error that is not the method's: -32601, -32004, ….
    #[error(transparent)]
    Rpc(ErrorObject),
    /// The call did not reach the server, or its reply did not reach us.
    #[error(transparent)]
    Transport(TransportError),
    /// The reply is invalid, or not a reply to this call.
    #[error(transparent)]
    Protocol(ProtocolError),
    /// The params are neither an object nor an array. Nothing was sent.
    #[error("the params cannot be sent: {0}")]
    Params(ErrorObject),
    /// The call was added to a batch of another client: it was not sent. Clones are one client.
    #[error("the call is of another client than the batch, and was not sent")]
    OtherClient,
    /// The slot is of another batch, whose replies have the result.
    #[error("the slot is of another batch than the replies")]
    OtherBatch,
    /// A layer of the client has failed by itself.
    #[error("a layer of the client failed")]
    Layer(#[source] BoxError),
}

impl<E: RpcError> Error<E> {
    /// Converts an error object.
    pub(super) fn of(error: ErrorObject) -> Self {
        E::from_error_object(&error).map_or(Self::Rpc(error), Self::Application)
    }
}

impl<E> Error<E> {
    /// Converts a failure of the transport or of a layer.
    pub(super) fn below(error: BoxError) -> Self {
        match error.downcast::<Failure>() {
            Ok(failure) => (*failure).into(),
            Err(error) => Self::Layer(error),
        }
    }

    /// Whether the call's time was up.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Transport(TransportError::Timeout { .. }))
    }
}

impl Error {
    /// The error object of the server, if it has returned one.
    #[must_use]
    pub fn error_object(&self) -> Option<&ErrorObject> {
        match self {
            Self::Application(error) | Self::Rpc(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a transport has no reply to give.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Nothing came, or not all of it.
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

/// The error of a library or the system. All calls of a broken connection share it.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Why no reply came, or not all of it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The address is invalid.
    #[error("{target:?} is no address to call: {reason}")]
    Address {
        /// The address.
        target: String,
        /// The defect, and the remedy.
        reason: String,
    },
    /// The connection to the server has failed. The call was not run.
    #[error("cannot connect to {target}")]
    Connect {
        /// The server.
        target: String,
        /// Why.
        source: Cause,
    },
    /// There are no trusted authorities to check https servers with.
    #[error("this machine has no certificates to check https servers with")]
    NoRoots {
        /// Why certificates of the machine cannot be read.
        source: Option<Cause>,
    },
    /// The program that was to be spoken to does not start.
    #[error("cannot start {program}")]
    Spawn {
        /// The program.
        program: String,
        /// The error of the system.
        source: Cause,
    },
    /// The message is larger than the limit of the server. Nothing was sent.
    #[error("the message to {target} has {bytes} bytes, and {limit} bytes are allowed")]
    RequestTooLarge {
        /// The server.
        target: String,
        /// The size of the message.
        bytes: usize,
        /// The limit of bytes.
        limit: usize,
    },
    /// The message has no EDN, which it was to be written in. Nothing was sent.
    #[cfg(feature = "edn")]
    #[error("the message to {target} has no EDN: {reason}")]
    NoEdn {
        /// The server.
        target: String,
        /// Why.
        reason: String,
    },
    /// The connection broke before the whole reply was there. The call may have run.
    #[error("the connection to {target} broke before the reply was there")]
    Broken {
        /// The server.
        target: String,
        /// How, if more is known than that it ended.
        source: Option<Cause>,
    },
    /// The reply is not HTTP.
    #[error("{target} does not speak HTTP")]
    NotHttp {
        /// The server.
        target: String,
        /// The defect.
        source: Cause,
    },
    /// Time is up. The call may have run.
    #[error("{target} did not answer within {} ms", after.as_millis())]
    Timeout {
        /// The server.
        target: String,
        /// The time that the call had.
        after: Duration,
    },
    /// The reply is larger than allowed, and the rest of it was not read.
    #[error("the reply of {target} has more than {limit} bytes")]
    TooLarge {
        /// The server.
        target: String,
        /// The limit of bytes.
        limit: usize,
    },
}

impl TransportError {
    /// Whether the call was not run for sure.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        #[cfg(feature = "edn")]
        if matches!(self, Self::NoEdn { .. }) {
            return true;
        }
        matches!(
            self,
            Self::Address { .. }
                | Self::Connect { .. }
                | Self::NoRoots { .. }
                | Self::Spawn { .. }
                | Self::RequestTooLarge { .. }
        )
    }
}

/// How a reply breaks JSON-RPC 2.0, or its way over the transport.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A redirect, which is not followed: a call is only for the server that it is addressed to.
    #[error("HTTP {status}: it redirects to {to:?}, which is not followed")]
    Redirect {
        /// The status.
        status: StatusCode,
        /// Where to.
        to: String,
    },
    /// The HTTP status is an error, and the body is not a JSON-RPC error.
    #[error("HTTP {status}, without a JSON-RPC reply: {beginning:?}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The beginning of its body.
        beginning: String,
    },
    /// The HTTP status is a success, and the body is empty.
    #[error("HTTP {status}, with no reply to the call")]
    Empty {
        /// The status.
        status: StatusCode,
    },
    /// The body is of another media type.
    #[error("the reply is {media_type:?}, not JSON: {beginning:?}")]
    MediaType {
        /// The media type.
        media_type: String,
        /// The beginning of the body.
        beginning: String,
    },
    /// The body is not the expected stream of server-sent events.
    #[error("the reply is {media_type:?}, not a stream of events: {beginning:?}")]
    NoEvents {
        /// The media type.
        media_type: String,
        /// The beginning of the body.
        beginning: String,
    },
    /// The body is not a response object.
    #[error("the reply is no JSON-RPC 2.0 response: {reason}: {beginning:?}")]
    Malformed {
        /// The defect.
        reason: String,
        /// The beginning of the body.
        beginning: String,
    },
    /// The reply is to a call that was not made.
    #[error("a reply is to another call: its id is {found}, not {expected}")]
    WrongId {
        /// The id that was sent, or those of a batch.
        expected: String,
        /// The id that came.
        found: String,
    },
    /// A reply to a notification.
    #[error("a notification was answered, to a call with id {id}")]
    Unexpected {
        /// The id that came.
        id: String,
    },
    /// Two replies to one call.
    #[error("the call with id {id} was answered twice")]
    Duplicate {
        /// The id.
        id: String,
    },
    /// The server has answered, but not this call.
    #[error("the call with id {id} was not answered")]
    Missing {
        /// The id.
        id: String,
    },
    /// The method was called, and its result is not what was expected of it.
    #[error("the result is not what was expected: {reason}")]
    Result {
        /// The defect.
        reason: String,
    },
}

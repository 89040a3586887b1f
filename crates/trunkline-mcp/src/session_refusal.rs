//! Refusals of messages that open or name a session.

use http::{Response, StatusCode};
use trunkline::http::{ReplyBody, respond};
use trunkline::protocol::Reply;
use trunkline::{ErrorObject, Id, code};

use crate::nodes::NodesError;
use crate::session::{SessionError, unavailable};

impl SessionError {
    pub(crate) fn error(&self) -> ErrorObject {
        match self {
            Self::Unknown => {
                ErrorObject::invalid_params("unknown session; send `initialize` to open one")
            }
            Self::TooMany => ErrorObject::new(code::BUSY, "Server is busy"),
            Self::Random => ErrorObject::internal(&"the system random number generator failed"),
        }
    }

    pub(crate) fn response(&self, id: Option<&Id>) -> Response<ReplyBody> {
        let status = match self {
            Self::Unknown => StatusCode::NOT_FOUND,
            Self::TooMany => StatusCode::SERVICE_UNAVAILABLE,
            Self::Random => StatusCode::INTERNAL_SERVER_ERROR,
        };
        respond(status, Reply::error(self.error(), id))
    }
}

/// Refuses a message that needs the state of the nodes.
pub(crate) fn unavailable_response(error: &NodesError, id: Option<&Id>) -> Response<ReplyBody> {
    respond(StatusCode::SERVICE_UNAVAILABLE, Reply::error(unavailable(error), id))
}

/// Refuses the continuation of a stream that this server does not have.
pub(crate) fn unknown_event() -> Response<ReplyBody> {
    let reason = "the stream of this `Last-Event-ID` is not available; open a stream without it";
    respond(StatusCode::NOT_FOUND, Reply::error(ErrorObject::invalid_params(reason), None))
}

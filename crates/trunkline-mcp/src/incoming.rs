//! Messages of clients, also those that cannot be parsed.

use bytes::Bytes;
use trunkline::protocol::{IdScanner, Incoming, UnreadId};
use trunkline::{ErrorObject, Extensions, Rpc};

use crate::request::is_mcp_id;

/// Parses a message. The id of a refused one is that of the error response, if any.
pub(crate) fn read(rpc: &Rpc, body: Bytes, extensions: Extensions) -> Incoming {
    match rpc.read_with_null_params(body, extensions) {
        Incoming::Refused { error, id: Some(id), body } => {
            Incoming::Refused { error, id: Some(id).filter(is_mcp_id), body }
        }
        Incoming::Refused { error, id: None, body } => refused(error, IdScanner::find(&body), body),
        read => read,
    }
}

/// A message that cannot be parsed. Without its id, the client would wait for the response until its timeout. An error
/// with the id of a response could be mistaken for the response to another request of the client.
pub(crate) fn refused(error: ErrorObject, id: Option<UnreadId>, body: Bytes) -> Incoming {
    match id {
        Some(UnreadId::Response(id)) => Incoming::Response { body, error, id: Some(id) },
        Some(UnreadId::Request(id)) => {
            Incoming::Refused { error, id: Some(id).filter(is_mcp_id), body }
        }
        None => Incoming::Refused { error, id: None, body },
    }
}

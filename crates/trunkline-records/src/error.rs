use trunkline_storage::{StoreError, WorkError};

use crate::excerpt::excerpt;

/// The reason why a command had no effect. `Display` is safe to send to a client; causes are in `source()`, for
/// the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command or the record type is unknown.
    #[error("unknown command {}.{}", excerpt(resource), excerpt(command))]
    UnknownCommand {
        /// The name of the record type.
        resource: String,
        /// The command.
        command: String,
    },
    /// The params do not match the record type or the command.
    #[error("{reason}")]
    Invalid {
        /// The place, as a JSON Pointer (RFC 6901) into the command's params: `/title`.
        pointer: String,
        /// The problem and its remedy.
        reason: String,
    },
    /// The record does not exist.
    #[error("there is no {resource} with the id {id:?}")]
    NotFound {
        /// The name of the record type.
        resource: String,
        /// The requested id.
        id: String,
    },
    /// A record with this id already exists.
    #[error("a {resource} with the id {id:?} already exists")]
    Exists {
        /// The name of the record type.
        resource: String,
        /// The requested id.
        id: String,
    },
    /// `metadata.ifVersion` does not match the version of the record.
    #[error("the {resource} {id:?} has version {found}, not {expected}; read it again")]
    VersionMismatch {
        /// The name of the record type.
        resource: String,
        /// The record's id.
        id: String,
        /// The expected version.
        expected: u64,
        /// The version of the record.
        found: u64,
    },
    /// The `metadata.requestId` was used for a different request.
    #[error("the requestId {request_id:?} was used for a different request; use a new one")]
    RequestReused {
        /// The id of both requests.
        request_id: String,
    },
    /// The request was executed and then reverted.
    #[error("the request {request_id:?} was reverted; use a new requestId to execute it again")]
    RequestReverted {
        /// The request's id.
        request_id: String,
    },
    /// A request cannot be reverted because the record was changed after it.
    #[error(
        "the {resource} {id:?} was changed after the request {request_id:?}; revert that change first"
    )]
    ChangedSince {
        /// The name of the record type.
        resource: String,
        /// The record's id.
        id: String,
        /// The request to revert.
        request_id: String,
    },
    /// A stored record, or the stored reply to a request, is corrupt. The command had no effect.
    #[error("the stored {what} of {resource} {id:?} is corrupt")]
    Corrupt {
        /// The kind of the corrupt data.
        what: &'static str,
        /// The name of the record type.
        resource: String,
        /// The record's id.
        id: String,
    },
    /// The storage failed, timed out, or was closed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkError for Error {
    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl Error {
    /// An invalid value at the end of a path of member names, which may be any text.
    pub(crate) fn invalid(path: &[&str], reason: impl Into<String>) -> Self {
        let escaped = path.iter().map(|name| excerpt(name).replace('~', "~0").replace('/', "~1"));
        let pointer = escaped.map(|name| format!("/{name}")).collect();
        Self::Invalid { pointer, reason: reason.into() }
    }
}

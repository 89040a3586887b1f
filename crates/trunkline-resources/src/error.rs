use trunkline_storage::{StoreError, WorkError};

use crate::excerpt::excerpt;

/// The reason why a command had no effect. `Display` is safe to send to a client; causes are in `source()`, for
/// the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such command, or no such resource.
    #[error("there is no command {}.{}", excerpt(resource), excerpt(command))]
    UnknownCommand {
        /// The name of the resource.
        resource: String,
        /// The command.
        command: String,
    },
    /// What was sent does not fit the resource, or the command.
    #[error("{reason}")]
    Invalid {
        /// Where, as a JSON Pointer (RFC 6901) into the command's params: `/title`.
        pointer: String,
        /// The problem and its remedy.
        reason: String,
    },
    /// There is no such record.
    #[error("there is no {resource} with the id {id:?}")]
    NotFound {
        /// The name of the resource.
        resource: String,
        /// The id as it was asked for.
        id: String,
    },
    /// There is a record of this id already.
    #[error("there is a {resource} with the id {id:?} already")]
    Exists {
        /// The name of the resource.
        resource: String,
        /// The id as it was given.
        id: String,
    },
    /// `metadata.ifVersion` names another version than the record has.
    #[error("the {resource} {id:?} has version {found}, not {expected}: read it again")]
    VersionMismatch {
        /// The name of the resource.
        resource: String,
        /// The record's id.
        id: String,
        /// The version that was asked for.
        expected: u64,
        /// The version that the record has.
        found: u64,
    },
    /// The `metadata.requestId` was that of another request.
    #[error("the requestId {request_id:?} was another request's: give each request its own")]
    RequestReused {
        /// The id of both requests.
        request_id: String,
    },
    /// The request was done and then reverted.
    #[error("the request {request_id:?} was reverted: give it another requestId to do it again")]
    RequestReverted {
        /// The request's id.
        request_id: String,
    },
    /// What a request did cannot be undone without undoing what was done after it.
    #[error(
        "the {resource} {id:?} was changed after the request {request_id:?}: revert that first"
    )]
    ChangedSince {
        /// The name of the resource.
        resource: String,
        /// The record's id.
        id: String,
        /// The request that was to be reverted.
        request_id: String,
    },
    /// A stored record, or the reply to a request, is corrupt. Nothing was done.
    #[error("the stored {what} of {resource} {id:?} cannot be read")]
    Corrupt {
        /// The kind of data that cannot be read.
        what: &'static str,
        /// The name of the resource.
        resource: String,
        /// The record's id.
        id: String,
    },
    /// The storage failed, had no time, or was closed.
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

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
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

use std::sync::Arc;

use tokio_postgres::error::SqlState;
use trunkline_postgres::{ConnectError, is_connection_lost};

use crate::error::StoreError;

/// An error of the server, or of the connection.
pub(super) fn store_error(error: tokio_postgres::Error) -> StoreError {
    let reason = match error.code() {
        _ if is_connection_lost(&error) => return StoreError::Unreachable(Some(Arc::new(error))),
        // A value that cannot be sent or read.
        None => return StoreError::Failed(Arc::new(error)),
        Some(code) if is_conflict(code) || *code == SqlState::LOCK_NOT_AVAILABLE => {
            return StoreError::Busy;
        }
        Some(&SqlState::TOO_MANY_CONNECTIONS) => return StoreError::Busy,
        Some(&SqlState::DISK_FULL) => "the disk of the database server is full",
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => "the database is read-only",
        Some(&SqlState::QUERY_CANCELED) => "the database server did not reply in time",
        Some(_) => return StoreError::Failed(Arc::new(error)),
    };
    StoreError::Unavailable { reason: reason.to_owned(), source: Some(Arc::new(error)) }
}

/// A connection that cannot be opened.
pub(super) fn connect_error(error: ConnectError) -> StoreError {
    if error.is_connection_limit() {
        return StoreError::Busy;
    }
    StoreError::Unreachable(Some(Arc::new(error)))
}

/// A server that does not reply, or a connection that must not be used.
pub(super) fn lost() -> StoreError {
    StoreError::Unreachable(None)
}

/// Whether another transaction was in conflict with this one.
pub(super) fn is_conflict(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

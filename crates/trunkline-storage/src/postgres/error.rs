use std::error::Error;
use std::sync::Arc;

use tokio_postgres::error::SqlState;
use trunkline_postgres::ConnectError;

use crate::error::StoreError;

/// An error of the server, or of the connection.
pub(super) fn store_error(error: tokio_postgres::Error) -> StoreError {
    let reason = match error.code() {
        // Only a lost connection has no code, or a value that cannot be sent or read.
        None if is_lost(&error) => return StoreError::Unreachable(Some(Arc::new(error))),
        None => return StoreError::Failed(Arc::new(error)),
        Some(code) if is_conflict(code) || *code == SqlState::LOCK_NOT_AVAILABLE => {
            return StoreError::Busy;
        }
        Some(&SqlState::TOO_MANY_CONNECTIONS) => return StoreError::Busy,
        Some(&SqlState::DISK_FULL) => "the disk of the database server is full",
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => "the database is read-only",
        Some(&SqlState::QUERY_CANCELED) => "the database server did not reply in time",
        Some(code) if is_shutdown(code) => {
            return StoreError::Unreachable(Some(Arc::new(error)));
        }
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

/// Whether the connection is lost, or the server closes it.
pub(super) fn is_lost(error: &tokio_postgres::Error) -> bool {
    let is_io = || error.source().is_some_and(<dyn Error>::is::<std::io::Error>);
    error.code().map_or_else(|| error.is_closed() || is_io(), is_shutdown)
}

/// Whether another transaction was in conflict with this one.
pub(super) fn is_conflict(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

fn is_shutdown(code: &SqlState) -> bool {
    code.code().starts_with("57P") || code.code().starts_with("08") || code.code() == "25P03"
}

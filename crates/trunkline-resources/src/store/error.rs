//! Errors of SQLite.

use rusqlite::{ErrorCode, ffi};

use super::reserve::heap_limit;
use crate::error::{Error, disk_reason};

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) {
            return Self::Busy;
        }
        if is_out_of_memory(&error) {
            return Self::OutOfMemory { limit: heap_limit() };
        }
        match disk_reason(&error) {
            Some(reason) => Self::Unavailable { reason: reason.to_owned(), source: Some(error) },
            None => Self::Storage(error.into()),
        }
    }
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub(super) fn is_out_of_memory(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OutOfMemory)
}

/// A copy of an error, which has no `Clone`.
pub(super) fn copy(error: &rusqlite::Error) -> rusqlite::Error {
    let code = error.sqlite_error().copied().unwrap_or(ffi::Error::new(ffi::SQLITE_ERROR));
    rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
}

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use tracing::warn;

/// SQLite's write-ahead log. SQLite begins it anew when nobody reads from it, and where reads overlap for
/// ever, that never happens by itself.
pub(super) struct Log {
    path: PathBuf,
    bound: u64,
    /// Bytes from which on it is too long.
    next: u64,
}

impl Log {
    pub(super) fn new(path: PathBuf, bound: u64) -> Self {
        Self { path, bound, next: bound }
    }

    /// Empties the log if it is too long. This waits for those who read from it, as long as the connection
    /// waits for a lock; who comes later reads from the database and is not waited for.
    pub(super) fn shorten(&mut self, connection: &Connection) {
        let bytes = fs::metadata(&self.path).map_or(0, |file| file.len());
        if bytes <= self.next {
            return;
        }
        match empty(connection) {
            Ok(true) => self.next = self.bound,
            Ok(false) => {
                // Someone reads for a long time. Not every commit shall wait for it.
                self.next = bytes.saturating_add(self.bound);
                warn!(bytes, "the log of the database grows: someone reads from it all the time");
            }
            Err(error) => {
                self.next = bytes.saturating_add(self.bound);
                warn!(%error, bytes, "the log of the database grows");
            }
        }
    }
}

/// Moves all of the log into the database. False if someone reads from it still.
pub(super) fn empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "PRAGMA wal_checkpoint(TRUNCATE)",
        (),
        |row| Ok(row.get::<_, i64>(0)? == 0),
    )
}

//! The engine of the tests in this program: SQLite.

use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;
use trunkline_storage::Location;

pub(crate) const FILE: &str = "items.sqlite";

/// A directory.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn location(&self) -> Location {
        self.path().into()
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A connection outside of the store.
    pub(crate) fn connection(&self) -> Connection {
        Connection::open(self.path().join(FILE)).unwrap()
    }

    /// A session like that of another process.
    pub(crate) fn other_process(&self) -> Session {
        Session(self.connection())
    }
}

pub(crate) struct Session(Connection);

impl Session {
    pub(crate) fn execute(&self, sql: &str) {
        self.0.execute_batch(sql).unwrap();
    }

    /// The first column of all rows.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        let mut statement = self.0.prepare(sql).unwrap();
        let rows = statement.query_map((), |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
}

/// Begins a transaction with the lock of writers.
pub(crate) fn lock(session: &Session) {
    session.execute("BEGIN IMMEDIATE");
}

/// The version of the schema.
pub(crate) fn version(session: &Session) -> String {
    session.texts("SELECT CAST(user_version AS text) FROM pragma_user_version").remove(0)
}

//! What a database really holds, past the server.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags};

/// How many rows there are in this table, or in what else may stand behind `FROM`.
pub(crate) fn count(database: &Path, from: &str) -> Result<i64> {
    let sql = format!("SELECT count(*) FROM {from}");
    Ok(open(database)?.query_row(&sql, [], |row| row.get(0))?)
}

fn open(database: &Path) -> Result<Connection> {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open {}", database.display()))
}

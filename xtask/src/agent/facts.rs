//! Reads expected answers from a database, without the server.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags};

/// Number of rows of a `FROM` clause, such as a table.
pub(crate) fn count(database: &Path, from: &str) -> Result<i64> {
    let sql = format!("SELECT count(*) FROM {from}");
    Ok(open(database)?.query_row(&sql, [], |row| row.get(0))?)
}

pub(crate) fn tables(database: &Path) -> Result<Vec<String>> {
    names(database, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
}

pub(crate) fn columns(database: &Path, table: &str) -> Result<Vec<String>> {
    names(database, &format!("SELECT name FROM pragma_table_info('{table}')"))
}

fn names(database: &Path, sql: &str) -> Result<Vec<String>> {
    let connection = open(database)?;
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

fn open(database: &Path) -> Result<Connection> {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .with_context(|| format!("cannot open {}", database.display()))
}

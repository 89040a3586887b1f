//! The same rows in a private PostgreSQL server.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::Connection;
use trunkline_test_postgres::{create_database, url_of};

const SCHEMA: &str = "
CREATE TABLE readings (
    id bigint PRIMARY KEY,
    sensor bigint NOT NULL,
    taken text NOT NULL,
    value double precision NOT NULL,
    station text NOT NULL
);
COPY readings FROM STDIN;
";

const INDEX: &str = "
CREATE INDEX readings_by_sensor ON readings (sensor);
VACUUM ANALYZE readings;
";

/// A database in the server, with the role that owns it.
pub(super) struct Postgres {
    pub(super) url: String,
    pub(super) port: String,
    pub(super) database: String,
}

pub(super) const ROLE: &str = "app";

/// Copies the rows of a SQLite file. The server ends with this process.
pub(super) fn provide(sqlite: &Path) -> Result<Postgres> {
    let mut script = SCHEMA.to_owned();
    let connection = Connection::open(sqlite)?;
    let mut rows = connection.prepare("SELECT id, sensor, taken, value, station FROM readings")?;
    let mut rows = rows.query(())?;
    while let Some(row) = rows.next()? {
        let (id, sensor, value): (i64, i64, f64) = (row.get(0)?, row.get(1)?, row.get(3)?);
        let (taken, station): (String, String) = (row.get(2)?, row.get(4)?);
        writeln!(script, "{id}\t{sensor}\t{taken}\t{value}\t{station}")?;
    }
    script.push_str("\\.\n");
    script.push_str(INDEX);
    let database = create_database(&script);
    let url = url_of(ROLE, &database);
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/'));
    let (port, _) = port.with_context(|| format!("{url} has no port"))?;
    Ok(Postgres { port: port.to_owned(), url, database })
}

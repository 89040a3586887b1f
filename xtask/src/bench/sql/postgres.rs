//! The same rows in a private PostgreSQL server.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::database;
use crate::workspace::Workspace;

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

/// A database in the server, with the role that owns it. The server ends with this value.
pub(super) struct Postgres {
    pub(super) url: String,
    pub(super) port: String,
    pub(super) database: String,
    /// The program `postgres` of `bench/`, which stops the server when its stdin ends.
    _server: Child,
}

pub(super) const ROLE: &str = "app";

/// Copies the rows.
pub(super) fn provide(workspace: &Workspace, binaries: &Path) -> Result<Postgres> {
    let mut script = SCHEMA.to_owned();
    for row in database::rows() {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        writeln!(script, "{}", row.iter().map(text).collect::<Vec<_>>().join("\t"))?;
    }
    script.push_str("\\.\n");
    script.push_str(INDEX);
    let file = workspace.path("target/bench/database/postgres.sql");
    std::fs::write(&file, script)?;
    let mut server = Command::new(binaries.join("postgres"))
        .arg(ROLE)
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the program `postgres` of bench/")?;
    let mut url = String::new();
    BufReader::new(server.stdout.take().context("stdout is piped")?).read_line(&mut url)?;
    let url = url.trim().to_owned();
    let place = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/'));
    let (port, database) = place.with_context(|| format!("`{url}` has no port"))?;
    Ok(Postgres { port: port.to_owned(), database: database.to_owned(), url, _server: server })
}

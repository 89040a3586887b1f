//! The database of records and requests: its schema and its statements.

mod purge;
mod read;
mod row;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use trunkline_storage::{OpenError, Schema, Store};

use crate::config::ResourcesConfig;
use purge::Purge;

pub(crate) use row::{IdState, Request, Row, StateId, now};

const SCHEMA: Schema = Schema {
    file: "trunkline.sqlite",
    // `Trnk`.
    application_id: 0x5472_6e6b,
    migrations: &["
        CREATE TABLE records (
            resource   TEXT NOT NULL,
            id         TEXT NOT NULL,
            fields     TEXT NOT NULL,
            version    INTEGER NOT NULL,
            state      INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            PRIMARY KEY (resource, id)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE deleted (
            resource TEXT NOT NULL,
            id       TEXT NOT NULL,
            version  INTEGER NOT NULL,
            state    INTEGER NOT NULL,
            at       INTEGER NOT NULL,
            PRIMARY KEY (resource, id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX deleted_by_time ON deleted (at);

        CREATE TABLE requests (
            caller            TEXT NOT NULL,
            request_id        TEXT NOT NULL,
            resource          TEXT NOT NULL,
            command           TEXT NOT NULL,
            id                TEXT NOT NULL,
            asked             TEXT NOT NULL,
            before_fields     TEXT,
            before_version    INTEGER NOT NULL,
            before_state      INTEGER NOT NULL,
            before_created_at INTEGER,
            before_updated_at INTEGER,
            after_state       INTEGER NOT NULL,
            after_deleted     INTEGER NOT NULL,
            reply             TEXT NOT NULL,
            reverted          INTEGER NOT NULL,
            at                INTEGER NOT NULL,
            PRIMARY KEY (caller, request_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX requests_by_time ON requests (at);
    "],
};

/// Opens `trunkline.sqlite` in `directory`.
pub(crate) fn open(directory: &Path, config: &ResourcesConfig) -> Result<Store, OpenError> {
    Store::open(directory, SCHEMA, config.store.clone(), purge(config))
}

/// Like [`open`], but the first write creates the file.
pub(crate) fn deferred(directory: &Path, config: &ResourcesConfig) -> Store {
    Store::deferred(directory, SCHEMA, config.store.clone(), purge(config))
}

fn purge(
    config: &ResourcesConfig,
) -> impl FnMut(&Connection, Duration) -> rusqlite::Result<()> + use<> {
    let mut purge = Purge::new(config);
    move |connection, transaction| purge.run_if_due(connection, transaction)
}

/// Access to records and requests in a transaction of the store.
pub(crate) struct Records<'c> {
    connection: &'c Connection,
    /// The deadline of a scan.
    until: Option<Instant>,
}

impl<'c> Records<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { connection, until: None }
    }

    pub(crate) fn with_time(connection: &'c Connection, until: Instant) -> Self {
        Self { connection, until: Some(until) }
    }

    /// Whether there is time to read another record.
    pub(crate) fn has_time(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

//! The database of records and requests: its schema and its statements.

mod purge;
mod read;
mod row;
mod write;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use trunkline_storage::{Connection, Location, OpenError, Schema, Store, StoreError};

use crate::config::RecordsConfig;
use purge::Purge;

pub(crate) use row::{IdState, Request, Row, StateId, now};

const SCHEMA: Schema = Schema {
    name: "records",
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
    postgres: &[r#"
        CREATE TABLE records (
            resource   text COLLATE "C" NOT NULL,
            id         text COLLATE "C" NOT NULL,
            fields     text NOT NULL,
            version    bigint NOT NULL,
            state      bigint NOT NULL,
            created_at bigint NOT NULL,
            updated_at bigint NOT NULL,
            PRIMARY KEY (resource, id)
        );

        CREATE TABLE deleted (
            resource text COLLATE "C" NOT NULL,
            id       text COLLATE "C" NOT NULL,
            version  bigint NOT NULL,
            state    bigint NOT NULL,
            at       bigint NOT NULL,
            PRIMARY KEY (resource, id)
        );
        CREATE INDEX deleted_by_time ON deleted (at);

        CREATE TABLE requests (
            caller            text COLLATE "C" NOT NULL,
            request_id        text COLLATE "C" NOT NULL,
            resource          text COLLATE "C" NOT NULL,
            command           text NOT NULL,
            id                text COLLATE "C" NOT NULL,
            asked             text NOT NULL,
            before_fields     text,
            before_version    bigint NOT NULL,
            before_state      bigint NOT NULL,
            before_created_at bigint,
            before_updated_at bigint,
            after_state       bigint NOT NULL,
            after_deleted     boolean NOT NULL,
            reply             text NOT NULL,
            reverted          boolean NOT NULL,
            at                bigint NOT NULL,
            PRIMARY KEY (caller, request_id)
        );
        CREATE INDEX requests_by_time ON requests (at);
    "#],
};

/// Opens `trunkline.sqlite` in a directory, or the tables in a PostgreSQL database.
pub(crate) fn open(location: Location, config: &RecordsConfig) -> Result<Store, OpenError> {
    Store::open(location, SCHEMA, config.store.clone(), purge(config))
}

/// Like [`open`], but the first write creates the file.
pub(crate) fn deferred(location: Location, config: &RecordsConfig) -> Store {
    Store::deferred(location, SCHEMA, config.store.clone(), purge(config))
}

fn purge(
    config: &RecordsConfig,
) -> impl FnMut(&Connection, Duration) -> Result<(), StoreError> + use<> {
    let mut purge = Purge::new(config);
    move |connection, transaction| purge.run_if_due(connection, transaction)
}

/// Access to records and requests in a transaction of the store.
pub(crate) struct Tables<'c> {
    connection: &'c Connection,
    /// The deadline of a scan.
    until: Option<Instant>,
}

impl<'c> Tables<'c> {
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

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::OpenError;

/// Marks a file as one of ours: `Trnk`.
pub(super) const APPLICATION_ID: i32 = 0x5472_6e6b;

/// The migrations from each version of the schema to the next; the first one begins with an empty file. Released
/// ones are never changed.
pub(super) const MIGRATIONS: [&str; 1] = ["
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
"];

/// The newest version of the schema.
pub(super) const NEWEST: u32 = MIGRATIONS.len() as u32;

/// Brings the schema up to date. A file that is not ours, or newer, is not changed.
pub(super) fn run(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    if version(connection, path)? < NEWEST {
        connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    }
    for (migration, number) in MIGRATIONS.iter().zip(1..) {
        if version(connection, path)? >= number {
            continue;
        }
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
            .map_err(failed)?;
        // Another process may have done it before this one got the lock.
        if version(&transaction, path)? < number {
            migrate(&transaction, migration, number).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

fn migrate(transaction: &Transaction<'_>, migration: &str, number: u32) -> rusqlite::Result<()> {
    transaction.execute_batch(migration)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", number)
}

/// The version of the schema; 0 for an empty file.
fn version(connection: &Connection, path: &Path) -> Result<u32, OpenError> {
    let read = connection.query_row(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
         FROM pragma_application_id, pragma_user_version",
        (),
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    let path = path.to_owned();
    match read {
        Err(source) => Err(OpenError::Sqlite { path, source }),
        Ok((0, 0, 0_i64)) => Ok(0),
        Ok((APPLICATION_ID, found, _)) if found > NEWEST => {
            Err(OpenError::Newer { path, found, known: NEWEST })
        }
        Ok((APPLICATION_ID, version, _)) => Ok(version),
        Ok(_) => Err(OpenError::NotOurs { path }),
    }
}

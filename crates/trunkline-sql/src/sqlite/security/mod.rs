//! The layers that restrict callers. Tests have shown that each layer alone is insufficient, so all of them apply at
//! once, and none may be removed because another one covers it:
//!
//! | layer | module | what only this layer prevents |
//! |---|---|---|
//! | file opened read-only (readers) | `file` | writes to the main file by any route |
//! | `query_only` (readers), defensive, untrusted schema, no extensions | [`harden`] | writes to temp and attached databases; a hostile schema |
//! | authorizer, one list for each role | [`authorizer`] | `ATTACH`, `VACUUM INTO`, `PRAGMA` setters, dangerous functions |
//! | authorizer, rules of visibility | [`scope`] | reads of masked columns; with `raw_sql`, reads of hidden tables |
//! | exactly one statement, and for readers a reading one | [`statement`] | text after the first `;` |
//! | one transaction per call (the writer) | `workers` | partial changes |
//! | SQLite's own limits | [`limits`] | oversized texts and values |
//! | heap limit, memory-only temporaries | [`limits`] | queries that fill the memory or the disk |
//! | progress handler, interrupt, deadline | `workers` | endless queries |
//! | changed rows counted by hooks and totals | `role`, `row_limit` | changes larger than intended |
//! | rows and bytes counted while stepping | `collect` | oversized results |
//!
//! SQL of callers is not rewritten: that would require to parse it exactly as SQLite does. The exception is `SELECT *`
//! under rules (`sqlite/raw_sql.rs`), and all layers apply to the replacement, too.

mod authorizer;
mod limits;
mod role;
mod scope;
mod statement;

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthContext, Authorization};

use crate::model::error::Error;
use crate::sqlite::config::SqliteConfig;
use crate::sqlite::functions;

pub(crate) use role::{Role, WriterState};
pub(crate) use scope::{ReaderState, Refusal, SqlScope};
pub(crate) use statement::prepare_single;

/// SQLite counts the milliseconds in 32 bits.
const LONGEST_LOCK_WAIT: Duration = Duration::from_millis(i32::MAX as u64);

/// Prepares a new connection for SQL of callers.
pub(crate) fn harden(
    connection: &Connection,
    role: &Role,
    config: &SqliteConfig,
) -> rusqlite::Result<()> {
    wait_for_locks(connection, config.lock_wait)?;
    connection.load_extension_disable()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false)?;
    match role {
        Role::Reader(_) => connection.pragma_update(None, "query_only", true)?,
        Role::Writer(writer_state) => {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
            writer_state.install_hooks(connection)?;
        }
    }
    limits::bound_memory(connection, config.heap_limit)?;
    limits::set(connection)?;
    functions::register(connection)?;
    // Last: it denies the pragmas above.
    authorizer::install(connection, role)
}

/// Runs a statement of this crate that callers must not run. Prepared statements are compiled again afterwards.
pub(crate) fn without_authorizer<T>(
    connection: &Connection,
    role: &Role,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
    let outcome = work();
    authorizer::install(connection, role)?;
    outcome
}

/// Sets the time for which SQLite itself waits for a lock.
pub(crate) fn wait_for_locks(connection: &Connection, wait: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(wait.min(LONGEST_LOCK_WAIT))
}

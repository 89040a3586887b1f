//! What keeps a caller from doing harm. Each layer alone was measured to leak, so all of them hold at
//! once, and none may be dropped because another "already covers it":
//!
//! | layer | where | what only it stops |
//! |---|---|---|
//! | file opened read-only | `file` | writes to the main file by any route |
//! | `query_only`, defensive, untrusted schema, no extensions | [`harden`] | writes to temp and attached databases; a hostile schema |
//! | authorizer | [`authorizer`] | `ATTACH`, `VACUUM INTO`, `PRAGMA` setters, dangerous functions |
//! | exactly one statement, and a reading one | [`statement`] | what stands after the first `;` |
//! | SQLite's own limits | [`limits`] | texts and values made to be large |
//! | heap limit, memory-only temporaries | [`memory`] | queries made to fill the memory or the disk |
//! | progress handler, interrupt, deadline | `readers` | queries made to run for ever |
//! | rows and bytes counted while stepping | `rowset` | results made to be large |
//!
//! The caller's SQL is never rewritten: whoever rewrites SQL has to parse it exactly as SQLite does.

mod authorizer;
mod limits;
mod memory;
mod statement;

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::settings::Settings;

pub(crate) use statement::prepare_single;

/// SQLite counts the milliseconds in 32 bits.
const LONGEST_LOCK_WAIT: Duration = Duration::from_millis(i32::MAX as u64);

/// Brings a fresh connection to the state in which callers' SQL may run on it.
pub(crate) fn harden(connection: &Connection, settings: &Settings) -> rusqlite::Result<()> {
    connection.busy_timeout(settings.lock_wait.min(LONGEST_LOCK_WAIT))?;
    connection.load_extension_disable()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false)?;
    connection.pragma_update(None, "query_only", true)?;
    memory::bound(connection, settings.heap_limit)?;
    limits::set(connection)?;
    // Last: it denies the pragmas above.
    authorizer::install(connection)
}

//! The spans of operations of databases, and the names of their attributes.

use std::borrow::Cow;

use tracing::field::Empty;
use tracing::{Level, span};
use trunkline::protocol::spans::attribute::ERROR_TYPE;
use trunkline::protocol::spans::{TARGET, Work, are_enabled};

use attribute as a;

/// The name of the span of an operation of a database.
pub const NAME: &str = "database";

/// The names of attributes.
pub mod attribute {
    /// The engine of a database.
    pub const SYSTEM: &str = "db.system.name";
    /// The operation of a database.
    pub const OPERATION: &str = "db.operation.name";
    /// The table.
    pub const COLLECTION: &str = "db.collection.name";
    /// The operation and the table.
    pub const SUMMARY: &str = "db.query.summary";
}

/// Begins an operation of a database, on a table if it has one.
pub(crate) fn database(system: &str, operation: &str, table: Option<&str>) -> Work {
    if !are_enabled() {
        return Work::default();
    }
    let summary = match table {
        Some(table) => Cow::Owned(format!("{operation} {table}")),
        None => Cow::Borrowed(operation),
    };
    Work::from(span!(
        target: TARGET,
        Level::DEBUG,
        NAME,
        { a::SYSTEM } = system,
        { a::OPERATION } = operation,
        { a::COLLECTION } = table,
        { a::SUMMARY } = &*summary,
        { ERROR_TYPE } = Empty,
    ))
}

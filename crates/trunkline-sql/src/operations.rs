//! A database as operations of a router: the one place where this crate knows JSON-RPC.

use serde::Serialize;
use trunkline::{CancellationToken, ErrorObject, Operation, Params, Router, State, code};

use crate::database::Database;
use crate::describe_table::{DescribeTable, TableDescription};
use crate::error::{Details, Error, ErrorClass};
use crate::list_tables::{ListTables, TableList};
use crate::query_records::QueryRecords;
use crate::raw_query::{RawOutcome, RawQuery};
use crate::rowset::Rowset;

/// The operations of a database: `list_tables`, `describe_table`, `query_records` and
/// `execute_raw_query`. Nest them under a name of yours, `db` as a rule.
///
/// A call that is cancelled interrupts its query.
///
/// Errors are -32602 for arguments that no database could take, -32004 for a query that did not end
/// in time, -32005 for what may work later (no free reader, a lock, a file that keeps changing), and
/// -32003 for all else that this database refuses; `data` holds the `reason`, its `kind`, and the table, column, argument or offset in
/// the SQL text that it concerns.
pub fn operations<S>(database: Database) -> Router<S> {
    Router::new()
        .operation(Operation::new("list_tables", list_tables).description(
            "Lists tables and views with their columns and an estimate of their rows.",
        ))
        .operation(
            Operation::new("describe_table", describe_table)
                .description("Describes a table: columns, keys, indexes, triggers, and its DDL."),
        )
        .operation(
            Operation::new("query_records", query_records)
                .description("Reads rows of a table: filters, columns, order, and pages."),
        )
        .operation(
            Operation::new("execute_raw_query", execute_raw_query)
                .description("Runs one reading SQL statement."),
        )
        .with_state(database)
}

async fn list_tables(
    State(database): State<Database>,
    Params(request): Params<ListTables>,
    cancel: CancellationToken,
) -> Result<TableList, ErrorObject> {
    Ok(database.list_tables(request, &cancel).await?)
}

async fn describe_table(
    State(database): State<Database>,
    Params(request): Params<DescribeTable>,
    cancel: CancellationToken,
) -> Result<TableDescription, ErrorObject> {
    Ok(database.describe_table(request, &cancel).await?)
}

async fn query_records(
    State(database): State<Database>,
    Params(request): Params<QueryRecords>,
    cancel: CancellationToken,
) -> Result<Rowset, ErrorObject> {
    Ok(database.query_records(request, &cancel).await?)
}

async fn execute_raw_query(
    State(database): State<Database>,
    Params(request): Params<RawQuery>,
    cancel: CancellationToken,
) -> Result<RawOutcome, ErrorObject> {
    Ok(database.execute_raw_query(request, &cancel).await?)
}

impl From<Error> for ErrorObject {
    fn from(error: Error) -> Self {
        if error.class() == ErrorClass::Database {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::error!(%error, source, "the database failed");
        }
        let data = Data { reason: error.to_string(), details: error.details() };
        let (code, message) = match (&error, error.class()) {
            (
                Error::BadArgument { .. }
                | Error::BadColumn { .. }
                | Error::BadFilter { .. }
                | Error::BadCursor { .. }
                | Error::BadParams { .. },
                _,
            ) => (code::INVALID_PARAMS, "Invalid params"),
            (Error::Timeout { .. }, _) => (code::TIMEOUT, "Call timed out"),
            (_, ErrorClass::Retry) => (code::BUSY, "Server is busy"),
            _ => (code::DATABASE, "Database error"),
        };
        Self::new(code, message).with_data(&data)
    }
}

#[derive(Serialize)]
struct Data {
    reason: String,
    #[serde(flatten)]
    details: Details,
}

//! A database as operations of a router: the one place where this crate knows JSON-RPC.

mod render;

use serde::Serialize;
use serde_json::Value;
use trunkline::tool::ToolOperation;
use trunkline::{Effect, ErrorObject, Operation, Params, Router, State, code};

use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::{Details, Error, ErrorClass};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;
use crate::sqlite::Database;

/// The operation of a method of [`Database`], which is a tool of the same name.
macro_rules! operation {
    ($name:ident($request:ty) -> $result:ty, $render:path) => {{
        async fn $name(
            State(database): State<Database>,
            Params(request): Params<$request>,
        ) -> Result<$result, ErrorObject> {
            Ok(database.$name(request).await?)
        }
        Operation::new(stringify!($name), $name)
            .input::<$request>()
            .output::<$result>()
            .closed_world()
            .tool(stringify!($name))
            .render_text($render)
    }};
}

/// The operations of a database: `list_tables`, `describe_table`, `query_records`, `execute_raw_query`,
/// `insert_record`, `update_record`, `delete_record` and `create_table`. Nest them under a name of yours,
/// `db` as a rule. Each is also a tool of the same name for language models.
///
/// All eight exist for a read-only database too; those that write then return an error.
///
/// A call that is cancelled interrupts its query, and a change is rolled back.
///
/// Errors are -32602 for arguments that no database could take, -32004 for a call that did not end
/// in time, -32005 for what may work later (no free reader or writer, a lock, a file that keeps
/// changing), and -32003 for all else that this database refuses; `data` holds the `reason`, its
/// `kind`, and the table, column, argument or offset in the SQL text that it concerns.
pub fn operations<S>(database: Database) -> Router<S> {
    router(&database).with_state(database)
}

/// Not generic, so that it is compiled in this crate.
fn router(database: &Database) -> Router<Database> {
    let raw_query = operation!(execute_raw_query(RawQuery) -> RawOutcome, render::raw_outcome)
        .title("Execute SQL");
    let raw_query = if database.config().writable {
        raw_query
            .description(
                "Runs exactly one SQLite statement. Reading is the default; a statement that \
                 changes rows or the schema needs \"read_only\": false and runs in a transaction \
                 of its own.",
            )
            .destructive()
            // The statement is refused if it would do more.
            .effect_of(|params| match params.get("read_only") {
                Some(Value::Bool(false)) => Effect::Destroys,
                _ => Effect::Reads,
            })
    } else {
        raw_query
            .description(
                "Runs exactly one reading SQLite statement: SELECT, VALUES, EXPLAIN, WITH.",
            )
            .read_only()
    };
    let list_tables = operation!(list_tables(ListTables) -> TableList, render::as_json)
        .title("List tables")
        .description(
            "Lists the tables and views of the database with their number of columns and an \
             estimate of their rows. Begin here.",
        )
        .read_only();
    let describe_table =
        operation!(describe_table(DescribeTable) -> TableDescription, render::as_json)
            .title("Describe a table")
            .description(
                "Describes a table or view: columns with types, keys, indexes, triggers, the \
                 statement that created it, and up to 5 sample rows.",
            )
            .read_only();
    let query_records = operation!(query_records(QueryRecords) -> Rowset, render::rows)
        .title("Query records")
        .description(
            "Reads rows of one table or view without SQL: filters, columns, order, and pages. For \
             joins and aggregates use execute_raw_query.",
        )
        .read_only();
    let insert_record = operation!(insert_record(InsertRecord) -> Inserted, render::inserted)
        .title("Insert records")
        .description(
            "Inserts one record or several into a table, all or none. \"on_conflict\": \"replace\" \
             deletes rows that are in the way, and rows that refer to them.",
        )
        .destructive()
        // What triggers of the table do besides is part of inserting into it.
        .effect_of(|params| match params.get("on_conflict") {
            None | Some(Value::Null) => Effect::Adds,
            Some(Value::String(word)) if word == "abort" || word == "ignore" => Effect::Adds,
            _ => Effect::Destroys,
        });
    let update_record = operation!(update_record(UpdateRecord) -> Affected, render::updated)
        .title("Update records")
        .description(
            "Changes the rows of a table that match filters, in one transaction. \"dry_run\": true \
             tells how many rows that would be and changes nothing.",
        )
        .destructive();
    let delete_record = operation!(delete_record(DeleteRecord) -> Affected, render::deleted)
        .title("Delete records")
        .description(
            "Deletes the rows of a table that match filters, in one transaction. \"dry_run\": true \
             tells how many rows that would be and deletes nothing.",
        )
        .destructive();
    let create_table = operation!(create_table(CreateTable) -> Created, render::created)
        .title("Create a table")
        .description(
            "Creates a table from column names and types, with keys, constraints and defaults.",
        )
        .additive();
    Router::new()
        .operation(list_tables)
        .operation(describe_table)
        .operation(query_records)
        .operation(raw_query)
        .operation(insert_record)
        .operation(update_record)
        .operation(delete_record)
        .operation(create_table)
}

impl From<Error> for ErrorObject {
    fn from(error: Error) -> Self {
        if error.class() == ErrorClass::Database {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::error!(%error, source, "the database failed");
        }
        let data = ErrorData { reason: error.to_string(), details: error.details() };
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
struct ErrorData {
    reason: String,
    #[serde(flatten)]
    details: Details,
}

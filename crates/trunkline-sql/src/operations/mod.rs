//! A database as operations of a router: the one place where this crate knows JSON-RPC.

mod render;

use serde::Serialize;
use serde_json::Value;
use trunkline::tool::ToolOperation;
use trunkline::{CancellationToken, Effect, ErrorObject, Operation, Params, Router, State, code};

use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::{Details, Error, ErrorClass};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;
use crate::sqlite::Database;

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
    let raw_query = if database.settings().writable {
        execute_raw_query_operation()
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
        execute_raw_query_operation()
            .description(
                "Runs exactly one reading SQLite statement: SELECT, VALUES, EXPLAIN, WITH.",
            )
            .read_only()
    };
    Router::new()
        .operation(list_tables_operation())
        .operation(describe_table_operation())
        .operation(query_records_operation())
        .operation(raw_query)
        .operation(insert_record_operation())
        .operation(update_record_operation())
        .operation(delete_record_operation())
        .operation(create_table_operation())
        .with_state(database)
}

fn list_tables_operation() -> Operation<Database> {
    Operation::new("list_tables", list_tables)
        .title("List tables")
        .description(
            "Lists the tables and views of the database with their number of columns and an \
             estimate of their rows. Begin here.",
        )
        .input::<ListTables>()
        .output::<TableList>()
        .read_only()
        .closed_world()
        .tool("list_tables")
        .render_text(render::table_list)
}

fn describe_table_operation() -> Operation<Database> {
    Operation::new("describe_table", describe_table)
        .title("Describe a table")
        .description(
            "Describes a table or view: columns with types, keys, indexes, triggers, the statement \
             that created it, and up to 5 sample rows.",
        )
        .input::<DescribeTable>()
        .output::<TableDescription>()
        .read_only()
        .closed_world()
        .tool("describe_table")
        .render_text(render::table_description)
}

fn query_records_operation() -> Operation<Database> {
    Operation::new("query_records", query_records)
        .title("Query records")
        .description(
            "Reads rows of one table or view without SQL: filters, columns, order, and pages. For \
             joins and aggregates use execute_raw_query.",
        )
        .input::<QueryRecords>()
        .output::<Rowset>()
        .read_only()
        .closed_world()
        .tool("query_records")
        .render_text(render::rows)
}

fn execute_raw_query_operation() -> Operation<Database> {
    Operation::new("execute_raw_query", execute_raw_query)
        .title("Execute SQL")
        .input::<RawQuery>()
        .output::<RawOutcome>()
        .closed_world()
        .tool("execute_raw_query")
        .render_text(render::raw_outcome)
}

fn insert_record_operation() -> Operation<Database> {
    Operation::new("insert_record", insert_record)
        .title("Insert records")
        .description(
            "Inserts one record or several into a table, all or none. \"on_conflict\": \"replace\" \
             deletes rows that are in the way, and rows that refer to them.",
        )
        .input::<InsertRecord>()
        .output::<Inserted>()
        .destructive()
        // What triggers of the table do besides is part of inserting into it.
        .effect_of(|params| match params.get("on_conflict") {
            None | Some(Value::Null) => Effect::Adds,
            Some(Value::String(word)) if word == "abort" || word == "ignore" => Effect::Adds,
            _ => Effect::Destroys,
        })
        .closed_world()
        .tool("insert_record")
        .render_text(render::inserted)
}

fn update_record_operation() -> Operation<Database> {
    Operation::new("update_record", update_record)
        .title("Update records")
        .description(
            "Changes the rows of a table that match filters, in one transaction. \"dry_run\": true \
             tells how many rows that would be and changes nothing.",
        )
        .input::<UpdateRecord>()
        .output::<Affected>()
        .destructive()
        .closed_world()
        .tool("update_record")
        .render_text(render::updated)
}

fn delete_record_operation() -> Operation<Database> {
    Operation::new("delete_record", delete_record)
        .title("Delete records")
        .description(
            "Deletes the rows of a table that match filters, in one transaction. \"dry_run\": true \
             tells how many rows that would be and deletes nothing.",
        )
        .input::<DeleteRecord>()
        .output::<Affected>()
        .destructive()
        .closed_world()
        .tool("delete_record")
        .render_text(render::deleted)
}

fn create_table_operation() -> Operation<Database> {
    Operation::new("create_table", create_table)
        .title("Create a table")
        .description(
            "Creates a table from column names and types, with keys, constraints and defaults.",
        )
        .input::<CreateTable>()
        .output::<Created>()
        .additive()
        .closed_world()
        .tool("create_table")
        .render_text(render::created)
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

async fn insert_record(
    State(database): State<Database>,
    Params(request): Params<InsertRecord>,
    cancel: CancellationToken,
) -> Result<Inserted, ErrorObject> {
    Ok(database.insert_record(request, &cancel).await?)
}

async fn update_record(
    State(database): State<Database>,
    Params(request): Params<UpdateRecord>,
    cancel: CancellationToken,
) -> Result<Affected, ErrorObject> {
    Ok(database.update_record(request, &cancel).await?)
}

async fn delete_record(
    State(database): State<Database>,
    Params(request): Params<DeleteRecord>,
    cancel: CancellationToken,
) -> Result<Affected, ErrorObject> {
    Ok(database.delete_record(request, &cancel).await?)
}

async fn create_table(
    State(database): State<Database>,
    Params(request): Params<CreateTable>,
    cancel: CancellationToken,
) -> Result<Created, ErrorObject> {
    Ok(database.create_table(request, &cancel).await?)
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

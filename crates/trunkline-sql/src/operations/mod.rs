//! The operations of a database in a router. The only module that depends on JSON-RPC.

#[cfg(feature = "mcp")]
mod mcp;
mod render;

use serde::Serialize;
use serde_json::Value;
use trunkline::tool::ToolOperation;
use trunkline::{Effect, ErrorObject, Operation, Params, Router, Schema, State, code};

use crate::database::Database;
use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::{Details, Error, ErrorClass};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;

/// The operation of a method of [`Database`], which is a tool of the same name.
macro_rules! operation {
    ($name:ident($request:ty) -> $result:ty) => {{
        async fn $name(
            State(database): State<Database>,
            Params(request): Params<$request>,
        ) -> Result<$result, ErrorObject> {
            Ok(database.$name(request).await?)
        }
        Operation::new(stringify!($name), $name)
            // The request reads more forms of values than its schema publishes.
            .input_schema(Schema::of_input::<$request>().checked_by_name())
            .output::<$result>()
            .closed_world()
            .tool(stringify!($name))
    }};
}

/// The operations of a database: `list_tables`, `describe_table`, `query_records`, `execute_raw_query`,
/// `insert_record`, `update_record`, `delete_record` and `create_table`. Nest them under a name, usually `db`. Each is
/// also a tool of the same name for language models.
///
/// All eight exist for a read-only database too. Those that write then return an error, and lists of tools omit them.
///
/// With the feature `mcp`, tables are also resources, `db://main/table/NAME`, and there are prompts for exploring the
/// database: `explore_database`, `explain_table` and `profile_column`.
///
/// A call that is cancelled interrupts its query, and a change is rolled back.
///
/// Errors are -32602 for invalid arguments, -32004 for a timeout, -32005 for a call that can be retried (no free
/// reader or writer, a lock, a file that keeps changing), and -32003 for other errors of the database. `data` contains
/// the `reason`, its `kind`, and the table, column, argument or offset in the SQL text.
pub fn operations<S>(database: impl Into<Database>) -> Router<S> {
    let database = database.into();
    router(&database).with_state(database)
}

/// Not generic, so that it is compiled in this crate.
fn router(database: &Database) -> Router<Database> {
    let raw_query = operation!(execute_raw_query(RawQuery) -> RawOutcome)
        .render_text(render::raw_outcome)
        .title("Execute SQL");
    let raw_query = if database.is_writable() {
        raw_query
            .description("Runs one SQLite statement. Changes require \"read_only\": false.")
            .destructive()
            // With `read_only`, the database refuses every change.
            .effect_of(|params| match params.get("read_only") {
                Some(Value::Bool(false)) => Effect::Destructive,
                _ => Effect::ReadOnly,
            })
    } else {
        raw_query.description("Runs one reading SQLite statement.").read_only()
    };
    let list_tables = operation!(list_tables(ListTables) -> TableList)
        .render_text(render::as_json)
        .title("List tables")
        .description("Lists tables and views with estimated row counts. Start here.")
        .read_only();
    let describe_table = operation!(describe_table(DescribeTable) -> TableDescription)
        .render_text_only(render::described)
        .title("Describe a table")
        .description("Returns the SQL of a table with its indexes and triggers, and sample rows.")
        .read_only();
    let query_records = operation!(query_records(QueryRecords) -> Rowset)
        .render_text(render::rows)
        .title("Query records")
        .description(
            "Reads rows of one table by filters. Use execute_raw_query for joins and aggregates.",
        )
        .read_only();
    let insert_record = operation!(insert_record(InsertRecord) -> Inserted).render_text(render::inserted)
        .title("Insert records")
        .description("Inserts records into a table, all or none.")
        .destructive()
        // Changes by triggers of the table are part of the insertion.
        .effect_of(|params| match params.get("on_conflict") {
            None | Some(Value::Null) => Effect::Additive,
            Some(Value::String(word)) if word == "abort" || word == "ignore" => Effect::Additive,
            _ => Effect::Destructive,
        });
    let update_record = operation!(update_record(UpdateRecord) -> Affected)
        .render_text(render::updated)
        .title("Update records")
        .description("Updates the rows of a table that match filters.")
        .destructive();
    let delete_record = operation!(delete_record(DeleteRecord) -> Affected)
        .render_text(render::deleted)
        .title("Delete records")
        .description("Deletes the rows of a table that match filters.")
        .destructive();
    let create_table = operation!(create_table(CreateTable) -> Created)
        .render_text(render::created)
        .title("Create a table")
        .description("Creates a table.")
        .additive();
    #[cfg(feature = "mcp")]
    let (list_tables, describe_table, query_records) =
        (mcp::tables(list_tables), mcp::table(describe_table), mcp::rows(query_records));
    let readers = Router::new();
    #[cfg(feature = "mcp")]
    let readers = mcp::prompts().into_iter().fold(readers, Router::operation);
    let readers = readers
        .operation(list_tables)
        .operation(describe_table)
        .operation(query_records)
        .operation(raw_query);
    // Models of a read-only server need not read about these; their calls name the flag that allows them.
    let listed = |operation: Operation<Database>| match database.is_writable() {
        true => operation,
        false => operation.unlisted(),
    };
    let writers = [insert_record, update_record, delete_record, create_table];
    writers.into_iter().map(listed).fold(readers, Router::operation)
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

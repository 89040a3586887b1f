//! The operations of databases in a router. The only module that depends on JSON-RPC.

mod export_target;
mod names;
#[cfg(feature = "mcp")]
mod prompts;
mod render;
#[cfg(feature = "mcp")]
mod resources;
mod saved_query;
mod selection;

#[cfg(feature = "mcp")]
pub use resources::notify_subscribers;
use serde::Serialize;
use serde_json::{Map, Value};
use trunkline::access::Principal;
use trunkline::layers::authorize::PermittedDatabases;
use trunkline::tool::ToolOperation;
use trunkline::{
    Call, Effect, ErrorObject, FromCall, JsonSchema, Operation, Params, Router, Schema, State, code,
};

use crate::database::Database;
use crate::databases::{DatabaseName, Databases, Toolset};
use crate::model::caller::Caller;
use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::{Details, Error, ErrorClass};
use crate::model::health::{CheckHealth, DatabaseHealth};
use crate::model::plan::{ExplainQuery, QueryPlan};
use crate::model::profile::{ProfileTable, TableProfile};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;
use crate::model::search::{SchemaMatches, SearchSchema};
pub(crate) use export_target::ExportTarget;
use names::Names;
pub use saved_query::{ParamKind, SavedParam, SavedQuery, SavedQueryError, saved_queries};
use selection::Selection;

/// The operation of a method of [`Database`](crate::Database), which is a tool of the same name.
macro_rules! operation {
    ($names:ident, $name:ident($request:ty) -> $result:ty) => {{
        async fn $name(
            State(databases): State<Databases>,
            caller: Caller,
            Params(request): Params<$request>,
        ) -> Result<$result, ErrorObject> {
            Ok(databases.first().for_caller(&caller)?.$name(request).await?)
        }
        async fn on_selected(
            State(databases): State<Databases>,
            caller: Caller,
            Params(Selection { database, request }): Params<Selection<$request>>,
        ) -> Result<$result, ErrorObject> {
            let database = databases.get(database.as_deref())?.for_caller(&caller)?;
            Ok(database.$name(request).await?)
        }
        operation!($names, stringify!($name), $name, on_selected, $request => $result)
    }};
    ($names:ident, $name:expr, $single:ident, $selected:ident, $request:ty => $result:ty) => {{
        let operation = match $names.are_selected() {
            true => Operation::new($name, $selected),
            false => Operation::new($name, $single),
        };
        $names
            .on_database(operation)
            // The request reads more forms of values than its schema publishes.
            .input_schema($names.schema(Schema::of_input::<$request>()).checked_by_name())
            .output::<$result>()
            .closed_world()
            .tool($names.tool($name))
    }};
}

/// The operations of databases: `list_tables`, `describe_table`, `query_records`, `execute_raw_query`,
/// `insert_record`, `update_record`, `delete_record` and `create_table`. Nest them under a name, usually `db`. Each is
/// also a tool of the same name for language models.
///
/// `search_schema`, `explain_query`, `profile_table` and `database_health` describe a database further. Lists of tools
/// contain them if the databases have [`Toolset::Full`].
///
/// With several databases, each operation has the argument `database`, the name of one; the default is the first.
/// [`separate_operations`] avoids the argument.
///
/// All eight exist for a read-only database too. Those that write then return an error, and lists of tools omit them.
///
/// With the feature `mcp`, tables are also resources, `db://DATABASE/table/NAME`, and there are prompts for exploring
/// the database: `explore_database`, `explain_table` and `profile_column`. The name of a single database is `main`,
/// unless [`Databases::new`] sets another one. `notify_subscribers` notifies MCP clients of changed tables.
///
/// A call of `update_record` or `delete_record` with `dry_run` is read-only.
///
/// A call that is cancelled interrupts its query, and a change is rolled back.
///
/// Errors are -32602 for invalid arguments, -32004 for a timeout, -32005 for a call that can be retried (no free reader
/// or writer, a lock, a file that keeps changing, a server that cannot be reached), and -32003 for other errors of the
/// database. `data` contains the `reason`, its `kind`, and the table, column, argument or offset in the SQL text.
pub fn operations<S>(databases: impl Into<Databases>) -> Router<S> {
    let databases = databases.into();
    let names = match databases.are_several() {
        true => Names::Selected(&databases),
        false => Names::of_single(&databases),
    };
    router(&databases, &names).with_state(databases)
}

/// The operations of each database, nested under its name (`sales.list_tables`), as tools with that prefix
/// (`sales_list_tables`).
pub fn separate_operations<S: Clone + Send + Sync + 'static>(databases: &Databases) -> Router<S> {
    databases.iter().fold(Router::new(), |router, (name, database)| {
        let names = Names::Prefixed(name);
        let database = Databases::from(database.clone()).with_toolset(databases.toolset());
        let operations = self::router(&database, &names).with_state(database);
        router.nest(name.as_str(), operations)
    })
}

/// Not generic, so that it is compiled in this crate.
fn router(databases: &Databases, names: &Names<'_>) -> Router<Databases> {
    let is_writable = databases.is_any_writable();
    let engine = engine(databases);
    let raw_query = raw_query(names)
        .render_text(render::raw_outcome)
        .abbreviate(render::abbreviated)
        .title("Execute SQL");
    let raw_query = if is_writable {
        raw_query
            .description(format!("Runs one {engine} statement. Changes require \"read_only\": false."))
            .destructive()
            // With `read_only`, the database refuses every change.
            .effect_of(|params| match params.get("read_only") {
                Some(Value::Bool(false)) => Effect::Destructive,
                _ => Effect::ReadOnly,
            })
    } else {
        raw_query.description(format!("Runs one reading {engine} statement.")).read_only()
    };
    let list_tables = operation!(names, list_tables(ListTables) -> TableList)
        .render_text(render::as_json)
        .title("List tables")
        .description("Lists tables and views with estimated row counts. Start here.")
        .read_only();
    let describe_table = operation!(names, describe_table(DescribeTable) -> TableDescription)
        .render_text(render::described)
        .abbreviate(render::abbreviated)
        .title("Describe a table")
        .description("Returns the SQL of a table with its indexes and triggers, and sample rows.")
        .read_only();
    let query_records = operation!(names, query_records(QueryRecords) -> Rowset)
        .render_text(render::rows)
        .abbreviate(render::abbreviated)
        .title("Query records")
        .description(
            "Reads rows of one table by filters. Use execute_raw_query for joins and aggregates.",
        )
        .read_only();
    let insert_record = operation!(names, insert_record(InsertRecord) -> Inserted).render_text(render::inserted).abbreviate(render::abbreviated)
        .title("Insert records")
        .description("Inserts records into a table, all or none.")
        .destructive()
        // Changes by triggers of the table are part of the insertion.
        .effect_of(|params| match params.get("on_conflict") {
            None | Some(Value::Null) => Effect::Additive,
            Some(Value::String(word)) if word == "abort" || word == "ignore" => Effect::Additive,
            _ => Effect::Destructive,
        });
    let update_record = operation!(names, update_record(UpdateRecord) -> Affected)
        .render_text(render::updated)
        .title("Update records")
        .description("Updates the rows of a table that match filters.")
        .destructive()
        .effect_of(effect_of_change);
    let delete_record = operation!(names, delete_record(DeleteRecord) -> Affected)
        .render_text(render::deleted)
        .title("Delete records")
        .description("Deletes the rows of a table that match filters.")
        .destructive()
        .effect_of(effect_of_change);
    let create_table = operation!(names, create_table(CreateTable) -> Created)
        .render_text(render::created)
        .title("Create a table")
        .description("Creates a table.")
        .additive();
    #[cfg(feature = "mcp")]
    let (list_tables, describe_table, query_records) = (
        resources::tables(list_tables, names),
        resources::table(describe_table, names),
        resources::rows(query_records, names),
    );
    let readers = Router::new();
    #[cfg(feature = "mcp")]
    let readers = prompts::prompts(names, engine).into_iter().fold(readers, Router::operation);
    let readers = readers
        .operation(list_tables)
        .operation(describe_table)
        .operation(query_records)
        .operation(raw_query);
    let readers = match names {
        Names::Selected(_) => readers.operation(list_databases(names)),
        Names::Single(_) | Names::Prefixed(_) => readers,
    };
    // Models of a read-only server need not read about these; their calls name the flag that allows them.
    let listed = |operation: Operation<Databases>| match is_writable {
        true => operation,
        false => operation.unlisted(),
    };
    let writers = [insert_record, update_record, delete_record, create_table];
    let router = writers.into_iter().map(listed).fold(readers, Router::operation);
    let is_full = databases.toolset() == Toolset::Full;
    inspectors(names).into_iter().fold(router, |router, operation| {
        router.operation(if is_full { operation } else { operation.unlisted() })
    })
}

/// A dry run changes nothing.
fn effect_of_change(params: &Map<String, Value>) -> Effect {
    match params.get("dry_run") {
        Some(Value::Bool(true)) => Effect::ReadOnly,
        _ => Effect::Destructive,
    }
}

/// A call of the [route](crate::routes) of exports sends the rows to its client instead of returning them.
fn raw_query(names: &Names<'_>) -> Operation<Databases> {
    async fn execute_raw_query(
        State(databases): State<Databases>,
        caller: Caller,
        Params(request): Params<RawQuery>,
        export: Option<ExportTarget>,
    ) -> Result<RawOutcome, ErrorObject> {
        run(&databases.first().for_caller(&caller)?, request, export).await
    }
    async fn on_selected(
        State(databases): State<Databases>,
        caller: Caller,
        Params(Selection { database, request }): Params<Selection<RawQuery>>,
        export: Option<ExportTarget>,
    ) -> Result<RawOutcome, ErrorObject> {
        let database = databases.get(database.as_deref())?.for_caller(&caller)?;
        run(&database, request, export).await
    }
    async fn run(
        database: &Database,
        request: RawQuery,
        export: Option<ExportTarget>,
    ) -> Result<RawOutcome, ErrorObject> {
        match export {
            None => Ok(database.execute_raw_query(request).await?),
            Some(target) => Ok(target.export(database, request).await?),
        }
    }
    operation!(names, "execute_raw_query", execute_raw_query, on_selected, RawQuery => RawOutcome)
}

/// The operations of the full toolset that describe a database.
fn inspectors(names: &Names<'_>) -> [Operation<Databases>; 4] {
    [
        operation!(names, search_schema(SearchSchema) -> SchemaMatches)
            .render_text(render::as_json)
            .title("Search the schema")
            .description("Finds tables and columns by keywords of names, types and comments.")
            .read_only(),
        operation!(names, explain_query(ExplainQuery) -> QueryPlan)
            .render_text(render::plan)
            .title("Explain a query")
            .description("Returns the plan of a reading statement without running it.")
            .read_only(),
        operation!(names, profile_table(ProfileTable) -> TableProfile)
            .render_text(render::as_json)
            .title("Profile a table")
            .description("Counts NULLs and different values of each column, with minimum, maximum and examples.")
            .read_only(),
        operation!(names, database_health(CheckHealth) -> DatabaseHealth)
            .render_text(render::as_json)
            .title("Check the database")
            .description("Returns size, state and problems of the database, such as foreign keys without index.")
            .read_only(),
    ]
}

/// The databases of a service.
#[derive(Serialize, JsonSchema)]
struct DatabaseList {
    databases: Vec<DatabaseSummary>,
}

#[derive(Serialize, JsonSchema)]
struct DatabaseSummary {
    /// The argument `database` of the other operations.
    name: String,
    /// The engine, which determines the SQL.
    engine: &'static str,
    /// Whether the database can be changed.
    writable: bool,
}

fn list_databases(names: &Names<'_>) -> Operation<Databases> {
    async fn list(
        State(databases): State<Databases>,
        permitted: PermittedDatabases,
    ) -> trunkline::Json<DatabaseList> {
        let summary = |(name, database): (&DatabaseName, &Database)| DatabaseSummary {
            name: name.to_string(),
            engine: database.engine().name(),
            writable: database.is_writable(),
        };
        let databases = databases.iter().filter(|(name, _)| permitted.has(name.as_str()));
        trunkline::Json(DatabaseList { databases: databases.map(summary).collect() })
    }
    let list_databases = Operation::new("list_databases", list)
        .output::<DatabaseList>()
        .title("List databases")
        .description("Lists the databases and their engines.")
        .read_only()
        .closed_world()
        .tool(names.tool("list_databases"));
    #[cfg(feature = "mcp")]
    let list_databases = resources::databases(list_databases, names);
    list_databases
}

/// The name of the engine in descriptions, if all databases have the same.
fn engine(databases: &Databases) -> &'static str {
    let engine = databases.first().engine();
    let is_common = databases.iter().all(|(_, database)| database.engine() == engine);
    if is_common { engine.name() } else { "SQL" }
}

/// The claim with the name of a listed token.
const TOKEN_NAME: &str = "token";

/// The claims of the token. The name of a listed token is the claim `token`, which signed tokens do not have: the subject
/// `ops` of an issuer is not the listed token `ops`.
impl<S> FromCall<S> for Caller {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let Some(principal) = Principal::of(call.extensions()) else { return Ok(Self::default()) };
        let mut claims = principal.claims().clone();
        claims.remove(TOKEN_NAME);
        if principal.issuer().is_none() && principal.has_name() {
            claims.insert(TOKEN_NAME.to_owned(), principal.name().into());
        }
        Ok(Self::client(claims))
    }
}

impl From<Error> for ErrorObject {
    fn from(error: Error) -> Self {
        // An outage is logged once, by the pool of connections.
        if error.class() == ErrorClass::Database && !matches!(error, Error::Unconfirmed) {
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
                | Error::BadParams { .. }
                | Error::BadParam { .. },
                _,
            ) => (code::INVALID_PARAMS, "Invalid params"),
            (Error::Timeout { .. }, _) => (code::TIMEOUT, "Call timed out"),
            (Error::UnknownRole { .. }, _) => (code::FORBIDDEN, "Forbidden"),
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

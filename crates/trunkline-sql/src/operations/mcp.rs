//! Tables as resources of MCP, completion of their names, and prompts for exploring a database.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline::{ErrorObject, Json, JsonSchema, Operation, Params, code};
use trunkline_mcp::{
    Annotations, Block, Completion, CompletionParams, McpOperation, Prompt, PromptMessage,
    Resource, ResourcePage, ResourceTemplate, Role, uri_value,
};

use crate::database::Database;

const TABLES: &str = "db://main/tables";
const TABLE: &str = "db://main/table/{table_name}{?sample_rows}";
const ROWS: &str = "db://main/table/{table_name}/rows{?columns,order_by,limit,offset,cursor}";

const EXPLORE: &str = "explore_database";
const EXPLAIN: &str = "explain_table";
const PROFILE: &str = "profile_column";

/// Lists tables as resources, and completes their names.
pub(super) fn tables(list_tables: Operation<Database>) -> Operation<Database> {
    let completions = [
        Completion::template(TABLE, "table_name"),
        Completion::template(ROWS, "table_name"),
        Completion::prompt(EXPLAIN, "table_name"),
        Completion::prompt(PROFILE, "table_name"),
    ];
    list_tables
        .resource(Resource::new(TABLES, "tables").mime_type(JSON))
        .resource_list_by(table_page)
        .completes_by(completions, names_like, table_names)
}

/// Describes tables as resources, and completes the names of their columns.
pub(super) fn table(describe_table: Operation<Database>) -> Operation<Database> {
    let completions = [
        Completion::template(ROWS, "columns"),
        Completion::template(ROWS, "order_by"),
        Completion::prompt(PROFILE, "column"),
    ];
    describe_table
        .resource_template(ResourceTemplate::new(TABLE, "table").mime_type(JSON))
        .resource_missing_if(is_unknown_table)
        .completes_by(completions, table_of, column_names)
}

/// Reads rows as resources.
pub(super) fn rows(query_records: Operation<Database>) -> Operation<Database> {
    query_records
        .resource_template(ResourceTemplate::new(ROWS, "rows").mime_type(JSON))
        .resource_missing_if(is_unknown_table)
}

const JSON: &str = "application/json";

/// The members of results that are read here.
#[derive(Deserialize)]
struct Tables {
    tables: Vec<Named>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Columns {
    columns: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    kind: Option<String>,
}

fn table_page(result: &[u8]) -> ResourcePage {
    let Ok(Tables { tables, next_cursor }) = serde_json::from_slice(result) else {
        return ResourcePage::default();
    };
    let resource = |table: Named| {
        let description = table.kind.map(|kind| format!("{} {kind}", article(&kind)));
        let resource = resource_of(&table.name)?;
        Some(match description {
            Some(description) => resource.description(format!("{description} of the database.")),
            None => resource,
        })
    };
    let page = ResourcePage::new(tables.into_iter().filter_map(resource));
    match next_cursor {
        Some(cursor) => page.next(Map::from_iter([("cursor".to_owned(), cursor.into())])),
        None => page,
    }
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "An" } else { "A" }
}

/// The resource of a table. None for a name that is not allowed in a URI of a template.
fn resource_of(table: &str) -> Option<Resource> {
    let uri = format!("db://main/table/{}", uri_value(table)?);
    Some(Resource::new(uri, table).mime_type(JSON))
}

/// The params of a list of the tables whose names contain the text so far.
fn names_like(params: &CompletionParams) -> Option<Value> {
    Some(json!({ "pattern": format!("%{}%", params.value) }))
}

fn table_names(result: &[u8]) -> Vec<String> {
    let tables = serde_json::from_slice(result).map(|Tables { tables, .. }| tables);
    tables.into_iter().flatten().map(|table| table.name).collect()
}

fn table_of(params: &CompletionParams) -> Option<Value> {
    Some(json!({ "table_name": params.context.get("table_name")? }))
}

fn column_names(result: &[u8]) -> Vec<String> {
    let columns = serde_json::from_slice(result).map(|Columns { columns }| columns);
    columns.into_iter().flatten().map(|column| column.name).collect()
}

fn is_unknown_table(error: &ErrorObject) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    let kind = error.data().and_then(|data| serde_json::from_str::<Kind>(data.get()).ok());
    error.code() == code::DATABASE && kind.is_some_and(|kind| kind.kind == "unknown_table")
}

/// Prompts for exploring the database.
pub(super) fn prompts() -> [Operation<Database>; 3] {
    [
        Operation::new(EXPLORE, explore)
            .title("Explore the database")
            .description("Describes the database, or answers a question about it.")
            .input::<Explore>()
            .prompt(Prompt::new(EXPLORE)),
        Operation::new(EXPLAIN, explain)
            .title("Explain a table")
            .description("Explains the content of a table and its relations to others.")
            .input::<Explain>()
            .prompt(Prompt::new(EXPLAIN)),
        Operation::new(PROFILE, profile)
            .title("Profile a column")
            .description("Examines the values of a column, and reports what looks wrong.")
            .input::<Profile>()
            .prompt(Prompt::new(PROFILE)),
    ]
    .map(|prompt| prompt.read_only().closed_world())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Explore {
    /// A question about the data.
    question: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Explain {
    /// Table or view name.
    table_name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Profile {
    /// Table or view name.
    table_name: String,
    /// Column name.
    column: String,
}

fn explore(Params(Explore { question }): Params<Explore>) -> String {
    let steps = "Call list_tables first, then describe_table for each table that matters, with a few sample rows.";
    match question {
        None => format!(
            "Explore the SQLite database. {steps} Then summarise what the database is about, how its tables are \
             related, and three questions that it can answer, each with its SQL."
        ),
        Some(question) => format!(
            "Answer a question from the SQLite database. {steps} Then answer with one SQL statement \
             (execute_raw_query), show the statement, and say which assumptions it makes.\n\nQuestion: {question}"
        ),
    }
}

fn explain(Params(Explain { table_name }): Params<Explain>) -> Json<Vec<PromptMessage>> {
    let text = format!(
        "Explain the table {table_name:?} of the SQLite database: what a row represents, the meaning of each column, \
         and the tables that it refers to or that refer to it. Call describe_table with 5 sample rows. Point out \
         columns whose values do not fit their names or types."
    );
    Json(with_table(text, &table_name))
}

fn profile(Params(Profile { table_name, column }): Params<Profile>) -> Json<Vec<PromptMessage>> {
    let text = format!(
        "Examine the column {column:?} of the table {table_name:?} of the SQLite database with execute_raw_query: the \
         number of rows, of nulls and of distinct values, the minimum and maximum, and the 10 most frequent values. \
         Report values that look wrong, such as outliers, placeholders and different spellings of the same value."
    );
    Json(with_table(text, &table_name))
}

/// A message of the user with a link to a table.
fn with_table(text: String, table: &str) -> Vec<PromptMessage> {
    let link = resource_of(table).map(|resource| {
        Block::link(resource).annotations(Annotations::new().audience([Role::Assistant]))
    });
    [Block::text(text)].into_iter().chain(link).map(PromptMessage::user).collect()
}

//! Tables as resources of MCP, and completion of their names.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline::{ErrorObject, Operation, code};
use trunkline_mcp::uri::uri_value;
use trunkline_mcp::{
    ChangedResource, Completion, CompletionParams, Mcp, McpOperation, Resource, ResourcePage,
    ResourceTemplate,
};

use super::names::Names;
use crate::databases::Databases;

// The names of prompts, whose arguments are completed here.
pub(super) const EXPLORE: &str = "explore_database";
pub(super) const EXPLAIN: &str = "explain_table";
pub(super) const PROFILE: &str = "profile_column";

/// The URIs of a database, after its name.
const TABLES: &str = "/tables";
const TABLE: &str = "/table/{table_name}{?sample_rows}";
const ROWS: &str = "/table/{table_name}/rows{?columns,order_by,limit,offset,cursor}";

/// Lists tables as resources, and completes their names.
pub(super) fn tables(list_tables: Operation<Databases>, names: &Names<'_>) -> Operation<Databases> {
    let uri = names.uri();
    let completions = [
        Completion::template(format!("{uri}{TABLE}"), "table_name"),
        Completion::template(format!("{uri}{ROWS}"), "table_name"),
        Completion::prompt(names.tool(EXPLAIN), "table_name"),
        Completion::prompt(names.tool(PROFILE), "table_name"),
    ];
    let list_tables = list_tables.completes_by(completions, names_like, table_names);
    let tables = format!("{uri}{TABLES}");
    match names {
        Names::Selected(_) => {
            list_tables.resource_template(ResourceTemplate::new(tables, "tables").mime_type(JSON))
        }
        Names::Single(_) | Names::Prefixed(_) => list_tables
            .resource(Resource::new(tables, "tables").mime_type(JSON))
            .resource_list_by(move |result| table_page(&uri, result)),
    }
}

/// Describes tables as resources, and completes the names of their columns.
pub(super) fn table(
    describe_table: Operation<Databases>,
    names: &Names<'_>,
) -> Operation<Databases> {
    let uri = names.uri();
    let completions = [
        Completion::template(format!("{uri}{ROWS}"), "columns"),
        Completion::template(format!("{uri}{ROWS}"), "order_by"),
        Completion::prompt(names.tool(PROFILE), "column"),
    ];
    describe_table
        .resource_template(ResourceTemplate::new(format!("{uri}{TABLE}"), "table").mime_type(JSON))
        .resource_missing_if(is_missing)
        .completes_by(completions, table_of, column_names)
}

/// Reads rows as resources.
pub(super) fn rows(query_records: Operation<Databases>, names: &Names<'_>) -> Operation<Databases> {
    let template = ResourceTemplate::new(format!("{}{ROWS}", names.uri()), "rows");
    query_records.resource_template(template.mime_type(JSON)).resource_missing_if(is_missing)
}

/// Lists the tables of each database as a resource, and completes the names of databases.
pub(super) fn databases(
    list_databases: Operation<Databases>,
    names: &Names<'_>,
) -> Operation<Databases> {
    let uri = names.uri();
    let completions = [
        Completion::template(format!("{uri}{TABLES}"), "database"),
        Completion::template(format!("{uri}{TABLE}"), "database"),
        Completion::template(format!("{uri}{ROWS}"), "database"),
        Completion::prompt(EXPLORE, "database"),
        Completion::prompt(EXPLAIN, "database"),
        Completion::prompt(PROFILE, "database"),
    ];
    list_databases
        .completes_by(completions, |_| Some(json!({})), database_names)
        .resource_list_by(database_page)
}

const JSON: &str = "application/json";

/// The members of results that are read here.
#[derive(Deserialize)]
struct Tables {
    tables: Vec<Named>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct DatabaseNames {
    databases: Vec<Named>,
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

fn table_page(database: &str, result: &[u8]) -> ResourcePage {
    let Ok(Tables { tables, next_cursor }) = serde_json::from_slice(result) else {
        return ResourcePage::default();
    };
    let resource = |table: Named| {
        let description = table.kind.map(|kind| format!("{} {kind}", article(&kind)));
        let resource = resource_of(database, &table.name)?;
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

fn database_page(result: &[u8]) -> ResourcePage {
    let tables = |name: String| {
        Resource::new(format!("db://{name}{TABLES}"), format!("{name}: tables")).mime_type(JSON)
    };
    ResourcePage::new(database_names(result).into_iter().map(tables))
}

fn database_names(result: &[u8]) -> Vec<String> {
    let list = serde_json::from_slice(result).map(|DatabaseNames { databases }| databases);
    list.into_iter().flatten().map(|database| database.name).collect()
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "An" } else { "A" }
}

/// The resource of a table of the database with this URI. None for a name that is not allowed in a URI of a template.
pub(super) fn resource_of(database: &str, table: &str) -> Option<Resource> {
    let uri = format!("{database}/table/{}", uri_value(table)?);
    Some(Resource::new(uri, table).mime_type(JSON))
}

/// Notifies the MCP clients that have subscribed to tables, or to their rows, of
/// [changes](crate::Database::on_change). After a change of the schema, all clients are notified that the list of
/// resources has changed; set [`McpConfig::resource_list_changes`](trunkline_mcp::McpConfig::resource_list_changes).
pub fn notify_subscribers(databases: impl Into<Databases>, mcp: &Mcp) {
    for (name, database) in databases.into().iter() {
        let (prefix, notifier) = (format!("db://{name}"), mcp.notifier());
        database.on_change(move |change| {
            let table = |table: &String| ChangedResource::Under(format!("{prefix}/table/{table}"));
            match change.any_table {
                true => notifier.resources_updated([ChangedResource::Under(prefix.clone())]),
                false => notifier.resources_updated(
                    change
                        .tables
                        .iter()
                        .map(table)
                        .chain([ChangedResource::One(format!("{prefix}{TABLES}"))]),
                ),
            }
            if change.schema {
                notifier.resource_list_changed();
            }
        });
    }
}

/// The params of a list of the tables whose names contain the text so far.
fn names_like(params: &CompletionParams) -> Option<Value> {
    let mut request = json!({ "pattern": format!("%{}%", params.value) });
    copy_database(params, &mut request);
    Some(request)
}

fn table_names(result: &[u8]) -> Vec<String> {
    let tables = serde_json::from_slice(result).map(|Tables { tables, .. }| tables);
    tables.into_iter().flatten().map(|table| table.name).collect()
}

fn table_of(params: &CompletionParams) -> Option<Value> {
    let mut request = json!({ "table_name": params.context.get("table_name")? });
    copy_database(params, &mut request);
    Some(request)
}

/// Copies the database of the completed template or prompt, if it has one.
fn copy_database(params: &CompletionParams, request: &mut Value) {
    if let Some(database) = params.context.get("database") {
        request["database"] = database.as_str().into();
    }
}

fn column_names(result: &[u8]) -> Vec<String> {
    let columns = serde_json::from_slice(result).map(|Columns { columns }| columns);
    columns.into_iter().flatten().map(|column| column.name).collect()
}

/// Whether the database or the table is unknown.
fn is_missing(error: &ErrorObject) -> bool {
    #[derive(Deserialize)]
    struct Data {
        kind: String,
        argument: Option<String>,
    }
    let Some(data) = error.data().and_then(|data| serde_json::from_str::<Data>(data.get()).ok())
    else {
        return false;
    };
    match error.code() {
        code::DATABASE => data.kind == "unknown_table",
        code::INVALID_PARAMS => data.argument.as_deref() == Some("database"),
        _ => false,
    }
}

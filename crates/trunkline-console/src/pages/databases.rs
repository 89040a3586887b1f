//! Databases: tables, columns and rows.

use askama::Template;
use axum::extract::{FromRequest, FromRequestParts, Path, RawPathParams, Request};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use trunkline::{ErrorObject, code};

use crate::config::ConsoleDatabase;
use crate::console::{
    Called, Console, DATA, DisabledPage, Layout, Refused, Visit, page, see_other,
};
use crate::json::Json;
use crate::table::{Cell, Column, Table};
use crate::text;

pub(super) const SECTION: &str = "databases";

/// A database and its operations, for a user.
pub(super) struct DatabaseVisit {
    pub(super) visit: Visit,
    pub(super) database: ConsoleDatabase,
}

/// The database is the parameter `database` of the path.
impl FromRequest<Console> for DatabaseVisit {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let params = RawPathParams::from_request_parts(&mut parts, console).await;
        let params = params.map_err(IntoResponse::into_response)?;
        let name = params.iter().find(|(name, _)| *name == "database").map(|(_, value)| value);
        let visit = Visit::from_request(Request::from_parts(parts, body), console).await?;
        let name = name.unwrap_or_default();
        let databases = visit.databases();
        match databases.into_iter().find(|database| database.name == name) {
            Some(database) => Ok(Self { database, visit }),
            None => {
                let error = ErrorObject::new(code::NOT_FOUND, "Not found");
                let reason = format!("unknown database `{name}`");
                Err(visit.failed(SECTION, &error.with_data(&json!({ "reason": reason }))))
            }
        }
    }
}

impl DatabaseVisit {
    pub(super) async fn call(
        &self,
        operation: &str,
        mut params: Map<String, Value>,
    ) -> Result<Called, ErrorObject> {
        if self.database.is_selected {
            params.insert("database".to_owned(), self.database.name.clone().into());
        }
        let method = format!("{}.{operation}", self.database.prefix);
        self.visit.call(&method, &params).await
    }

    pub(super) async fn describe(&self, table: &str) -> Result<Json, ErrorObject> {
        let params = Map::from_iter([("table_name".to_owned(), table.into())]);
        Ok(self.call("describe_table", params).await?.result)
    }

    pub(super) fn failed(&self, error: &ErrorObject) -> Response {
        self.visit.failed(SECTION, error)
    }

    /// The links to all rows of a statement, with their labels.
    pub(super) fn exports(&self, sql: &str) -> Vec<(&'static str, String)> {
        let database = text::encode(&self.database.name);
        let url = |further: &[(&str, &str)]| {
            let pairs = [&[("sql", sql)], further].concat();
            format!("{DATA}/db/{database}/query{}", text::query(&pairs))
        };
        vec![
            ("CSV", url(&[("format", "csv")])),
            ("CSV for spreadsheets", url(&[("format", "csv"), ("spreadsheet_safe", "true")])),
            ("NDJSON", url(&[("format", "ndjson")])),
            ("JSON", url(&[("format", "json")])),
        ]
    }

    pub(super) fn head(&self, tab: &'static str) -> Head {
        let ConsoleDatabase { name, engine, is_writable, .. } = &self.database;
        Head {
            name: name.clone(),
            engine: engine.clone(),
            is_writable: *is_writable,
            base: base(name),
            tab,
            is_one_of_many: self.visit.databases().len() > 1,
        }
    }
}

/// The URL of a database.
fn base(name: &str) -> String {
    format!("/console/databases/{}", text::encode(name))
}

/// The URL of a table of the database at `base`.
pub(super) fn table_href(base: &str, table: &str) -> String {
    format!("{base}/tables/{}", text::encode(table))
}

/// The head of the pages of a database.
pub(super) struct Head {
    pub(super) name: String,
    pub(super) engine: String,
    pub(super) is_writable: bool,
    pub(super) base: String,
    pub(super) tab: &'static str,
    pub(super) is_one_of_many: bool,
}

#[derive(Template)]
#[template(path = "databases.html")]
struct ListPage {
    layout: Layout,
    databases: Vec<Head>,
}

pub(super) async fn list(visit: Visit) -> Response {
    let databases = visit.databases();
    match databases.as_slice() {
        [] => page(&DisabledPage {
            layout: visit.layout("Databases", SECTION),
            explanation: "This server serves no database.",
            command: "trunkline serve --db app.db",
            guide: "A SQLite file, or a PostgreSQL URL such as postgres://reader@host/sales. Repeat --db for several \
                    databases, and add --writable to allow changes.",
        }),
        [only] => see_other(&base(&only.name)),
        several => {
            let head = |database: &ConsoleDatabase| Head {
                name: database.name.clone(),
                engine: database.engine.clone(),
                is_writable: database.is_writable,
                base: base(&database.name),
                tab: "",
                is_one_of_many: true,
            };
            let databases = several.iter().map(head).collect();
            page(&ListPage { layout: visit.layout("Databases", SECTION), databases })
        }
    }
}

struct ListedTable {
    name: String,
    href: String,
    kind: String,
    columns: String,
    rows: String,
    description: String,
}

#[derive(Template)]
#[template(path = "tables.html")]
struct TablesPage {
    layout: Layout,
    head: Head,
    search: String,
    tables: Vec<ListedTable>,
    next: Option<String>,
}

pub(super) async fn tables(visit: DatabaseVisit) -> Result<Response, Refused> {
    let fields = &visit.visit.fields;
    let search = fields.text("q").trim().to_owned();
    let mut params = Map::new();
    if !search.is_empty() {
        params.insert("pattern".to_owned(), format!("%{search}%").into());
    }
    if let Some(cursor) = fields.get("cursor") {
        params.insert("cursor".to_owned(), cursor.into());
    }
    let head = visit.head("tables");
    let found = match visit.call("list_tables", params).await {
        Ok(called) => called.result,
        Err(error) => return Ok(visit.failed(&error)),
    };
    let count = |table: &Json, name: &str| match table.get(name).and_then(Json::as_f64) {
        Some(number) => text::grouped(number as u64),
        None => String::new(),
    };
    let listed = |table: &Json| ListedTable {
        name: table.text("name"),
        href: table_href(&head.base, &table.text("name")),
        kind: table.text("kind"),
        columns: count(table, "columns"),
        rows: count(table, "row_estimate"),
        description: table.get("description").and_then(Json::as_str).unwrap_or_default().to_owned(),
    };
    let tables = found.items("tables").iter().map(listed).collect();
    let next = found.get("next_cursor").and_then(Json::as_str);
    let next = next.map(|cursor| {
        format!("{}{}", head.base, text::query(&[("q", &search), ("cursor", cursor)]))
    });
    let layout = visit.visit.layout(visit.database.name.clone(), SECTION);
    Ok(page(&TablesPage { layout, head, search, tables, next }))
}

#[derive(Template)]
#[template(path = "columns.html")]
struct ColumnsPage {
    layout: Layout,
    head: Head,
    table_name: String,
    kind: String,
    description: String,
    href: String,
    table_tab: &'static str,
    table: Table,
    keys: Vec<(String, String, String)>,
    indexes: Vec<(String, String, bool)>,
    triggers: Vec<String>,
    ddl: String,
}

pub(super) async fn columns(
    Path((_, table)): Path<(String, String)>,
    visit: DatabaseVisit,
) -> Result<Response, Refused> {
    let described = match visit.describe(&table).await {
        Ok(described) => described,
        Err(error) => return Ok(visit.failed(&error)),
    };
    let head = visit.head("tables");
    let primary: Vec<String> = described.items("primary_key").iter().map(Json::plain).collect();
    let names = ["Column", "Type", "Key", "NULL", "Default", "Comment"];
    let row = |column: &Json| {
        let name = column.text("name");
        let optional =
            |name: &str| column.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let is_nullable = column.get("nullable") == Some(&Json::Bool(true));
        let key = if primary.contains(&name) { "primary" } else { "" };
        let texts = [
            name,
            optional("type"),
            key.to_owned(),
            if is_nullable { "yes" } else { "no" }.to_owned(),
            optional("default"),
            optional("description"),
        ];
        texts.into_iter().map(|text| Cell { text, class: "text", ..Cell::default() }).collect()
    };
    let list = |json: &Json| {
        let names: Vec<String> =
            json.as_array().unwrap_or_default().iter().map(Json::plain).collect();
        names.join(", ")
    };
    let of = |value: &Json, name: &str| value.get(name).map(list).unwrap_or_default();
    let key = |key: &Json| {
        let target = key.text("references_table");
        let columns = of(key, "references_columns");
        let columns = if columns.is_empty() { String::new() } else { format!(" ({columns})") };
        (of(key, "columns"), format!("{target}{columns}"), table_href(&head.base, &target))
    };
    let index = |index: &Json| {
        (index.text("name"), of(index, "columns"), index.get("unique") == Some(&Json::Bool(true)))
    };
    let trigger = |one: &Json| {
        one.get("ddl").or_else(|| one.get("name")).map(Json::plain).unwrap_or_default()
    };
    let columns = names.map(|name| Column { name: name.to_owned(), ..Column::default() });
    Ok(page(&ColumnsPage {
        layout: visit.visit.layout(format!("{table} · {}", visit.database.name), SECTION),
        kind: described.text("kind"),
        description: described.get("description").map(Json::plain).unwrap_or_default(),
        href: table_href(&head.base, &table),
        table_tab: "columns",
        table: Table {
            columns: columns.into(),
            rows: described.items("columns").iter().map(row).collect(),
            hidden: 0,
        },
        keys: described.items("foreign_keys").iter().map(key).collect(),
        indexes: described.items("indexes").iter().map(index).collect(),
        triggers: described.items("triggers").iter().map(trigger).collect(),
        ddl: described.get("ddl").and_then(Json::as_str).unwrap_or_default().to_owned(),
        table_name: table,
        head,
    }))
}

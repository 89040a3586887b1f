//! The rows of a table: filters, order, pages, links and whole values.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::{Map, Value, json};
use trunkline::{ErrorObject, code};

use super::databases::{DatabaseVisit, Head, SECTION, table_href};
use crate::console::{Layout, Refused, object, page};
use crate::json::Json;
use crate::table::{Column, Table};
use crate::text;

/// An operator of filters: its name, and its label.
const OPERATORS: [(&str, &str); 10] = [
    ("eq", "="),
    ("ne", "≠"),
    ("gt", ">"),
    ("gte", "≥"),
    ("lt", "<"),
    ("lte", "≤"),
    ("like", "like"),
    ("in", "in (a, b)"),
    ("null", "is NULL"),
    ("notnull", "is not NULL"),
];

/// A condition on a column.
struct Condition {
    column: String,
    operator: String,
    label: &'static str,
    value: String,
    /// The URL of the page without this condition.
    without: String,
}

struct Conditions(Vec<(String, String, String)>);

impl Conditions {
    /// The conditions in the parameters `f` (column), `op` and `v`, which are repeated together.
    fn of(fields: &[(String, String)]) -> Self {
        let all = |name: &'static str| {
            fields.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let conditions = all("f").zip(all("op")).zip(all("v"));
        let conditions = conditions.map(|((column, operator), value)| (column, operator, value));
        Self(conditions.filter(|(column, ..)| !column.is_empty()).take(8).collect())
    }

    /// The filters of `query_records`.
    fn filters(&self, described: &Json) -> Map<String, Value> {
        let mut filters: Map<String, Value> = Map::new();
        for (column, operator, value) in &self.0 {
            let is_numeric = is_numeric(described, column);
            let typed = |value: &str| typed(value.trim(), value, is_numeric);
            let (operator, operand) = match operator.as_str() {
                "null" => ("is_null", Value::from(true)),
                "notnull" => ("is_null", Value::from(false)),
                "in" => ("in", value.split(',').map(|one| typed(one.trim())).collect()),
                "like" => ("like", value.clone().into()),
                other => (other, typed(value)),
            };
            let entry = filters.entry(column).or_insert_with(|| json!({}));
            if let Value::Object(operators) = entry {
                operators.insert(operator.to_owned(), operand);
            }
        }
        filters
    }

    /// The parameters, with empty values, since the three are matched by their positions.
    fn pairs(&self, except: Option<usize>) -> Vec<(&str, &str)> {
        let mut pairs = Vec::new();
        for (index, (column, operator, value)) in self.0.iter().enumerate() {
            if Some(index) != except {
                pairs.extend([("f", column.as_str()), ("op", operator), ("v", value)]);
            }
        }
        pairs
    }
}

/// A value of a numeric column is a number, if it is one.
fn typed(trimmed: &str, value: &str, is_numeric: bool) -> Value {
    match serde_json::from_str::<Value>(trimmed) {
        Ok(number @ Value::Number(_)) if is_numeric => number,
        _ => value.into(),
    }
}

fn is_numeric(described: &Json, column: &str) -> bool {
    let columns = described.items("columns").iter();
    let found = columns.into_iter().find(|known| known.text("name") == column);
    let kind = found.map(|column| column.text("type").to_uppercase()).unwrap_or_default();
    let names = ["INT", "REAL", "NUM", "DOUB", "FLOA", "DEC", "SERIAL", "MONEY"];
    names.iter().any(|name| kind.contains(name))
}

#[derive(Template)]
#[template(path = "rows.html")]
struct RowsPage {
    layout: Layout,
    head: Head,
    table_name: String,
    kind: String,
    description: String,
    href: String,
    table_tab: &'static str,
    columns: Vec<String>,
    conditions: Vec<Condition>,
    operators: &'static [(&'static str, &'static str)],
    sort: String,
    table: Table,
    is_first: bool,
    first: String,
    next: Option<String>,
    millis: String,
    exports: Vec<(&'static str, String)>,
    hint: String,
}

const PAGE: &str = "50";

pub(super) async fn list(
    Path((_, table)): Path<(String, String)>,
    visit: DatabaseVisit,
) -> Result<Response, Refused> {
    let described = match visit.describe(&table).await {
        Ok(described) => described,
        Err(error) => return Ok(visit.failed(&error)),
    };
    let fields = &visit.visit.fields;
    let conditions = Conditions::of(&fields.0);
    let (sort, cursor) = (fields.text("sort"), fields.text("cursor"));
    let limit = fields.get("limit").unwrap_or(PAGE);
    let mut params = Map::from_iter([
        ("table_name".to_owned(), table.clone().into()),
        ("limit".to_owned(), limit.parse().unwrap_or(50_u64).clamp(1, 500).into()),
    ]);
    let filters = conditions.filters(&described);
    if !filters.is_empty() {
        params.insert("filters".to_owned(), filters.into());
    }
    if !sort.is_empty() {
        let (column, direction) = match sort.strip_prefix('-') {
            Some(column) => (column, "desc"),
            None => (sort, "asc"),
        };
        params.insert("order_by".to_owned(), json!([{ "column": column, "direction": direction }]));
    }
    if !cursor.is_empty() {
        params.insert("cursor".to_owned(), cursor.into());
    }
    let called = match visit.call("query_records", params).await {
        Ok(called) => called,
        Err(error) => return Ok(visit.failed(&error)),
    };
    let head = visit.head("tables");
    let href = table_href(&head.base, &table);
    let url = |changed: &[(&str, &str)], except: Option<usize>| {
        let kept_limit = if limit == PAGE { "" } else { limit };
        let mut pairs = conditions.pairs(except);
        let kept = [("sort", sort), ("limit", kept_limit)].into_iter();
        let kept = kept.filter(|(name, _)| !changed.iter().any(|(other, _)| other == name));
        pairs.extend(kept.chain(changed.iter().copied()).filter(|(_, value)| !value.is_empty()));
        format!("{href}{}", text::exact_query(&pairs))
    };
    let shown = Table::of_rowset(&called.result).unwrap_or_default();
    let shown = linked(shown, &called.result, &described, &head, &href);
    let sortable = |column: Column| {
        let (order, next) = match sort.strip_prefix('-') {
            Some(sorted) if sorted == column.name => ("descending", String::new()),
            None if sort == column.name => ("ascending", format!("-{sort}")),
            _ => ("", column.name.clone()),
        };
        Column { sort: Some(url(&[("sort", &next)], None)), order, ..column }
    };
    let columns = shown.columns.into_iter().map(sortable).collect();
    let shown = Table { columns, ..shown };
    let next = called.result.get("next_cursor").and_then(Json::as_str);
    let listed =
        conditions.0.iter().enumerate().map(|(index, (column, operator, value))| Condition {
            column: column.clone(),
            operator: operator.clone(),
            label: OPERATORS
                .iter()
                .find(|(name, _)| name == operator)
                .map_or("?", |(_, label)| label),
            value: value.clone(),
            without: url(&[], Some(index)),
        });
    let sql = format!("SELECT * FROM \"{}\"", table.replace('"', "\"\""));
    let hint = called.result.get("hint").and_then(Json::as_str).unwrap_or_default();
    Ok(page(&RowsPage {
        layout: visit.visit.layout(format!("{table} · {}", visit.database.name), SECTION),
        kind: described.text("kind"),
        description: described.get("description").map(Json::plain).unwrap_or_default(),
        table_tab: "rows",
        columns: described.items("columns").iter().map(|column| column.text("name")).collect(),
        conditions: listed.collect(),
        operators: &OPERATORS,
        sort: sort.to_owned(),
        is_first: cursor.is_empty(),
        first: url(&[], None),
        next: next.map(|cursor| url(&[("cursor", cursor)], None)),
        millis: text::millis(called.millis),
        exports: visit.exports(&sql),
        hint: if next.is_none() { hint.to_owned() } else { String::new() },
        table: shown,
        head,
        href,
        table_name: table,
    }))
}

/// Adds links from foreign keys to the rows that they refer to, and from truncated values to whole ones.
fn linked(mut table: Table, rowset: &Json, described: &Json, head: &Head, href: &str) -> Table {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let primary: Option<Vec<(String, usize)>> = described
        .items("primary_key")
        .iter()
        .map(|name| Some((name.plain(), place(name.as_str()?)?)))
        .collect();
    let primary = primary.filter(|columns| !columns.is_empty());
    let references: Vec<(Vec<usize>, String, Vec<String>)> = described
        .items("foreign_keys")
        .iter()
        .filter_map(|key| {
            let columns: Option<Vec<usize>> =
                key.items("columns").iter().map(|name| place(name.as_str()?)).collect();
            let targets: Vec<String> =
                key.items("references_columns").iter().map(Json::plain).collect();
            let columns = columns.filter(|columns| columns.len() == targets.len())?;
            Some((columns, key.text("references_table"), targets))
        })
        .collect();
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    for (cells, values) in table.rows.iter_mut().zip(rowset.items("rows")) {
        let values = values.as_array().unwrap_or_default();
        for (columns, target, targets) in &references {
            let operands: Option<Vec<String>> = columns
                .iter()
                .map(|index| {
                    values.get(*index).filter(|one| !matches!(one, Json::Null)).map(Json::plain)
                })
                .collect();
            let Some(operands) = operands else { continue };
            let pairs: Vec<(&str, &str)> = targets
                .iter()
                .zip(&operands)
                .flat_map(|(column, value)| [("f", column.as_str()), ("op", "eq"), ("v", value)])
                .collect();
            let link = format!("{}{}", table_href(&head.base, target), text::exact_query(&pairs));
            for index in columns {
                if let Some(cell) = cells.get_mut(*index) {
                    (cell.href, cell.is_external) = (Some(link.clone()), false);
                }
            }
        }
        let Some(primary) = &primary else { continue };
        let key = primary.iter().map(|(name, index)| {
            let value = values.get(*index).map(ToString::to_string).unwrap_or_default();
            format!("{}:{value}", Value::from(name.as_str()))
        });
        let key = format!("{{{}}}", key.collect::<Vec<_>>().join(","));
        for (cell, name) in cells.iter_mut().zip(&names) {
            if cell.whole.is_some() || cell.class == "blob" {
                let query = text::query(&[("column", name), ("key", &key)]);
                cell.whole_href = Some(format!("{href}/value{query}"));
            }
        }
    }
    table
}

/// A whole value, as text.
pub(super) async fn value(
    Path((_, table)): Path<(String, String)>,
    visit: DatabaseVisit,
) -> Result<Response, Refused> {
    let fields = &visit.visit.fields;
    let key = object(fields.text("key")).unwrap_or_default();
    let params = Map::from_iter([
        ("table_name".to_owned(), Value::from(table)),
        ("filters".to_owned(), key.into()),
        ("columns".to_owned(), json!([fields.text("column")])),
        ("limit".to_owned(), 1.into()),
    ]);
    let found = match visit.call("query_records", params).await {
        Ok(called) => called.result,
        Err(error) => return Ok(visit.failed(&error)),
    };
    let row = found.items("rows").first().and_then(Json::as_array);
    let text = row.and_then(|row| row.first()).map(Json::plain);
    let Some(text) = text else {
        let error = ErrorObject::new(code::NOT_FOUND, "Not found");
        return Ok(visit.failed(&error.with_data(&json!({ "reason": "the row was deleted" }))));
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (CONTENT_DISPOSITION, HeaderValue::from_static("inline; filename=\"value.txt\"")),
    ];
    Ok((headers, text).into_response())
}

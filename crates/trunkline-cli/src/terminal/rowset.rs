//! Results that are tables: rows of a database, arrays of flat objects, and pages of them.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::table::{Cell, Side, Table};
use super::text;

/// A table, and what is to be said below it.
#[derive(Debug)]
pub(super) struct Rowset {
    pub(super) table: Table,
    pub(super) footer: String,
}

#[derive(Deserialize)]
struct Rows<'r> {
    columns: Vec<Column>,
    #[serde(borrow)]
    rows: Vec<Vec<&'r RawValue>>,
    #[serde(default)]
    truncated: bool,
    truncated_by: Option<String>,
    #[serde(borrow)]
    next_cursor: Option<&'r RawValue>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
}

/// The result as a table, if it is one.
pub(super) fn find(result: &RawValue) -> Option<Rowset> {
    let json = result.get();
    if json.starts_with('{') { rows(json).or_else(|| page(json)) } else { objects(json) }
}

/// `{"columns": [{"name": …}], "rows": [[…]]}`, as `db.query_records` gives it.
fn rows(json: &str) -> Option<Rowset> {
    let found: Rows<'_> = serde_json::from_str(json).ok()?;
    if found.rows.iter().any(|row| row.len() != found.columns.len()) {
        return None;
    }
    let header = found.columns.iter().map(|column| text::line(&column.name).into_owned());
    let rows = found.rows.iter().map(|row| row.iter().map(|value| cell(value)).collect());
    let table = Table { header: header.collect(), rows: rows.collect() };
    let mut notes = Vec::new();
    if found.truncated {
        let by = found.truncated_by.as_deref().map_or("more", |by| match by {
            "rows" => "by the limit of rows",
            "bytes" => "by the limit of bytes",
            _ => "there are more",
        });
        notes.push(format!("truncated {by}"));
    }
    if found.next_cursor.is_some() {
        notes.push("--json shows next_cursor".to_owned());
    }
    let count = count(table.rows.len());
    let footer = if notes.is_empty() { count } else { format!("{count} ({})", notes.join("; ")) };
    Some(Rowset { table, footer })
}

/// `{"items": [{…}], "nextCursor": …}`, as `list` of a resource gives it.
fn page(json: &str) -> Option<Rowset> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Page<'r> {
        #[serde(borrow)]
        items: &'r RawValue,
        next_cursor: Option<String>,
    }
    let page: Page<'_> = serde_json::from_str(json).ok()?;
    let mut found = objects(page.items.get())?;
    if page.next_cursor.is_some() {
        found.footer += " (--json shows nextCursor)";
    }
    Some(found)
}

/// `[{"a": 1}, {"a": 2, "b": 3}]`: as many columns as there are names.
fn objects(json: &str) -> Option<Rowset> {
    /// A table of more is no help.
    const MAX_COLUMNS: usize = 100;
    let objects: Vec<IndexMap<String, &RawValue>> = serde_json::from_str(json).ok()?;
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in objects.iter().flatten() {
        if value.get().starts_with(['{', '[']) {
            return None;
        }
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
        if names.len() > MAX_COLUMNS {
            return None;
        }
    }
    if names.is_empty() {
        return None;
    }
    let row = |members: &IndexMap<String, &RawValue>| {
        let value = |name: &&str| members.iter().find(|(known, _)| known == name);
        let absent = Cell { text: String::new(), side: Side::Either };
        names
            .iter()
            .map(|name| value(name).map_or(absent.clone(), |(_, value)| cell(value)))
            .collect()
    };
    let rows: Vec<Vec<Cell>> = objects.iter().map(row).collect();
    let header = names.iter().map(|name| text::line(name).into_owned()).collect();
    let footer = count(rows.len());
    Some(Rowset { table: Table { header, rows }, footer })
}

/// A string shows as it is, unless it looks like a NULL.
fn cell(value: &RawValue) -> Cell {
    const NULL: &str = "NULL";
    let json = value.get();
    let is_number = json.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let side = match json {
        "null" => Side::Either,
        _ if is_number => Side::Right,
        _ => Side::Left,
    };
    let text = match serde_json::from_str::<String>(json) {
        Ok(text) if text != NULL => text::line(&text).into_owned(),
        _ if json == "null" => NULL.to_owned(),
        _ => text::line(&super::document::one_line(json)).into_owned(),
    };
    Cell { text, side }
}

fn count(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}

//! Results that are tables: rows of a database, arrays of flat objects, and pages of them.

use std::borrow::Cow;

use indexmap::{IndexMap, IndexSet};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::table::{Alignment, Cell};
use super::{document, text};

/// A result as a table.
#[derive(Debug)]
pub(super) struct Rowset<'r> {
    pub(super) names: Vec<Cow<'r, str>>,
    /// As many values each as there are names; `None` where a record has no such member.
    pub(super) rows: Vec<Vec<Option<&'r RawValue>>>,
    /// Whether it has no nested values and no more columns than fit into a table.
    pub(super) is_readable: bool,
    /// Whether only a terminal shows it as a table unless asked to: elsewhere, programs rely on the JSON.
    pub(super) is_listing: bool,
    /// The lines above the table.
    pub(super) heading: String,
    /// The lines below it, in place of the number of rows.
    pub(super) details: Option<String>,
    /// Remarks for the line with the number of rows.
    pub(super) notes: Vec<String>,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
    /// The JSON text up to the first row, and the JSON texts of the rows.
    pub(super) prefix: String,
    pub(super) elements: Vec<&'r RawValue>,
}

/// Returns the result as a table, if it is one.
pub(super) fn find(result: &RawValue) -> Option<Rowset<'_>> {
    let json = result.get();
    if json.starts_with('{') { rows(json).or_else(|| page(json)) } else { records(json, "[") }
}

/// `{"columns": [{"name": …}], "rows": [[…]]}`, as `db.query_records` returns it.
fn rows(json: &str) -> Option<Rowset<'_>> {
    #[derive(Deserialize)]
    struct Rows<'r> {
        #[serde(borrow)]
        columns: &'r RawValue,
        #[serde(borrow)]
        rows: Vec<&'r RawValue>,
        #[serde(default)]
        truncated: bool,
        truncated_by: Option<String>,
        next_cursor: Option<String>,
    }
    #[derive(Deserialize)]
    struct Column<'r> {
        #[serde(borrow)]
        name: Cow<'r, str>,
    }
    let found: Rows<'_> = serde_json::from_str(json).ok()?;
    let columns: Vec<Column<'_>> = serde_json::from_str(found.columns.get()).ok()?;
    let rows = found.rows.iter().map(|row| serde_json::from_str(row.get()).ok());
    let rows = rows.collect::<Option<Vec<Vec<&RawValue>>>>()?;
    if rows.iter().any(|row| row.len() != columns.len()) {
        return None;
    }
    let by = found.truncated_by.as_deref().map_or("", |by| match by {
        "rows" => " by the row limit",
        "bytes" => " by the size limit",
        _ => "",
    });
    Some(Rowset {
        names: columns.into_iter().map(|column| column.name).collect(),
        rows: rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect(),
        is_readable: true,
        is_listing: false,
        heading: String::new(),
        details: None,
        notes: if found.truncated { vec![format!("truncated{by}")] } else { Vec::new() },
        next: found.next_cursor,
        prefix: format!("{{\"columns\":{},\"rows\":[", found.columns.get()),
        elements: found.rows,
    })
}

/// `{"items": [{…}], "nextCursor": …}`, as `list` of a resource returns it, or the same with `tables`, as
/// `db.list_tables` does.
fn page(json: &str) -> Option<Rowset<'_>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page<'r> {
        #[serde(borrow)]
        items: Option<&'r RawValue>,
        #[serde(borrow)]
        tables: Option<&'r RawValue>,
        /// Names of tables that are not valid UTF-8.
        #[serde(borrow, rename = "unreadable")]
        _unreadable: Option<&'r RawValue>,
        #[serde(alias = "nextCursor")]
        next_cursor: Option<String>,
    }
    let page: Page<'_> = serde_json::from_str(json).ok()?;
    let (elements, prefix, is_listing) = match (page.items, page.tables) {
        (Some(items), None) => (items, "{\"items\":[", false),
        (None, Some(tables)) => (tables, "{\"tables\":[", true),
        _ => return None,
    };
    let mut found = records(elements.get(), prefix)?;
    if is_listing {
        found.is_listing = true;
        found.leave_nulls_empty();
    }
    found.next = page.next_cursor;
    Some(found)
}

/// `[{"a": 1}, {"a": 2, "b": 3}]`: a column for each name; without records, no column.
pub(super) fn records<'r>(json: &'r str, prefix: &str) -> Option<Rowset<'r>> {
    /// A wider table would be unreadable.
    const MAX_COLUMNS: usize = 100;
    #[derive(Deserialize)]
    struct Record<'r>(#[serde(borrow)] IndexMap<Cow<'r, str>, &'r RawValue>);
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    let read = |element: &&'r RawValue| serde_json::from_str::<Record<'r>>(element.get()).ok();
    let records = elements.iter().map(read).collect::<Option<Vec<_>>>()?;
    let mut names: IndexSet<Cow<'r, str>> = IndexSet::new();
    let mut has_nested = false;
    for (name, value) in records.iter().flat_map(|Record(members)| members) {
        has_nested |= value.get().starts_with(['{', '[']);
        names.insert(name.clone());
    }
    if names.is_empty() && !elements.is_empty() {
        return None;
    }
    let row = |Record(members): &Record<'r>| {
        names.iter().map(|name| members.get(name).copied()).collect()
    };
    Some(Rowset {
        rows: records.iter().map(row).collect(),
        is_readable: !has_nested && names.len() <= MAX_COLUMNS,
        names: names.into_iter().collect(),
        is_listing: false,
        heading: String::new(),
        details: None,
        notes: Vec::new(),
        next: None,
        prefix: prefix.to_owned(),
        elements,
    })
}

impl Rowset<'_> {
    /// The start of the JSON text, which is the same for all pages of a result.
    pub(super) fn form(&self) -> &str {
        self.prefix.split_inclusive('[').next().unwrap_or_default()
    }

    pub(super) fn leave_nulls_empty(&mut self) {
        for value in self.rows.iter_mut().flatten() {
            *value = value.filter(|value| value.get() != "null");
        }
    }

    /// The names, for a terminal.
    pub(super) fn header(&self) -> Vec<String> {
        self.names.iter().map(|name| text::line(name).into_owned()).collect()
    }

    pub(super) fn cells(&self) -> Vec<Vec<Cell>> {
        self.rows.iter().map(|row| row.iter().map(|value| cell(*value)).collect()).collect()
    }
}

/// A string without its quotes, unless it would look like NULL.
fn cell(value: Option<&RawValue>) -> Cell {
    const NULL: &str = "NULL";
    let Some(json) = value.map(RawValue::get) else { return Cell::default() };
    let is_number = json.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let alignment = match json {
        "null" => Alignment::Any,
        _ if is_number => Alignment::Right,
        _ => Alignment::Left,
    };
    let text = match serde_json::from_str::<String>(json) {
        Ok(text) if text != NULL => text::line(&text).into_owned(),
        _ if json == "null" => NULL.to_owned(),
        _ => text::line(&document::one_line(json)).into_owned(),
    };
    Cell { text, alignment, is_null: json == "null" }
}

/// `1 row`, `2 rows`
pub(super) fn count(rows: usize) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") }
}

//! Tables of values.

use crate::json::Json;
use crate::text;

/// A table of a page.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// The number of rows that are not shown.
    pub(crate) hidden: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The type, empty if it is not known.
    pub(crate) kind: String,
    pub(crate) is_numeric: bool,
    /// The URL that sorts by this column, if it can be sorted.
    pub(crate) sort: Option<String>,
    /// The current order: `ascending`, `descending`, or empty.
    pub(crate) order: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) class: &'static str,
    /// The size of a truncated value.
    pub(crate) whole: Option<String>,
    /// The URL of the whole value.
    pub(crate) whole_href: Option<String>,
    /// The URL of a related page on this server, or a link in the value with a safe scheme.
    pub(crate) href: Option<String>,
    pub(crate) is_external: bool,
}

/// The maximum number of rows of a table on a page.
const MAX_ROWS: usize = 500;
/// The maximum number of characters of a value.
const MAX_CHARACTERS: usize = 160;

impl Cell {
    pub(crate) fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self { text: "NULL".to_owned(), class: "null", ..Self::default() },
            Json::Number(number) => {
                Self { text: number.to_string(), class: "number", ..Self::default() }
            }
            Json::Bool(value) => Self { text: value.to_string(), class: "bool", ..Self::default() },
            Json::String(value) => Self::of_text(value, "text"),
            Json::Array(_) | Json::Object(_) => match blob_size(value) {
                Some(bytes) => Self {
                    text: format!("BLOB, {}", text::size(bytes)),
                    class: "blob",
                    ..Self::default()
                },
                None => Self::of_text(&value.to_string(), "json"),
            },
        }
    }

    fn of_text(value: &str, class: &'static str) -> Self {
        let (shown, is_cut) = text::beginning(value, MAX_CHARACTERS);
        let is_link = !is_cut && is_safe_link(value);
        Self {
            text: shown.to_owned(),
            class,
            whole: is_cut.then(|| text::size(value.len())),
            whole_href: None,
            href: is_link.then(|| value.to_owned()),
            is_external: is_link,
        }
    }
}

/// The size of a value that JSON cannot hold: `{"$blob": …, "bytes": n}`.
fn blob_size(value: &Json) -> Option<usize> {
    value.get("$blob").or_else(|| value.get("$text"))?;
    Some(value.get("bytes")?.as_f64()? as usize)
}

/// Whether a whole text is an URL that a browser can safely follow.
fn is_safe_link(text: &str) -> bool {
    let is_web = text.starts_with("https://") || text.starts_with("http://");
    is_web && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>\\`".contains(&byte))
}

impl Table {
    /// The table of a result of a query: `{columns, rows}`.
    pub(crate) fn of_rowset(rowset: &Json) -> Option<Self> {
        let (columns, rows) = (rowset.get("columns")?.as_array()?, rowset.get("rows")?.as_array()?);
        let rows: Vec<&[Json]> = rows.iter().map(Json::as_array).collect::<Option<_>>()?;
        let columns = columns.iter().enumerate().map(|(index, column)| Column {
            name: column.text("name"),
            kind: column.get("type").and_then(Json::as_str).unwrap_or_default().to_owned(),
            is_numeric: are_numeric(rows.iter().filter_map(|row| row.get(index))),
            ..Column::default()
        });
        let columns = columns.collect();
        let shown = rows.iter().take(MAX_ROWS).map(|row| row.iter().map(Cell::of).collect());
        Some(Self { columns, hidden: rows.len().saturating_sub(MAX_ROWS), rows: shown.collect() })
    }

    /// The table of an array of objects, with a column for each member of any of them.
    pub(crate) fn of_objects(items: &[Json]) -> Option<Self> {
        let objects: Vec<&[(String, Json)]> =
            items.iter().map(Json::as_object).collect::<Option<_>>()?;
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in objects.iter().take(MAX_ROWS).copied().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        if names.is_empty() || names.len() > 40 {
            return None;
        }
        let columns = names.iter().map(|name| Column {
            name: (*name).to_owned(),
            is_numeric: are_numeric(items.iter().filter_map(|item| item.get(name))),
            ..Column::default()
        });
        let columns = columns.collect();
        let row = |item: &Json| {
            let cell = |name: &&str| item.get(name).map(Cell::of).unwrap_or_default();
            names.iter().map(cell).collect()
        };
        let rows = items.iter().take(MAX_ROWS).map(row).collect();
        Some(Self { columns, rows, hidden: items.len().saturating_sub(MAX_ROWS) })
    }
}

fn are_numeric<'j>(values: impl Iterator<Item = &'j Json>) -> bool {
    let mut values = values.filter(|value| !matches!(value, Json::Null)).peekable();
    values.peek().is_some() && values.all(|value| matches!(value, Json::Number(_)))
}

/// A result for a page: its table if it has one, its other members, and its text.
#[derive(Debug, Default)]
pub(crate) struct ResultView {
    pub(crate) table: Option<Table>,
    /// The members that are not in the table, if the result is an object with few of them.
    pub(crate) facts: Vec<(String, Cell)>,
    pub(crate) json: String,
    pub(crate) size: String,
    /// Whether the text is only the beginning.
    pub(crate) is_cut: bool,
}

/// The maximum number of characters of JSON on a page.
const MAX_JSON: usize = 64 << 10;

impl ResultView {
    pub(crate) fn of(result: &Json, bytes: usize) -> Self {
        let (table, of_table) = tables(result);
        let facts = match result.as_object() {
            Some(members) if members.len() <= 24 => {
                let others = members.iter().filter(|(name, _)| !of_table.contains(&name.as_str()));
                let others = others.filter(|(_, value)| !matches!(value, Json::Null));
                others.map(|(name, value)| (name.clone(), Cell::of(value))).collect()
            }
            _ => Vec::new(),
        };
        let pretty = result.pretty();
        let (json, is_cut) = text::beginning(&pretty, MAX_JSON);
        Self { table, facts, json: json.to_owned(), size: text::size(bytes), is_cut }
    }
}

/// The table of a result, and the members that it shows.
fn tables(result: &Json) -> (Option<Table>, Vec<&str>) {
    if let Some(items) = result.as_array().filter(|items| !items.is_empty()) {
        return (Table::of_objects(items), Vec::new());
    }
    if let Some(table) = Table::of_rowset(result) {
        return (Some(table), vec!["columns", "rows"]);
    }
    // The rows of an insertion.
    if let Some(table) = result.get("rows").and_then(Table::of_rowset) {
        return (Some(table), vec!["rows"]);
    }
    let arrays = result.as_object().unwrap_or_default().iter().filter_map(|(name, value)| {
        let items = value.as_array().filter(|items| !items.is_empty())?;
        Some((name.as_str(), Table::of_objects(items)?, items.len()))
    });
    match arrays.max_by_key(|(_, _, length)| *length) {
        Some((name, table, _)) => (Some(table), vec![name]),
        None => (None, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, columns: &[&str], facts: &[&str]) {
        let json = Json::parse(json.as_bytes()).unwrap();
        let view = ResultView::of(&json, 0);
        let table = view.table.unwrap_or_default();
        let found: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
        assert_eq!(found, columns, "{json}");
        let found: Vec<&str> = view.facts.iter().map(|(name, _)| &**name).collect();
        assert_eq!(found, facts, "{json}");
    }

    #[test]
    fn finds_tables_in_results() {
        check(
            r#"{"columns":[{"name":"a"}],"rows":[[1]],"row_count":1,"next_cursor":null}"#,
            &["a"],
            &["row_count"],
        );
        check(r#"{"tables":[{"b":1},{"c":2,"b":3}],"next_cursor":null}"#, &["b", "c"], &[]);
        check(r#"[{"a":1}]"#, &["a"], &[]);
        check(r#"{"a":1,"b":[1,2]}"#, &[], &["a", "b"]);
        check("[1,2]", &[], &[]);
        check(
            r#"{"rows_affected":1,"rows":{"columns":[{"name":"x"}],"rows":[]}}"#,
            &["x"],
            &["rows_affected"],
        );
    }

    #[track_caller]
    fn check_cell(json: &str, text: &str, class: &str, href: Option<&str>, whole: Option<&str>) {
        let cell = Cell::of(&Json::parse(json.as_bytes()).unwrap());
        assert_eq!((&*cell.text, cell.class), (text, class));
        assert_eq!((cell.href.as_deref(), cell.whole.as_deref()), (href, whole), "{json}");
    }

    #[test]
    fn cells_are_short_and_link_only_to_web_pages() {
        check_cell("null", "NULL", "null", None, None);
        check_cell("1.5", "1.5", "number", None, None);
        check_cell(r#"{"$blob":"AP8=","bytes":2}"#, "BLOB, 2 bytes", "blob", None, None);
        check_cell(r#"{"a":[1]}"#, r#"{"a": [1]}"#, "json", None, None);
        let url = "https://example.com/a?b";
        check_cell(&format!("\"{url}\""), url, "text", Some(url), None);
        for url in ["javascript:alert(1)", "data:text/html,x", "https://a b", "https://a<b"] {
            check_cell(&format!("\"{url}\""), url, "text", None, None);
        }
        let long = "é".repeat(1_000);
        check_cell(&format!("\"{long}\""), &"é".repeat(160), "text", None, Some("2.0 KB"));
    }
}

//! The pages of one result, printed one after another.

use std::borrow::Cow;

use anstyle::Style;
use indexmap::IndexSet;
use serde_json::Value;
use serde_json::value::RawValue;

use super::failure::Failure;
use super::renderer::{Format, Renderer};
use super::rowset::{self, Rowset};
use super::table::Layout;
use super::{description, document, output, text};

const BOLD: Style = Style::new().bold();
const REMARK: Style = Style::new().dimmed();

impl Renderer {
    /// The result in the chosen format.
    ///
    /// # Errors
    ///
    /// If CSV was chosen, and the result is not a table.
    pub(crate) fn value(self, value: &RawValue) -> Result<String, Failure> {
        Pages::new(self).text_of(value)
    }

    /// Like [`value`](Self::value), for commands without `--all`.
    ///
    /// # Errors
    ///
    /// If CSV was chosen, and the result is not a table.
    pub(crate) fn only_page(self, value: &RawValue) -> Result<String, Failure> {
        Pages { more: "there are more rows", ..Pages::new(self) }.text_of(value)
    }
}

/// Renders pages with one header, and the number of rows at the end.
#[derive(Debug)]
pub(super) struct Pages {
    renderer: Renderer,
    /// Whether all pages become one document.
    is_merged: bool,
    /// The remark about pages that are not printed.
    more: &'static str,
    /// The form of the first page; empty if it is not a table.
    form: Option<String>,
    names: Vec<String>,
    layout: Option<Layout>,
    /// The number of rows.
    count: usize,
    /// The last line, without the number of rows.
    notes: Vec<String>,
    /// The last lines, in place of the number of rows.
    details: Option<String>,
    /// The end of the document.
    suffix: &'static str,
    has_table: bool,
}

/// One page.
pub(super) struct Page {
    pub(super) text: String,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
}

/// Prints the result of a call, or with `is_all` the results of calls with the cursors that follow. Returns the last
/// part of the text, which is not printed yet. `fetch` sends the call with a cursor; a call may have no result.
///
/// # Errors
///
/// Those of the calls, and if the pages never end.
pub(crate) async fn print_pages(
    renderer: Renderer,
    is_all: bool,
    mut fetch: impl AsyncFnMut(Option<&str>) -> Result<Option<Box<RawValue>>, Failure>,
) -> Result<String, Failure> {
    if is_all {
        return print_all(renderer, fetch).await;
    }
    fetch(None).await?.map_or_else(|| Ok(String::new()), |value| renderer.value(&value))
}

/// Prints the results of calls with the cursors that follow, like [`print_pages`].
///
/// # Errors
///
/// Those of the calls, and if the pages never end.
pub(crate) async fn print_all(
    renderer: Renderer,
    mut fetch: impl AsyncFnMut(Option<&str>) -> Result<Option<Box<RawValue>>, Failure>,
) -> Result<String, Failure> {
    /// More pages are a server's fault.
    const MAX_PAGES: usize = 100_000;
    let mut pages = Pages { is_merged: true, ..Pages::new(renderer) };
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let Some(value) = fetch(cursor.as_deref()).await? else { return Ok(pages.finish()) };
        let page = pages.add(&value)?;
        output::data(&page.text).map_err(Failure::Output)?;
        let Some(next) = page.next else { return Ok(pages.finish()) };
        if cursor.as_ref() == Some(&next) {
            let reason = format!("the server returned the cursor `{next}` twice; stopped there");
            return Err(Failure::Protocol(reason));
        }
        cursor = Some(next);
    }
    Err(Failure::Protocol(format!("more than {MAX_PAGES} pages; stopped there")))
}

impl Pages {
    pub(super) fn new(renderer: Renderer) -> Self {
        Self {
            renderer,
            is_merged: false,
            more: "more with --all",
            form: None,
            names: Vec::new(),
            layout: None,
            count: 0,
            notes: Vec::new(),
            details: None,
            suffix: "",
            has_table: false,
        }
    }

    /// The text of the only page.
    fn text_of(mut self, value: &RawValue) -> Result<String, Failure> {
        let page = self.add(value)?;
        Ok(page.text + &self.finish())
    }

    pub(super) fn add(&mut self, value: &RawValue) -> Result<Page, Failure> {
        /// A longer result is JSON unless a format was chosen: laid out, it would be many times as long.
        const MAX_READABLE: usize = 4 << 20;
        let mut format = self.renderer.format();
        let is_long = value.get().len() > MAX_READABLE && !self.is_merged;
        let mut found = None;
        if format.is_some() || !is_long {
            found = rowset::find(value).or_else(|| description::find(value));
        }
        let form = found.as_ref().map_or("", Rowset::form);
        if self.form.get_or_insert_with(|| form.to_owned()) != form {
            let reason = "the form of a page differs from that of the first page";
            return Err(Failure::Protocol(reason.to_owned()));
        }
        let next = found.as_ref().and_then(|found| found.next.clone());
        if let Some(empty) = found.as_ref().filter(|found| found.names.is_empty()) {
            if self.is_omitted(empty) {
                self.omit(empty);
                return Ok(Page { text: String::new(), next });
            }
            found = None;
        } else if let Some(hidden) = found.as_ref().filter(|found| !self.is_shown(found)) {
            if self.is_merged && hidden.details.is_none() {
                format = Some(Format::Json);
            } else {
                found = None;
            }
        }
        let text = match (format, found) {
            (Some(Format::Json), Some(found)) if self.is_merged && found.details.is_none() => {
                self.merged_json(&found)
            }
            (Some(Format::Json), _) => self.renderer.json(value.get()),
            (None, None) if is_long => self.renderer.json(value.get()),
            (None | Some(Format::Table), Some(found)) => self.table(found),
            (Some(Format::Vertical), Some(found)) => self.vertical(found),
            (Some(Format::Csv), Some(found)) => self.csv(&found)?,
            (Some(Format::Ndjson), Some(found)) => self.ndjson(&found),
            (Some(Format::Ndjson), None) => self.elements(value),
            (Some(Format::Csv), None) => {
                let text = "trunkline: the result is not a table; use --format json\n";
                return Err(Failure::Message(text.to_owned()));
            }
            (None | Some(Format::Table | Format::Vertical), None) => self.text(value),
        };
        Ok(Page { text, next })
    }

    /// Whether the rows are shown as the format requires, instead of as a document.
    fn is_shown(&self, found: &Rowset<'_>) -> bool {
        match self.renderer.format() {
            Some(Format::Csv | Format::Json | Format::Ndjson) => true,
            _ if self.has_table => true,
            _ if !self.suffix.is_empty() || !found.is_readable => false,
            Some(Format::Table | Format::Vertical) => true,
            None => !found.is_listing || self.renderer.columns().is_some(),
        }
    }

    /// Whether a page without rows is not printed.
    fn is_omitted(&self, empty: &Rowset<'_>) -> bool {
        match self.renderer.format() {
            _ if !self.is_last(empty) || self.has_table || !self.suffix.is_empty() => true,
            Some(Format::Json) => false,
            Some(_) => true,
            None => empty.prefix.starts_with('{') && self.renderer.columns().is_some(),
        }
    }

    fn omit(&mut self, empty: &Rowset<'_>) {
        match self.renderer.format() {
            Some(Format::Csv | Format::Json | Format::Ndjson) => self.warn(empty),
            None | Some(Format::Table | Format::Vertical) if self.is_last(empty) => {
                self.has_table = true;
                self.notes.extend(self.remarks(empty));
            }
            None | Some(Format::Table | Format::Vertical) => {}
        }
    }

    /// Ends the text of all pages.
    pub(super) fn finish(self) -> String {
        if !self.suffix.is_empty() || !self.has_table {
            return self.suffix.to_owned();
        }
        if let Some(details) = self.details {
            return details;
        }
        let notes = match self.notes.join("; ") {
            notes if notes.is_empty() => notes,
            notes => format!(" ({notes})"),
        };
        self.renderer.paint(REMARK, &(rowset::count(self.count) + &notes)) + "\n"
    }

    /// A text, or a document.
    fn text(&self, value: &RawValue) -> String {
        match serde_json::from_str::<String>(value.get()) {
            Ok(text) => text::lines(&text).into_owned() + "\n",
            Err(_) => self.renderer.document(value.get()),
        }
    }

    fn table(&mut self, found: Rowset<'_>) -> String {
        let (header, cells) = (found.header(), found.cells());
        let mut out = self.renderer.paint(BOLD, &found.heading);
        if self.layout.is_none() || self.names != header {
            let terminal = self.renderer.columns();
            let layout = Layout::new(&header, &cells, terminal, self.renderer.has_colours);
            out += &layout.header(&header);
            self.layout = Some(layout);
            self.names = header;
        }
        let layout = self.layout.as_ref().expect("it was just created");
        out += &layout.rows(&cells);
        let (shown, all) = (layout.columns(), self.names.len());
        self.add_notes(found, cells.len());
        if shown < all {
            let note = format!("{shown} of {all} columns, all with --format vertical");
            self.notes.push(note);
        }
        out
    }

    fn vertical(&mut self, found: Rowset<'_>) -> String {
        let (names, cells) = (found.header(), found.cells());
        let width = names.iter().map(|name| text::width(name)).max().unwrap_or_default();
        let mut out = self.renderer.paint(BOLD, &found.heading);
        for (index, row) in cells.iter().enumerate() {
            let title = format!("-[ row {} ]-", self.count + index + 1);
            let title = format!("{title:-<rule$}", rule = width.max(24));
            out += &(self.renderer.paint(BOLD, &title) + "\n");
            for (name, cell) in names.iter().zip(row) {
                let blanks = " ".repeat(width - text::width(name));
                let text = match cell.is_null {
                    true => self.renderer.paint(REMARK, &cell.text),
                    false => cell.text.clone(),
                };
                out += format!("{name}{blanks}  {text}").trim_end();
                out.push('\n');
            }
        }
        self.add_notes(found, cells.len());
        out
    }

    /// Adds the number of rows and the remarks of a page.
    fn add_notes(&mut self, found: Rowset<'_>, rows: usize) {
        self.has_table = true;
        self.count += rows;
        self.notes = self.remarks(&found);
        self.details = found.details;
    }

    /// Whether no page follows that is printed, too.
    fn is_last(&self, found: &Rowset<'_>) -> bool {
        found.next.is_none() || !self.is_merged
    }

    /// Remarks about rows that are missing.
    fn remarks(&self, found: &Rowset<'_>) -> Vec<String> {
        let more = (found.next.is_some() && !self.is_merged).then(|| self.more.to_owned());
        found.notes.iter().cloned().chain(more).collect()
    }

    /// Writes the remarks about the last page to stderr, for formats that have no place for them.
    fn warn(&self, found: &Rowset<'_>) {
        let remarks = self.remarks(found);
        if self.is_last(found) && !remarks.is_empty() {
            output::message(&format!("trunkline: {}\n", remarks.join("; ")));
        }
    }

    fn csv(&mut self, found: &Rowset<'_>) -> Result<String, Failure> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names: Vec<String> = found.names.iter().map(|name| name.clone().into_owned()).collect();
        let unwritable = |error: csv::Error| Failure::Output(error.into());
        if self.names != names {
            writer.write_record(&names).map_err(unwritable)?;
            self.names = names;
        }
        for row in &found.rows {
            writer.write_record(row.iter().map(|value| field(*value))).map_err(unwritable)?;
        }
        self.warn(found);
        let bytes = writer.into_inner().expect("a vector accepts all bytes");
        let text = String::from_utf8(bytes).expect("the fields are UTF-8");
        Ok(match self.renderer.columns() {
            Some(_) => text::lines(&text).into_owned(),
            None => text,
        })
    }

    /// An object for each row. Names are unique: the second `a` becomes `a_2`.
    fn ndjson(&self, found: &Rowset<'_>) -> String {
        let mut names: IndexSet<Cow<'_, str>> = IndexSet::new();
        for name in &found.names {
            let mut unique = name.clone();
            let mut number = 2;
            while names.contains(&unique) {
                unique = format!("{name}_{number}").into();
                number += 1;
            }
            names.insert(unique);
        }
        let names: Vec<String> =
            names.iter().map(|name| Value::from(&**name).to_string()).collect();
        let row = |row: &Vec<Option<&RawValue>>| {
            let members = names
                .iter()
                .zip(row)
                .filter_map(|(name, value)| value.map(|value| format!("{name}:{}", value.get())));
            self.renderer.json(&format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
        };
        self.warn(found);
        found.rows.iter().map(row).collect()
    }

    /// A line for each element of an array, or for the value.
    fn elements(&self, value: &RawValue) -> String {
        match serde_json::from_str::<Vec<&RawValue>>(value.get()) {
            Ok(elements) => {
                elements.iter().map(|element| self.renderer.json(element.get())).collect()
            }
            Err(_) => self.renderer.json(value.get()),
        }
    }

    /// The rows of all pages in the first one's document.
    fn merged_json(&mut self, found: &Rowset<'_>) -> String {
        self.warn(found);
        let mut out = String::new();
        for element in &found.elements {
            out.push_str(if self.count == 0 { "" } else { "," });
            out += &document::one_line(element.get());
            self.count += 1;
        }
        if self.suffix.is_empty() {
            out.insert_str(0, &document::one_line(&found.prefix));
            self.suffix = if found.prefix.starts_with('{') { "]}\n" } else { "]\n" };
        }
        match self.renderer.columns() {
            Some(_) => document::for_terminal(&out),
            None => out,
        }
    }
}

/// A CSV field: a string without quotes, NULL as an empty field, any other value as JSON.
fn field(value: Option<&RawValue>) -> String {
    match value.map(RawValue::get) {
        None | Some("null") => String::new(),
        Some(json) => serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_with(format: Option<Format>, terminal: Option<usize>, value: &str, expected: &str) {
        let value = RawValue::from_string(value.to_owned()).unwrap();
        let (has_colours, is_stderr_terminal) = (false, false);
        let renderer = Renderer { format, terminal, has_colours, is_stderr_terminal };
        let found = match renderer.value(&value) {
            Ok(text) => text,
            Err(failure) => failure.text(renderer),
        };
        assert_eq!(found, expected, "{value}");
    }

    /// Without a format and a terminal. Indentation is ignored.
    #[track_caller]
    fn check(value: &str, expected: &str) {
        let value = RawValue::from_string(value.to_owned()).unwrap();
        let (terminal, has_colours, is_stderr_terminal) = (None, false, false);
        let renderer = Renderer { format: None, terminal, has_colours, is_stderr_terminal };
        let found = renderer.value(&value).unwrap();
        let lines: Vec<&str> = expected.lines().map(str::trim_start).collect();
        assert_eq!(found.lines().map(str::trim_start).collect::<Vec<_>>(), lines, "{value}");
    }

    /// The pages that are fetched with `--all`.
    #[track_caller]
    fn check_all(
        format: Option<Format>,
        terminal: Option<usize>,
        values: &[impl AsRef<str>],
        expected: &str,
    ) {
        let (has_colours, is_stderr_terminal) = (false, false);
        let renderer = Renderer { format, terminal, has_colours, is_stderr_terminal };
        let mut pages = Pages { is_merged: true, ..Pages::new(renderer) };
        let mut found = String::new();
        for value in values {
            let value = RawValue::from_string(value.as_ref().to_owned()).unwrap();
            match pages.add(&value) {
                Ok(page) => {
                    found += &page.text;
                    if page.next.is_none() {
                        break;
                    }
                }
                Err(failure) => {
                    assert_eq!(found + &failure.text(renderer), expected, "{format:?}");
                    return;
                }
            }
        }
        assert_eq!(found + &pages.finish(), expected, "{format:?}");
    }

    #[test]
    fn renders_values() {
        check("null", "null");
        check("true", "true");
        check("-1.50e400", "-1.50e400");
        check(r#""text""#, "text");
        check(r#""two\nlines\u001b[2J""#, "two\nlines\\u{1b}[2J");
        check(r#""\ud800""#, r#""\ud800""#);
        check("[]", "[]");
        check("[{}]", "[\n{}\n]");
        check("[1,[]]", "[\n1,\n[]\n]");
        let deep = "[".repeat(3 << 20) + &"]".repeat(3 << 20);
        check(&deep, &deep);
        check(r#"{"columns":1,"rows":2}"#, "{\n\"columns\": 1,\n\"rows\": 2\n}");
    }

    #[test]
    fn renders_tables() {
        let rows = |rows: &str, more: &str| {
            format!(
                r#"{{"columns":[{{"name":"a","type":"TEXT"}},{{"name":"b"}}],"rows":{rows}{more}}}"#
            )
        };
        check(&rows("[]", ""), "a  b\n-  -\n0 rows");
        check(&rows(r#"[["x",10]]"#, ""), "a   b\n-  --\nx  10\n1 row");
        check(
            &rows(r#"[["",null],["NULL","\u001b[2J"]]"#, ""),
            "a       b\n------  ---------\n        NULL\n\"NULL\"  \\u{1b}[2J\n2 rows",
        );
        check(
            &rows(
                r#"[[{"$blob":"AA=="},1.0]]"#,
                r#","truncated":true,"truncated_by":"rows","next_cursor":"c""#,
            ),
            "a                   b\n----------------  ---\n{\"$blob\":\"AA==\"}  1.0\n1 row (truncated by the row limit; more with --all)",
        );
        check(
            &rows("[[1]]", ""),
            "{\n\"columns\": [\n{\n\"name\": \"a\",\n\"type\": \"TEXT\"\n},\n{\n\"name\": \"b\"\n}\n],\n\"rows\": [\n[\n1\n]\n]\n}",
        );
        check(
            r#"[{"b":1,"a":"x"},{"a":null,"c":true}]"#,
            "b  a     c\n-  ----  ----\n1  x\nNULL  true\n2 rows",
        );
        check(r#"{"items":[{"a":1}],"nextCursor":null}"#, "a\n-\n1\n1 row");
        check(r#"{"items":[{"a":1}],"nextCursor":"c"}"#, "a\n-\n1\n1 row (more with --all)");
        check(r#"{"items":[],"nextCursor":null}"#, "{\n\"items\": [],\n\"nextCursor\": null\n}");
        check(r#"{"items":[{"a":1}],"x":1}"#, "{\n\"items\": [\n{\n\"a\": 1\n}\n],\n\"x\": 1\n}");
        check(r#"[{"a":[]}]"#, "[\n{\n\"a\": []\n}\n]");
    }

    #[test]
    fn renders_formats() {
        let rows = r#"{"columns":[{"name":"a"},{"name":"b,c"}],"rows":[[1,"x"],[null,"see \"hi\""]],"row_count":2}"#;
        let check = |format, value, expected| check_with(Some(format), None, value, expected);
        check(
            Format::Table,
            rows,
            "   a  b,c\n----  --------\n   1  x\nNULL  see \"hi\"\n2 rows\n",
        );
        check(
            Format::Vertical,
            rows,
            "-[ row 1 ]--------------\na    1\nb,c  x\n-[ row 2 ]--------------\na    NULL\nb,c  see \"hi\"\n2 rows\n",
        );
        check(Format::Csv, rows, "a,\"b,c\"\n1,x\n,\"see \"\"hi\"\"\"\n");
        check_with(Some(Format::Json), None, rows, &format!("{rows}\n"));
        check(
            Format::Ndjson,
            rows,
            "{\"a\":1,\"b,c\":\"x\"}\n{\"a\":null,\"b,c\":\"see \\\"hi\\\"\"}\n",
        );
        let duplicates = r#"{"columns":[{"name":"a"},{"name":"a"}],"rows":[[1,2]]}"#;
        check(Format::Ndjson, duplicates, "{\"a\":1,\"a_2\":2}\n");
        check(Format::Ndjson, "[1,{}]", "1\n{}\n");
        check(Format::Ndjson, "1", "1\n");
        check(Format::Vertical, "[1]", "[\n  1\n]\n");
        check(Format::Csv, "1", "trunkline: the result is not a table; use --format json\n");
        check(Format::Csv, r#"{"items":[{"a":true}],"nextCursor":null}"#, "a\ntrue\n");
    }

    const TABLES: &str = r#"{"tables":[{"name":"t","kind":"table","columns":2,"row_estimate":null}],"next_cursor":null}"#;

    const TABLE: &str = r#"{"name":"t","kind":"table","columns":[{"name":"id","type":"INTEGER","nullable":false,"default":null},{"name":"o","type":null,"nullable":true,"default":"1"}],"primary_key":["id"],"foreign_keys":[{"columns":["o"],"references_table":"u","references_columns":["id"],"on_update":"NO ACTION","on_delete":"CASCADE"}],"indexes":[{"name":"i","unique":true,"partial":false,"columns":["o",null],"ddl":""}],"triggers":[{"name":"g","ddl":""}],"ddl":"CREATE TABLE t"}"#;

    #[test]
    fn renders_descriptions_of_tables_on_terminals() {
        let listed = "name  kind   columns  row_estimate\n----  -----  -------  ------------\nt     table        2\n1 row\n";
        check_with(None, Some(80), TABLES, listed);
        check_with(Some(Format::Table), None, TABLES, listed);
        check_with(Some(Format::Csv), None, TABLES, "name,kind,columns,row_estimate\nt,table,2,\n");
        let described = "t (table)\n\nname  type     nullable  default\n----  -------  --------  -------\nid    INTEGER  false\no              true      1\n\nprimary key: id\nforeign key: o references u (id)\nunique index: i (o, (expression))\ntrigger: g\n";
        check_with(None, Some(80), TABLE, described);
        check_with(Some(Format::Table), None, TABLE, described);
        check(TABLES, &super::super::indented(TABLES));
        check(TABLE, &super::super::indented(TABLE));
    }

    #[test]
    fn renders_empty_pages() {
        let empty = r#"{"items":[],"nextCursor":null}"#;
        check_with(None, Some(80), empty, "0 rows\n");
        check_with(Some(Format::Table), None, empty, "0 rows\n");
        check_with(Some(Format::Csv), None, empty, "");
        check_with(Some(Format::Ndjson), None, empty, "");
        check_with(Some(Format::Json), None, empty, &format!("{empty}\n"));
        check_with(None, Some(80), "[]", "[]\n");
        check_with(Some(Format::Ndjson), None, "[]", "");
    }

    #[test]
    fn reports_columns_that_do_not_fit() {
        let rows = r#"[{"a":"xxxxxxxxx","b":"yyyyyyyyy","c":1}]"#;
        let expected = "a       b\n------  ------\nxxxxx…  yyyyy…\n1 row (2 of 3 columns, all with --format vertical)\n";
        check_with(None, Some(14), rows, expected);
    }

    /// Two pages of items.
    fn two(first: &str, second: &str) -> [String; 2] {
        [(first, "\"c\""), (second, "null")]
            .map(|(items, next)| format!("{{\"items\":{items},\"nextCursor\":{next}}}"))
    }

    #[test]
    fn merges_pages_with_nested_values() {
        let pages = two(r#"[{"a":[1]}]"#, r#"[{"a":2}]"#);
        let json = "{\"items\":[{\"a\":[1]},{\"a\":2}]}\n";
        for format in [None, Some(Format::Table), Some(Format::Vertical), Some(Format::Json)] {
            check_all(format, None, &pages, json);
            check_all(format, Some(80), &pages, json);
        }
        check_all(Some(Format::Csv), None, &pages, "a\n[1]\n2\n");
        check_all(Some(Format::Ndjson), None, &pages, "{\"a\":[1]}\n{\"a\":2}\n");
        let late = two(r#"[{"a":1}]"#, r#"[{"a":[2]}]"#);
        for format in [None, Some(Format::Table)] {
            check_all(format, None, &late, "a\n-\n1\n[2]\n2 rows\n");
        }
        let vertical = "-[ row 1 ]--------------\na  1\n-[ row 2 ]--------------\na  [2]\n2 rows\n";
        check_all(Some(Format::Vertical), None, &late, vertical);
        check_all(None, None, &two("[]", r#"[{"a":[1]}]"#), "{\"items\":[{\"a\":[1]}]}\n");
        check_all(None, None, &two(r#"[{"a":[1]}]"#, "[]"), "{\"items\":[{\"a\":[1]}]}\n");
    }

    #[test]
    fn merges_pages_with_many_columns() {
        let members: Vec<String> = (0..=100).map(|number| format!("\"c{number}\":0")).collect();
        let wide = format!("{{{}}}", members.join(","));
        let pages = two(&format!("[{wide}]"), &format!("[{wide}]"));
        check_all(None, None, &pages, &format!("{{\"items\":[{wide},{wide}]}}\n"));
    }

    #[test]
    fn merges_empty_pages() {
        let pages = two("[]", "[]");
        check_all(None, None, &pages, &(super::super::indented(&pages[1]) + "\n"));
        check_all(None, Some(80), &pages, "0 rows\n");
        check_all(Some(Format::Table), None, &pages, "0 rows\n");
        check_all(Some(Format::Json), None, &pages, &format!("{}\n", pages[1]));
    }

    #[test]
    fn rejects_pages_of_another_form() {
        let [first, _] = two(r#"[{"a":1}]"#, "[]");
        let problem = "trunkline: the form of a page differs from that of the first page\n";
        for (format, start) in [
            (None, "a\n-\n1\n"),
            (Some(Format::Json), "{\"items\":[{\"a\":1}"),
            (Some(Format::Csv), "a\n1\n"),
            (Some(Format::Ndjson), "{\"a\":1}\n"),
        ] {
            let rows = r#"{"columns":[{"name":"a"}],"rows":[[1]]}"#;
            for other in ["1", r#"{"items":[1]}"#, r#"[{"a":1}]"#, rows, TABLE] {
                check_all(format, None, &[&*first, other], &format!("{start}{problem}"));
            }
        }
    }

    #[test]
    fn keeps_all_members_of_descriptions() {
        check_all(Some(Format::Json), None, &[TABLE], &format!("{TABLE}\n"));
        check_all(None, None, &[TABLE], &(super::super::indented(TABLE) + "\n"));
    }

    #[test]
    fn merges_lists_of_tables_with_unreadable_names() {
        let pages = [
            r#"{"tables":[{"name":"t"}],"unreadable":["?"],"next_cursor":"c"}"#,
            r#"{"tables":[{"name":"u"}],"unreadable":["?"],"next_cursor":null}"#,
        ];
        check_all(None, None, &pages, "{\"tables\":[{\"name\":\"t\"},{\"name\":\"u\"}]}\n");
        check_all(None, Some(80), &pages, "name\n----\nt\nu\n2 rows\n");
    }
}

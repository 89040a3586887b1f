//! The text of results.

use std::io::{IsTerminal, stderr, stdout};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use serde_json::value::RawValue;

use super::failure::Failure;
use super::pages::Pages;
use super::table::Table;
use super::{document, output, text};

const KEY: Style = AnsiColor::Cyan.on_default();

/// The format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns; on a terminal, cells are cut to its width
    Table,
    /// One line per column
    Vertical,
    /// Comma-separated values with a header line
    Csv,
    /// The result as one line of JSON
    Json,
    /// One JSON object per row
    Ndjson,
}

/// Renders results for stdout and errors for stderr.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renderer {
    /// `None` for a table, a text or an indented document, whichever the result is.
    format: Option<Format>,
    /// The width of the terminal; `None` if stdout is not a terminal.
    terminal: Option<usize>,
    /// Whether stdout shows colours.
    pub(super) has_colours: bool,
    is_stderr_terminal: bool,
}

impl Renderer {
    /// A renderer for the streams of the process. `--json` is short for the format JSON.
    pub(crate) fn for_streams(is_json: bool, format: Option<Format>) -> Self {
        /// The width of a terminal that does not report its own.
        const DEFAULT_WIDTH: usize = 80;
        let width = || {
            let size = terminal_size::terminal_size_of(stdout());
            size.filter(|(terminal_size::Width(columns), _)| *columns > 0)
                .map_or(DEFAULT_WIDTH, |(terminal_size::Width(columns), _)| usize::from(columns))
        };
        Self {
            format: if is_json { Some(Format::Json) } else { format },
            terminal: stdout().is_terminal().then(width),
            has_colours: output::has_colours(&stdout()),
            is_stderr_terminal: stderr().is_terminal(),
        }
    }

    pub(crate) fn format(self) -> Option<Format> {
        self.format
    }

    /// Whether programs read the output, errors included.
    pub(crate) fn is_json(self) -> bool {
        matches!(self.format, Some(Format::Json | Format::Ndjson))
    }

    /// The width of the terminal; `None` if stdout is not a terminal.
    pub(crate) fn columns(self) -> Option<usize> {
        self.terminal
    }

    /// One line, cut to the width of the terminal.
    pub(crate) fn cut(self, line: &str) -> String {
        match self.terminal {
            Some(columns) => text::cut(line, columns).into_owned() + "\n",
            None => format!("{line}\n"),
        }
    }

    /// A text in this style, if stdout shows colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A table, cut to the width of the terminal.
    pub(crate) fn table(self, table: &Table) -> String {
        table.lay_out(self.terminal, self.has_colours)
    }

    /// One line of JSON.
    pub(crate) fn json(self, json: &str) -> String {
        json_line(json, self.terminal.is_some())
    }

    /// One line of JSON for stderr.
    pub(crate) fn json_error(self, json: &str) -> String {
        json_line(json, self.is_stderr_terminal)
    }

    /// Indented JSON.
    pub(crate) fn document(self, json: &str) -> String {
        document::indented_with(json, self.has_colours.then_some(KEY)) + "\n"
    }

    /// The result in the chosen format.
    ///
    /// # Errors
    ///
    /// If CSV was chosen, and the result is not a table.
    pub(crate) fn value(self, value: &RawValue) -> Result<String, Failure> {
        let mut pages = Pages::new(self);
        let page = pages.add(value)?;
        Ok(page.text + &pages.finish())
    }
}

fn json_line(json: &str, is_terminal: bool) -> String {
    match is_terminal {
        true => document::for_terminal(json) + "\n",
        false => document::one_line(json).into_owned() + "\n",
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
    fn reports_columns_that_do_not_fit() {
        let rows = r#"[{"a":"xxxxxxxxx","b":"yyyyyyyyy","c":1}]"#;
        let expected = "a       b\n------  ------\nxxxxx…  yyyyy…\n1 row (2 of 3 columns, all with --format vertical)\n";
        check_with(None, Some(14), rows, expected);
    }
}

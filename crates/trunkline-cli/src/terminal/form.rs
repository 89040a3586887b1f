//! A result as it is printed.

use std::io::{IsTerminal, stderr, stdout};

use serde_json::value::RawValue;

use super::table::Table;
use super::{document, rowset, text};

/// How results are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) is_json: bool,
    /// The columns of the terminal; none where stdout is not one.
    terminal: Option<usize>,
    /// Whether stderr is a terminal, to which failures go.
    is_stderr_terminal: bool,
}

impl Form {
    pub(crate) fn of_streams(is_json: bool) -> Self {
        /// Of a terminal that does not know.
        const USUAL: usize = 80;
        let columns = || {
            let size = terminal_size::terminal_size_of(stdout());
            size.map_or(USUAL, |(terminal_size::Width(columns), _)| usize::from(columns.max(1)))
        };
        let terminal = stdout().is_terminal().then(columns);
        Self { is_json, terminal, is_stderr_terminal: stderr().is_terminal() }
    }

    /// The columns of the terminal; none where stdout is not one.
    pub(crate) fn columns(self) -> Option<usize> {
        self.terminal
    }

    /// One line, cut to the terminal.
    pub(crate) fn cut(self, line: &str) -> String {
        match self.terminal {
            Some(columns) => text::cut(line, columns).into_owned() + "\n",
            None => format!("{line}\n"),
        }
    }

    /// A table, cut to the terminal.
    pub(crate) fn table(self, table: &Table) -> String {
        table.lay_out(self.terminal)
    }

    /// JSON for programs.
    pub(crate) fn json(self, json: &str) -> String {
        match self.terminal {
            Some(_) => document::for_terminal(json) + "\n",
            None => document::one_line(json).into_owned() + "\n",
        }
    }

    /// JSON for programs that read stderr.
    pub(crate) fn told_json(self, json: &str) -> String {
        if self.is_stderr_terminal {
            document::for_terminal(json) + "\n"
        } else {
            document::one_line(json).into_owned() + "\n"
        }
    }

    /// A table, a text, or a document; what is too long for that, as JSON.
    pub(crate) fn value(self, value: &RawValue) -> String {
        /// Nobody reads more, and blanks would make it many times as long.
        const READABLE: usize = 4 << 20;
        if self.is_json || value.get().len() > READABLE {
            return self.json(value.get());
        }
        if let Some(rowset) = rowset::find(value) {
            return rowset.table.lay_out(self.terminal) + &rowset.footer + "\n";
        }
        match serde_json::from_str::<String>(value.get()) {
            Ok(text) => text::lines(&text).into_owned() + "\n",
            Err(_) => document::indented(value.get()) + "\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &str) {
        let value = RawValue::from_string(value.to_owned()).unwrap();
        let form = Form { is_json: false, terminal: None, is_stderr_terminal: false };
        let found = form.value(&value);
        let lines: Vec<&str> = expected.lines().map(str::trim_start).collect();
        assert_eq!(found.lines().map(str::trim_start).collect::<Vec<_>>(), lines, "{value}");
    }

    #[test]
    fn values() {
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
    fn tables() {
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
            "a                   b\n----------------  ---\n{\"$blob\":\"AA==\"}  1.0\n1 row (truncated by the limit of rows; --json shows next_cursor)",
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
        check(
            r#"{"items":[{"a":1}],"nextCursor":"c"}"#,
            "a\n-\n1\n1 row (--json shows nextCursor)",
        );
        check(r#"{"items":[],"nextCursor":null}"#, "{\n\"items\": [],\n\"nextCursor\": null\n}");
        check(r#"{"items":[{"a":1}],"x":1}"#, "{\n\"items\": [\n{\n\"a\": 1\n}\n],\n\"x\": 1\n}");
        check(r#"[{"a":[]}]"#, "[\n{\n\"a\": []\n}\n]");
    }
}

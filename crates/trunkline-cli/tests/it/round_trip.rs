//! Exports of tables of SQLite that are imported again, and the table of `docs/guides/import-export.md`, which lists the
//! differences. `postgres/round_trip.rs` has those of PostgreSQL.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::support::{run, trunkline, with_content};

const FORMATS: [&str; 4] = ["csv", "tsv", "ndjson", "json"];

/// A value, by its bits.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stored {
    Null,
    Integer(i64),
    Real(u64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

fn rows(connection: &Connection, table: &str) -> Vec<Vec<Stored>> {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let width = statement.column_count();
    let read = |row: &rusqlite::Row<'_>| {
        let value = |index| {
            Ok(match row.get_ref(index)? {
                ValueRef::Null => Stored::Null,
                ValueRef::Integer(value) => Stored::Integer(value),
                ValueRef::Real(value) => Stored::Real(value.to_bits()),
                ValueRef::Text(bytes) => Stored::Text(bytes.to_vec()),
                ValueRef::Blob(bytes) => Stored::Blob(bytes.to_vec()),
            })
        };
        (0..width).map(value).collect()
    };
    statement.query_map([], read).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Exports a table in a format, and imports it into another one. Returns the rows of both.
fn round_trip(content: &str, format: &str) -> (Vec<Vec<Stored>>, Vec<Vec<Stored>>, String) {
    let (folder, path) = with_content(content);
    let file = format!("t.{format}");
    let mut messages = String::new();
    for arguments in [
        &["export", "--db", "a.db", "--table", "t", "--output", &file][..],
        &["import", "--db", "a.db", "--table", "copy", &file],
    ] {
        let ended = run(trunkline(folder.path()).args(arguments));
        messages.push_str(&ended.stderr);
    }
    for file in [file.clone(), format!("{file}.rejects")] {
        messages.push_str(&fs::read_to_string(folder.path().join(file)).unwrap_or_default());
    }
    let connection = Connection::open(&path).unwrap();
    (rows(&connection, "t"), rows(&connection, "copy"), messages)
}

/// The statements that create a table and its copy, and insert rows.
fn content(columns: &str, rows: &[String]) -> String {
    let mut sql = format!("CREATE TABLE t {columns}; CREATE TABLE copy {columns};\n");
    for row in rows {
        writeln!(sql, "INSERT INTO t{row};").unwrap();
    }
    sql
}

/// Texts that readers of files could take for something else.
const TEXTS: &str = r#"'', 'NULL', 'null', ' ', ' x ', 'a,b', 'a;b', 'a' || char(9) || 'b', char(9), '"', '""', '"x"',
    'a"b', '''', char(10), char(13), char(13) || char(10), 'a' || char(10), char(10) || 'b', 'a' || char(0) || 'b', '007', '1',
    '1.0', '-0', '1e5', '1E5', '0x10', 'true', '2026-11-28', '=1+1', '="001"', '{"x":1}', '[1]', '"x"', char(65279) || 'x',
    'sep=;', 'é 😀 Ω', '{"$blob": "AAA="}', '{"$blob":"AAA=","bytes":2}', '{"$float": "Infinity"}', '{"$float":"1.5"}',
    '{"$text": "AAA="}', '{"$text":"AAA=","bytes":2}', '{"$integer":"7"}', '{"$null":true}', '{"$blob"', '{"$text":1}',
    '9007199254740993', '123456789012345678901234567890'"#;

const NUMBERS: &str = "NULL, 0, 1, -1, 9007199254740992, 9007199254740993, -9007199254740993, 9223372036854775807, \
                       -9223372036854775807 - 1, 0.0, -0.0, 0.1, 1.5, -1.0, 1e5, 1e20, 1e300, 5e-324, 2.2250738585072014e-308, \
                       1.7976931348623157e308, 123456789.123456789, 9e999, -9e999";

const BYTES: &str =
    "x'', x'00', x'00ff0a', CAST(x'ff' AS TEXT), CAST(x'c3' AS TEXT), CAST(x'b0a1b0a2' AS TEXT)";

#[test]
fn values_of_each_type() {
    let mut report = String::new();
    for (types, values) in [
        ("`INTEGER`, `INT`, `BIGINT`", ["INTEGER", "INT", "BIGINT"].as_slice()),
        ("`REAL`, `DOUBLE`, `FLOAT`", &["REAL", "DOUBLE PRECISION", "FLOAT"]),
        ("`NUMERIC`, `DECIMAL`", &["NUMERIC", "DECIMAL(10, 2)"]),
        ("`BOOLEAN`", &["BOOLEAN"]),
        ("`TEXT`, `VARCHAR`, `CHAR`, `CLOB`", &["TEXT", "VARCHAR(5)", "CHAR(1)", "CLOB"]),
        ("`DATE`, `DATETIME`, `TIMESTAMP`", &["DATE", "DATETIME", "TIMESTAMP"]),
        ("`JSON`, `UUID`, other names", &["JSON", "UUID", "STRING", "MY TYPE"]),
        ("`BLOB`, no type", &["BLOB", ""]),
    ] {
        for declared in values {
            let row = |value: &str| format!(" VALUES ({value}, ({value}))");
            let mut inserted: Vec<String> = Vec::new();
            for list in [NUMBERS, BYTES, TEXTS] {
                // Each value in a row, next to one in a column of another type.
                let values = list.replace(",\n    ", ", ").replace(", ", "), (");
                let table = format!("SELECT column1, column1 FROM (VALUES ({values}))");
                inserted.push(format!(" {table}"));
            }
            inserted.push(row("NULL"));
            check(&content(&format!("(v {declared}, w)"), &inserted), declared);
        }
        writeln!(report, "| SQLite | {types} | numbers, texts, bytes, NULL | same |").unwrap();
    }
    let strict = "(i INT, r REAL, t TEXT, b BLOB, a ANY) STRICT";
    let values = [
        " VALUES (1, 1, '1', x'01', 1), (NULL, NULL, '', x'', '1'), (2, 0.5, 'x', x'ff', 1.5), (3, 3, 'y', x'02', x'02')"
            .to_owned(),
    ];
    check(&content(strict, &values), "STRICT");
    writeln!(
        report,
        "| SQLite | `STRICT` tables with `ANY` | numbers, texts, bytes, NULL | same |"
    )
    .unwrap();
    documented(&report);
}

#[test]
fn tables_of_each_form() {
    let mut report = String::new();
    for (form, columns, rows) in [
        (
            "generated columns",
            "(a INTEGER, b INTEGER AS (a * 2) STORED, c TEXT AS (a || '!'), d TEXT)",
            "(a, d) VALUES (1, 'x'), (NULL, 'y')",
        ),
        (
            "`AUTOINCREMENT`",
            "(id INTEGER PRIMARY KEY AUTOINCREMENT, n TEXT)",
            " VALUES (7, 'x'), (9, NULL)",
        ),
        (
            "`DEFAULT` and `NOT NULL`",
            "(a TEXT NOT NULL DEFAULT 'x', b INTEGER DEFAULT 5, c TEXT DEFAULT CURRENT_TIMESTAMP)",
            " VALUES ('', NULL, NULL), ('y', 1, '')",
        ),
        (
            "`WITHOUT ROWID`",
            "(a TEXT PRIMARY KEY, b) WITHOUT ROWID",
            " VALUES ('x', 1), ('y', '1')",
        ),
        (
            "one column",
            "(a TEXT)",
            " VALUES (NULL), (''), (' '), ('x'), ('{\"$null\":true}'), (NULL), (''), (NULL)",
        ),
        ("one column", "(a)", " VALUES (NULL), (''), (1), ('1'), (x''), (NULL)"),
        (
            "names of columns with separators, quotes, line breaks, a byte order mark or no character",
            "(\"\u{feff}id\", \"\", \" \", \"a,b\", \"a;b\", \"q\"\"q\", \"line\nbreak\", \"cr\rlf\", \"=1\", \"$blob\", \
             \"é\", \"tab\tx\", \"a|b\", \"null\", \"rowid\")",
            " VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)",
        ),
        ("names that look like a separator", "(\"sep=;\" TEXT)", " VALUES ('x')"),
        ("names that look like a separator", "(\"a;b\" TEXT)", " VALUES ('x;y')"),
        ("names that look like a separator", "(\"a\tb\" TEXT)", " VALUES ('x')"),
        ("no rows", "(a, b)", " SELECT 1, 2 WHERE 0"),
    ] {
        check(&content(columns, &[rows.to_owned()]), form);
        let line = format!("| SQLite | {form} | any | same |\n");
        if !report.contains(&line) {
            report.push_str(&line);
        }
    }
    documented(&report);
}

#[track_caller]
fn check(content: &str, name: &str) {
    for format in FORMATS {
        let (exported, imported, messages) = round_trip(content, format);
        for (index, row) in exported.iter().enumerate() {
            assert_eq!(Some(row), imported.get(index), "{name} {format}, row {index}: {messages}");
        }
        assert_eq!(exported.len(), imported.len(), "{name} {format}: {messages}");
    }
}

/// The guide has the lines of the report.
#[track_caller]
pub(crate) fn documented(report: &str) {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/import-export.md");
    let guide = fs::read_to_string(guide).unwrap();
    let missing: Vec<&str> = report.lines().filter(|line| !guide.contains(line)).collect();
    assert!(
        missing.is_empty(),
        "docs/guides/import-export.md has other lines than\n{}",
        missing.join("\n")
    );
}

/// Numbers that look random, and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.next(from.len())]
    }

    /// An SQL expression of any value.
    fn value(&mut self) -> String {
        const PARTS: [&str; 24] = [
            "a",
            "é",
            "😀",
            " ",
            ",",
            ";",
            "\t",
            "\n",
            "\r",
            "\r\n",
            "\"",
            "\"\"",
            "''",
            "{",
            "\"$blob\"",
            "\"$text\"",
            ":",
            "}",
            "[",
            "NULL",
            "0",
            "1.5",
            "\\",
            "\u{feff}",
        ];
        match self.next(8) {
            0 => "NULL".to_owned(),
            1 => format!("{}", self.0 as i64),
            2 => format!("{}", self.next(5) as i64 - 2),
            3 => format!("{:e}", f64::from_bits(self.0 & 0xffef_ffff_ffff_ffff)),
            4 => format!("x'{:08x}'", self.next(usize::MAX) as u32),
            5 => format!("CAST(x'{:08x}' AS TEXT)", self.next(usize::MAX) as u32 | 0xff),
            _ => {
                let count = self.next(7);
                let text: String = (0..count).map(|_| self.pick(&PARTS)).collect();
                format!("'{text}'")
            }
        }
    }

    /// A table of columns of any types, names and constraints, with rows of any values.
    fn table(&mut self) -> String {
        const TYPES: [&str; 12] = [
            "INTEGER",
            "REAL",
            "TEXT",
            "BLOB",
            "",
            "NUMERIC",
            "BOOLEAN",
            "DATE",
            "VARCHAR(9)",
            "DOUBLE",
            "JSON",
            "BIGINT",
        ];
        const NAMES: [&str; 10] =
            ["a", "B b", "c,d", "e\"\"f", "g\nh", "é", "$i", "1", "null", ";"];
        const CONSTRAINTS: [&str; 5] = ["", "", "DEFAULT 'x'", "NOT NULL DEFAULT 0", "DEFAULT 1.5"];
        let width = 1 + self.next(6);
        let mut columns = Vec::new();
        for index in 0..width {
            let constraint = self.pick(&CONSTRAINTS);
            columns.push(format!(
                "\"{}{index}\" {} {constraint}",
                self.pick(&NAMES),
                self.pick(&TYPES)
            ));
        }
        let generated = "g TEXT AS (typeof(one))";
        let has_generated = self.next(3) == 0;
        let mut declared = columns.join(", ");
        if has_generated {
            declared = format!("one INTEGER, {declared}, {generated}");
        }
        let mut inserted = Vec::new();
        for _ in 0..60 {
            let count = width + usize::from(has_generated);
            let values: Vec<String> = (0..count).map(|_| self.value()).collect();
            let names = if has_generated { "one, " } else { "" };
            let names: String = names.to_owned()
                + &columns
                    .iter()
                    .map(|column| column[..column.rfind("\" ").unwrap() + 1].to_owned())
                    .collect::<Vec<_>>()
                    .join(", ");
            inserted.push(format!(" ({names}) VALUES ({})", values.join(", ")));
        }
        content(&format!("({declared})"), &inserted).replace("INSERT INTO", "INSERT OR IGNORE INTO")
    }
}

#[test]
fn generated_tables() {
    for seed in 1..=12 {
        let content = Numbers(seed).table();
        assert!(round_trip(&content, "csv").0.len() > 10, "{content}");
        check(&content, &format!("seed {seed}: {content}"));
    }
}

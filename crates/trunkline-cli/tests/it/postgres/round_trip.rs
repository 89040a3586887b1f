//! Exports of tables of PostgreSQL that are imported again, and exports from one engine to the other.

use std::fs;
use std::process::Command;

use rusqlite::Connection;
use tempfile::TempDir;
use trunkline_test_postgres::{create_database, psql, url_of};

use crate::round_trip::documented;
use crate::support::{run, trunkline};

const FORMATS: [&str; 4] = ["csv", "tsv", "ndjson", "json"];

/// Types with values that are the same after an export and an import.
const EXACT: [(&str, &[&str]); 58] = [
    ("smallint", &["-32768", "0", "32767"]),
    ("integer", &["-2147483648", "0", "2147483647"]),
    ("bigint", &["-9223372036854775808", "9007199254740993", "0", "1"]),
    (
        "numeric",
        &[
            "0",
            "1.50",
            "-0.000",
            "123456789012345678901234567890.12345",
            "NaN",
            "Infinity",
            "-Infinity",
        ],
    ),
    ("numeric(10,2)", &["0.00", "1.50", "-12345678.99"]),
    ("real", &["0", "-0", "0.1", "1e30", "1.1754944e-38", "NaN", "Infinity", "-Infinity"]),
    (
        "double precision",
        &[
            "0",
            "-0",
            "0.1",
            "1e300",
            "5e-324",
            "1.7976931348623157e308",
            "NaN",
            "Infinity",
            "-Infinity",
        ],
    ),
    ("boolean", &["true", "false"]),
    (
        "text",
        &[
            "",
            " ",
            " x ",
            "NULL",
            "null",
            "a,b",
            "a;b",
            "a\tb",
            "\"",
            "\"x\"",
            "a\"b",
            "'",
            "\r",
            "\n",
            "\r\n",
            "a\nb",
            "007",
            "1",
            "1.0",
            "1e5",
            "true",
            "{\"x\":1}",
            "[1]",
            "{1}",
            "=1+1",
            "=\"001\"",
            "\u{feff}x",
            "é 😀",
            "\\",
            "\\x00",
            "{\"$blob\": \"AAA=\"}",
            "{\"$blob\":\"AAA=\",\"bytes\":2}",
            "{\"$float\": \"NaN\"}",
            "{\"$text\": \"AAA=\"}",
            "{\"$text\":\"YQ==\",\"bytes\":1}",
            "{\"$integer\":\"7\"}",
            "{\"$null\":true}",
        ],
    ),
    ("character varying(9)", &["", "a b", "NULL", "{\"$blob\""]),
    ("character(4)", &["", "a", "a b "]),
    ("name", &["", "x", "NULL"]),
    ("bytea", &["", "\\x00", "\\x00ff0a22"]),
    ("uuid", &["00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("date", &["0001-01-01", "2026-11-28", "4713-01-01 BC", "infinity", "-infinity"]),
    ("time", &["00:00:00", "23:59:59.999999", "24:00:00"]),
    ("time with time zone", &["12:00:00+00", "12:00:00.5-05:30"]),
    (
        "timestamp",
        &[
            "2026-11-28 12:00:00",
            "0044-03-15 12:00:00 BC",
            "2026-11-28 12:00:00.000001",
            "infinity",
        ],
    ),
    (
        "timestamp with time zone",
        &["2026-11-28 12:00:00+00", "2026-11-28 12:00:00.5-08", "-infinity"],
    ),
    (
        "interval",
        &["0", "1 year 2 mons 3 days 04:05:06.789", "-1 day +02:03:04", "-00:00:00.000001"],
    ),
    (
        "json",
        &[
            "{\"a\": 1}",
            "[1, 2]",
            "\"x\"",
            "\"{\\\"x\\\":1}\"",
            "\"1\"",
            "\"\"",
            "1",
            "1.50",
            "true",
            "{ \"a\" :1}",
            "{\"b\":1,\"a\":1e5,\"a\":-0}",
            "\"\\u00e9\\/\"",
            "1e400",
            "{\"$null\":true}",
            "{\"$blob\":\"AA==\"}",
        ],
    ),
    (
        "jsonb",
        &[
            "{\"a\": 1}",
            "[1, null]",
            "\"x\"",
            "\"{\\\"x\\\":1}\"",
            "\"null\"",
            "\"\"",
            "12345678901234567890.10",
            "false",
        ],
    ),
    ("jsonpath", &["$.\"a\"[*]"]),
    ("xml", &["<a b=\"1\">x</a>", ""]),
    ("inet", &["127.0.0.1", "10.0.0.0/8", "::1", "fe80::/10"]),
    ("cidr", &["10.0.0.0/8", "::/0"]),
    ("macaddr", &["08:00:2b:01:02:03"]),
    ("macaddr8", &["08:00:2b:01:02:03:04:05"]),
    ("bit(3)", &["000", "101"]),
    ("bit varying(5)", &["", "1", "10101"]),
    ("point", &["(1,2)", "(0.1,-1e+20)"]),
    ("circle", &["<(1,2),3>"]),
    ("path", &["((1,2),(3,4))", "[(1,2),(3,4)]"]),
    ("box", &["(3,4),(1,2)"]),
    ("tsvector", &["'a' 'b':1,2A", "'it''s'"]),
    ("pg_lsn", &["16/B374D848"]),
    ("int4range", &["[1,5)", "empty", "(,5)", "(,)"]),
    ("tstzrange", &["[\"2026-11-28 12:00:00+00\",)"]),
    ("nummultirange", &["{}", "{[1.5,2),(3,4]}"]),
    ("integer[]", &["{}", "{1,NULL,3}", "{{1,2},{3,4}}"]),
    ("text[]", &["{}", "{a,\"NULL\",NULL,\"\",\"a,b\",\"{x}\",\"q\\\"q\"}"]),
    ("double precision[]", &["{1.5,NaN,Infinity,-Infinity,NULL}"]),
    ("bytea[]", &["{\"\\\\x00ff\",NULL,\"\\\\x\"}"]),
    ("jsonb[]", &["{\"{\\\"a\\\": 1}\",NULL,\"[1, 2]\",\"\\\"x\\\"\"}"]),
    ("mood", &["happy", "so so, \"x\""]),
    ("positive", &["1", "7"]),
    ("money", &["$0.00", "-$1,234.50"]),
    ("tsquery", &["'a' & !'b'"]),
    ("pg_snapshot", &["10:20:10,14"]),
    ("address", &["(Oslo,1)", "(\"a,\"\"b\"\"\",)", "(,)"]),
    ("address[]", &["{\"(Oslo,1)\",NULL}", "{}"]),
    ("mood[]", &["{happy,NULL}", "{}"]),
    (
        "hstore",
        &[
            "",
            "a=>1, b=>NULL",
            "\"c,\"=>\"x\\\"y\", \"\"=>\"\"",
            "\"a\nb\"=>\"\r\", \"é\\\\\"=>\"{}\"",
            "\"$text\"=>\"YQ==\"",
            "\"$blob\"=>\"AA==\"",
            "\"$text\"=>\"YQ==\", \"bytes\"=>\"1\"",
            "\"$float\"=>\"NaN\"",
            "\"$null\"=>\"true\"",
        ],
    ),
    ("hstore[]", &["{\"a=>1\",NULL,\"\"}", "{}"]),
    ("box[]", &["{(3,4),(1,2);(5,6),(1,2)}", "{(3,4),(1,2);NULL}", "{}"]),
    ("moods[]", &["{\"{happy,NULL}\",\"{}\"}", "{NULL}"]),
    ("int2vector[]", &["{\"1 2\",3}"]),
    ("\"char\"", &["", "x", "\"", "\\"]),
];

/// Types with values that are not the same, and the values after the import.
const DIFFERENT: [(&str, &str, &str, &str); 4] = [
    ("jsonb", "null", "NULL", "the `null` of JSON becomes NULL"),
    ("json", " [1] ", "[1]", "white space around a document is removed"),
    ("integer[]", "[0:1]={1,2}", "{1,2}", "lower bounds become 1"),
    ("jsonb[]", "{NULL,\"null\"}", "{NULL,NULL}", "the `null` of JSON in arrays becomes NULL"),
];

const TYPES: &str = "\
    CREATE TYPE mood AS ENUM ('happy', 'so so, \"x\"'); CREATE TYPE address AS (city text, number integer); \
    CREATE DOMAIN positive AS integer CHECK (VALUE > 0); CREATE DOMAIN moods AS mood[]; CREATE EXTENSION hstore;";

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = trunkline(folder.path());
    command.args(arguments);
    command
}

/// Exports the table `t`, and imports it into `copy`. Returns the messages, the file and the rejected records.
fn transfer(from: &str, to: &str, format: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("t.{format}");
    let mut text = String::new();
    for arguments in [
        &["export", "--db", from, "--table", "t", "--output", &file][..],
        &["import", "--db", to, "--table", "copy", &file],
    ] {
        text.push_str(&run(&mut command(&folder, arguments)).stderr);
    }
    for file in [file.clone(), format!("{file}.rejects")] {
        text.push_str(&fs::read_to_string(folder.path().join(file)).unwrap_or_default());
    }
    text
}

/// Rows as text, with NULL.
fn rows(database: &str, table: &str, columns: usize) -> Vec<String> {
    let columns: Vec<String> =
        (0..columns).map(|index| format!("quote_nullable(c{index}::text)")).collect();
    let sql = format!(
        "SELECT replace(replace(concat_ws(' | ', {}), E'\\n', '<LF>'), E'\\r', '<CR>') FROM {table} ORDER BY id",
        columns.join(", ")
    );
    psql("app", database, &sql)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn values_of_each_type() {
    // Together in groups, so that few processes are started.
    let mut names = Vec::new();
    for group in EXACT.chunks(23) {
        let columns: Vec<String> =
            group.iter().enumerate().map(|(index, (name, _))| format!("c{index} {name}")).collect();
        let columns = format!("(id integer PRIMARY KEY, {})", columns.join(", "));
        let count = group.iter().map(|(_, values)| values.len()).max().unwrap();
        let mut script = format!("{TYPES} CREATE TABLE t {columns}; CREATE TABLE copy {columns};");
        for row in 0..=count {
            let value = |(name, values): &(&str, &[&str])| match values.get(row) {
                Some(value) => format!("{}::{name}", quoted(value)),
                None => "NULL".to_owned(),
            };
            let values: Vec<String> = group.iter().map(value).collect();
            script.push_str(&format!("INSERT INTO t VALUES ({row}, {});\n", values.join(", ")));
        }
        let database = create_database(&script);
        let url = url_of("app", &database);
        let expected = rows(&database, "t", group.len());
        assert_eq!(expected.len(), count + 1);
        for format in FORMATS {
            psql("app", &database, "DELETE FROM copy");
            let messages = transfer(&url, &url, format);
            let found = rows(&database, "copy", group.len());
            for (row, expected) in expected.iter().enumerate() {
                assert_eq!(found.get(row), Some(expected), "{format}, row {row}: {messages:.500}");
            }
        }
        names.extend(group.iter().map(|(name, _)| format!("`{name}`")));
    }
    let mut report = String::new();
    for names in names.chunks(12) {
        report.push_str(&format!("| PostgreSQL | {} | any, NULL | same |\n", names.join(", ")));
    }
    for (name, value, expected, difference) in DIFFERENT {
        let script = format!(
            "{TYPES} CREATE TABLE t (id integer, c0 {name}); CREATE TABLE copy (id integer, c0 {name}); \
             INSERT INTO t VALUES (1, {}::{name})",
            quoted(value)
        );
        let database = create_database(&script);
        let url = url_of("app", &database);
        for format in FORMATS {
            psql("app", &database, "DELETE FROM copy");
            let messages = transfer(&url, &url, format);
            let found = psql("app", &database, "SELECT coalesce(c0::text, 'NULL') FROM copy");
            assert_eq!(found, [expected], "{name} {value} {format}: {messages}");
        }
        report.push_str(&format!("| PostgreSQL | `{name}` | `{value}` | {difference} |\n"));
    }
    documented(&report);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn tables_of_each_form() {
    let mut report = String::new();
    for (form, columns, inserted, check) in [
        (
            "`GENERATED ALWAYS AS (…) STORED`",
            "(a integer, b integer GENERATED ALWAYS AS (a * 2) STORED, c text)",
            "(a, c) VALUES (1, 'x'), (NULL, 'y')",
            "SELECT * FROM {} ORDER BY 3",
        ),
        (
            "`GENERATED ALWAYS AS IDENTITY`",
            "(id integer GENERATED ALWAYS AS IDENTITY (START WITH 5) PRIMARY KEY, a text)",
            "(a) VALUES ('x'), ('y')",
            "SELECT * FROM {} ORDER BY 1",
        ),
        (
            "`GENERATED BY DEFAULT AS IDENTITY`",
            "(id integer GENERATED BY DEFAULT AS IDENTITY (START WITH 5), a text)",
            "(a) VALUES ('x'), ('y')",
            "SELECT * FROM {} ORDER BY 1",
        ),
        (
            "`serial`",
            "(id serial, a text)",
            "(a) VALUES ('x'), ('y')",
            "SELECT * FROM {} ORDER BY 1",
        ),
        (
            "`DEFAULT` and `NOT NULL`",
            "(a text NOT NULL DEFAULT 'x', b integer DEFAULT 5, c timestamptz DEFAULT now())",
            " VALUES ('', NULL, NULL), ('y', 1, '2026-11-28')",
            "SELECT a, coalesce(b::text, 'NULL'), coalesce(c::text, 'NULL') FROM {} ORDER BY 1",
        ),
        (
            "one column",
            "(a text)",
            " VALUES (NULL), (''), (' '), ('{\"$null\":true}'), ('x'), (NULL)",
            "SELECT quote_nullable(a) FROM {} ORDER BY 1",
        ),
        (
            "one column",
            "(a jsonb)",
            " VALUES (NULL), ('\"\"'), ('1')",
            "SELECT quote_nullable(a::text) FROM {} ORDER BY 1",
        ),
        (
            "names of columns with separators, quotes, line breaks, a byte order mark or capitals",
            "(\"\u{feff}id\" int, \" \" int, \"a,b\" int, \"a;b\" int, \"q\"\"q\" int, \"line\nbreak\" int, a int, \"A\" int, \
             \"$blob\" int, \"é\" int, \"tab\tx\" int, \"null\" int)",
            " VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
            "SELECT * FROM {}",
        ),
    ] {
        let script = format!(
            "CREATE TABLE t {columns}; CREATE TABLE copy {columns}; INSERT INTO t{inserted}"
        );
        let database = create_database(&script);
        let url = url_of("app", &database);
        let expected = psql("app", &database, &check.replace("{}", "t"));
        for format in FORMATS {
            psql("app", &database, "DELETE FROM copy");
            let messages = transfer(&url, &url, format);
            assert_eq!(
                psql("app", &database, &check.replace("{}", "copy")),
                expected,
                "{form} {format}: {messages}"
            );
        }
        let line = format!("| PostgreSQL | {form} | any | same |\n");
        if !report.contains(&line) {
            report.push_str(&line);
        }
    }
    documented(&report);
}

/// Files of one engine are imported into the other.
#[test]
#[ignore = "needs PostgreSQL"]
fn from_one_engine_to_the_other() {
    let texts = "'', 'NULL', 'a,b', '{\"$blob\": \"AAA=\"}', '{\"$blob\":\"AAA=\",\"bytes\":2}', '{\"$null\":true}', '1', '007'";
    let texts = texts.replace("', '", "'), ('");
    let insert =
        format!("INSERT INTO t (a) VALUES ({texts}); UPDATE t SET b = 9007199254740993, c = 1.5");
    let database = create_database(&format!(
        "CREATE TABLE t (a text, b bigint, c double precision, d bytea); CREATE TABLE copy (LIKE t); {insert}, d = '\\x00ff'"
    ));
    let url = url_of("app", &database);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let columns = "(a TEXT, b INTEGER, c REAL, d BLOB)";
    let sqlite = Connection::open(&path).unwrap();
    let script =
        format!("CREATE TABLE t {columns}; CREATE TABLE copy {columns}; {insert}, d = x'00ff'");
    sqlite.execute_batch(&script).unwrap();
    let file = path.to_str().unwrap();
    for format in FORMATS {
        psql("app", &database, "DELETE FROM copy");
        let messages = transfer(file, &url, format);
        let difference = "SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM copy) AS d, \
                          (SELECT count(*) AS n FROM copy) AS c WHERE d IS NOT NULL OR c.n <> 8";
        assert_eq!(psql("app", &database, difference), ["0"], "{format}: {messages}");
        sqlite.execute("DELETE FROM copy", []).unwrap();
        let messages = transfer(&url, file, format);
        let same =
            "SELECT count(*) FROM (SELECT a, b, c, d FROM t INTERSECT SELECT a, b, c, d FROM copy)";
        let same: i64 = sqlite.query_row(same, [], |row| row.get(0)).unwrap();
        assert_eq!(same, 8, "{format}: {messages}");
    }
}

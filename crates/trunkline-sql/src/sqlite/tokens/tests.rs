use std::ops::Range;

use rusqlite::{Connection, Error};

use super::{Kind, checks, explained, names, tokens, verb, with_definitions};
use crate::random::Random;

#[track_caller]
fn check(sql: &str, expected: &[&str]) {
    let found = names(sql);
    let found: Vec<&str> = found.iter().map(|name| name.text.as_str()).collect();
    assert_eq!(found, expected, "{sql}");
}

#[test]
fn names_of_texts() {
    check("SELECT a.\"B\"\"c\" -- x\n,[d]]", &["SELECT", "a", "B\"c", "d"]);
    check("/* a */b/*c", &["b"]);
    check("'it''s' `x` \"open", &["it's", "x"]);
    check("1e5 été :p", &["été"]);
    check("a\u{feff}b \u{feff}c\u{feff} d\u{a0}e", &["a\u{feff}b", "c\u{feff}", "d\u{a0}e"]);
    check("$a(') b, 'c", &["b"]);
    check("x'00' X'ab' xa", &["xa"]);
    check("", &[]);
}

#[test]
fn names_of_checks() {
    let sql = "CREATE TABLE t (a CHECK ((a) > 0 /* ) b */), \"check\" int, c CHECK (c IN (')', \"d\")), e)";
    assert_eq!(checks(sql), [vec!["a"], vec!["c", "IN", ")", "d"]]);
    assert_eq!(checks("a CHECK (b"), [["b"]]);
    assert_eq!(checks("a CHECK ($b(')) c"), [Vec::<String>::new()]);
}

#[test]
fn statements_and_their_verbs() {
    for (sql, statement, expected) in [
        ("SELECT 1", "SELECT 1", Some("select")),
        ("explain SELECT 1", "SELECT 1", Some("select")),
        ("/**/EXPLAIN\nQUERY PLAN SELECT 1", "SELECT 1", Some("select")),
        (";;Values (1)", "Values (1)", Some("values")),
        ("\u{feff}drop table t", "drop table t", Some("drop")),
        (
            "with a(b) as (select (1)) select 2",
            "with a(b) as (select (1)) select 2",
            Some("select"),
        ),
        ("WITH a AS (VALUES (1)), b AS (TABLE) INSERT INTO t", "", Some("insert")),
        ("WITH replace AS (VALUES (1)) REPLACE INTO t", "", Some("replace")),
        ("WITH \"select\" AS (SELECT ')') DELETE FROM t", "", Some("delete")),
        ("(SELECT 1)", "(SELECT 1)", None),
        ("'select'", "'select'", None),
        ("", "", None),
    ] {
        assert_eq!(verb(sql).as_deref(), expected, "{sql}");
        if !statement.is_empty() {
            assert_eq!(explained(sql), statement);
        }
    }
}

/// Compares tokens with those of SQLite, for texts with these parts and characters of all of Unicode.
#[test]
fn texts_are_split_as_sqlite_splits_them() {
    compare_with_sqlite(5_000);
}

#[test]
#[ignore = "takes long: `cargo xtask soak` runs it"]
fn a_million_texts_are_split_as_sqlite_splits_them() {
    compare_with_sqlite(1_000_000);
}

const PARTS: &[&str] = &[
    " ",
    " ",
    " ",
    "\t",
    "\n",
    "\x0b",
    "\x0c",
    "\r",
    "\u{feff}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "\u{85}",
    "--",
    "/*",
    "*/",
    "/**/",
    "/",
    "*",
    "'",
    "'a'",
    "'it''s'",
    "\"",
    "\"b\"",
    "\"\"\"\"",
    "`c`",
    "`",
    "[d]",
    "[]",
    "]",
    "(",
    ")",
    "$",
    "@",
    ":a",
    "::",
    "#",
    "?",
    "?1",
    "$a(')",
    "$a::b(\")",
    "$a(",
    "x'00'",
    "X'0f",
    "0x",
    "0xF ",
    "_",
    "1 ",
    "12",
    ".",
    ".5 ",
    "e",
    "E+",
    "1e-1 ",
    "a",
    "b",
    "é",
    "select",
    "from",
    "Natural",
    "using",
    "indexed",
    "BY",
    "check",
    "explain",
    "->",
    "->>",
    ">",
    "<",
    "=",
    "!=",
    "|",
    "||",
    "&",
    "~",
    "+",
    "-",
    ",",
    ";",
    "%",
    "^",
    "\\",
];

fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(16) {
        match random.below(32) {
            // Each character but NUL and those of UTF-16.
            0..=2 => text.extend(char::from_u32(random.below(0x10_FFFF) as u32 + 1)),
            3 => text.extend(char::from_u32(random.below(0x7F) as u32 + 1)),
            _ => text.push_str(random.one_of(PARTS)),
        }
    }
    text
}

#[track_caller]
fn compare_with_sqlite(count: usize) {
    let mut random = Random::new();
    let seed = random.seed();
    let connection = Connection::open_in_memory().unwrap();
    for _ in 0..count {
        let text = text(&mut random);
        let found = tokens(&text);
        let ranges: Vec<_> =
            found.iter().map(|token| (token.range.clone(), token.kind != Kind::Invalid)).collect();
        assert_eq!(ranges, ranges_of_sqlite(&connection, &text), "{text:?}, SEED={seed}");
        for token in &found {
            let name = token.name(&text);
            let known = name_of_sqlite(&connection, &text[token.range.clone()]);
            match (token.kind, known) {
                // Not after `AS`.
                (Kind::Word, None) => {}
                (_, known) => {
                    assert_eq!(name.map(|name| name.text), known, "{text:?}, SEED={seed}");
                }
            }
        }
    }
}

/// The places of the tokens that SQLite reports as an error after `DROP`, and whether they are valid.
fn ranges_of_sqlite(connection: &Connection, text: &str) -> Vec<(Range<usize>, bool)> {
    // With a space, a vertical tab would be white space.
    const BEFORE: &str = "DROP/**/";
    let mut ranges = Vec::new();
    let mut start = 0;
    loop {
        let sql = format!("{BEFORE}{}", &text[start..]);
        let (message, offset) = match connection.prepare(&sql) {
            Err(Error::SqlInputError { msg, offset, .. }) => (msg, offset),
            Err(Error::SqliteFailure(_, Some(message))) if message == "incomplete input" => {
                return ranges;
            }
            other => panic!("{sql:?}: {other:?}"),
        };
        let unexpected = message.strip_prefix("near \"");
        let unexpected = unexpected.and_then(|rest| rest.strip_suffix("\": syntax error"));
        let invalid = message.strip_prefix("unrecognized token: \"");
        let invalid = invalid.and_then(|rest| rest.strip_suffix('"'));
        let token = unexpected.or(invalid).unwrap_or_else(|| panic!("{sql:?}: {message}"));
        let begin = start + usize::try_from(offset).unwrap() - BEFORE.len();
        start = begin + token.len();
        ranges.push((begin..start, invalid.is_none()));
        if invalid.is_some() {
            return ranges;
        }
    }
}

/// The name that SQLite reads from a token, if it is one.
fn name_of_sqlite(connection: &Connection, token: &str) -> Option<String> {
    let statement = connection.prepare(&format!("SELECT 1 AS {token}")).ok()?;
    Some(statement.column_name(0).unwrap().to_owned())
}

#[test]
fn definitions_are_added_to_a_statement() {
    let check = |sql: &str, expected: Option<&str>| {
        let found = with_definitions(sql, "t AS (#)", &["t".to_owned()]);
        assert_eq!(found.as_deref(), expected, "{sql}");
    };
    check("SELECT * FROM t", Some("WITH t AS (#) SELECT * FROM t"));
    check("; /* c */ select 1", Some("; /* c */ WITH t AS (#) select 1"));
    check("EXPLAIN QUERY PLAN SELECT 1", Some("EXPLAIN QUERY PLAN WITH t AS (#) SELECT 1"));
    check("with a AS (SELECT 1) TABLE", Some("with t AS (#), a AS (SELECT 1) TABLE"));
    check("WITH RECURSIVE a(b) AS (1)", Some("WITH RECURSIVE t AS (#), a(b) AS (1)"));
    check("SELECT * FROM main.t", Some("WITH t AS (#) SELECT * FROM  t "));
    check("SELECT * FROM u JOIN\"main\".t x", Some("WITH t AS (#) SELECT * FROM u JOIN t  x"));
    check("select a FROM [MAIN] . `T` x", Some("WITH t AS (#) select a FROM  `T`  x"));
    check("-- main.t\n", None);
    for other in [
        "SELECT * FROM main.u",
        "SELECT main.t.a FROM main.t",
        "SELECT * FROM u, main.t",
        "SELECT * FROM main.t.a",
        "SELECT * FROM u AS main",
        "SELECT * FROM u\"main\".t",
        "SELECT * FROM u AS main.t",
        "SELECT * FROM (WITH t AS (SELECT 9) SELECT * FROM main.t)",
        "SELECT 'main'.a",
    ] {
        check(other, None);
    }
}

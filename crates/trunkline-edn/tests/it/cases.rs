//! Documents from data files, each with its equivalent in the other notation.

use serde_json::Value as Row;
use trunkline_edn::json::{self, FromJson, Keys};
use trunkline_edn::{Value, read};

/// The rows of a data file, one object per line.
fn rows(file: &str) -> Vec<Row> {
    file.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A text member of a row.
#[track_caller]
fn text<'r>(row: &'r Row, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_else(|| panic!("no {name} in {row}"))
}

#[track_caller]
fn check_edn(row: &Row) {
    let read = read(text(row, "edn"));
    if row["refused"] == "read" {
        let error = read.expect_err(&row.to_string());
        assert!(error.position().is_some(), "{row}: {error}");
        return;
    }
    let written = json::to_string(&read.unwrap_or_else(|error| panic!("{row}: {error}")));
    if row["refused"] == "encode" {
        let error = written.expect_err(&row.to_string());
        assert!(error.located_in(text(row, "edn")).position().is_some(), "{row}");
        return;
    }
    let written = written.unwrap_or_else(|error| panic!("{row}: {error}"));
    assert_eq!(written, text(row, "json"), "{row}");
    serde_json::from_str::<Row>(&written).unwrap_or_else(|error| panic!("{row}: {error}"));
}

#[track_caller]
fn check_json(row: &Row) {
    let document = text(row, "json");
    for (keys, expected) in [(Keys::Keyword, "edn"), (Keys::String, "edn_string_keys")] {
        let options = FromJson { keys, ..FromJson::default() };
        let value = json::from_str_with(document, &options)
            .unwrap_or_else(|error| panic!("{row}: {error}"));
        // Compares the text as well, since a list equals a vector.
        assert_eq!(value.to_string(), text(row, expected), "{row}");
        assert_eq!(value, text(row, expected).parse::<Value>().unwrap(), "{row}");
        let again: Row = serde_json::from_str(&json::to_string(&value).unwrap()).unwrap();
        assert_eq!(again, serde_json::from_str::<Row>(document).unwrap(), "{row}");
    }
}

#[test]
fn edn_to_json() {
    let rows = rows(include_str!("../data/edn_to_json.jsonl"));
    assert_eq!(rows.len(), 78);
    rows.iter().for_each(check_edn);
}

#[test]
fn json_to_edn() {
    let rows = rows(include_str!("../data/json_to_edn.jsonl"));
    assert_eq!(rows.len(), 24);
    rows.iter().for_each(check_json);
}

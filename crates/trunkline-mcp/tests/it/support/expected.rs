//! Rows of data files, and comparisons of replies with them.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The rows of a file in `tests/data`.
pub(crate) fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let row = |(index, line)| match serde_json::from_str(line) {
        Ok(row) => row,
        Err(error) => panic!("{path}:{}: {error}", index + 1),
    };
    text.lines().enumerate().map(row).collect()
}

/// Compares a reply with the parts of it that a row expects.
#[track_caller]
pub(crate) fn assert_fits(name: &str, expected: &Value, found: &Value) {
    assert!(fits(expected, found), "{name}\nexpected {expected}\n   found {found}");
}

/// Checks that a reply has nothing at these JSON pointers.
#[track_caller]
pub(crate) fn assert_lacks(name: &str, absent: &[String], found: &Value) {
    for pointer in absent {
        assert!(found.pointer(pointer).is_none(), "{name}\n{pointer} is in {found}");
    }
}

/// `"*"` matches any value, and text between two stars any text that contains it. Objects may have further
/// members; arrays are compared in order.
fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(any), _) if any == "*" => true,
        (Value::String(pattern), Value::String(text)) => {
            match pattern.strip_prefix('*').and_then(|rest| rest.strip_suffix('*')) {
                Some(part) => text.contains(part),
                None => pattern == text,
            }
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| fits(e, f))
        }
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|f| fits(value, f)))
        }
        _ => expected == found,
    }
}

//! Rows of data files, and comparison of replies with them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

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

/// Compares a reply, or its absence, with a row. `id` is the exact text of the id of the reply, for rows that check
/// it.
#[track_caller]
pub(crate) fn assert_replies(name: &str, found: Option<&[u8]>, expected: &Value, id: Option<&str>) {
    let text = found.map(String::from_utf8_lossy);
    let equal = match found {
        None => expected == "none",
        Some(json) => parse(json, id, &expected["id"]).is_some_and(|found| fits(expected, &found)),
    };
    assert!(
        equal,
        "{name}\nexpected {expected}\n   found {}",
        text.as_deref().unwrap_or("nothing")
    );
}

/// Parses a reply. The id is compared as text, since no number type can represent all ids, and then replaced by the
/// expected one.
fn parse(json: &[u8], id: Option<&str>, expected_id: &Value) -> Option<Value> {
    let Some(id) = id else {
        return serde_json::from_slice(json).ok();
    };
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(json).ok()?;
    if members.remove("id")?.get() != id {
        return None;
    }
    let mut object = serde_json::to_value(members).ok()?;
    object["id"] = expected_id.clone();
    Some(object)
}

/// `"*"` matches any value. If the message is `"*"`, `data` is optional. Arrays are compared in order, since the
/// replies of a batch are in the order of the requests.
fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(any), _) if any == "*" => true,
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| fits(e, f))
        }
        (Value::Object(expected), Value::Object(found)) => {
            let data_is_free = expected.get("message").is_some_and(|message| message == "*");
            let is_free = |key: &str| key == "data" && data_is_free;
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|f| fits(value, f)))
                && found.keys().all(|key| expected.contains_key(key) || is_free(key))
        }
        _ => expected == found,
    }
}

//! How much memory a payload holds while its command waits.

use std::mem::size_of;

use serde_json::{Map, Value};

pub(super) fn of_members(members: &Map<String, Value>) -> usize {
    members.iter().map(|(name, value)| size_of::<String>() + name.len() + of_value(value)).sum()
}

fn of_value(value: &Value) -> usize {
    let behind = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(members) => of_members(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + behind
}

//! Dropping what may be nested deeper than a stack carries.

use std::mem;

use crate::value::Value;

/// Up to here, dropping goes into collections as usual: that is fastest, and every stack carries it.
const SHALLOW: usize = 32;

/// Empties the collections among values that are about to be dropped.
pub(crate) fn take_apart(values: &mut [Value]) {
    values.iter_mut().for_each(|value| empty(value, 1));
}

/// The same for entries of a map.
pub(crate) fn take_apart_entries(entries: &mut [(Value, Value)]) {
    for (key, value) in entries {
        empty(key, 1);
        empty(value, 1);
    }
}

/// Drops the parts of a collection. What is none stays.
fn empty(value: &mut Value, depth: usize) {
    if !value.is_collection() {
        return;
    }
    if depth == SHALLOW {
        return drop_iteratively(mem::replace(value, Value::Nil));
    }
    match value {
        Value::Map(map) => {
            for (key, value) in map.contents() {
                empty(key, depth + 1);
                empty(value, depth + 1);
            }
            map.contents().clear();
        }
        Value::Tagged(tagged) => {
            empty(tagged.value_mut(), depth + 1);
            *tagged.value_mut() = Value::Nil;
        }
        _ => {
            if let Some(parts) = sequence(value) {
                parts.iter_mut().for_each(|part| empty(part, depth + 1));
                parts.clear();
            }
        }
    }
}

fn drop_iteratively(value: Value) {
    let mut waiting = vec![value];
    let set_aside = |part: &mut Value, waiting: &mut Vec<Value>| {
        if part.is_collection() {
            waiting.push(mem::replace(part, Value::Nil));
        }
    };
    while let Some(mut value) = waiting.pop() {
        match &mut value {
            Value::Map(map) => {
                for (key, value) in map.contents() {
                    set_aside(key, &mut waiting);
                    set_aside(value, &mut waiting);
                }
            }
            Value::Tagged(tagged) => set_aside(tagged.value_mut(), &mut waiting),
            _ => {
                if let Some(parts) = sequence(&mut value) {
                    parts.iter_mut().for_each(|part| set_aside(part, &mut waiting));
                }
            }
        }
    }
}

/// The parts of a list, a vector or a set.
fn sequence(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::List(list) => Some(list.contents()),
        Value::Vector(vector) => Some(vector.contents()),
        Value::Set(set) => Some(set.contents()),
        _ => None,
    }
}

use serde_json::{Map, Value};

use trunkline_core::call::Description;

/// Params by name, from either form (JSON-RPC 2.0, section 4.2), or why they are none.
pub(super) fn params(description: &Description, params: Value) -> Result<Value, String> {
    let Value::Array(values) = params else { return Ok(params) };
    let names = &description.params;
    if names.is_empty() && !values.is_empty() {
        return Err("params are taken by name only: an object".to_owned());
    }
    let mut values = values.into_iter();
    let (variadic, single) = match names.split_last() {
        Some((last, before)) if description.variadic => (Some(*last), before),
        _ => (None, &names[..]),
    };
    let mut named: Map<String, Value> =
        single.iter().map(|name| (*name).to_owned()).zip(values.by_ref()).collect();
    match variadic {
        Some(name) => {
            named.insert(name.to_owned(), values.collect());
        }
        None if values.len() > 0 => {
            let given = names.len() + values.len();
            return Err(format!("{given} params are given by position, of {}", names.len()));
        }
        None => {}
    }
    Ok(Value::Object(named))
}

/// Where a param by position stands among those by name: as a JSON Pointer.
pub(super) fn pointer(description: &Description, index: usize) -> String {
    let last = description.params.len().saturating_sub(1);
    let name = description.params.get(index.min(last)).copied().unwrap_or_default();
    let pointer = format!("/{}", escaped(name));
    if description.variadic && index >= last {
        format!("{pointer}/{}", index - last)
    } else {
        pointer
    }
}

/// A name as a part of a JSON Pointer (RFC 6901, section 3).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

use serde_json::{Map, Value};

use crate::router::Description;

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

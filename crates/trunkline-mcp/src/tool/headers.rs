//! Params that clients mirror into headers (2026-07-28, "Custom Headers from Tool Parameters").

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// A param with an `x-mcp-header`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MirroredParam {
    /// The properties that lead to it.
    path: Vec<String>,
    header: HeaderName,
}

const ANNOTATION: &str = "x-mcp-header";

/// The mirrored params of a schema: those that are reached from its root by `properties` alone.
pub(super) fn mirrored(schema: &Value) -> Result<Vec<MirroredParam>, (String, &'static str)> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let mut headers = HashSet::new();
    for param in &found {
        if !headers.insert(&param.header) {
            return Err((param.path.join("."), "stands twice"));
        }
    }
    if annotations(schema) > found.len() {
        let reason = "may only stand at properties that the schema's root leads to";
        return Err(("some property".to_owned(), reason));
    }
    Ok(found)
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<MirroredParam>,
) -> Result<(), (String, &'static str)> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(annotation) = property.get(ANNOTATION) {
            let header = header(annotation, property).map_err(|reason| (path.join("."), reason))?;
            found.push(MirroredParam { path: path.clone(), header });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn header(annotation: &Value, property: &Value) -> Result<HeaderName, &'static str> {
    let name = annotation.as_str().filter(|name| !name.is_empty()).ok_or("is no name")?;
    let header = format!("mcp-param-{}", name.to_ascii_lowercase());
    let header = HeaderName::try_from(header).map_err(|_| "is no name of a header")?;
    let kind = property.get("type").and_then(Value::as_str);
    let primitive = kind.is_some_and(|kind| ["string", "integer", "boolean"].contains(&kind));
    primitive.then_some(header).ok_or("is for strings, integers and booleans")
}

/// How many annotations there are anywhere in a schema.
fn annotations(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            let here = usize::from(members.get(ANNOTATION).is_some_and(Value::is_string));
            here + members.values().map(annotations).sum::<usize>()
        }
        Value::Array(elements) => elements.iter().map(annotations).sum(),
        _ => 0,
    }
}

impl MirroredParam {
    /// Compares the header with the argument.
    pub(crate) fn check(&self, headers: &HeaderMap, arguments: &Value) -> Result<(), String> {
        let argument = self.path.iter().try_fold(arguments, |value, name| value.get(name));
        let argument = argument.filter(|value| !value.is_null());
        let header = single(headers, &self.header)?;
        match (header, argument) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(format!("{} is missing", self.header)),
            (Some(_), None) => Err(format!("{} has no argument that it mirrors", self.header)),
            (Some(header), Some(argument)) => {
                let value = decoded(header)
                    .ok_or_else(|| format!("{} has an invalid value", self.header))?;
                if is_same(&value, argument) {
                    Ok(())
                } else {
                    Err(format!("{} differs from the argument that it mirrors", self.header))
                }
            }
        }
    }
}

/// The one value of a header, if it is there.
pub(crate) fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(format!("{name} stands twice")),
    }
}

/// A header's value, decoded if it is encoded ("Value Encoding"). None if it is neither plain nor
/// well encoded.
pub(crate) fn decoded(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?.trim_matches([' ', '\t']);
    let encoded = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

fn is_same(header: &str, argument: &Value) -> bool {
    match argument {
        Value::String(text) => text == header,
        Value::Bool(value) => header == if *value { "true" } else { "false" },
        Value::Number(number) => match (header.parse::<i128>(), number.as_i128()) {
            (Ok(header), Some(number)) => header == number,
            // `42` and `42.0` are one integer.
            (Err(_), _) => {
                header.parse::<f64>().is_ok_and(|header| Some(header) == number.as_f64())
            }
            (Ok(header), None) => number.as_f64() == Some(header as f64),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, HeaderValue, decoded, mirrored};
    use serde_json::{Value, json};

    fn property(kind: &Value, header: &Value) -> Value {
        json!({ "type": "object", "properties": { "p": { "type": kind, "x-mcp-header": header } } })
    }

    #[test]
    fn an_annotation_is_a_header_name_at_a_primitive_param() {
        let rows = [
            (property(&json!("string"), &json!("Region")), true),
            (property(&json!("integer"), &json!("N")), true),
            (property(&json!(["string", "null"]), &json!("N")), false),
            (property(&json!("number"), &json!("N")), false),
            (property(&json!("object"), &json!("N")), false),
            (property(&json!("string"), &json!("")), false),
            (property(&json!("string"), &json!("two words")), false),
            (property(&json!("string"), &json!("a\r\nb")), false),
            (property(&json!("string"), &json!(7)), false),
            (
                json!({ "properties": {
                    "a": { "type": "string", "x-mcp-header": "N" },
                    "b": { "type": "string", "x-mcp-header": "n" },
                } }),
                false,
            ),
            (
                json!({ "properties": { "a": { "properties": {
                    "b": { "type": "string", "x-mcp-header": "N" },
                } } } }),
                true,
            ),
            (
                json!({ "properties": { "a": {
                    "items": { "type": "string", "x-mcp-header": "N" },
                } } }),
                false,
            ),
            (json!({ "anyOf": [property(&json!("string"), &json!("N"))] }), false),
        ];
        for (schema, good) in rows {
            assert_eq!(mirrored(&schema).is_ok(), good, "{schema}");
        }
    }

    #[test]
    fn headers_are_decoded_and_compared() {
        let schema = property(&json!("string"), &json!("Region"));
        let param = mirrored(&schema).unwrap().remove(0);
        let rows = [
            (Some("us-west1"), json!("us-west1"), true),
            (Some("  us-west1 "), json!("us-west1"), true),
            (Some("us-west2"), json!("us-west1"), false),
            (Some("US-WEST1"), json!("us-west1"), false),
            (Some("=?base64?SGVsbG8=?="), json!("Hello"), true),
            (Some("=?base64?SGVsbG8?="), json!("Hello"), false),
            (Some("=?base64?SGVs!!!bG8=?="), json!("Hello"), false),
            (Some("SGVsbG8=?="), json!("Hello"), false),
            (Some("=?base64?SGVsbG8="), json!("Hello"), false),
            (Some("=?BASE64?SGVsbG8=?="), json!("Hello"), false),
            (None, json!("Hello"), false),
            (None, json!(null), true),
            (Some("x"), json!(null), false),
            (Some("42"), json!(42), true),
            (Some("42.0"), json!(42), true),
            (Some("43"), json!(42), false),
            (Some("true"), json!(true), true),
            (Some("True"), json!(true), false),
        ];
        for (header, argument, good) in rows {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert("mcp-param-region", HeaderValue::from_static(header));
            }
            let arguments = json!({ "p": argument });
            assert_eq!(param.check(&headers, &arguments).is_ok(), good, "{header:?} {argument}");
        }
        assert!(param.check(&HeaderMap::new(), &json!({})).is_ok());
        assert_eq!(decoded(&HeaderValue::from_bytes(b"\xff").unwrap()), None);
    }
}

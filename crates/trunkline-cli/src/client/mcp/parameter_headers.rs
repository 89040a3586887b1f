//! Arguments that travel in headers as well: `x-mcp-header` of 2026-07-28, Streamable HTTP.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::members::Members;

/// The members that lead to an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path(Vec<String>);

impl Path {
    /// The argument as a header, if it has a value.
    pub(super) fn read(&self, arguments: &RawValue) -> Option<HeaderValue> {
        let mut value = arguments;
        for name in &self.0 {
            // Each level by itself: elsewhere may be numbers beyond what a `Value` holds.
            let Members(members): Members<&RawValue> = serde_json::from_str(value.get()).ok()?;
            value = members.into_iter().rfind(|(known, _)| known == name)?.1;
        }
        match value.get() {
            "null" => None,
            json if json.starts_with(['{', '[']) => None,
            json if json.starts_with('"') => {
                Some(encode(&serde_json::from_str::<String>(json).ok()?))
            }
            json => Some(encode(json)),
        }
    }
}

/// A text as the value of a header.
pub(super) fn encode(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let encoded =
        if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) };
    HeaderValue::try_from(encoded).expect("plain text and base64 are values of headers")
}

/// The headers that a tool's schema asks for, or why the tool must not be used.
pub(super) fn find(schema: &Value) -> Result<Vec<(HeaderName, Path)>, String> {
    let mut found = Vec::new();
    in_schema(schema, Some(&Path(Vec::new())), &mut found)?;
    Ok(found)
}

/// `path` is none where no argument can be told to be meant, as in an array's items.
fn in_schema(
    schema: &Value,
    path: Option<&Path>,
    found: &mut Vec<(HeaderName, Path)>,
) -> Result<(), String> {
    let Value::Object(members) = schema else { return Ok(()) };
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("x-mcp-header", _) => {
                let path = path.filter(|path| !path.0.is_empty());
                let path = path.ok_or("an x-mcp-header stands where no argument is")?;
                let name = header_name(value, schema)?;
                if found.iter().any(|(known, _)| *known == name) {
                    return Err(format!("its x-mcp-header {name} is there twice"));
                }
                found.push((name, path.clone()));
            }
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let path = path
                        .map(|Path(names)| Path([&names[..], std::slice::from_ref(name)].concat()));
                    in_schema(property, path.as_ref(), found)?;
                }
            }
            ("const" | "default" | "enum" | "examples", _) => {}
            (
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
                Value::Object(schemas),
            ) => {
                schemas.values().try_for_each(|schema| in_schema(schema, None, found))?;
            }
            (_, Value::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| in_schema(schema, None, found))?;
            }
            (_, schema) => in_schema(schema, None, found)?,
        }
    }
    Ok(())
}

fn header_name(value: &Value, schema: &Value) -> Result<HeaderName, String> {
    let name = value.as_str().unwrap_or_default();
    let header = format!("mcp-param-{name}").parse::<HeaderName>();
    let header = header.ok().filter(|_| !name.is_empty());
    let header =
        header.ok_or_else(|| format!("its x-mcp-header {value} is not the name of a header"))?;
    let types: Vec<&Value> = match &schema["type"] {
        Value::Array(types) => types.iter().filter(|kind| *kind != "null").collect(),
        kind => vec![kind],
    };
    let is_primitive =
        |kind: &&Value| ["string", "integer", "boolean"].iter().any(|known| **kind == *known);
    if types.len() != 1 || !types.iter().all(is_primitive) {
        return Err(format!(
            "its x-mcp-header {value} is of an argument with parts, or a fraction"
        ));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn encoding() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("a\tb", "a\tb"),
            ("", ""),
        ] {
            assert_eq!(encode(text), expected, "{text:?}");
        }
    }

    /// With the schema of the only property.
    #[track_caller]
    fn check(property: Value, arguments: &str, expected: Result<Option<&str>, &str>) {
        let schema = json!({"type": "object", "properties": {"a": property}});
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        match (find(&schema), expected) {
            (Ok(found), Ok(expected)) => {
                let value = found.iter().find_map(|(_, path)| path.read(&arguments));
                assert_eq!(value.as_ref().map(|value| value.to_str().unwrap()), expected);
            }
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, _) => panic!("{schema}: {found:?}"),
        }
    }

    #[test]
    fn annotations() {
        let string = json!({"type": "string", "x-mcp-header": "A"});
        check(string.clone(), r#"{"a": "b"}"#, Ok(Some("b")));
        check(string.clone(), r#"{"a": 42}"#, Ok(Some("42")));
        check(string.clone(), r#"{"a": true}"#, Ok(Some("true")));
        check(string.clone(), r#"{"a": null}"#, Ok(None));
        check(string.clone(), "{}", Ok(None));
        check(string.clone(), r#"{"b": 1e400, "a": "c"}"#, Ok(Some("c")));
        check(string.clone(), r#"{"a": ["b"]}"#, Ok(None));
        let nested = json!({"type": "object", "properties": {"b": string}});
        check(nested, r#"{"a": {"b": "c"}}"#, Ok(Some("c")));
        let named = json!({"properties": {"x-mcp-header": {"type": "number"}}});
        check(named, r#"{"a": {"x-mcp-header": 1}}"#, Ok(None));
        check(json!({"default": {"x-mcp-header": 1}}), "{}", Ok(None));

        check(json!({"type": "string", "x-mcp-header": ""}), "{}", Err("not the name"));
        check(json!({"type": "string", "x-mcp-header": "a b"}), "{}", Err("not the name"));
        check(json!({"type": "string", "x-mcp-header": 1}), "{}", Err("not the name"));
        check(json!({"type": "number", "x-mcp-header": "A"}), "{}", Err("fraction"));
        check(json!({"x-mcp-header": "A"}), "{}", Err("fraction"));
        check(json!({"items": string}), "{}", Err("no argument"));
        check(json!({"anyOf": [string]}), "{}", Err("no argument"));
        let lower = json!({"type": "string", "x-mcp-header": "a"});
        check(json!({"properties": {"b": string, "c": lower}}), "{}", Err("twice"));
    }
}

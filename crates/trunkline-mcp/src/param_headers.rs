//! Params that clients mirror into headers (2026-07-28, "Custom Headers from Tool Parameters").

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

/// The keyword of a schema that names the header of a param.
pub(crate) const KEYWORD: &str = "x-mcp-header";

/// A param with an `x-mcp-header`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The properties that lead to the param.
    path: Vec<String>,
    name: HeaderName,
}

/// An `x-mcp-header` for which clients reject the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`x-mcp-header` of `{param}` {reason}")]
pub(crate) struct InvalidParamHeader {
    /// The param, as a path through the schema.
    pub(crate) param: String,
    pub(crate) reason: &'static str,
}

/// The headers that an input schema declares.
///
/// A param must have one primitive type: `["string", "null"]` is not one, and most clients reject it.
pub(crate) fn find(schema: &Value) -> Result<Vec<ParamHeader>, InvalidParamHeader> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), true, &mut found)?;
    Ok(found)
}

/// `is_reachable` is false below anything but a chain of `properties`.
fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    is_reachable: bool,
    found: &mut Vec<ParamHeader>,
) -> Result<(), InvalidParamHeader> {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(schemas) => {
            return schemas.iter().try_for_each(|schema| collect(schema, path, false, found));
        }
        _ => return Ok(()),
    };
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            (KEYWORD, _) => {
                let invalid = |reason| InvalidParamHeader { param: path.join("."), reason };
                if !is_reachable || path.is_empty() {
                    return Err(invalid(
                        "is not at a property that the root's `properties` lead to",
                    ));
                }
                let name = header_name(value, schema).map_err(invalid)?;
                if found.iter().any(|known| known.name == name) {
                    return Err(invalid("is a duplicate"));
                }
                found.push(ParamHeader { path: path.clone(), name });
            }
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    collect(property, path, is_reachable, found)?;
                    path.pop();
                }
            }
            // Values, not schemas.
            ("const" | "default" | "enum" | "examples", _) => {}
            (
                "$defs" | "definitions" | "dependentSchemas" | "patternProperties",
                Value::Object(schemas),
            ) => schemas.values().try_for_each(|schema| collect(schema, path, false, found))?,
            (_, schema) => collect(schema, path, false, found)?,
        }
    }
    Ok(())
}

fn header_name(annotation: &Value, property: &Value) -> Result<HeaderName, &'static str> {
    const INVALID: &str = "is not a valid header name";
    let name = annotation.as_str().filter(|name| !name.is_empty()).ok_or(INVALID)?;
    let name = HeaderName::try_from(format!("mcp-param-{name}")).map_err(|_| INVALID)?;
    match property["type"].as_str() {
        Some("string" | "integer" | "boolean") => Ok(name),
        _ => Err("requires the type string, integer or boolean"),
    }
}

impl ParamHeader {
    pub(crate) fn name(&self) -> &HeaderName {
        &self.name
    }

    /// The header of a call with these arguments, if the param has a value.
    pub(crate) fn value(&self, arguments: &RawValue) -> Option<HeaderValue> {
        let mut value = arguments;
        for name in &self.path {
            // Other members may hold numbers that do not fit a `Value`.
            let mut members: HashMap<String, &RawValue> = serde_json::from_str(value.get()).ok()?;
            value = members.remove(name)?;
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

    /// Compares the header with the argument.
    pub(crate) fn check(&self, headers: &HeaderMap, arguments: &Value) -> Result<(), String> {
        let argument = self.path.iter().try_fold(arguments, |value, name| value.get(name));
        let argument = argument.filter(|value| !value.is_null());
        let header = single(headers, &self.name)?;
        match (header, argument) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(format!("{} is missing", self.name)),
            (Some(_), None) => Err(format!("{} has no argument that it mirrors", self.name)),
            (Some(header), Some(argument)) => {
                let value =
                    decode(header).ok_or_else(|| format!("{} has an invalid value", self.name))?;
                if is_same(&value, argument) {
                    Ok(())
                } else {
                    Err(format!("{} differs from the argument that it mirrors", self.name))
                }
            }
        }
    }
}

/// The only value of a header, or `None` if it is missing.
fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(format!("{name} is a duplicate")),
    }
}

/// A text as a header value ("Value Encoding").
pub(crate) fn encode(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with(PREFIX) && text.ends_with(SUFFIX));
    let encoded = if is_plain {
        text.to_owned()
    } else {
        format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text))
    };
    HeaderValue::try_from(encoded).expect("visible ASCII is a valid header value")
}

/// The text of a header value, or `None` if it is neither plain nor well encoded.
pub(crate) fn decode(value: &HeaderValue) -> Option<Cow<'_, str>> {
    let text = value.to_str().ok()?.trim_matches([' ', '\t']);
    let encoded = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    match encoded {
        Some(encoded) => Some(String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?.into()),
        None => Some(text.into()),
    }
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

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
    use serde_json::json;

    use super::*;

    /// `expected` is the name of the header, or a part of the error.
    #[track_caller]
    fn check_schema(schema: Value, expected: Result<&str, &str>) {
        match (find(&schema), expected) {
            (Ok(found), Ok(expected)) => {
                let names: Vec<&str> = found.iter().map(|header| header.name.as_str()).collect();
                assert_eq!(names.concat(), expected, "{schema}");
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{schema}: {found:?}"),
        }
    }

    #[track_caller]
    fn check_property(property: Value, expected: Result<&str, &str>) {
        check_schema(json!({ "type": "object", "properties": { "p": property } }), expected);
    }

    #[test]
    fn an_annotation_is_a_header_name_at_a_primitive_param() {
        let param = |kind: Value, name: Value| json!({ "type": kind, "x-mcp-header": name });
        let string = param(json!("string"), json!("N"));
        check_property(string.clone(), Ok("mcp-param-n"));
        check_property(param(json!("integer"), json!("N")), Ok("mcp-param-n"));
        check_property(param(json!("boolean"), json!("N")), Ok("mcp-param-n"));
        for kind in ["number", "object", "array", "null"] {
            check_property(param(json!(kind), json!("N")), Err("`p` requires the type"));
        }
        check_property(param(json!(["string", "null"]), json!("N")), Err("requires the type"));
        check_property(json!({ "x-mcp-header": "N" }), Err("requires the type"));
        for name in [json!(""), json!("a b"), json!("a\r\nb"), json!("é"), json!(7)] {
            check_property(param(json!("string"), name), Err("not a valid header name"));
        }

        check_property(json!({ "properties": { "a": string } }), Ok("mcp-param-n"));
        check_property(json!({ "properties": { "x-mcp-header": { "type": "number" } } }), Ok(""));
        check_property(json!({ "default": { "x-mcp-header": "N" } }), Ok(""));
        for keyword in ["items", "if", "not", "additionalProperties"] {
            check_property(json!({ (keyword): string }), Err("is not at a property"));
        }
        check_property(json!({ "anyOf": [string] }), Err("`p` is not at a property"));
        check_schema(json!({ "$defs": { "D": string } }), Err("is not at a property"));
        check_schema(string.clone(), Err("is not at a property"));
        let lower = param(json!("string"), json!("n"));
        check_property(json!({ "properties": { "a": string, "b": lower } }), Err("duplicate"));
    }

    fn region() -> ParamHeader {
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        find(&json!({ "properties": { "p": region } })).unwrap().remove(0)
    }

    #[track_caller]
    fn check_value(arguments: &str, expected: Option<&str>) {
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        let value = region().value(&arguments);
        assert_eq!(value.as_ref().map(|value| value.to_str().unwrap()), expected, "{arguments}");
    }

    #[test]
    fn primitive_arguments_are_header_values() {
        check_value(r#"{"p": "b"}"#, Some("b"));
        check_value(r#"{"p": 42}"#, Some("42"));
        check_value(r#"{"p": true}"#, Some("true"));
        check_value(r#"{"p": null}"#, None);
        check_value("{}", None);
        check_value(r#"{"b": 1e400, "p": "c"}"#, Some("c"));
        check_value(r#"{"p": ["b"]}"#, None);
        check_value(r#"{"p": {"p": "b"}}"#, None);
    }

    #[test]
    fn values_are_encoded() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("a\tb", "a\tb"),
            ("", ""),
        ] {
            let value = encode(text);
            assert_eq!(
                (&value, decode(&value).as_deref()),
                (&expected.parse().unwrap(), Some(text))
            );
        }
    }

    #[test]
    fn headers_are_decoded_and_compared() {
        let param = region();
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
        assert_eq!(decode(&HeaderValue::from_bytes(b"\xff").unwrap()), None);
    }
}

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use trunkline_core::schema::Schema;

use super::faults::{Fault, Faults};
use super::schema::{Program, Run, compile};
use super::shape::Shape;

/// A compiled [`Schema`] of params. It fetches nothing: a schema refers only to its own parts.
pub struct Validator {
    program: Program,
    /// None if the schema has other keywords.
    shape: Option<Shape>,
    /// The names of the params, if no others are allowed.
    names: Option<HashSet<String>>,
}

/// An invalid or unsupported JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid schema: {reason}")]
pub struct SchemaError {
    reason: String,
}

/// The maximum number of steps of one check: up to 120 ms were measured.
const MAX_STEPS: usize = 5_000_000;

/// The same for a list of all faults.
const MAX_LISTED: usize = 50_000;

/// The maximum size of params whose faults are listed, in bytes. Each fault takes memory, and there may be
/// one for each value.
const MAX_LISTED_BYTES: usize = 8 << 10;

impl SchemaError {
    /// The reason.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Validator {
    /// Compiles a schema, of draft 2020-12.
    ///
    /// # Errors
    /// If it is not a JSON Schema, refers outside of itself, is nested deeper than 128, or applies more than
    /// 1,000 subschemas to one value (references expanded, but not those of its members and elements).
    pub fn new(schema: &Schema) -> Result<Self, SchemaError> {
        let schema = schema.validated();
        let program = compile(schema).map_err(|reason| SchemaError { reason })?;
        Ok(Self { program, shape: Shape::of(schema), names: closed_names(schema) })
    }

    /// Whether a scan of the JSON text of params by name shows that it matches the schema and has no duplicate
    /// members. Scans are limited to simple schemas and texts: if this is false, params may still
    /// pass [`check`](Self::check).
    ///
    /// `params` is valid UTF-8.
    #[must_use]
    pub fn accepts(&self, params: &[u8]) -> bool {
        let shape = self.shape.as_ref().filter(|_| params.starts_with(b"{"));
        shape.is_some_and(|shape| shape.matches(params))
    }

    /// Checks the names in the JSON text of large params by name, before a value is made of it.
    ///
    /// # Errors
    /// If the schema allows no others than its own names, and there is one.
    pub fn check_names(&self, params: &[u8]) -> Result<(), Faults> {
        let Some(names) = self.names.as_ref().filter(|_| params.starts_with(b"{")) else {
            return Ok(());
        };
        if params.len() <= MAX_LISTED_BYTES {
            return Ok(());
        }
        let mut has_unknown = false;
        let members = Names { names, has_unknown: &mut has_unknown };
        // Faults of the text are found when it is read.
        drop(serde_json::Deserializer::from_slice(params).deserialize_map(members));
        if has_unknown { Err(unknown_place()) } else { Ok(()) }
    }

    /// Checks params by name, whose JSON text has `size` bytes. The faults of large params are the names of
    /// the invalid ones, without the places inside of them.
    ///
    /// # Errors
    /// If params do not match the schema, or if the check takes more than 5,000,000 steps: the application of a
    /// subschema to a value is one, and so is each comparison of a name or a text of 16 bytes.
    pub fn check(&self, params: &Value, size: usize) -> Result<(), Faults> {
        match Run::new(&self.program, MAX_STEPS).is_valid(params) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(exceeded) => return Err(Faults::whole(exceeded.to_string())),
        }
        let listed = (size <= MAX_LISTED_BYTES)
            .then(|| Run::new(&self.program, MAX_LISTED).faults(params).ok())
            .flatten();
        Err(listed.filter(|faults| !faults.is_empty()).unwrap_or_else(|| self.places(params)))
    }

    fn places(&self, params: &Value) -> Faults {
        let at_fault = Run::new(&self.program, MAX_STEPS).invalid_members(params);
        let faults: Faults = at_fault.into_iter().map(Fault::of_param).collect();
        if faults.is_empty() { unknown_place() } else { faults }
    }
}

/// The faults of large params without an invalid value.
fn unknown_place() -> Faults {
    Faults::whole("a required param is missing, or a name is unknown".to_owned())
}

/// The names of the members, if the schema allows no others.
fn closed_names(schema: &Value) -> Option<HashSet<String>> {
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    if !is_closed || schema.get("patternProperties").is_some() {
        return None;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    Some(properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default())
}

/// Whether an object has other names than these. Reads it up to the first one.
struct Names<'n> {
    names: &'n HashSet<String>,
    has_unknown: &'n mut bool,
}

#[derive(Deserialize)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Name<'_>>()? {
            if !self.names.contains(&*name.0) {
                *self.has_unknown = true;
                return Err(A::Error::custom("unknown name"));
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trunkline_core::limits::DistinctKeys;

    use super::Validator;

    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: &str) {
        let schema = json!({ "properties": { "a": schema } });
        let params = json!({ "a": value });
        let faults = Validator::new(&schema.into()).unwrap().check(&params, 0).unwrap_err();
        let faults: Vec<String> = faults.as_slice().iter().map(ToString::to_string).collect();
        assert_eq!(faults.join("; "), expected, "{value}");
    }

    #[test]
    fn errors_name_allowed_values() {
        let word = json!({ "type": "string", "oneOf": [{ "const": "tsv" }, { "const": "json" }] });
        let optional = json!({ "anyOf": [word, { "type": "null" }] });
        let record = json!({ "type": "object", "required": ["id"], "properties": { "id": { "type": "integer" } } });
        let records =
            json!({ "anyOf": [record, { "type": "array", "items": record, "minItems": 1 }] });
        let many: Vec<u8> = (1..=9).collect();
        for (schema, value, expected) in [
            (&word, json!("xml"), "/a: this value is not one of: \"tsv\", \"json\""),
            (&optional, json!("xml"), "/a: this value is not one of: \"tsv\", \"json\""),
            (&optional, json!(5), "/a: this value is not one of: \"tsv\", \"json\""),
            (&records, json!(5), "/a: this value is not one of: object, array"),
            // The kind selects the alternative.
            (&records, json!({ "id": "x" }), "/a/id: this value is not of type \"integer\""),
            (&records, json!([]), "/a: this value has less than 1 item"),
            (
                &records,
                json!([{ "id": 1 }, { "id": "x" }]),
                "/a/1/id: this value is not of type \"integer\"",
            ),
            (
                &json!({ "enum": many }),
                json!(0),
                "/a: this value is not one of: 1, 2, 3, 4, 5, 6, 7, 8, 9",
            ),
            (&json!({ "const": 1 }), json!(0), "/a: 1 was expected"),
            (
                &json!({ "type": ["integer", "null"] }),
                json!("5"),
                "/a: this value is not of type \"integer\"",
            ),
            (
                &json!({ "anyOf": [{ "minimum": 1 }, { "multipleOf": 2 }] }),
                json!(-3),
                "/a: this value is not valid under any of the schemas listed in the 'anyOf' keyword",
            ),
        ] {
            check(schema, &value, expected);
        }
    }

    /// Checks that the scan accepts exactly `accepted`, and that these match as values, too.
    #[track_caller]
    fn check_text(schema: Value, accepted: &[&str], others: &[&str]) {
        let validator = Validator::new(&schema.clone().into()).unwrap();
        for text in [accepted, others].concat() {
            let is_accepted = validator.accepts(text.as_bytes());
            assert_eq!(is_accepted, accepted.contains(&text), "{text} of {schema}");
            if is_accepted {
                let DistinctKeys(value) = serde_json::from_str(text).unwrap();
                validator.check(&value, text.len()).unwrap();
            }
        }
    }

    fn of_member(schema: Value) -> Value {
        json!({ "type": "object", "properties": { "a": schema } })
    }

    #[test]
    fn scans_members_by_unescaped_name() {
        let schema = json!({
            "type": "object",
            "title": "t",
            "properties": {
                "a": { "type": "integer", "description": "d" },
                "b": { "type": ["string", "null"], "format": "date" },
            },
            "required": ["a"],
            "additionalProperties": false,
        });
        let accepted = [
            r#"{"a":1}"#,
            r#"{ "b" : "x" , "a" : -1 }"#,
            r#"{"\u0061":1}"#,
            r#"{"a":0,"b":null}"#,
            r#"{"a":1,"b":"\u0041\\"}"#,
        ];
        let others = [
            "{}",
            r#"{"b":"x"}"#,
            r#"{"a":"1"}"#,
            r#"{"a":null}"#,
            r#"{"a":1.0}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"a":1,"c":1}"#,
            r#"{"a":{}}"#,
            r#"{"a":1} 1"#,
            r#"{"a":1"#,
            " {}",
            "[1]",
            "1",
        ];
        check_text(schema, &accepted, &others);
    }

    #[test]
    fn scans_types_and_ranges() {
        let unsigned = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
        let others = [r#"{"a":-1}"#, r#"{"a":256}"#, r#"{"a":0.0}"#, r#"{"a":1e2}"#];
        check_text(of_member(unsigned), &[r#"{"a":0}"#, r#"{"a":255}"#], &others);
        check_text(
            of_member(json!({ "type": "number" })),
            &[r#"{"a":-1.5}"#, r#"{"a":12345678901234567890123}"#],
            &[r#"{"a":1e400}"#, r#"{"a":"1"}"#, r#"{"a":true}"#],
        );
        check_text(
            of_member(json!({ "type": "array", "items": { "type": "boolean" } })),
            &[r#"{"a":[]}"#, r#"{"a":[true,false]}"#],
            &[r#"{"a":[1]}"#, r#"{"a":[[true]]}"#, r#"{"a":{}}"#],
        );
        check_text(
            of_member(json!({ "enum": ["tsv", "json", null] })),
            &[r#"{"a":"tsv"}"#, r#"{"a":null}"#],
            &[r#"{"a":"ts"}"#, r#"{"a":"\u0074sv"}"#, r#"{"a":1}"#, r#"{"a":[]}"#, r#"{"a":{}}"#],
        );
        let narrowed = json!({ "type": "string", "enum": ["tsv", null] });
        check_text(of_member(narrowed), &[r#"{"a":"tsv"}"#], &[r#"{"a":null}"#, r#"{"a":"json"}"#]);
        // A name is the value of a string, not its text.
        let schema = json!({ "properties": { "a\\nb": true } });
        check_text(schema, &[r#"{"a\\nb":1}"#], &[r#"{"a\nb":1}"#]);
        check_text(
            of_member(json!({ "properties": { "b": true }, "required": ["b"] })),
            &[r#"{"a":{"b":1}}"#, r#"{"a":1}"#],
            &[r#"{"a":{}}"#, r#"{"a":{"b":1,"b":2}}"#, r#"{"a":{"b":[]}}"#, r#"{"a":[]}"#],
        );
    }

    #[test]
    fn names_of_large_params() {
        let properties = json!({ "a": true, "\u{e9}\n": true });
        let closed = json!({ "properties": properties, "additionalProperties": false });
        let open = json!({ "properties": properties });
        let patterns = json!({ "patternProperties": { "b": true }, "additionalProperties": false });
        let long = "x".repeat(super::MAX_LISTED_BYTES);
        for (schema, params, is_refused) in [
            (&closed, format!(r#"{{"a":"{long}","\u00e9\n":{{"b":1}}}}"#), false),
            (&closed, format!(r#"{{"a":"{long}","b":1}}"#), true),
            (&closed, format!(r#"{{"b":1,"a":"{long}"}}"#), true),
            (&closed, r#"{"b":1}"#.to_owned(), false),
            (&closed, format!(r#"["{long}"]"#), false),
            (&open, format!(r#"{{"b":"{long}"}}"#), false),
            (&patterns, format!(r#"{{"b":"{long}"}}"#), false),
        ] {
            let validator = Validator::new(&schema.clone().into()).unwrap();
            let found = validator.check_names(params.as_bytes());
            assert_eq!(found.is_err(), is_refused, "{schema} {}", &params[..20.min(params.len())]);
        }
    }
}

use std::fmt;

use serde_json::Value;
use trunkline_core::schema::Schema;

use super::faults::{Fault, Faults};
use super::schema::{Program, Run, compile};

/// A compiled [`Schema`] of params. It fetches nothing: a schema refers only to its own parts.
pub struct Validator {
    program: Program,
}

/// An invalid or unsupported JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid schema: {reason}")]
pub struct SchemaError {
    reason: String,
}

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
        let program = compile(schema.validated()).map_err(|reason| SchemaError { reason })?;
        Ok(Self { program })
    }

    /// Checks params by name, whose JSON text has `size` bytes. The faults of large params are the names of
    /// the invalid ones, without the places inside of them.
    ///
    /// # Errors
    /// If params do not match the schema, or if the check takes more than 5,000,000 steps. The application of a
    /// subschema to a value is one, and one more for each member and element of the value.
    pub fn check(&self, params: &Value, size: usize) -> Result<(), Faults> {
        let mut run = Run::new(&self.program);
        match run.is_valid(params) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(exceeded) => return Err(Faults::whole(exceeded.to_string())),
        }
        if size <= MAX_LISTED_BYTES
            && let Ok(faults) = run.faults(params)
            && !faults.is_empty()
        {
            return Err(faults);
        }
        let at_fault: Faults = match run.invalid_members(params) {
            Ok(names) => names.into_iter().map(Fault::of_param).collect(),
            Err(exceeded) => Faults::whole(exceeded.to_string()),
        };
        Err(match at_fault.is_empty() {
            // A large value without an invalid member.
            true => Faults::whole("a required param is missing, or a name is unknown".to_owned()),
            false => at_fault,
        })
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
}

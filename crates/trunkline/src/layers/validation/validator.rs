use std::fmt;

use jsonschema::Draft;
use serde_json::Value;

use super::faults::{Fault, Faults};
use super::reason;
use crate::schema::Schema;

/// A compiled [`Schema`] of params. It fetches nothing: what the schema refers to is in it.
pub struct Validator {
    whole: jsonschema::Validator,
    /// The schemas of the params that have one of their own, by name.
    each: Vec<(String, jsonschema::Validator)>,
}

/// A JSON value that is no JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be used: {reason}")]
pub struct SchemaError {
    reason: String,
}

/// The most bytes of params of which faults are looked for one by one. Each costs memory, of what it
/// shows and why, and there may be as many as there are values.
const LOOKED_THROUGH: usize = 8 << 10;

impl SchemaError {
    /// Why not.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Validator {
    /// Compiles a schema, of draft 2020-12.
    ///
    /// # Errors
    /// When it is no JSON Schema, or refers to what is not in it.
    pub fn new(schema: &Schema) -> Result<Self, SchemaError> {
        let schema = schema.accepted();
        let whole = compile(schema)?;
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        // One that refers to another part of the schema means nothing by itself.
        let own = |(name, schema): (&String, &Value)| Some((name.clone(), compile(schema).ok()?));
        Ok(Self { whole, each: properties.filter_map(own).collect() })
    }

    /// Checks params by name, whose JSON text has `size` bytes. Of large ones only those are told that
    /// are at fault, without the places and reasons inside of them.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, params: &Value, size: usize) -> Result<(), Faults> {
        if self.whole.is_valid(params) {
            Ok(())
        } else if size > LOOKED_THROUGH {
            Err(self.places(params))
        } else {
            Err(self.whole.iter_errors(params).map(|error| reason::fault(&error)).collect())
        }
    }

    fn places(&self, params: &Value) -> Faults {
        let is_at_fault = |(name, validator): &&(String, jsonschema::Validator)| {
            params.get(name).is_some_and(|param| !validator.is_valid(param))
        };
        let at_fault = self.each.iter().filter(is_at_fault);
        let faults: Faults = at_fault.map(|(name, _)| Fault::of_param(name)).collect();
        if faults.is_empty() {
            Faults::whole("a name is missing, or unknown".to_owned())
        } else {
            faults
        }
    }
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, SchemaError> {
    let options = jsonschema::options().with_draft(Draft::Draft202012);
    options.build(schema).map_err(|error| SchemaError { reason: error.to_string() })
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Validator")
    }
}

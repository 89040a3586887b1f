//! Arguments against a tool's schema.

use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;
use trunkline::Schema;

use crate::fault::shortened;

/// A compiled input schema. It fetches nothing: what it refers to is in it.
#[derive(Debug)]
pub(super) struct Arguments {
    whole: Validator,
    /// The schemas of the arguments that have one of their own, by name.
    each: Vec<(String, Validator)>,
}

/// How many faults one answer names.
const FAULTS: usize = 5;
/// The most bytes of arguments of which faults are looked for one by one. Each costs memory, of what it
/// shows and why, and there may be as many as there are values.
const LOOKED_THROUGH: usize = 8 << 10;

impl Arguments {
    pub(super) fn of(schema: &Schema) -> Result<Self, String> {
        let schema = schema.as_value();
        let whole = compile(schema).map_err(|error| error.to_string())?;
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        // One that refers to another part of the schema means nothing by itself.
        let own = |(name, schema): (&String, &Value)| Some((name.clone(), compile(schema).ok()?));
        Ok(Self { whole, each: properties.filter_map(own).collect() })
    }

    pub(super) fn check(&self, tool: &str, arguments: &[u8]) -> Result<(), String> {
        let value: Value = match serde_json::from_slice(arguments) {
            Ok(value) => value,
            Err(error) => return Err(format!("The arguments for {tool} cannot be read: {error}")),
        };
        if self.whole.is_valid(&value) {
            return Ok(());
        }
        let faults = if arguments.len() > LOOKED_THROUGH {
            self.places(&value)
        } else {
            self.faults(&value)
        };
        Err(format!("The arguments do not fit the input schema of {tool}:{faults}"))
    }

    fn faults(&self, value: &Value) -> String {
        let mut faults = self.whole.iter_errors(value);
        let mut text: String = faults.by_ref().take(FAULTS).map(|fault| worded(&fault)).collect();
        if faults.next().is_some() {
            text += "\n- and more";
        }
        text
    }

    /// The arguments that do not fit, without the reasons.
    fn places(&self, value: &Value) -> String {
        let is_at_fault = |(name, validator): &&(String, Validator)| {
            value.get(name).is_some_and(|argument| !validator.is_valid(argument))
        };
        let text: String = self
            .each
            .iter()
            .filter(is_at_fault)
            .map(|(name, _)| format!("\n- /{name} does not fit"))
            .collect();
        if text.is_empty() { "\n- a name is missing, or unknown".to_owned() } else { text }
    }
}

fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().with_draft(Draft::Draft202012).build(schema)
}

fn worded(fault: &ValidationError<'_>) -> String {
    let place = fault.instance_path().to_string();
    let text = shortened(&fault.to_string());
    if place.is_empty() {
        format!("\n- {text}")
    } else {
        format!("\n- {}: {text}", shortened(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, LOOKED_THROUGH};
    use serde_json::{Value, json};

    #[track_caller]
    fn check(arguments: &Value, expected: &str) {
        let term = json!({ "anyOf": [{ "type": "string" }, { "type": "object", "required": ["column"] }] });
        let schema = json!({
            "type": "object",
            "properties": {
                "order": { "type": "array", "items": term },
                "limit": { "type": "integer", "minimum": 0 },
            },
            "required": ["limit"],
            "additionalProperties": false,
        });
        let checker = Arguments::of(&schema.into()).unwrap();
        let found = checker.check("find", arguments.to_string().as_bytes());
        let expected = format!("The arguments do not fit the input schema of find:\n{expected}");
        assert_eq!(found, Err(expected));
    }

    #[test]
    fn faults_are_told_one_by_one_and_of_large_arguments_by_their_places() {
        check(&json!({ "limit": -1 }), "- /limit: -1 is less than the minimum of 0");
        check(
            &json!({ "order": [1, 2, 3, 4, 5, 6], "limit": 1 }),
            "- /order/0: 1 is not valid under any of the schemas listed in the 'anyOf' keyword\n\
             - /order/1: 2 is not valid under any of the schemas listed in the 'anyOf' keyword\n\
             - /order/2: 3 is not valid under any of the schemas listed in the 'anyOf' keyword\n\
             - /order/3: 4 is not valid under any of the schemas listed in the 'anyOf' keyword\n\
             - /order/4: 5 is not valid under any of the schemas listed in the 'anyOf' keyword\n\
             - and more",
        );
        let many = vec![json!({}); LOOKED_THROUGH];
        check(&json!({ "order": many, "limit": 1 }), "- /order does not fit");
        let long = "x".repeat(LOOKED_THROUGH);
        check(&json!({ "limit": 1, "unknown": long }), "- a name is missing, or unknown");
    }
}

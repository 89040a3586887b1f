//! Arguments of tools and prompts against their schemas.

use serde_json::{Number, Value};
use trunkline::Schema;
use trunkline::layers::validation::{Faults, Validator};
use trunkline::limits::DistinctKeys;

/// A compiled input schema.
#[derive(Debug)]
pub(crate) struct Arguments(Validator);

impl Arguments {
    pub(crate) fn of(schema: &Schema) -> Result<Self, String> {
        let validator = Validator::new(schema);
        validator.map(Self).map_err(|error| error.reason().to_owned())
    }

    /// Checks the JSON text of arguments. The error is a message for a model; it contains the name of the tool.
    pub(crate) fn check(&self, name: &str, arguments: &[u8]) -> Result<(), String> {
        if self.0.accepts(arguments) {
            return Ok(());
        }
        self.check_names(name, arguments)?;
        let DistinctKeys(value) = match serde_json::from_slice(arguments) {
            Ok(value) => value,
            Err(error) => return Err(format!("Invalid arguments for {name}: {error}")),
        };
        self.0.check(&value, arguments.len()).map_err(|faults| message(name, &faults))
    }

    /// Checks the names in the JSON text of large arguments, before a value is made of it.
    pub(crate) fn check_names(&self, name: &str, arguments: &[u8]) -> Result<(), String> {
        self.0.check_names(arguments).map_err(|faults| message(name, &faults))
    }
}

fn message(name: &str, faults: &Faults) -> String {
    let mut message = format!("Invalid arguments for {name}:");
    faults.as_slice().iter().for_each(|fault| message += &format!("\n- {fault}"));
    if faults.has_more() {
        message += "\n- and more";
    }
    message
}

/// The schema of a param, if the schema of all params has one.
fn param<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// Whether a schema has a type that texts are [converted](typed) to.
pub(crate) fn has_typed_params(schema: &Value) -> bool {
    let params = schema.get("properties").and_then(Value::as_object);
    params.is_some_and(|params| params.values().any(|param| !allows(param, "string")))
}

/// A text as a value of the type that the schema declares for a param: a number, a boolean or a string. A text that
/// does not represent such a value stays a string, which validation refuses.
pub(crate) fn typed(schema: Option<&Value>, name: &str, text: String) -> Value {
    let Some(param) = schema.and_then(|schema| param(schema, name)) else { return text.into() };
    if allows(param, "string") {
        return text.into();
    }
    let number = || text.parse().ok().map(Value::Number);
    let is_integer = |number: &Number| number.is_i64() || number.is_u64();
    let value = match () {
        () if allows(param, "number") => number(),
        () if allows(param, "integer") => {
            number().filter(|value| value.as_number().is_some_and(is_integer))
        }
        () if allows(param, "boolean") => text.parse().ok().map(Value::Bool),
        () => None,
    };
    value.unwrap_or_else(|| text.into())
}

/// Whether the schema of a param allows a type. One without types allows strings.
fn allows(param: &Value, kind: &str) -> bool {
    match param.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => kind == "string",
    }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, typed};
    use serde_json::{Value, json};

    /// The maximum size in bytes of arguments whose faults are listed.
    const MAX_LISTED: usize = 8 << 10;

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
        let expected = format!("Invalid arguments for find:\n{expected}");
        assert_eq!(found, Err(expected));
    }

    #[test]
    fn texts_have_the_type_of_their_param() {
        let schema = json!({ "properties": {
            "i": { "type": "integer" },
            "n": { "type": ["number", "null"] },
            "b": { "type": "boolean" },
            "s": { "type": "string" },
            "any": {},
        } });
        for (name, text, expected) in [
            ("i", "12", json!(12)),
            ("i", "-1", json!(-1)),
            ("i", "1.5", json!("1.5")),
            ("i", "0x1", json!("0x1")),
            ("i", "NaN", json!("NaN")),
            ("n", "1.5", json!(1.5)),
            ("b", "true", json!(true)),
            ("b", "1", json!("1")),
            ("s", "12", json!("12")),
            ("any", "12", json!("12")),
            ("other", "12", json!("12")),
        ] {
            assert_eq!(typed(Some(&schema), name, text.to_owned()), expected, "{name} {text}");
        }
        assert_eq!(typed(None, "i", "12".to_owned()), json!("12"));
    }

    #[test]
    fn lists_faults_and_of_large_arguments_only_their_names() {
        check(&json!({ "limit": -1 }), "- /limit: this value is less than the minimum of 0");
        check(
            &json!({ "order": [1, 2, 3, 4, 5, 6], "limit": 1 }),
            "- /order/0: this value is not one of: string, object\n\
             - /order/1: this value is not one of: string, object\n\
             - /order/2: this value is not one of: string, object\n\
             - /order/3: this value is not one of: string, object\n\
             - /order/4: this value is not one of: string, object\n\
             - and more",
        );
        let many = vec![json!({}); MAX_LISTED];
        check(&json!({ "order": many, "limit": 1 }), "- /order does not match the schema");
        let long = "x".repeat(MAX_LISTED);
        check(
            &json!({ "limit": 1, "unknown": long }),
            "- a required param is missing, or a name is unknown",
        );
    }
}

//! Arguments of tools and prompts against their schemas.

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
        let DistinctKeys(value) = match serde_json::from_slice(arguments) {
            Ok(value) => value,
            Err(error) => return Err(format!("Invalid arguments for {name}: {error}")),
        };
        self.0.check(&value, arguments.len()).map_err(|faults| message(name, &faults))
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

#[cfg(test)]
mod tests {
    use super::Arguments;
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

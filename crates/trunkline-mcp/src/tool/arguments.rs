//! Arguments against a tool's schema.

use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;
use trunkline::Schema;

use crate::fault::shortened;

/// A compiled input schema. It fetches nothing: what it refers to is in it.
#[derive(Debug)]
pub(super) struct Arguments(Validator);

/// How many faults one answer names.
const FAULTS: usize = 5;
/// The most bytes of arguments of which all faults are looked for. Each fault costs memory, and there
/// may be as many as there are values.
const LOOKED_THROUGH: usize = 8 << 10;

impl Arguments {
    pub(super) fn of(schema: &Schema) -> Result<Self, String> {
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .build(schema.as_value())
            .map(Self)
            .map_err(|error| error.to_string())
    }

    pub(super) fn check(&self, tool: &str, arguments: &[u8]) -> Result<(), String> {
        let value: Value = match serde_json::from_slice(arguments) {
            Ok(value) => value,
            Err(error) => return Err(format!("The arguments for {tool} cannot be read: {error}")),
        };
        if self.0.is_valid(&value) {
            return Ok(());
        }
        let mut text = format!("The arguments do not fit the input schema of {tool}:");
        if arguments.len() > LOOKED_THROUGH {
            if let Err(fault) = self.0.validate(&value) {
                text += &format!("\n- {}", worded(&fault));
            }
            return Err(text);
        }
        let mut faults = self.0.iter_errors(&value);
        for fault in faults.by_ref().take(FAULTS) {
            text += &format!("\n- {}", worded(&fault));
        }
        if faults.next().is_some() {
            text += "\n- and more";
        }
        Err(text)
    }
}

fn worded(fault: &ValidationError<'_>) -> String {
    let place = fault.instance_path().to_string();
    let text = shortened(&fault.to_string());
    if place.is_empty() { text } else { format!("{}: {text}", shortened(&place)) }
}

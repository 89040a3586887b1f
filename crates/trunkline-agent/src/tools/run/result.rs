//! What stands on stdout, as a result.

use serde_json::value::RawValue;
use trunkline::limits::DistinctKeys;

use super::{RunError, Tool};
use crate::tools::json_text::on_one_line;

/// The one JSON value that a tool wrote, if it fits the tool's output schema.
pub(super) fn read(tool: &Tool, output: &[u8], stderr: String) -> Result<Box<RawValue>, RunError> {
    let text = match std::str::from_utf8(output) {
        Ok(text) if text.trim().is_empty() => Err("there is nothing on stdout".to_owned()),
        Ok(text) => Ok(text),
        Err(error) => Err(format!("byte {} is not UTF-8", error.valid_up_to())),
    };
    // Bounds the nesting, too.
    let parsed = text.and_then(|text| {
        let DistinctKeys(value) = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let raw = RawValue::from_string(on_one_line(text)).map_err(|error| error.to_string())?;
        Ok((value, raw))
    });
    let (value, raw) = parsed.map_err(|reason| RunError::NotJson { reason, stderr })?;
    if let Some(validator) = &tool.output {
        validator.check(&value, raw.get().len()).map_err(|faults| RunError::Misfit { faults })?;
    }
    Ok(raw)
}

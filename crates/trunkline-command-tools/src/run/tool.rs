//! A tool, and its results.

use std::sync::Arc;

use serde_json::value::RawValue;
use trunkline::layers::validation::Validator;
use trunkline::limits::DistinctKeys;
use trunkline::protocol::compact;

use super::error::RunError;
use crate::manifest::ToolManifest;

/// A manifest and the validator of its results.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) manifest: Arc<ToolManifest>,
    output: Option<Validator>,
}

impl Tool {
    /// Compiles the output schema of a manifest; the error is for people.
    pub(crate) fn new(manifest: ToolManifest) -> Result<Self, String> {
        let output = manifest.output.as_ref().map(Validator::new).transpose();
        let output = output.map_err(|error| error.to_string())?;
        Ok(Self { manifest: Arc::new(manifest), output })
    }

    /// The JSON value on stdout, if it is one that matches the output schema.
    pub(super) fn parse_result(
        &self,
        stdout: &[u8],
        stderr: String,
    ) -> Result<Box<RawValue>, RunError> {
        let text = match std::str::from_utf8(stdout) {
            Ok(text) if text.trim().is_empty() => Err("stdout is empty".to_owned()),
            Ok(text) => Ok(text),
            Err(error) => Err(format!("byte {} is not UTF-8", error.valid_up_to())),
        };
        // The parser also limits the nesting.
        let parsed = text.and_then(|text| {
            let DistinctKeys(value) =
                serde_json::from_str(text).map_err(|error| error.to_string())?;
            let raw = RawValue::from_string(compact(text)).map_err(|error| error.to_string())?;
            Ok((value, raw))
        });
        let (value, raw) = parsed.map_err(|reason| RunError::NotJson { reason, stderr })?;
        if let Some(validator) = &self.output {
            validator
                .check(&value, raw.get().len())
                .map_err(|faults| RunError::InvalidResult { faults })?;
        }
        Ok(raw)
    }
}

//! The tool that a manifest declares.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::json;
use trunkline::{Effect, Schema};

use super::program;
use crate::config::ToolConfig;

/// A tool as its file declares it, in TOML:
///
/// ```toml
/// name = "shout"                      # A-Z a-z 0-9 _ -, at most 64
/// title = "Shout"                     # optional, as all keys after `command` except `input_schema`
/// description = "Converts text to capitals."
/// command = ["./shout.sh"]            # the program and its arguments, run without a shell
/// timeout_ms = 5000                   # default: 30,000
/// max_output_bytes = 65536            # of stdout; default: 1 MiB
/// env = ["LANG"]                      # variables that the command inherits, in addition to PATH
/// read_only = true                    # or destructive = true; unknown if neither is set
///
/// [input_schema]                      # JSON Schema, draft 2020-12
/// type = "object"
/// required = ["text"]
/// properties.text.type = "string"
///
/// [output_schema]                     # optional; without it, results are not validated
/// type = "string"
/// ```
///
/// A program with a slash is relative to the folder of the manifest and must be in it; an absolute one may be anywhere.
/// One without a slash is looked up in `PATH`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolManifest {
    /// The tool's name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// A description for people and models.
    pub description: String,
    /// The program as the manifest names it.
    pub command: String,
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder of the manifest, in which the program runs: an absolute path.
    pub folder: PathBuf,
    /// The maximum duration of a run.
    pub timeout: Duration,
    /// The maximum size of stdout in bytes.
    pub max_output_bytes: usize,
    /// The variables that the program inherits, in addition to `PATH`.
    pub env: Vec<String>,
    /// The effect of a call, if the manifest declares one.
    pub effect: Option<Effect>,
    /// The schema of the arguments.
    pub input: Schema,
    /// The schema of the result, if the manifest declares one.
    pub output: Option<Schema>,
}

impl ToolManifest {
    /// Maximum length of a name in bytes.
    pub const MAX_NAME: usize = 64;
    /// Maximum length of a title in bytes.
    pub const MAX_TITLE: usize = 256;
    /// Maximum length of a description in bytes.
    pub const MAX_DESCRIPTION: usize = 4096;
    /// Maximum elements of a command: the program and its arguments.
    pub const MAX_COMMAND_ELEMENTS: usize = 64;
    /// Maximum variables of a manifest.
    pub const MAX_VARIABLES: usize = 64;
    /// Maximum timeout: an hour.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
    /// Default timeout: 30 s.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
    /// Maximum of [`max_output_bytes`](Self::max_output_bytes): 64 MiB.
    pub const MAX_OUTPUT_BYTES: usize = 64 << 20;
    /// Default of [`max_output_bytes`](Self::max_output_bytes): 1 MiB.
    pub const DEFAULT_OUTPUT_BYTES: usize = 1 << 20;

    /// Whether the command still resolves to the same program.
    pub(crate) fn has_program(&self, config: &ToolConfig) -> bool {
        program::find(&self.command, &self.folder, config).is_ok_and(|it| it == self.program)
    }
}

/// Serializes the fields of a tool list: `name`, `description`, `inputSchema`, and `title` and `outputSchema` if they
/// are set.
impl Serialize for ToolManifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tool = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input.as_value(),
        });
        if let Some(title) = &self.title {
            tool["title"] = json!(title);
        }
        if let Some(output) = &self.output {
            tool["outputSchema"] = output.as_value().clone();
        }
        tool.serialize(serializer)
    }
}

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
/// title = "Shout"                     # may be left out, as all below `command` but `input_schema` may
/// description = "Says it in capitals."
/// command = ["./shout.sh"]            # the program and its arguments; there is no shell
/// timeout_ms = 5000                   # 30,000 if it is not said
/// max_output_bytes = 65536            # of stdout; 1 MiB if it is not said
/// env = ["LANG"]                      # variables that the command may see, besides PATH
/// read_only = true                    # it changes nothing; or destructive = true
///
/// [input_schema]                      # JSON Schema, draft 2020-12
/// type = "object"
/// required = ["text"]
/// properties.text.type = "string"
///
/// [output_schema]                     # may be left out: results are not checked then
/// type = "string"
/// ```
///
/// A program with a slash is relative to the folder of the manifest and stays in it; an absolute one may be
/// anywhere. One without a slash is looked up in `PATH`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolManifest {
    /// The tool's name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, for people and models.
    pub description: String,
    /// The program as the manifest names it.
    pub command: String,
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder of the manifest, in which the program runs: an absolute path.
    pub folder: PathBuf,
    /// How long a call may take.
    pub timeout: Duration,
    /// The most bytes of a result, as it stands on stdout.
    pub max_output_bytes: usize,
    /// The variables that the program may see, besides `PATH`.
    pub env: Vec<String>,
    /// What a call does to what is there, if it is said.
    pub effect: Option<Effect>,
    /// What the arguments are.
    pub input: Schema,
    /// What the result is, if it is said.
    pub output: Option<Schema>,
}

impl ToolManifest {
    /// Most bytes of a name.
    pub const MAX_NAME: usize = 64;
    /// Most bytes of a title.
    pub const MAX_TITLE: usize = 256;
    /// Most bytes of a description.
    pub const MAX_DESCRIPTION: usize = 4096;
    /// Most words of a command.
    pub const MAX_WORDS: usize = 64;
    /// Most variables.
    pub const MAX_VARIABLES: usize = 64;
    /// The longest timeout: an hour.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
    /// The timeout of a tool that says none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
    /// Most bytes that a result may be allowed to have: 64 MiB.
    pub const MAX_OUTPUT_BYTES: usize = 64 << 20;
    /// The bound of results of a tool that says none: 1 MiB.
    pub const DEFAULT_OUTPUT_BYTES: usize = 1 << 20;

    /// Whether its program is still the one that its command names.
    pub(crate) fn has_program(&self, config: &ToolConfig) -> bool {
        program::find(&self.command, &self.folder, config).is_ok_and(|it| it == self.program)
    }
}

/// As programs that list tools want it: `name`, `description`, `inputSchema`, and `title` and
/// `outputSchema` if they are said.
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

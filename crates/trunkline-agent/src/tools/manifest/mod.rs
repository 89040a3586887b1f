//! What a tool's file says.

mod document;
mod error;
mod program;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::json;
use trunkline::{Effect, Schema};

pub use error::ManifestError;

use super::settings::ToolSettings;
use error::Fault;

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

    /// The tool that a text declares, as if it stood in a file of this folder. Its program is looked for
    /// there, or where the settings say.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(
        toml: &str,
        folder: &Path,
        settings: &ToolSettings,
    ) -> Result<Self, ManifestError> {
        // Editors do not count a byte order mark as a character of its line.
        let toml = toml.strip_prefix('\u{feff}').unwrap_or(toml);
        document::manifest(toml, folder, settings).map_err(|fault| fault.in_text(toml))
    }

    /// The tool that a file declares.
    ///
    /// # Errors
    /// If the file cannot be read, or is too large; its first fault, with its place.
    pub fn read(file: &Path, settings: &ToolSettings) -> Result<Self, ManifestError> {
        let bytes = bytes(file, file, settings)?;
        let unreadable = |source| ManifestError::Unreadable { file: file.to_owned(), source };
        let path = std::path::absolute(file).map_err(unreadable)?;
        Self::of(&bytes, file, path.parent().unwrap_or(Path::new("/")), settings)
    }

    /// The tool that the bytes of a file declare, which errors call `shown`.
    pub(in crate::tools) fn of(
        bytes: &[u8],
        shown: &Path,
        folder: &Path,
        settings: &ToolSettings,
    ) -> Result<Self, ManifestError> {
        text(bytes)
            .and_then(|text| Self::parse(text, folder, settings))
            .map_err(|error| error.in_file(shown))
    }

    /// Whether its program is still the one that its command names.
    pub(in crate::tools) fn has_program(&self, settings: &ToolSettings) -> bool {
        program::find(&self.command, &self.folder, settings).is_ok_and(|it| it == self.program)
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

/// What stands in a file, which errors call `shown`.
pub(super) fn bytes(
    file: &Path,
    shown: &Path,
    settings: &ToolSettings,
) -> Result<Vec<u8>, ManifestError> {
    let most = settings.max_manifest_bytes;
    let read = || {
        // Opening a pipe would wait for whoever writes to it.
        if !std::fs::metadata(file)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file"));
        }
        let mut bytes = Vec::new();
        // One byte more tells a file that is too large.
        File::open(file)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let unreadable = |source| ManifestError::Unreadable { file: shown.to_owned(), source };
    let bytes = read().map_err(unreadable)?;
    if bytes.len() > most {
        return Err(ManifestError::TooLarge { file: shown.to_owned(), most });
    }
    Ok(bytes)
}

fn text(bytes: &[u8]) -> Result<&str, ManifestError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let (before, _) = bytes.split_at(error.valid_up_to());
        let reason = "this is not UTF-8, which TOML is written in".to_owned();
        let fault = Fault { at: before.len(), path: String::new(), reason };
        fault.in_text(&String::from_utf8_lossy(before))
    })
}

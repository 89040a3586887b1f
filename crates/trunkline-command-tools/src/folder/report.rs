//! The result of reading a folder.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::manifest::ToolManifest;

/// The error of reading a folder. The previous tools stay.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the folder {}", path.display())]
pub struct FolderError {
    /// The folder.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

/// All callers that wait for the same read get its error.
impl Clone for FolderError {
    fn clone(&self) -> Self {
        let source = match self.source.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(self.source.kind(), self.source.to_string()),
        };
        Self { path: self.path.clone(), source }
    }
}

/// The contents of a folder, and what has changed since it was read before.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReloadReport {
    /// The names of new tools.
    pub added: Vec<String>,
    /// The names of tools whose manifest has changed.
    pub changed: Vec<String>,
    /// The names of tools that were removed.
    pub removed: Vec<String>,
    /// All tools, by name.
    #[serde(serialize_with = "each")]
    pub tools: Vec<Arc<ToolManifest>>,
    /// The rejected files, by name.
    pub rejected: Vec<RejectedManifest>,
    /// The reason why the last read of the folder failed; the tools are the previous ones. Omitted after a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A rejected manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RejectedManifest {
    /// The name of the file in the folder.
    pub file: String,
    /// The error with its place: `shout.toml:3:11: …`.
    pub reason: String,
}

impl ReloadReport {
    /// These tools, without changes and rejected files.
    pub(crate) fn of_tools(tools: Vec<Arc<ToolManifest>>) -> Self {
        let (added, changed, removed, rejected) = Default::default();
        Self { added, changed, removed, tools, rejected, failure: None }
    }

    /// Whether tools were added, changed or removed.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !(self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty())
    }
}

fn each<S: Serializer>(tools: &[Arc<ToolManifest>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tools.iter().map(|tool| &**tool))
}

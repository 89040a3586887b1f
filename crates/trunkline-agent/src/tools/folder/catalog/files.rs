use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;

use trunkline::layers::validation::Validator;

use crate::tools::manifest::{ManifestError, ToolManifest, bytes};
use crate::tools::run::Tool;
use crate::tools::settings::ToolSettings;

/// A manifest, and what was made of it.
#[derive(Debug)]
pub(super) struct File {
    bytes: Vec<u8>,
    /// The tool, or why it is none.
    pub(super) tool: Result<Arc<Tool>, String>,
    /// Whether that may be otherwise now, though the file has not changed.
    pub(super) is_unsettled: bool,
}

impl File {
    /// Reads a file of a folder. If it is as before, so is its tool.
    pub(super) fn read(
        folder: &Path,
        name: &OsStr,
        settings: &ToolSettings,
        before: Option<&Self>,
    ) -> Self {
        let bytes = match bytes(&folder.join(name), Path::new(name), settings) {
            Ok(bytes) => bytes,
            Err(error) => return Self::unreadable(&error, before),
        };
        if let Some(before) = before.filter(|before| before.holds_for(&bytes, settings)) {
            return Self { bytes, tool: before.tool.clone(), is_unsettled: false };
        }
        let manifest = ToolManifest::of(&bytes, Path::new(name), folder, settings);
        let is_unsettled = manifest.as_ref().is_err_and(ManifestError::is_of_surroundings);
        let tool = manifest.map_err(|error| with_source(&error)).and_then(tool);
        Self { bytes, tool, is_unsettled }
    }

    /// What cannot be read at the moment stays what it was.
    fn unreadable(error: &ManifestError, before: Option<&Self>) -> Self {
        let reason = with_source(error);
        let is_passing =
            matches!(error, ManifestError::Unreadable { source, .. } if is_passing(source));
        let kept = before.filter(|before| is_passing && before.tool.is_ok());
        match kept {
            Some(before) => {
                tracing::warn!(reason, "a manifest cannot be read; its tool stays");
                let (bytes, tool) = (before.bytes.clone(), before.tool.clone());
                Self { bytes, tool, is_unsettled: true }
            }
            None => {
                let is_unsettled = error.is_of_surroundings();
                Self { bytes: Vec::new(), tool: Err(reason), is_unsettled }
            }
        }
    }

    fn holds_for(&self, bytes: &[u8], settings: &ToolSettings) -> bool {
        self.bytes == bytes
            && match &self.tool {
                Ok(tool) => tool.manifest.has_program(settings),
                Err(_) => !self.is_unsettled,
            }
    }
}

/// Whether a file that is there may be read soon: as when too many are open.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};
    !matches!(error.kind(), InvalidInput | NotFound | PermissionDenied)
}

fn tool(manifest: ToolManifest) -> Result<Arc<Tool>, String> {
    let output = manifest.output.as_ref().map(Validator::new).transpose();
    let output = output.map_err(|error| error.to_string())?;
    Ok(Arc::new(Tool { manifest: Arc::new(manifest), output }))
}

/// The names of the first manifests, and the one after them.
pub(super) fn names(path: &Path, most: usize) -> io::Result<(BTreeSet<OsString>, Option<String>)> {
    let mut files = BTreeSet::new();
    let mut more: Option<OsString> = None;
    for entry in path.read_dir()? {
        let name = entry?.file_name();
        // Editors write hidden files beside the one that is edited.
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if is_hidden || Path::new(&name).extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        files.insert(name);
        if files.len() > most
            && let Some(last) = files.pop_last()
        {
            more = Some(more.map_or(last.clone(), |one| one.min(last)));
        }
    }
    Ok((files, more.map(|name| name.to_string_lossy().into_owned())))
}

fn with_source(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

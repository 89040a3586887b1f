//! The files of a folder.

use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::ToolConfig;
use crate::manifest::{ManifestError, ToolManifest, read_bytes};
use crate::run::Tool;

/// A manifest file and its tool.
#[derive(Debug)]
pub(super) struct File {
    bytes: Vec<u8>,
    /// The tool, or the reason why the manifest is rejected.
    pub(super) tool: Result<Arc<Tool>, String>,
    /// Whether the result may change although the file does not.
    pub(super) needs_recheck: bool,
}

impl File {
    /// Reads a file of a folder. Reuses the tool of an unchanged file.
    pub(super) fn read(
        folder: &Path,
        name: &OsStr,
        config: &ToolConfig,
        before: Option<&Self>,
    ) -> Self {
        let bytes = match read_bytes(&folder.join(name), Path::new(name), config) {
            Ok(bytes) => bytes,
            Err(error) => return Self::unreadable(&error, before),
        };
        if let Some(before) = before.filter(|before| before.is_current(&bytes, config)) {
            return Self { bytes, tool: before.tool.clone(), needs_recheck: false };
        }
        let manifest = ToolManifest::from_bytes(&bytes, Path::new(name), folder, config);
        let needs_recheck = manifest.as_ref().is_err_and(ManifestError::is_environmental);
        let tool = manifest
            .map_err(|error| with_source(&error))
            .and_then(|manifest| Tool::new(manifest).map(Arc::new));
        Self { bytes, tool, needs_recheck }
    }

    /// A file that is temporarily unreadable keeps its tool.
    fn unreadable(error: &ManifestError, before: Option<&Self>) -> Self {
        let reason = with_source(error);
        let is_temporary =
            matches!(error, ManifestError::Unreadable { source, .. } if is_temporary(source));
        let kept = before.filter(|before| is_temporary && before.tool.is_ok());
        match kept {
            Some(before) => {
                tracing::warn!(reason, "cannot read a manifest; keeping its tool");
                let (bytes, tool) = (before.bytes.clone(), before.tool.clone());
                Self { bytes, tool, needs_recheck: true }
            }
            None => {
                let needs_recheck = error.is_environmental();
                Self { bytes: Vec::new(), tool: Err(reason), needs_recheck }
            }
        }
    }

    fn is_current(&self, bytes: &[u8], config: &ToolConfig) -> bool {
        self.bytes == bytes
            && match &self.tool {
                Ok(tool) => tool.manifest.has_program(config),
                Err(_) => !self.needs_recheck,
            }
    }
}

/// Whether the error may be temporary, such as too many open files.
fn is_temporary(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};
    !matches!(error.kind(), InvalidInput | NotFound | PermissionDenied)
}

/// The names of the first `max` manifests, and the next one, if there are more.
pub(super) fn names(path: &Path, max: usize) -> io::Result<(BTreeSet<OsString>, Option<String>)> {
    let mut files = BTreeSet::new();
    let mut more: Option<OsString> = None;
    for entry in path.read_dir()? {
        let name = entry?.file_name();
        // Editors write hidden files next to the one that is edited.
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if is_hidden || Path::new(&name).extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        files.insert(name);
        if files.len() > max
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

/// A file outside the watched folder, whose changes cause no events, and its last version.
#[derive(Debug)]
pub(super) struct ExternalFile {
    path: PathBuf,
    version: Option<Version>,
}

/// The device and inode of a file, and the seconds and nanoseconds of its last change.
type Version = (u64, u64, i64, i64);

impl ExternalFile {
    /// The file at a path, unless it is in this folder.
    pub(super) fn of(path: PathBuf, folder: &Path) -> Option<Self> {
        let is_inside = path.parent() == Some(folder) && !path.is_symlink();
        (!is_inside).then(|| Self { version: version(&path), path })
    }

    pub(super) fn has_changed(&self) -> bool {
        version(&self.path) != self.version
    }
}

fn version(path: &Path) -> Option<Version> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

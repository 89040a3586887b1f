//! The files of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// The files that tools depend on, with their versions: the manifests and the programs. A change is a difference between
/// two snapshots.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot(BTreeMap<PathBuf, Option<Version>>);

/// The device and inode of a file, and the seconds and nanoseconds of its last change. Links are followed.
type Version = (u64, u64, i64, i64);

/// The time for which a version is not final: a file may change again within the resolution of its file system's clock.
const RESOLUTION: Duration = Duration::from_secs(2);

impl Snapshot {
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let versions = paths.into_iter().map(|path| {
            let version = version(&path);
            (path, version)
        });
        Self(versions.collect())
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether a file is missing, or was changed just now.
    pub(super) fn is_provisional(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = now.saturating_sub(RESOLUTION).as_secs();
        self.0.values().any(|version| {
            version.is_none_or(|(.., changed, _)| u64::try_from(changed).unwrap_or(0) >= settled)
        })
    }
}

fn version(path: &Path) -> Option<Version> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the file is read again although its version is the same.
    #[test]
    fn missing_and_new_files_are_provisional() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        std::fs::write(&new, "").unwrap();
        let own = std::env::current_exe().unwrap();
        let missing = folder.path().join("missing");
        let check = |path: &Path, expected: bool| {
            let snapshot = Snapshot::of([path.to_owned()]);
            assert_eq!(snapshot.is_provisional(), expected, "{}", path.display());
        };
        check(&new, true);
        check(&missing, true);
        check(own.ancestors().last().unwrap(), false);
    }
}

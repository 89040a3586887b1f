//! The files of secrets, whose changes a running server detects.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The versions of the configuration file and of the files of its secrets that were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchedFiles {
    pub(super) file: Option<(PathBuf, Stamp)>,
    pub(super) secrets: Vec<(PathBuf, Stamp)>,
}

/// The changes of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileChange {
    /// No secret has changed.
    None,
    /// Only secrets.
    Secrets,
    /// Secrets, and the configuration file.
    SecretsAndFile,
}

/// The version of a file. Symbolic links are followed: Kubernetes replaces the files of a secret by changing a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp(Option<(u64, u64, Option<SystemTime>)>);

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        let metadata = fs::metadata(path).ok();
        Self(metadata.map(|file| (file.ino(), file.len(), file.modified().ok())))
    }
}

impl WatchedFiles {
    /// Returns the changes since the last check. Missing files are not changes: their replacement may be under way.
    pub(crate) fn check(&mut self) -> FileChange {
        let update = |(path, known): &mut (PathBuf, Stamp)| {
            let stamp = Stamp::of(path);
            let has_changed = stamp.0.is_some() && stamp != *known;
            if has_changed {
                *known = stamp;
            }
            has_changed
        };
        let changed = self.secrets.iter_mut().map(update).filter(|changed| *changed).count();
        if changed == 0 {
            return FileChange::None;
        }
        let is_same = |(path, known): &(PathBuf, Stamp)| Stamp::of(path) == *known;
        match self.file.as_ref().is_none_or(is_same) {
            true => FileChange::Secrets,
            false => FileChange::SecretsAndFile,
        }
    }
}

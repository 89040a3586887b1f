//! Files in other folders than the one that is watched.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that is not in the folder itself, so that nothing is told of its changes, and what it was.
#[derive(Debug)]
pub(super) struct Elsewhere {
    path: PathBuf,
    was: Option<Version>,
}

/// The file's device and number, and when it was changed: seconds, and nanoseconds.
type Version = (u64, u64, i64, i64);

impl Elsewhere {
    /// What is at a path, unless that is a file of this folder.
    pub(super) fn of(path: PathBuf, folder: &Path) -> Option<Self> {
        let is_here = path.parent() == Some(folder) && !path.is_symlink();
        (!is_here).then(|| Self { was: version(&path), path })
    }

    pub(super) fn has_changed(&self) -> bool {
        version(&self.path) != self.was
    }
}

fn version(path: &Path) -> Option<Version> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

//! The directory of a configuration file, to which its paths are relative.

use std::path::{Path, PathBuf};

pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn of(file: &Path) -> Self {
        Self(file.parent().unwrap_or(Path::new("")).to_owned())
    }

    /// The path that a path in the file means.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.0.join(path)
    }
}

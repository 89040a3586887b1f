//! The directory of a configuration file, to which its paths are relative.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

pub(super) struct Folder {
    path: PathBuf,
    /// Remarks about files that were read.
    warnings: RefCell<Vec<String>>,
}

impl Folder {
    pub(super) fn of(file: &Path) -> Self {
        let path = file.parent().unwrap_or(Path::new("")).to_owned();
        Self { path, warnings: RefCell::default() }
    }

    /// The path that a path in the file means.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    pub(super) fn warn(&self, warning: String) {
        self.warnings.borrow_mut().push(warning);
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }
}

//! The directory of a configuration file, to which its paths are relative.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::watched::Stamp;

pub(super) struct Folder {
    path: PathBuf,
    /// Remarks about files that were read.
    warnings: RefCell<Vec<String>>,
    /// The texts of files with secrets.
    secrets: RefCell<HashMap<PathBuf, Result<String, String>>>,
    /// Their versions before they were read.
    stamps: RefCell<Vec<(PathBuf, Stamp)>>,
}

impl Folder {
    pub(super) fn of(file: &Path) -> Self {
        let path = file.parent().unwrap_or(Path::new("")).to_owned();
        let (warnings, secrets, stamps) = Default::default();
        Self { path, warnings, secrets, stamps }
    }

    /// The path that a path in the file means.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    /// The result of `read` for a file. Each file is read once, so that all its uses have the same text.
    pub(super) fn secret(
        &self,
        file: PathBuf,
        read: impl FnOnce(&Path) -> Result<String, String>,
    ) -> Result<String, String> {
        if let Some(known) = self.secrets.borrow().get(&file) {
            return known.clone();
        }
        self.stamps.borrow_mut().push((file.clone(), Stamp::of(&file)));
        let text = read(&file);
        self.secrets.borrow_mut().insert(file, text.clone());
        text
    }

    pub(super) fn warn(&self, warning: String) {
        self.warnings.borrow_mut().push(warning);
    }

    /// The remarks about files, and the versions of those with secrets.
    pub(super) fn into_parts(self) -> (Vec<String>, Vec<(PathBuf, Stamp)>) {
        (self.warnings.into_inner(), self.stamps.into_inner())
    }
}

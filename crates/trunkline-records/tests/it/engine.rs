//! The engine of the tests in this program: SQLite.

use std::path::Path;

use tempfile::TempDir;
use trunkline_records::Location;

/// A directory.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn location(&self) -> Location {
        self.path().into()
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

//! Violations of rules, with their places.

use std::fmt;
use std::path::Path;

/// A violation of a rule.
pub(crate) struct Finding {
    /// A file with a line, or a crate.
    pub(super) place: String,
    message: String,
}

impl Finding {
    pub(super) fn in_crate(name: &str, message: impl Into<String>) -> Self {
        Self { place: name.to_owned(), message: message.into() }
    }

    pub(super) fn in_file(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { place: format!("{}:{line}", path.display()), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// The path relative to `crates/<name>/src`, and the name of the crate.
pub(super) fn in_crate_source(path: &Path) -> Option<(&str, &Path)> {
    let mut parts = path.strip_prefix("crates").ok()?.components();
    let name = parts.next()?.as_os_str().to_str()?;
    let inside = parts.as_path().strip_prefix("src").ok()?;
    Some((name, inside))
}

/// Whether a file contains only test code, by its path.
pub(super) fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path
            .parent()
            .into_iter()
            .flat_map(Path::components)
            .any(|part| part.as_os_str() == "tests")
}

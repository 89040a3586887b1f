//! What breaks a rule, and where.

use std::fmt;
use std::path::Path;

/// Something that breaks a rule.
pub(crate) struct Finding {
    /// A file with its line, or a crate.
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

/// The path inside `crates/<name>/src`, with the crate's name.
pub(super) fn in_crate_source(path: &Path) -> Option<(&str, &Path)> {
    let mut parts = path.strip_prefix("crates").ok()?.components();
    let name = parts.next()?.as_os_str().to_str()?;
    let inside = parts.as_path().strip_prefix("src").ok()?;
    Some((name, inside))
}

/// Whether a whole file is test code by its place.
pub(super) fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.rs")
        || path
            .parent()
            .into_iter()
            .flat_map(Path::components)
            .any(|part| part.as_os_str() == "tests")
}

//! The mistakes in a file, with their places.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::terminal::{line, redacted};

/// The reason why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    /// The file is too large.
    #[error("the configuration file {} is larger than {max} bytes", path.display())]
    TooLarge { path: PathBuf, max: u64 },
    /// The file has mistakes.
    #[error("{}", listing(path, problems))]
    Invalid { path: PathBuf, problems: Vec<Problem> },
    /// Settings of the file, or of flags and variables, are invalid or contradict each other.
    #[error("invalid settings of {}, flags and variables:\n  {}", path.display(), mistakes.join("\n  "))]
    Settings { path: PathBuf, mistakes: Vec<String> },
}

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) position: Position,
    pub(crate) message: String,
}

/// A line and a column, which both start at 1. Columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The mistakes found in a text so far.
pub(super) struct Problems<'t> {
    text: &'t str,
    found: Vec<Problem>,
}

impl<'t> Problems<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new() }
    }

    pub(super) fn add(&mut self, span: &Range<usize>, message: impl Into<String>) {
        self.add_at(self.position(span.start), message);
    }

    /// Adds a mistake. Its message may quote the file: secrets in URLs and control characters are replaced.
    pub(super) fn add_at(&mut self, position: Position, message: impl Into<String>) {
        let message = line(&redacted(&message.into())).into_owned();
        self.found.push(Problem { position, message });
    }

    /// Whether the value at a path was invalid. It counts as missing, which is not a further mistake.
    pub(super) fn concern(&self, path: &str) -> bool {
        let beginning = format!("`{path}`: ");
        self.found.iter().any(|problem| problem.message.starts_with(&beginning))
    }

    /// The position of a byte.
    pub(super) fn position(&self, byte: usize) -> Position {
        let before = self.text.get(..byte.min(self.text.len())).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Position { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }

    /// Fails with the mistakes that were found.
    pub(super) fn check(mut self, path: &Path) -> Result<(), ConfigError> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.found.sort();
        Err(ConfigError::Invalid { path: path.to_owned(), problems: self.found })
    }
}

/// A line for each mistake, in the order of the file.
fn listing(path: &Path, problems: &[Problem]) -> String {
    let path = path.display();
    let mut text = match problems.len() {
        1 => format!("invalid configuration file {path}"),
        count => format!("invalid configuration file {path}: {count} mistakes"),
    };
    for Problem { position, message } in problems {
        text += &format!("\n  {path}:{position}: {message}");
    }
    text
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

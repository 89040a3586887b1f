use std::io;
use std::path::{Path, PathBuf};

use super::types::ResourceTypes;

/// The reason why a file or a text declares no valid types.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypesError {
    /// The file could not be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file has more than [`ResourceTypes::MAX_BYTES`].
    #[error("{} has more than {} bytes", file.display(), ResourceTypes::MAX_BYTES)]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// The text is invalid.
    #[error("{}{reason}", place(file.as_deref(), *line, *column, path))]
    Invalid {
        /// The file, if the text is of one.
        file: Option<PathBuf>,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// The keys that lead there, as TOML writes them: `resources.todo.fields.title.type`. Empty if it
        /// is not TOML.
        path: String,
        /// The problem and its remedy.
        reason: String,
    },
}

impl TypesError {
    pub(super) fn in_file(mut self, path: &Path) -> Self {
        if let Self::Invalid { file, .. } = &mut self {
            *file = Some(path.to_owned());
        }
        self
    }
}

/// A problem and its byte offset in the text.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) path: String,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn in_text(self, text: &str) -> TypesError {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        TypesError::Invalid {
            file: None,
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            path: self.path,
            reason: self.reason,
        }
    }
}

/// The file, the line, the column and the path, as editors and terminals open them.
fn place(file: Option<&Path>, line: usize, column: usize, path: &str) -> String {
    let mut place = match file {
        Some(file) => format!("{}:{line}:{column}: ", file.display()),
        None => format!("line {line}, column {column}: "),
    };
    if !path.is_empty() {
        place += path;
        place += ": ";
    }
    place
}

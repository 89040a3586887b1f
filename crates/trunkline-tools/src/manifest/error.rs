use std::io;
use std::path::{Path, PathBuf};

/// Why a manifest is no tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file could not be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is larger than manifests may be.
    #[error("{} has more than {most} bytes", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The most bytes that it may have.
        most: usize,
    },
    /// What the text says is wrong.
    #[error("{}{reason}", place(file.as_deref(), *line, *column, path))]
    Invalid {
        /// The file, if the text is of one.
        file: Option<PathBuf>,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// The keys that lead there: `input_schema.properties`. Empty if it is not TOML.
        path: String,
        /// What is wrong, and what to do.
        reason: String,
    },
}

impl ManifestError {
    /// Whether it may be mended without a change of the file.
    pub(crate) fn is_of_surroundings(&self) -> bool {
        match self {
            Self::Unreadable { .. } => true,
            Self::TooLarge { .. } => false,
            Self::Invalid { path, .. } => path == PROGRAM,
        }
    }

    pub(super) fn in_file(mut self, path: &Path) -> Self {
        if let Self::Invalid { file, .. } = &mut self {
            *file = Some(path.to_owned());
        }
        self
    }
}

/// Where a program stands.
pub(super) const PROGRAM: &str = "command[0]";

/// What is wrong, and where, by its byte in the text.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) path: String,
    pub(super) reason: String,
}

impl Fault {
    pub(super) fn in_text(self, text: &str) -> ManifestError {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        ManifestError::Invalid {
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

//! Manifests from text and files.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::document;
use super::tool_manifest::ToolManifest;
use crate::config::ToolConfig;

/// The error of a manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file could not be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is too large.
    #[error("{} exceeds {max_bytes} bytes", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The maximum number of bytes.
        max_bytes: usize,
    },
    /// The text is invalid.
    #[error("{}:{line}:{column}: {reason}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// The problem and its remedy.
        reason: String,
        /// Whether the program was not found. Installing it solves the problem.
        is_program_missing: bool,
    },
}

impl ManifestError {
    /// Whether the problem may disappear without a change of the file.
    pub(crate) fn is_environmental(&self) -> bool {
        match self {
            Self::Unreadable { .. } => true,
            Self::TooLarge { .. } => false,
            Self::Invalid { is_program_missing, .. } => *is_program_missing,
        }
    }
}

impl ToolManifest {
    /// Parses the text of a manifest, which errors call `file`. Its program is looked up in this folder, or in
    /// [`ToolConfig::path`].
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn parse(
        toml: &str,
        file: &Path,
        folder: &Path,
        config: &ToolConfig,
    ) -> Result<Self, ManifestError> {
        // Editors do not count a byte order mark as a character of its line.
        let toml = toml.strip_prefix('\u{feff}').unwrap_or(toml);
        document::parse(toml, folder, config).map_err(|diagnostic| {
            let before = toml.get(..diagnostic.at).unwrap_or(toml);
            let line = before.rsplit('\n').next().unwrap_or_default();
            ManifestError::Invalid {
                file: file.to_owned(),
                line: before.matches('\n').count() + 1,
                column: line.chars().count() + 1,
                reason: diagnostic.reason,
                is_program_missing: diagnostic.is_program_missing,
            }
        })
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// If the file cannot be read or is too large; its first error, with its place.
    pub fn read(file: &Path, config: &ToolConfig) -> Result<Self, ManifestError> {
        let bytes = read_bytes(file, file, config)?;
        let unreadable = |source| ManifestError::Unreadable { file: file.to_owned(), source };
        let path = std::path::absolute(file).map_err(unreadable)?;
        Self::from_bytes(&bytes, file, path.parent().unwrap_or(Path::new("/")), config)
    }

    /// Parses the bytes of a file, which errors call `shown`.
    pub(crate) fn from_bytes(
        bytes: &[u8],
        shown: &Path,
        folder: &Path,
        config: &ToolConfig,
    ) -> Result<Self, ManifestError> {
        let text = std::str::from_utf8(bytes).map_err(|error| ManifestError::Unreadable {
            file: shown.to_owned(),
            source: io::Error::new(ErrorKind::InvalidData, error),
        })?;
        Self::parse(text, shown, folder, config)
    }
}

/// The bytes of a file, which errors call `shown`.
pub(crate) fn read_bytes(
    file: &Path,
    shown: &Path,
    config: &ToolConfig,
) -> Result<Vec<u8>, ManifestError> {
    let max_bytes = config.max_manifest_bytes;
    let read = || {
        // Opening a pipe would wait for its writer.
        if !std::fs::metadata(file)?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a file"));
        }
        let mut bytes = Vec::new();
        // One byte more than the maximum shows that a file is too large.
        File::open(file)?.take(max_bytes as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let unreadable = |source| ManifestError::Unreadable { file: shown.to_owned(), source };
    let bytes = read().map_err(unreadable)?;
    if bytes.len() > max_bytes {
        return Err(ManifestError::TooLarge { file: shown.to_owned(), max_bytes });
    }
    Ok(bytes)
}

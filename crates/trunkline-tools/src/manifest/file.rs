//! Reading manifests from text and files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::document;
use super::error::{Fault, ManifestError};
use super::tool_manifest::ToolManifest;
use crate::config::ToolConfig;

impl ToolManifest {
    /// Parses the text of a manifest as that of a file in this folder. Its program is looked up there, or in
    /// [`ToolConfig::path`].
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn parse(toml: &str, folder: &Path, config: &ToolConfig) -> Result<Self, ManifestError> {
        // Editors do not count a byte order mark as a character of its line.
        let toml = toml.strip_prefix('\u{feff}').unwrap_or(toml);
        document::manifest(toml, folder, config).map_err(|fault| fault.in_text(toml))
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// If the file cannot be read or is too large; its first error, with its place.
    pub fn read(file: &Path, config: &ToolConfig) -> Result<Self, ManifestError> {
        let bytes = bytes(file, file, config)?;
        let unreadable = |source| ManifestError::Unreadable { file: file.to_owned(), source };
        let path = std::path::absolute(file).map_err(unreadable)?;
        Self::of(&bytes, file, path.parent().unwrap_or(Path::new("/")), config)
    }

    /// Parses the bytes of a file, which errors call `shown`.
    pub(crate) fn of(
        bytes: &[u8],
        shown: &Path,
        folder: &Path,
        config: &ToolConfig,
    ) -> Result<Self, ManifestError> {
        text(bytes)
            .and_then(|text| Self::parse(text, folder, config))
            .map_err(|error| error.in_file(shown))
    }
}

/// The bytes of a file, which errors call `shown`.
pub(crate) fn bytes(
    file: &Path,
    shown: &Path,
    config: &ToolConfig,
) -> Result<Vec<u8>, ManifestError> {
    let most = config.max_manifest_bytes;
    let read = || {
        // Opening a pipe would wait for its writer.
        if !std::fs::metadata(file)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file"));
        }
        let mut bytes = Vec::new();
        // One byte more than the maximum shows that a file is too large.
        File::open(file)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let unreadable = |source| ManifestError::Unreadable { file: shown.to_owned(), source };
    let bytes = read().map_err(unreadable)?;
    if bytes.len() > most {
        return Err(ManifestError::TooLarge { file: shown.to_owned(), most });
    }
    Ok(bytes)
}

fn text(bytes: &[u8]) -> Result<&str, ManifestError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let (before, _) = bytes.split_at(error.valid_up_to());
        let reason = "this is not UTF-8, which TOML is written in".to_owned();
        let fault = Fault { at: before.len(), path: String::new(), reason };
        fault.in_text(&String::from_utf8_lossy(before))
    })
}

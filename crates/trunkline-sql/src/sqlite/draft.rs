//! Files before they are complete.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Creates an empty file with a random name, `NAME.*.part`, in the folder of a file, which it may replace when it is
/// complete. It is removed if it is dropped before. A symbolic link is not followed.
///
/// # Errors
///
/// Errors of the file system.
pub fn draft_of(file: &Path) -> io::Result<NamedTempFile> {
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut prefix = file.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part");
    // The permissions of an ordinary new file, under the user's mask. The default of `tempfile` is 0600.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

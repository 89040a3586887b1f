//! Files before they are complete.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Creates a file with a random name, `NAME.*.part`, in the folder of a file, which it replaces when it is complete. It
/// is removed if it is dropped before. Symbolic links are not followed.
pub(super) fn draft_of(path: &Path) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    // The permissions of an ordinary new file, under the user's mask.
    builder.prefix(&prefix).suffix(".part").permissions(Permissions::from_mode(0o666));
    builder.tempfile_in(folder)
}

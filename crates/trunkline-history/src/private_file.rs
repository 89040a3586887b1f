//! Files that only their owner can read, and to whose end lines are appended.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

/// Options for appending. A file that they create can only be read by its owner.
pub(crate) fn append_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether the file was removed or renamed, so that its path has another file or none.
#[cfg(unix)]
pub(crate) fn is_gone(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(open), found) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    match found {
        Ok(found) => (found.dev(), found.ino()) != (open.dev(), open.ino()),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Other systems do not allow the removal of open files.
#[cfg(not(unix))]
pub(crate) fn is_gone(_file: &File, _path: &Path) -> bool {
    false
}

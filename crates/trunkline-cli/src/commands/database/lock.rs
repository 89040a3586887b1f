//! Files that one process uses at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trunkline::history::private_file::open;

/// Opens a file and locks it until it is closed. None if another process has locked it.
pub(super) fn lock(options: &OpenOptions, path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = open(options, path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(io::Error::new(error.kind(), format!("cannot lock it: {error}")));
            }
        }
        // Before it closed the file, the other process may have removed or replaced it.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

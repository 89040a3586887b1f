//! Files that only their owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Options for appending. A file that they create can only be read by its owner.
pub(crate) fn append_options() -> OpenOptions {
    let mut options = private_options();
    options.append(true);
    options
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder that only its owner can access, and its parents, unless they exist.
///
/// # Errors
/// Errors of the file system.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Replaces a file by one that only its owner can read, when it is complete. Until then, it has a random name in the same
/// folder: a link that others have put there is not followed.
///
/// # Errors
/// Errors of the file system.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    let temporary = path.with_extension(format!("tmp-{:016x}", u64::from_ne_bytes(number)));
    let mut file = private_options().write(true).create_new(true).open(&temporary)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error to report is that of writing.
        drop(fs::remove_file(&temporary));
    }
    written
}

/// Opens a file that processes lock, and creates it if it is missing, with its folder. It must stay after its use, since
/// another process may wait for the lock.
///
/// # Errors
/// If it is a symbolic link, and errors of the file system.
pub fn open_lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let mut options = private_options();
    open(without_links(options.write(true).create(true).truncate(false)), path)
}

/// Refuses symbolic links. For names that are derived from that of another file, where other users may have put a link.
#[cfg(unix)]
pub fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags)
}

/// Other systems permit the creation of links only to administrators.
#[cfg(not(unix))]
pub fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Opens a file. The error for a link that the options [refuse](without_links) has the remedy.
///
/// # Errors
/// Errors of the file system.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path).map_err(|error| {
        #[cfg(unix)]
        if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return io::Error::new(error.kind(), "it is a symbolic link; remove it");
        }
        error
    })
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Neither the content of the target of a link changes, nor is a missing target created.
    #[track_caller]
    fn check(name: &str, write: impl Fn(&Path) -> io::Result<()>, expected: Result<(), &str>) {
        for target_exists in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let (target, path) = (folder.path().join("target"), folder.path().join("sub/a.json"));
            create_folder(path.parent().unwrap()).unwrap();
            if target_exists {
                fs::write(&target, "other").unwrap();
            }
            symlink(&target, path.with_file_name(name)).unwrap();
            let written = write(&path).map_err(|error| error.to_string());
            assert_eq!(written, expected.map_err(str::to_owned), "{name}");
            let found = fs::read_to_string(&target).ok();
            assert_eq!(found.as_deref(), target_exists.then_some("other"), "{name}");
        }
    }

    #[test]
    fn links_are_not_followed() {
        let replaced = |path: &Path| replace(path, b"new");
        check("a.json", replaced, Ok(()));
        check("a.tmp", replaced, Ok(()));
        let locked = |path: &Path| open_lock(&path.with_extension("lock")).map(drop);
        check("a.lock", locked, Err("it is a symbolic link; remove it"));
        check("b.lock", locked, Ok(()));
    }

    #[test]
    fn a_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.json");
        assert!(replace(&path, b"").is_err(), "the folder is missing");
        drop(open_lock(&path.with_extension("lock")).unwrap());
        for content in ["first", "2"] {
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let names = fs::read_dir(path.parent().unwrap()).unwrap();
        assert_eq!(names.count(), 2, "only the file and the lock");
        // A folder cannot be replaced by a file.
        assert!(replace(path.parent().unwrap(), b"").is_err());
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }
}

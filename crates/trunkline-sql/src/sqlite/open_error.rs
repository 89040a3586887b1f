use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};
use rustix::fs::{Access, access};

use super::file::with_suffix;

/// The reason why a database file cannot be served. For the operator: it names the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file does not exist.
    #[error("database file {} does not exist; check the path", .path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The path is that of a directory, a socket or another special file.
    #[error("{} is not a regular file{}", .path.display(), directory_remedy(.path))]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The served file was replaced, and a log next to it may be that of the old file.
    #[error("{} was replaced while it had a log", .path.display())]
    Replaced {
        /// The path.
        path: PathBuf,
    },
    /// The file's content is not a SQLite database.
    #[error(
        "{} is not a SQLite database, or it is encrypted; files of other programs and encrypted databases \
         cannot be served",
        .path.display()
    )]
    NotADatabase {
        /// The path.
        path: PathBuf,
    },
    /// A crashed writer left a journal, which only a writer can roll back.
    #[error("{} holds an unfinished transaction; open it once for writing", .path.display())]
    NeedsRecovery {
        /// The path.
        path: PathBuf,
    },
    /// The database has a log without an index, which cannot be created.
    #[error(
        "{0} has a log, {0}-wal, without its index, {0}-shm, and no file can be created in the directory; let this \
         user write to the directory, or open and close the database once with a program that may: it merges the log",
        .path.display()
    )]
    NoLogIndex {
        /// The path.
        path: PathBuf,
    },
    /// The file is to be served writable, but its permissions do not allow writing.
    #[error("{} cannot be written; change its permissions, or serve it read-only", .path.display())]
    NotWritable {
        /// The path.
        path: PathBuf,
    },
    /// The file is to be served writable, but its journal or log cannot be created.
    #[error(
        "{} cannot be written, since SQLite creates its journal in the same directory, which this user may not write; \
         change the permissions of the directory, or serve the database read-only",
        .path.display()
    )]
    DirectoryNotWritable {
        /// The path.
        path: PathBuf,
    },
    /// The file, or a log or index of it, cannot be read.
    #[error("cannot read {}{}", .path.display(), io_remedy(.source))]
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// SQLite refused the file or a setting.
    #[error("cannot open {}{remedy}", .path.display())]
    Sqlite {
        /// The path.
        path: PathBuf,
        /// The remedy, which follows `; `, or nothing.
        remedy: &'static str,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// A reader thread cannot be started.
    #[error("cannot start a reader thread")]
    Thread(#[source] io::Error),
    /// A setting is invalid.
    #[error("setting `{setting}` must be at least 1")]
    Setting {
        /// The field of [`SqliteConfig`](super::SqliteConfig).
        setting: &'static str,
    },
}

impl OpenError {
    /// Whether another process locks the database.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        use ErrorCode::{DatabaseBusy, DatabaseLocked};
        let Self::Sqlite { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
    }

    /// The reason why SQLite could not open or read a file. Its own messages name neither the cause nor the file at
    /// fault, which the file system shows.
    pub(super) fn of_sqlite(path: PathBuf, source: rusqlite::Error) -> Self {
        let extended = source.sqlite_error().map(|error| error.extended_code);
        let remedy = match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => return Self::NotADatabase { path },
            Some(ErrorCode::ReadOnly) if extended == Some(ffi::SQLITE_READONLY_DIRECTORY) => {
                return Self::DirectoryNotWritable { path };
            }
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                match file_at_fault(&path, is_directory_writable(&path)) {
                    Some(error) => return error,
                    None if source.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
                        return Self::NeedsRecovery { path };
                    }
                    None => "; check the permissions of the file, its log and its directory",
                }
            }
            Some(ErrorCode::DiskFull) => "; the disk is full",
            Some(ErrorCode::DatabaseCorrupt) => {
                "; restore a backup, or recover the content: sqlite3 FILE .recover"
            }
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport,
            ) if is_on_network(&path) => {
                "; SQLite cannot rely on the locks of this network file system: copy the file to a local disk"
            }
            Some(ErrorCode::SystemIoFailure) => "; the disk may be full or failing",
            _ => "",
        };
        Self::Sqlite { path, remedy, source }
    }
}

/// The log, its index, the journal or the directory of a database, if it is the reason why it cannot be opened.
fn file_at_fault(path: &Path, is_directory_writable: bool) -> Option<OpenError> {
    let [log, index, journal] =
        ["-wal", "-shm", "-journal"].map(|suffix| with_suffix(path, suffix));
    for file in [&log, &index, &journal] {
        if file.exists()
            && let Err(error) = access(file, Access::READ_OK)
        {
            return Some(OpenError::Io { path: file.clone(), source: error.into() });
        }
    }
    let has_log = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    (has_log && !index.exists() && !is_directory_writable)
        .then(|| OpenError::NoLogIndex { path: path.to_owned() })
}

/// Whether files can be created next to a file, without links in its path.
pub(super) fn is_directory_writable(path: &Path) -> bool {
    let directory = path.parent();
    directory.is_some_and(|directory| access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok())
}

/// Whether a file is on a network file system, which is known on Linux only.
fn is_on_network(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::fs::statfs(path).is_ok_and(|found| is_of_network(found.f_type as u64));
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Whether the file system of this type shares files with other machines: NFS, SMB 1 to 3, 9P, AFS, Ceph, FUSE.
#[cfg(any(target_os = "linux", test))]
fn is_of_network(kind: u64) -> bool {
    const NETWORK: [u64; 8] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x5346_414f,
        0x00c3_6400,
        0x6573_5546,
    ];
    // The type of some platforms is signed and has 32 bits.
    NETWORK.contains(&(kind & 0xffff_ffff))
}

fn directory_remedy(path: &Path) -> &'static str {
    if path.is_dir() { ", but a directory; give the path of a file in it" } else { "" }
}

fn io_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; this user needs read access to the file, and to enter its directories"
        }
        io::ErrorKind::NotADirectory => "; a part of the path is a file",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::{OpenError, file_at_fault, is_of_network};

    #[track_caller]
    fn check(code: i32, expected: &str) {
        let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let error = OpenError::of_sqlite("/nonexistent/a.db".into(), source);
        assert!(error.to_string().contains(expected), "{code}: {error}");
    }

    #[test]
    fn codes_have_remedies() {
        check(ffi::SQLITE_NOTADB, "or it is encrypted");
        check(ffi::SQLITE_READONLY_DIRECTORY, "permissions of the directory");
        check(ffi::SQLITE_READONLY_ROLLBACK, "unfinished transaction");
        check(ffi::SQLITE_READONLY_CANTINIT, "unfinished transaction");
        check(ffi::SQLITE_CANTOPEN, "check the permissions");
        check(ffi::SQLITE_PERM, "check the permissions");
        check(ffi::SQLITE_FULL, "the disk is full");
        check(ffi::SQLITE_IOERR_WRITE, "full or failing");
        check(ffi::SQLITE_CORRUPT, "restore a backup");
        check(ffi::SQLITE_MISUSE, "cannot open /nonexistent/a.db");
    }

    /// The case of a read-only directory is a parameter, since root may write to any.
    #[test]
    fn a_log_needs_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let fault = |is_writable| {
            let error = file_at_fault(&path, is_writable);
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(fault(false), "");
        std::fs::write(folder.path().join("a.db-wal"), "").unwrap();
        assert_eq!(fault(false), "");
        std::fs::write(folder.path().join("a.db-wal"), "log").unwrap();
        assert_eq!(fault(true), "");
        for part in ["a.db-wal", "a.db-shm", "no file can be created in the directory"] {
            assert!(fault(false).contains(part), "{}", fault(false));
        }
        std::fs::write(folder.path().join("a.db-shm"), "").unwrap();
        assert_eq!(fault(false), "");
    }

    #[test]
    fn network_file_systems() {
        for (kind, expected) in [
            (0x6969, true),
            (0xff53_4d42, true),
            (u64::MAX << 32 | 0xfe53_4d42, true),
            (0x6573_5546, true),
            // ext4, XFS, tmpfs, overlayfs.
            (0xef53, false),
            (0x5846_5342, false),
            (0x0102_1994, false),
            (0x794c_7630, false),
        ] {
            assert_eq!(is_of_network(kind), expected, "{kind:x}");
        }
    }
}

use std::fs::{self, File, Metadata};
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fingerprint::with_suffix;
use crate::sqlite::open_error::OpenError;

/// The served path, and the file that was last found there.
#[derive(Debug)]
pub(super) struct PathWatch {
    /// The absolute form of the given name. Links in it may change.
    name: PathBuf,
    open_file: OpenFile,
    problem: Option<Problem>,
    checked: Instant,
}

/// A file that was found at the path. Clones are the same file.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile(Arc<OpenFileInner>);

#[derive(Debug)]
struct OpenFileInner {
    /// Without links.
    path: PathBuf,
    /// For reading the header. It is never closed: when any descriptor of a file is closed, POSIX releases all locks of
    /// the process on it, including those of SQLite.
    header: ManuallyDrop<File>,
    identity: Identity,
}

/// Device and inode.
type Identity = (u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    /// The file is missing.
    Missing,
    /// The file was replaced, and a log or journal exists, which may be that of the old file. SQLite would apply it to
    /// the new one.
    ReplacedWithLog,
}

/// The interval between two checks of the path.
const INTERVAL: Duration = Duration::from_secs(1);

impl PathWatch {
    pub(super) fn find(name: &Path) -> Result<Self, OpenError> {
        let open_file = OpenFile::find(name)?;
        let name = std::path::absolute(name)
            .map_err(|source| OpenError::Io { path: name.to_owned(), source })?;
        Ok(Self { name, open_file, problem: None, checked: Instant::now() })
    }

    pub(super) fn open_file(&mut self) -> Result<OpenFile, OpenError> {
        if self.checked.elapsed() >= INTERVAL {
            self.check();
        }
        let path = || self.name.clone();
        match self.problem {
            None => Ok(self.open_file.clone()),
            Some(Problem::Missing) => Err(OpenError::Missing { path: path() }),
            Some(Problem::ReplacedWithLog) => Err(OpenError::Replaced { path: path() }),
        }
    }

    /// Checks whether it is still the same file.
    pub(super) fn check(&mut self) {
        self.checked = Instant::now();
        let path = self.name.display();
        let problem = match fs::metadata(&self.name) {
            Ok(found) if identity(&found) == self.open_file.0.identity => None,
            Ok(_) if has_log(&self.name) => Some(Problem::ReplacedWithLog),
            Ok(_) => match OpenFile::find(&self.name) {
                Ok(open_file) => {
                    tracing::warn!(%path, "the database file was replaced; the new one is served");
                    self.open_file = open_file;
                    None
                }
                Err(_) => Some(Problem::Missing),
            },
            Err(_) => Some(Problem::Missing),
        };
        if problem != self.problem {
            match problem {
                None => tracing::info!(%path, "the database file is served again"),
                Some(Problem::Missing) => {
                    tracing::error!(%path, "the database file was removed or renamed; calls fail until it is back");
                }
                Some(Problem::ReplacedWithLog) => tracing::error!(
                    %path,
                    "the database file was replaced while it had a log, which may be that of the old file; \
                     calls fail until the log is removed"
                ),
            }
        }
        self.problem = problem;
    }
}

impl OpenFile {
    fn find(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| unreadable(path, source);
        let canonical = regular_file(path)?;
        let header = ManuallyDrop::new(File::open(&canonical).map_err(failed)?);
        let identity = identity(&header.metadata().map_err(failed)?);
        Ok(Self(Arc::new(OpenFileInner { path: canonical, header, identity })))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.path.clone()
    }

    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.header.read_exact_at(bytes, offset)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0.identity == other.0.identity
    }
}

/// The smallest page of a database, in bytes, which is also the smallest size of one with content.
const SMALLEST_PAGE: u64 = 512;

/// The path of a regular file without links. An absolute path cannot begin with `file:`, which SQLite would parse
/// as a URI with options.
///
/// # Errors
/// [`OpenError::Missing`], [`OpenError::NotAFile`], [`OpenError::NotADatabase`] and [`OpenError::Io`].
pub(crate) fn regular_file(path: &Path) -> Result<PathBuf, OpenError> {
    let failed = |source| unreadable(path, source);
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    }
    // SQLite takes a shorter file as an empty one, and overwrites it.
    if (1..SMALLEST_PAGE).contains(&metadata.len()) {
        return Err(OpenError::NotADatabase { path: path.to_owned() });
    }
    fs::canonicalize(path).map_err(failed)
}

fn unreadable(path: &Path, source: io::Error) -> OpenError {
    match source.kind() {
        io::ErrorKind::NotFound => OpenError::Missing { path: path.to_owned() },
        _ => OpenError::Io { path: path.to_owned(), source },
    }
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn has_log(name: &Path) -> bool {
    // They are next to the target of links.
    let path = fs::canonicalize(name).unwrap_or_else(|_| name.to_owned());
    ["-wal", "-journal"]
        .iter()
        .any(|suffix| fs::metadata(with_suffix(&path, suffix)).is_ok_and(|log| log.len() > 0))
}

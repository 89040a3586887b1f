use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

/// Metadata that shows whether a database file, or its write-ahead log, has changed.
#[derive(Debug)]
pub(crate) struct FileFingerprint {
    path: PathBuf,
    state: State,
}

/// The state of the content of a database, for detecting writes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content {
    main: Option<FileState>,
    wal: Option<FileState>,
}

impl Content {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let State { main, wal, .. } = State::of(path)?;
        Ok(Self { main, wal })
    }
}

#[derive(Debug, PartialEq, Eq)]
struct State {
    main: Option<FileState>,
    wal: Option<FileState>,
    shm_exists: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct FileState {
    bytes: u64,
    modified: SystemTime,
    /// Device and inode, which distinguish a file from the one that replaced it.
    identity: (u64, u64),
}

/// Longer than the clock step of common file systems. Two writes within one step have the same time.
const CLOCK_STEP: Duration = Duration::from_millis(20);

impl FileFingerprint {
    /// Takes the fingerprint of a file that was not written in the current step of the clock, so that any later write
    /// changes it. Waits for the next step if necessary. For a file that is written continuously, it gives up, and
    /// [`is_current`](Self::is_current) then returns false.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let mut state = State::of(path)?;
        for _ in 0..5 {
            if !state.is_recent() {
                break;
            }
            thread::sleep(CLOCK_STEP);
            state = State::of(path)?;
        }
        Ok(Self { path: path.to_owned(), state })
    }

    /// Whether no process has the database open in WAL mode, which requires a log and its index. An empty log without an
    /// index is left over.
    pub(super) fn is_closed(&self) -> bool {
        match &self.state.wal {
            None => true,
            Some(wal) => wal.bytes == 0 && !self.state.shm_exists,
        }
    }

    /// Whether nothing has been written since.
    pub(crate) fn is_current(&self) -> bool {
        State::of(&self.path).is_ok_and(|now| now == self.state)
    }
}

impl State {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            main: FileState::of(path)?,
            wal: FileState::of(&with_suffix(path, "-wal"))?,
            shm_exists: fs::exists(with_suffix(path, "-shm"))?,
        })
    }

    fn is_recent(&self) -> bool {
        self.main.as_ref().is_some_and(|main| {
            // A time in the future is not recent.
            SystemTime::now().duration_since(main.modified).is_ok_and(|age| age < CLOCK_STEP)
        })
    }
}

impl FileState {
    fn of(path: &Path) -> io::Result<Option<Self>> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            bytes: metadata.len(),
            modified: metadata.modified()?,
            identity: (metadata.dev(), metadata.ino()),
        }))
    }
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

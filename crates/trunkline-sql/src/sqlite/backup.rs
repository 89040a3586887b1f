//! Backups of a database file while it is used.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempPath;

use super::draft::draft_of;
use super::file::{FileFingerprint, connect_immutable, connect_unlocked, regular_file};
use super::file_check::{self, Pragma};
use super::functions;
use super::open_error::OpenError;

/// A complete backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupSummary {
    /// The size of the copy in bytes.
    pub bytes: u64,
    /// Number of times that the copy began again, since another process changed the database.
    pub restarts: u32,
    /// The tables of the copy that could not be checked, with the reason: they use functions or collations of another
    /// program.
    pub unchecked: Vec<(String, String)>,
}

/// The reason why a backup failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The copy would replace the database.
    #[error("the backup file is the database itself; choose another file")]
    SameFile,
    /// SQLite failed.
    #[error("cannot copy the database")]
    Sqlite(#[from] rusqlite::Error),
    /// Another process has held a lock for 30 seconds.
    #[error("the database is locked by another process; end its transaction, and try again")]
    Locked,
    /// Another process has changed a database whose log this process cannot use.
    #[error(
        "another process changed the database, whose log this user cannot read; give this user write access to its \
         directory, or try again"
    )]
    Changed,
    /// The copy has errors, as the database probably has.
    #[error("the copy failed `PRAGMA integrity_check`: {0}; check the database itself")]
    Corrupt(String),
    /// The copy cannot be written.
    #[error("cannot write {}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Number of pages of a step. Writers wait at most for one step, unless the database is in WAL mode, where they never wait.
const STEP: i32 = 1_024;

/// Time between two steps, for writers. In WAL mode they need none.
const PAUSE: Duration = Duration::from_millis(5);

/// The copy begins again when another process has changed the database between two steps. After this number of times, it
/// is made in one step.
const MAX_RESTARTS: u32 = 3;

/// Wait for a lock.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Copies a database to a file, which is replaced when the copy is complete and has passed `PRAGMA integrity_check`. Other
/// processes can use the database meanwhile: the copy has its content at one time. `progress` gets the number of copied
/// pages and of all pages. Blocks.
///
/// # Errors
///
/// See [`BackupError`]. The file is not changed then.
pub fn backup(
    database: &Path,
    file: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<BackupSummary, BackupError> {
    let found = regular_file(database)?;
    if fs::canonicalize(file).is_ok_and(|file| file == found) {
        return Err(BackupError::SameFile);
    }
    let write = |source| BackupError::Write { path: file.to_owned(), source };
    // Closed: closing a file ends the locks of the process on it.
    let draft = draft_of(file).map_err(write)?.into_temp_path();
    let (source, fingerprint) = connect(&found)?;
    let restarts = copy(&source, &draft, &mut progress)?;
    drop(source);
    if fingerprint.is_some_and(|fingerprint| !fingerprint.is_current()) {
        return Err(BackupError::Changed);
    }
    let unchecked = check(&draft)?;
    let bytes = replace(file, draft).map_err(write)?;
    Ok(BackupSummary { bytes, restarts, unchecked })
}

/// A connection to the database, whose first read has succeeded.
///
/// It may write, so that a log that it creates is removed with it: SQLite opens a file without write permission
/// read-only. In a directory that cannot be written, a database in WAL mode without a log is read without locks, and
/// the copy is valid if its fingerprint is the same afterwards.
fn connect(path: &Path) -> Result<(Connection, Option<FileFingerprint>), BackupError> {
    let read = |source: Connection| {
        // The waits of SQLite's own handler are too long for the short pauses of a busy writer.
        source.busy_handler(Some(wait_for_lock))?;
        source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(source)
    };
    let opened = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let failure = match opened.and_then(read) {
        Ok(source) => return Ok((source, None)),
        Err(failure) => failure,
    };
    if matches!(failure.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
        && let Some((source, fingerprint)) = connect_unlocked(path)?
        && let Ok(source) = read(source)
    {
        return Ok((source, Some(fingerprint)));
    }
    match OpenError::of_sqlite(path.to_owned(), failure) {
        error if error.is_locked() => Err(BackupError::Locked),
        error => Err(error.into()),
    }
}

fn copy(
    source: &Connection,
    path: &Path,
    progress: &mut impl FnMut(u64, u64),
) -> Result<u32, BackupError> {
    let mode: String = source.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    let is_wal = mode == "wal";
    if is_wal {
        // Other processes can write meanwhile, and the transaction does not see that.
        source.execute_batch("BEGIN")?;
        source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    }
    let mut target = Connection::open(path)?;
    // The file is not used before it is complete.
    target.pragma_update(None, "synchronous", "OFF")?;
    let backup = Backup::new(source, &mut target)?;
    let (mut restarts, mut copied, mut waited) = (0, 0, Duration::ZERO);
    loop {
        let pages = if restarts < MAX_RESTARTS { STEP } else { -1 };
        let step = backup.step(pages)?;
        let state = backup.progress();
        let (all, left) = (state.pagecount.max(0) as u64, state.remaining.max(0) as u64);
        let done = all.saturating_sub(left);
        progress(done, all);
        match step {
            StepResult::Done => break,
            StepResult::More => {
                restarts += u32::from(done <= copied && copied > 0);
                (copied, waited) = (done, Duration::ZERO);
                if !is_wal {
                    thread::sleep(PAUSE);
                }
            }
            // Busy, or locked by a connection of this process.
            _ if waited >= LOCK_WAIT => return Err(BackupError::Locked),
            _ => {
                thread::sleep(PAUSE);
                waited += PAUSE;
            }
        }
    }
    Ok(restarts)
}

/// Waits a millisecond, at most 30,000 times.
fn wait_for_lock(waits: i32) -> bool {
    thread::sleep(Duration::from_millis(1));
    waits < 30_000
}

/// Checks the copy, and returns the tables that could not be checked. Without locks and a log, so that no further files
/// are created.
fn check(path: &Path) -> Result<Vec<(String, String)>, BackupError> {
    let copy = connect_immutable(path)?;
    functions::register(&copy)?;
    let checked = file_check::check(&copy, Pragma::Integrity, 1)?;
    match checked.errors.into_iter().next() {
        None => Ok(checked.unchecked),
        Some(error) => Err(BackupError::Corrupt(error)),
    }
}

/// Replaces a file by a complete copy, and returns its size.
fn replace(file: &Path, copy: TempPath) -> io::Result<u64> {
    let opened = File::open(&copy)?;
    opened.sync_all()?;
    let bytes = opened.metadata()?.len();
    copy.persist(file)?;
    Ok(bytes)
}

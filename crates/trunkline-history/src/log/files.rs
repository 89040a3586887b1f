use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use crate::private_file;
use crate::time;

/// Configuration of a [`Log`](super::Log): the limits of its disk space and memory.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// Maximum size of one file, in bytes. After that, the log continues in the next part. Default 8 MiB.
    pub file_bytes: u64,
    /// Maximum size of the files of all sessions, in bytes. Default 64 MiB. The oldest files are removed. The
    /// current files of all servers that use the folder are kept.
    pub total_bytes: u64,
    /// Maximum number of files. Default 100.
    pub files: usize,
    /// Maximum size of entries that wait to be written, in bytes. Default 16 MiB. Entries that arrive while
    /// the queue is full are counted and are missing in the files. The queue always accepts one entry.
    pub queue_bytes: usize,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { file_bytes: 8 << 20, total_bytes: 64 << 20, files: 100, queue_bytes: 16 << 20 }
    }
}

/// A log file, as listed by `/logs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogFile {
    /// The name: the start time of the session and the part number.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// Whether the log currently writes to this file.
    #[serde(rename = "current")]
    pub is_current: bool,
}

/// The log files of a folder.
pub(super) struct Files {
    folder: PathBuf,
    config: LogConfig,
    /// The prefix of the file names of this session.
    session: String,
    part: u32,
    file: File,
    bytes: u64,
}

const EXTENSION: &str = ".jsonl";

impl Files {
    /// Creates the first file of a session.
    pub(super) fn open(folder: &Path, config: LogConfig) -> io::Result<Self> {
        private_file::create_folder(folder)?;
        // Some systems do not allow colons in file names.
        let session = time::text(SystemTime::now()).replace(':', "-");
        let (part, file) = create(folder, &session, 1)?;
        let folder = folder.to_owned();
        let files = Self { folder, config, session, part, file, bytes: 0 };
        files.remove_old();
        Ok(files)
    }

    /// The name of the current file.
    pub(super) fn current(&self) -> String {
        name(&self.session, self.part)
    }

    /// Whether a line exceeds the limit of the current file, after `pending` bytes that are still to be
    /// written. The first line of a file is always accepted.
    pub(super) fn is_full_for(&self, line: usize, pending: usize) -> bool {
        let before = self.bytes.saturating_add(pending as u64);
        before > 0 && before.saturating_add(line as u64) > self.config.file_bytes
    }

    /// Creates the next part.
    pub(super) fn rotate(&mut self) -> io::Result<()> {
        let next = self.part + 1;
        let created = match create(&self.folder, &self.session, next) {
            // The folder was removed.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                private_file::create_folder(&self.folder)?;
                create(&self.folder, &self.session, next)
            }
            created => created,
        };
        (self.part, self.file) = created?;
        self.bytes = 0;
        self.remove_old();
        Ok(())
    }

    /// Writes complete lines, all of them or none. Continues in the next part if the current file was removed.
    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        if private_file::is_gone(&self.file, &self.folder.join(self.current())) {
            self.rotate()?;
        }
        match self.file.write_all(lines) {
            Ok(()) => {
                self.bytes += lines.len() as u64;
                Ok(())
            }
            Err(error) => {
                // A partial line would also corrupt the next one.
                self.file.set_len(self.bytes)?;
                Err(error)
            }
        }
    }

    /// Removes the oldest files beyond the limits, reserving space for the current file. Keeps those that other servers
    /// write to.
    fn remove_old(&self) {
        if let Err(error) = self.try_remove_old() {
            tracing::warn!(%error, "failed to remove old log files");
        }
    }

    fn try_remove_old(&self) -> io::Result<()> {
        let LogConfig { file_bytes, total_bytes, files, .. } = self.config;
        let mut available = total_bytes.saturating_sub(file_bytes);
        let mut is_over = false;
        for (index, file) in listed(&self.folder, &self.current())?.iter().enumerate() {
            if file.is_current {
                continue;
            }
            is_over |= file.bytes > available || index >= files;
            if is_over {
                remove_unused(&self.folder.join(&file.name))?;
            } else {
                available -= file.bytes;
            }
        }
        Ok(())
    }
}

/// The logs of a folder, newest first.
pub(super) fn listed(folder: &Path, current: &str) -> io::Result<Vec<LogFile>> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(folder) {
        // The folder was removed. The next entry creates it again.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(files),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !is_log(&name) {
            continue;
        }
        let bytes = match entry.metadata() {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => continue,
            // The file was removed in the meantime.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let is_current = name == current;
        files.push(LogFile { name, bytes, is_current });
    }
    files.sort_unstable_by(|one, other| other.name.cmp(&one.name));
    Ok(files)
}

/// Whether a file name is that of a log file. Other files in the folder are not touched.
fn is_log(name: &str) -> bool {
    let shape = name.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(b"0000-00-00T00-00-00.000Z-000000.jsonl".iter().copied())
}

fn name(session: &str, part: u32) -> String {
    format!("{session}-{part:06}{EXTENSION}")
}

/// Creates the file of this part, or of the next part that no other server has created.
fn create(folder: &Path, session: &str, first: u32) -> io::Result<(u32, File)> {
    let mut part = first;
    loop {
        match private_file::append_options().create_new(true).open(folder.join(name(session, part)))
        {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => part += 1,
            Err(error) => return Err(error),
            Ok(file) => match file.try_lock() {
                // Another server is removing the file.
                Err(TryLockError::WouldBlock) => part += 1,
                // Some file systems have no locks.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok((part, file)),
            },
        }
    }
}

/// Removes a file, unless a server writes to it. A server has a lock on its file, which ends with its process.
fn remove_unused(path: &Path) -> io::Result<()> {
    // The lock is held while the file is removed, so that no server begins to write to it.
    let file = private_file::append_options().open(path);
    if let Ok(file) = &file
        && matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tokio::sync::oneshot;

use super::error::AuditError;
use crate::private_file;
use crate::queue::Queue;

/// A line that waits to be written.
pub(super) struct Pending {
    pub(super) line: Vec<u8>,
    /// The receiver of the outcome, if one waits for it.
    pub(super) reply: Option<oneshot::Sender<Result<(), AuditError>>>,
}

/// Writes a group of lines, makes them durable, and reports the outcomes.
pub(super) fn write(file: &mut LogFile, group: Vec<Pending>, queue: &Queue<Pending>) {
    let outcomes = file.write_group(&group);
    let problem = outcomes.iter().find_map(|outcome| outcome.as_ref().err());
    let reason = problem.map(|error| format!("the audit log cannot be written: {error}"));
    // Logged once, until writing succeeds again.
    match (queue.set_problem(reason), problem) {
        (true, Some(error)) => tracing::error!(%error, "failed to write the audit log"),
        (true, None) => tracing::info!("the audit log is written again"),
        (false, _) => {}
    }
    for (pending, outcome) in group.into_iter().zip(outcomes) {
        if let Some(reply) = pending.reply {
            // The call may have ended meanwhile.
            drop(reply.send(outcome));
        }
    }
}

/// The file of a log, open at its end.
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// Whether the last line may be incomplete.
    may_be_torn: bool,
}

impl LogFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = private_file::append_options().read(true).create(true).open(path)?;
        sync_folder(path)?;
        Ok(Self { path: path.to_owned(), file, may_be_torn: true })
    }

    pub(super) fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    fn reopen_if_gone(&mut self) -> io::Result<()> {
        if private_file::is_gone(&self.file, &self.path) {
            *self = Self::open(&self.path)?;
        }
        Ok(())
    }

    /// Writes a group of lines and makes them durable. The outcomes are in the order of the lines.
    fn write_group(&mut self, group: &[Pending]) -> Vec<Result<(), AuditError>> {
        let failed = |error: &io::Error| AuditError::Write(error.to_string());
        if let Err(error) = self.reopen_if_gone() {
            return group.iter().map(|_| Err(failed(&error))).collect();
        }
        // Another process may have written an incomplete line.
        self.may_be_torn = true;
        let written = group.iter().map(|pending| self.write(&pending.line));
        let mut outcomes: Vec<_> =
            written.map(|written| written.map_err(|error| failed(&error))).collect();
        if let Err(error) = self.file.sync_data() {
            let written = outcomes.iter_mut().filter(|outcome| outcome.is_ok());
            written.for_each(|outcome| *outcome = Err(AuditError::Fsync(error.to_string())));
        }
        outcomes
    }

    /// Writes a complete line, after a line break if the last line is incomplete.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let is_torn = self.may_be_torn && !self.ends_with_line()?;
        self.may_be_torn = true;
        match is_torn {
            true => self.file.write_all(&[b"\n", line].concat())?,
            false => self.file.write_all(line)?,
        }
        self.may_be_torn = false;
        Ok(())
    }

    /// Whether the file is empty or ends with a line break. Appending does not depend on the position.
    fn ends_with_line(&mut self) -> io::Result<bool> {
        if self.file.seek(SeekFrom::End(0))? == 0 {
            return Ok(true);
        }
        self.file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        self.file.read_exact(&mut last)?;
        Ok(last == *b"\n")
    }
}

/// Makes the entry of a file in its folder durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::LogFile;

    /// Appends two lines to a file with this content.
    #[track_caller]
    fn check(content: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, content).unwrap();
        let mut file = LogFile::open(&path).unwrap();
        file.write(b"one\n").unwrap();
        file.write(b"two\n").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), expected);
    }

    #[test]
    fn a_line_is_separate_from_an_incomplete_one() {
        check("", "one\ntwo\n");
        check("a\n", "a\none\ntwo\n");
        check("a\n{\"time\":", "a\n{\"time\":\none\ntwo\n");
    }

    #[test]
    fn lines_continue_in_a_new_file_after_the_file_was_moved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let moved = folder.path().join("audit.jsonl.1");
        let mut file = LogFile::open(&path).unwrap();
        file.write(b"one\n").unwrap();
        file.reopen_if_gone().unwrap();
        fs::rename(&path, &moved).unwrap();
        file.reopen_if_gone().unwrap();
        file.write(b"two\n").unwrap();
        assert_eq!(fs::read_to_string(&moved).unwrap(), "one\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
        fs::remove_dir_all(folder.path()).unwrap();
        file.reopen_if_gone().unwrap_err();
    }
}

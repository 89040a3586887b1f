//! The file of rejected records.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trunkline::history::private_file::{open, without_links};
use trunkline_sql::transfer::RejectedRecord;

use super::lock::lock;

/// A file with a JSON object for each rejected record: its line, the reason, and the record. It is locked, so that no other
/// import removes the records, and is removed if it has none.
pub(super) struct Rejects {
    path: PathBuf,
    options: OpenOptions,
    file: Option<File>,
    size: u64,
}

impl Rejects {
    /// A file that the user has named.
    pub(super) fn at(path: PathBuf) -> Self {
        let mut options = File::options();
        options.append(true);
        Self { path, options, file: None, size: 0 }
    }

    /// A file next to the one that is imported.
    pub(super) fn next_to_import(path: PathBuf) -> Self {
        let mut rejects = Self::at(path);
        without_links(&mut rejects.options);
        rejects
    }

    /// That of an import from stdin: the first of `stdin.rejects`, `stdin.2.rejects`, … that no other import has locked.
    pub(super) fn of_stdin() -> anyhow::Result<Self> {
        let mut number = 1;
        loop {
            let path = match number {
                1 => PathBuf::from("stdin.rejects"),
                number => PathBuf::from(format!("stdin.{number}.rejects")),
            };
            let mut rejects = Self::next_to_import(path);
            let locked = lock(rejects.options.create(true), &rejects.path);
            rejects.file = locked.with_context(|| {
                format!("cannot write {}; give --rejects another file", rejects.path.display())
            })?;
            if rejects.file.is_some() {
                return Ok(rejects);
            }
            number += 1;
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The size in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Opens the file, and keeps the first bytes of an earlier one.
    pub(super) fn begin(&mut self, size: u64) -> anyhow::Result<()> {
        let path = self.path.display().to_string();
        let context = || format!("cannot write {path}");
        let is_special = fs::metadata(&self.path).is_ok_and(|found| !found.is_file());
        let file = match self.file.take() {
            Some(file) => Some(file),
            None if is_special => Some(open(&self.options, &self.path).with_context(context)?),
            None => lock(self.options.create(size == 0), &self.path).with_context(context)?,
        };
        let Some(file) = file else {
            bail!("{path} is locked by another import; give --rejects another file");
        };
        if !is_special {
            file.set_len(size).with_context(context)?;
        }
        (self.file, self.size) = (Some(file), size);
        Ok(())
    }

    pub(super) fn append(&mut self, rejected: &[RejectedRecord]) -> anyhow::Result<()> {
        if rejected.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for record in rejected {
            serde_json::to_writer(&mut text, record)?;
            text.push(b'\n');
        }
        let context = || format!("cannot write {}", self.path.display());
        let file = self.file.as_mut().context("the file of rejected records is not open")?;
        file.write_all(&text).with_context(context)?;
        self.size += text.len() as u64;
        Ok(())
    }
}

impl Drop for Rejects {
    fn drop(&mut self) {
        let metadata = self.file.as_ref().and_then(|file| file.metadata().ok());
        if metadata.is_some_and(|file| file.is_file() && file.len() == 0) {
            drop(fs::remove_file(&self.path));
        }
    }
}

//! The file of rejected records.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trunkline_sql::transfer::RejectedRecord;

/// A file with a JSON object for each rejected record: its line, the reason, and the record. It is created with the first.
pub(super) struct Rejects {
    path: PathBuf,
    file: Option<File>,
    size: u64,
}

impl Rejects {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None, size: 0 }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The size in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Keeps the first bytes of an earlier file, or removes it.
    pub(super) fn begin(&mut self, size: u64) -> anyhow::Result<()> {
        let context = || format!("cannot write {}", self.path.display());
        if size == 0 {
            if self.path.is_file() {
                fs::remove_file(&self.path).with_context(context)?;
            }
            return Ok(());
        }
        let file = File::options().append(true).open(&self.path).with_context(context)?;
        file.set_len(size).with_context(context)?;
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
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let created = File::options().append(true).create(true).open(&self.path);
                self.file.insert(created.with_context(context)?)
            }
        };
        file.write_all(&text).with_context(context)?;
        self.size += text.len() as u64;
        Ok(())
    }
}

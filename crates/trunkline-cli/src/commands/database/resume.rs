//! The state file of an import. The position in the file is in the database, in the transactions of the records.

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use ring::digest;
use serde::{Deserialize, Serialize};
use trunkline::history::private_file::without_links;
use trunkline_sql::sqlite::draft_of;
use trunkline_sql::transfer::ExportFormat;

use super::lock::lock;
use super::progress::Progress;
use super::records::{Encoding, FileOptions, RecordReader};
use crate::config::Location;

/// The file, the table and the options of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    database: String,
    table: String,
    size: u64,
    /// The SHA-256 of the file, in hexadecimal digits.
    sha256: String,
    /// The format and its options.
    format: String,
}

/// The progress of an import, as far as the state file knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    /// The database may have no checkpoint yet.
    Starting,
    /// The database has a checkpoint, or the record of a complete import.
    #[serde(alias = "ending")]
    Running,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct State {
    id: String,
    phase: Phase,
    #[serde(flatten)]
    identity: Identity,
}

/// A state file.
pub(super) struct StateFile {
    path: PathBuf,
    /// Locked, so that no other process continues the import.
    file: File,
}

/// The state of an import, and its file.
pub(super) struct ImportState {
    file: StateFile,
    state: State,
}

impl Identity {
    /// Reads the file once.
    pub(super) fn of(
        file: &File,
        location: &Location,
        table: &str,
        progress: &Progress,
    ) -> io::Result<Self> {
        let total = file.metadata()?.len();
        let mut context = digest::Context::new(&digest::SHA256);
        let mut read = 0;
        let size = read_parts(file, |part| {
            context.update(part);
            read += part.len() as u64;
            progress.set_share(|| "reading the file".to_owned(), read, total);
        })?;
        let mut file = file;
        file.rewind()?;
        let sha256 = hexadecimal(context.finish());
        let database = match location {
            Location::File(path) => fs::canonicalize(path)?.display().to_string(),
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => {
                let variable = |name: &str| std::env::var(name).ok();
                url.completed(variable).map_err(io::Error::other)?.to_string()
            }
        };
        Ok(Self { database, table: table.to_owned(), size, sha256, format: String::new() })
    }

    pub(super) fn with_format<R: BufRead>(
        mut self,
        format: ExportFormat,
        reader: &RecordReader<R>,
    ) -> Self {
        let FileOptions { null, encoding, .. } = reader.options();
        self.format = match format {
            ExportFormat::Csv => {
                format!("csv {:?} {null:?}", char::from(reader.delimiter()))
            }
            format => format.name().to_owned(),
        };
        if *encoding != Encoding::Utf8 {
            self.format.push_str(&format!(" {encoding:?}"));
        }
        self
    }

    /// The id of the record that the import of a file is complete, in its database. It is the same for each import of
    /// the same content from the same path to the same table.
    pub(super) fn completion_id(&self, file: &Path) -> io::Result<String> {
        let path = fs::canonicalize(file)?;
        let mut context = digest::Context::new(&digest::SHA256);
        for part in [path.as_os_str().as_bytes(), self.sha256.as_bytes(), self.table.as_bytes()] {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        context.update(self.format.as_bytes());
        Ok(format!("complete-{}", hexadecimal(context.finish())))
    }
}

fn hexadecimal(digest: digest::Digest) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl StateFile {
    /// Creates an empty file, unless it exists.
    pub(super) fn lock(path: PathBuf) -> anyhow::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = lock(without_links(&mut options), &path);
        match file.with_context(|| format!("cannot write {}", path.display()))? {
            Some(file) => Ok(Self { path, file }),
            None => bail!(
                "{} is locked by another process that imports the same file; wait until it ends",
                path.display()
            ),
        }
    }

    /// The id of the import in the file, if there is a valid one.
    pub(super) fn id(&self) -> Option<String> {
        let state: State = serde_json::from_slice(&self.text().ok()?).ok()?;
        Some(state.id)
    }

    /// Begins an import, whatever the file contains.
    pub(super) fn begin(self, identity: Identity) -> anyhow::Result<ImportState> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let beginning = identity.sha256.get(..16).unwrap_or_default();
        let id = format!("{beginning}-{}-{}", now.as_nanos(), std::process::id());
        let state = State { id, phase: Phase::Starting, identity };
        ImportState { file: self, state }.write()
    }

    /// Reads the state of an interrupted import of the same file, or begins a new one.
    pub(super) fn resume(self, identity: Identity) -> anyhow::Result<ImportState> {
        let path = self.path.display();
        let text = self.text().with_context(|| format!("cannot read {path}"))?;
        if text.is_empty() {
            return self.begin(identity);
        }
        let remedy = |problem: &str| {
            format!("{path} {problem}; --restart imports the file from its beginning")
        };
        let state: State = serde_json::from_slice(&text)
            .with_context(|| remedy("is not the state of an import"))?;
        for (is_same, difference) in [
            (state.identity.sha256 == identity.sha256, "another content of the file"),
            (state.identity.database == identity.database, "another database"),
            (state.identity.table == identity.table, "another table"),
            (state.identity.format == identity.format, "another format"),
        ] {
            if !is_same {
                bail!(remedy(&format!("is the state of an interrupted import of {difference}")));
            }
        }
        Ok(ImportState { file: self, state })
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        let mut file = &self.file;
        let mut text = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut text)?;
        Ok(text)
    }

    /// Replaces the file, so that it is never incomplete. The new one is locked before other processes can open it.
    fn replace(self, text: &[u8]) -> io::Result<Self> {
        let mut draft = draft_of(&self.path)?;
        draft.as_file().lock()?;
        draft.write_all(text)?;
        draft.as_file().sync_all()?;
        let file = draft.persist(&self.path).map_err(|error| error.error)?;
        Ok(Self { file, ..self })
    }
}

impl ImportState {
    pub(super) fn id(&self) -> &str {
        &self.state.id
    }

    pub(super) fn phase(&self) -> Phase {
        self.state.phase
    }

    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    /// The size of the imported file.
    pub(super) fn size(&self) -> u64 {
        self.state.identity.size
    }

    /// Records that a phase has begun.
    pub(super) fn enter(mut self, phase: Phase) -> anyhow::Result<Self> {
        self.state.phase = phase;
        self.write()
    }

    pub(super) fn remove(self) -> anyhow::Result<()> {
        fs::remove_file(self.path())
            .with_context(|| format!("cannot remove {}", self.path().display()))
    }

    fn write(self) -> anyhow::Result<Self> {
        let text = serde_json::to_vec_pretty(&self.state)?;
        let path = self.file.path.clone();
        let file = self.file.replace(&text);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file, ..self })
    }
}

/// Reads a file to its end in parts.
fn read_parts(file: &File, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 16];
    let mut file = file;
    let mut size = 0;
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(size);
        }
        take(&buffer[..length]);
        size += length as u64;
    }
}

//! The state file of an import. The position in the file is in the database, in the transactions of the records.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use ring::digest;
use serde::{Deserialize, Serialize};
use trunkline_sql::transfer::ExportFormat;

use super::progress::Progress;
use super::records::CsvOptions;
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
    /// The database has a checkpoint until the import is complete.
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
        io::Seek::rewind(&mut file)?;
        let sha256 = context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let database = match location {
            Location::File(path) => fs::canonicalize(path)?.display().to_string(),
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => url.to_string(),
        };
        Ok(Self { database, table: table.to_owned(), size, sha256, format: String::new() })
    }

    pub(super) fn with_format(mut self, format: ExportFormat, options: &CsvOptions) -> Self {
        self.format = match format {
            ExportFormat::Csv => {
                format!("csv {:?} {:?}", char::from(options.delimiter), options.null)
            }
            format => format.name().to_owned(),
        };
        self
    }
}

impl StateFile {
    /// Reads the state of an interrupted import of the same file, or begins a new one.
    pub(super) fn open(path: PathBuf, identity: Identity) -> anyhow::Result<Self> {
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let beginning = identity.sha256.get(..16).unwrap_or_default();
                let id = format!("{beginning}-{}-{}", now.as_nanos(), std::process::id());
                let state = State { id, phase: Phase::Starting, identity };
                let file = Self { path, state };
                file.write()?;
                return Ok(file);
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let remedy = |problem: &str| {
            format!("{} {problem}; --restart imports the file from its beginning", path.display())
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
        Ok(Self { path, state })
    }

    /// The id of the import in a state file, if there is a valid one.
    pub(super) fn id_in(path: &Path) -> Option<String> {
        let state: State = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        Some(state.id)
    }

    pub(super) fn id(&self) -> &str {
        &self.state.id
    }

    pub(super) fn phase(&self) -> Phase {
        self.state.phase
    }

    /// The size of the imported file.
    pub(super) fn size(&self) -> u64 {
        self.state.identity.size
    }

    /// Records that the database has a checkpoint.
    pub(super) fn running(mut self) -> anyhow::Result<Self> {
        self.state.phase = Phase::Running;
        self.write()?;
        Ok(self)
    }

    pub(super) fn remove(self) -> anyhow::Result<()> {
        fs::remove_file(&self.path)
            .with_context(|| format!("cannot remove {}", self.path.display()))
    }

    /// Replaces the file, so that it is never incomplete.
    fn write(&self) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(&self.state)?;
        let mut name = self.path.as_os_str().to_owned();
        name.push(".new");
        let new = PathBuf::from(name);
        let write = |new: &Path| {
            let mut file = File::create(new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(new, &self.path)
        };
        write(&new).with_context(|| format!("cannot write {}", self.path.display()))
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

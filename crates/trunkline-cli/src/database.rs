//! Which database is served, and what is done for it first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
#[cfg(feature = "sample")]
use trunkline_sql::sample::{self, SampleError, Scale};
use trunkline_sql::{Database, OpenError, Settings};

use crate::arguments::Source;

/// The file that is served when none is named.
const DEFAULT: &str = "trunkline.db";

/// A database that can be served.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) database: Database,
    /// What was done for it first.
    pub(crate) done: Option<String>,
}

/// Finds or makes the database file and opens it.
pub(crate) fn open(arguments: &Source) -> anyhow::Result<Opened> {
    let named = arguments.db.as_deref();
    let path = named.unwrap_or(Path::new(DEFAULT)).to_owned();
    let may_create = named.is_none() || arguments.writable;
    let done = match fill(&path, arguments)? {
        None if may_create && !path.exists() => Some(create(&path)?),
        done => done,
    };
    let settings = Settings {
        writable: arguments.writable,
        max_rows: arguments.max_rows,
        max_affected: arguments.max_affected,
        timeout: Duration::from_millis(arguments.query_timeout_ms),
        heap_limit: arguments.heap_limit,
        ..Settings::default()
    };
    match Database::open(&path, settings) {
        Ok(database) => Ok(Opened { path, database, done }),
        Err(OpenError::Missing { path }) => bail!(
            "there is no database file {}; check the path, or give --writable to create it empty{}",
            path.display(),
            with_sample(", or --sample to create it with sample data")
        ),
        Err(error) => Err(error.into()),
    }
}

/// Writes the sample if `--sample` is set, and describes the result.
#[cfg(feature = "sample")]
fn fill(path: &Path, arguments: &Source) -> anyhow::Result<Option<String>> {
    if !arguments.sample {
        return Ok(None);
    }
    match sample::write(path, Scale::SMALL) {
        Ok(()) => Ok(Some(format!("filled {} with a TPC-H sample", path.display()))),
        Err(SampleError::NotEmpty) => {
            Ok(Some(format!("{} has content already: it is served as it is", path.display())))
        }
        Err(error) => {
            Err(error).with_context(|| format!("cannot fill {} with a sample", path.display()))
        }
    }
}

#[cfg(not(feature = "sample"))]
fn fill(_: &Path, _: &Source) -> anyhow::Result<Option<String>> {
    Ok(None)
}

/// Creates an empty database, and describes the result.
fn create(path: &Path) -> anyhow::Result<String> {
    trunkline_sql::create_empty(path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    Ok(format!(
        "created {}, which is empty{}",
        path.display(),
        with_sample("; --sample would fill it")
    ))
}

/// Part of a message that is about `--sample`; empty in a build without it.
fn with_sample(part: &str) -> &str {
    if cfg!(feature = "sample") { part } else { "" }
}

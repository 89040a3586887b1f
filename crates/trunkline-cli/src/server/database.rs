//! Which database is served, and what is done for it first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
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
    let done = if arguments.sample {
        Some(fill(&path)?)
    } else if may_create && !path.exists() {
        Some(create(&path)?)
    } else {
        None
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
            "there is no database file {}; check the path, or give --writable to create it empty, \
             or --sample to create it with sample data",
            path.display()
        ),
        Err(error) => Err(error.into()),
    }
}

/// Says what it did.
fn fill(path: &Path) -> anyhow::Result<String> {
    match sample::write(path, Scale::SMALL) {
        Ok(()) => Ok(format!("filled {} with a TPC-H sample", path.display())),
        Err(SampleError::NotEmpty) => {
            Ok(format!("{} has content already: it is served as it is", path.display()))
        }
        Err(error) => {
            Err(error).with_context(|| format!("cannot fill {} with a sample", path.display()))
        }
    }
}

/// Says what it did.
fn create(path: &Path) -> anyhow::Result<String> {
    trunkline_sql::create_empty(path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    Ok(format!("created {}, which is empty; --sample would fill it", path.display()))
}

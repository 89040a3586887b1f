//! Which database is served, and what is done for it first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use trunkline_sql::sample::{self, SampleError, Scale};
use trunkline_sql::{Database, OpenError, Settings};

use crate::arguments::Serve;
use crate::output;

/// The file that is served when none is named.
const DEFAULT: &str = "trunkline.db";

/// Finds or makes the database file and opens it.
pub(crate) fn open(arguments: &Serve) -> anyhow::Result<(PathBuf, Database)> {
    let named = arguments.db.as_deref();
    let path = named.unwrap_or(Path::new(DEFAULT)).to_owned();
    let done = if arguments.sample {
        Some(fill(&path)?)
    } else if named.is_none() && !path.exists() {
        Some(create(&path)?)
    } else {
        None
    };
    let settings = Settings {
        max_rows: arguments.max_rows,
        timeout: Duration::from_millis(arguments.query_timeout_ms),
        ..Settings::default()
    };
    match Database::open(&path, settings) {
        Ok(database) => {
            done.iter().for_each(|done| output::note(done));
            Ok((path, database))
        }
        Err(OpenError::Missing { path }) => bail!(
            "there is no database file {}; check the path, or give --sample to create it with sample data",
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

//! Which database is served, and what is done for it first.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trunkline_sql::sample::{self, SampleError, Scale};
use trunkline_sql::{Database, OpenError, Settings};

use crate::output;

/// The file that is served when none is named.
const DEFAULT: &str = "trunkline.db";

/// Finds or makes the database file and opens it.
pub(crate) fn open(named: Option<&Path>, with_sample: bool) -> anyhow::Result<(PathBuf, Database)> {
    let path = named.unwrap_or(Path::new(DEFAULT)).to_owned();
    if with_sample {
        fill(&path)?;
    } else if named.is_none() && !path.exists() {
        let created = trunkline_sql::create_empty(&path);
        created.with_context(|| format!("cannot create {}", path.display()))?;
        output::note(&format!(
            "created {}, which is empty; --sample would fill it",
            path.display()
        ));
    }
    match Database::open(&path, Settings::default()) {
        Ok(database) => Ok((path, database)),
        Err(OpenError::Missing { path }) => bail!(
            "there is no database file {}; check the path, or give --sample to create it with sample data",
            path.display()
        ),
        Err(error) => Err(error.into()),
    }
}

fn fill(path: &Path) -> anyhow::Result<()> {
    match sample::write(path, Scale::SMALL) {
        Ok(()) => output::note(&format!("filled {} with a TPC-H sample", path.display())),
        Err(SampleError::NotEmpty) => {
            output::note(&format!("{} has content already: it is served as it is", path.display()));
        }
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot fill {} with a sample", path.display()));
        }
    }
    Ok(())
}

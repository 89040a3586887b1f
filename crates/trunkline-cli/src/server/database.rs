//! Which database is served, and what is done for it first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::builder::{BoolishValueParser, RangedU64ValueParser};
use clap::{Args, value_parser};
#[cfg(feature = "sample")]
use trunkline_sql::sample::{self, SampleError, Scale};
use trunkline_sql::{Database, OpenError, SqliteConfig};

/// The database, and what callers may do with it.
#[derive(Args)]
pub(crate) struct Source {
    /// The SQLite database to serve. Without it, trunkline.db is opened, or created empty.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_DB")]
    pub(crate) db: Option<PathBuf>,
    /// Let callers change the database; a missing one is created. Otherwise they can only read.
    #[arg(long, env = "TRUNKLINE_WRITABLE", value_parser = BoolishValueParser::new())]
    pub(crate) writable: bool,
    /// Fill a missing or empty database with a small TPC-H sample.
    #[cfg(feature = "sample")]
    #[arg(long, env = "TRUNKLINE_SAMPLE", value_parser = BoolishValueParser::new())]
    pub(crate) sample: bool,
    /// The most rows that one call may read.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 1_000,
        env = "TRUNKLINE_MAX_ROWS",
        value_parser = value_parser!(u64).range(1..=10_000_000)
    )]
    pub(crate) max_rows: u64,
    /// Maximum rows that one call changes, raw SQL and cascades included, if it names no other limit.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 1_000,
        env = "TRUNKLINE_MAX_AFFECTED",
        value_parser = value_parser!(u64).range(1..=1_000_000_000_000)
    )]
    pub(crate) max_affected: u64,
    /// The longest that one query may take, in milliseconds.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 5_000,
        env = "TRUNKLINE_QUERY_TIMEOUT_MS",
        value_parser = value_parser!(u64).range(1..=86_400_000)
    )]
    pub(crate) query_timeout_ms: u64,
    /// Maximum memory of SQLite in bytes, for all queries together.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 256 << 20,
        env = "TRUNKLINE_HEAP_LIMIT",
        value_parser = RangedU64ValueParser::<usize>::new().range(32 << 20..=1 << 40)
    )]
    pub(crate) heap_limit: usize,
}

/// The file that is served when none is named.
const DEFAULT: &str = "trunkline.db";

/// A database that can be served.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) database: Database,
    /// The preparation of the file, if any.
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
    let settings = SqliteConfig {
        writable: arguments.writable,
        max_rows: arguments.max_rows,
        max_affected: arguments.max_affected,
        timeout: Duration::from_millis(arguments.query_timeout_ms),
        heap_limit: arguments.heap_limit,
        ..SqliteConfig::default()
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
            Ok(Some(format!("{} already has content and is served unchanged", path.display())))
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

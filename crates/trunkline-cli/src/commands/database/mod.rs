//! `trunkline export`, `import` and `backup`: commands on a database, without a server.

mod backup;
mod create;
mod export;
mod file_format;
mod import;
mod lock;
mod progress;
mod records;
mod rejects;
mod resume;

use std::time::Duration;

#[cfg(feature = "postgres")]
use anyhow::Context;
use anyhow::ensure;
use clap::Args;
#[cfg(feature = "postgres")]
use trunkline_sql::postgres::{Postgres, PostgresConfig};
use trunkline_sql::sqlite::{Sqlite, SqliteConfig};
use trunkline_sql::{Database, QueryLimits};

use crate::config::{DATABASE, DatabaseArg, Location};

pub(crate) use backup::{Arguments as BackupArguments, run as backup};
pub(crate) use export::{Arguments as ExportArguments, run as export};
pub(crate) use import::{Arguments as ImportArguments, run as import};

/// The database of a command.
#[derive(Args)]
struct Source {
    /// Database: a SQLite file, or a URL
    #[arg(long, value_name = "DB", env = "TRUNKLINE_DB", hide_env_values = true, value_parser = DATABASE)]
    db: DatabaseArg,
}

/// The changes that a command makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Source {
    /// Opens the database. The operator's own commands have no limits of time and rows.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "SQLite is opened at once")
    )]
    async fn open(&self, access: Access) -> anyhow::Result<Database> {
        /// Longer than any command runs.
        const UNLIMITED: Duration = Duration::from_secs(365 * 86_400);
        let limits = QueryLimits {
            export_timeout: UNLIMITED,
            max_export_rows: u64::MAX,
            exports: 1,
            timeout: Duration::from_secs(120),
            ..QueryLimits::default()
        };
        let writable = access == Access::Write;
        ensure!(
            !(writable && self.db.place.is_read_only),
            "the URL of the database has `mode=ro`; remove it to write"
        );
        match self.location() {
            Location::File(path) => {
                let config = SqliteConfig {
                    limits,
                    writable,
                    readers: 1,
                    lock_wait: Duration::from_secs(30),
                    ..SqliteConfig::default()
                };
                Ok(Sqlite::open(path, config)?.into())
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => {
                let config = PostgresConfig {
                    limits,
                    writable,
                    connections: 1,
                    lock_wait: Duration::from_secs(30),
                    // The operator's own role and command.
                    allow_privileged_role: true,
                    ..PostgresConfig::default()
                };
                let database = Postgres::connect(url, config).await;
                Ok(database.with_context(|| format!("cannot connect to {url}"))?.into())
            }
        }
    }

    fn location(&self) -> &Location {
        &self.db.place.location
    }
}

/// A runtime for one command.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

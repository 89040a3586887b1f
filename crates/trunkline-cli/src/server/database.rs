//! The databases that are served, and their flags.

use std::path::Path;
use std::time::Duration;

#[cfg(feature = "sample")]
use anyhow::Context;
use anyhow::anyhow;
#[cfg(feature = "postgres")]
use anyhow::ensure;
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum, value_parser};
#[cfg(feature = "sample")]
use trunkline_sql::sample::{self, SampleError, Scale};
use trunkline_sql::{Database, DatabaseName, Databases, DatabasesError, Toolset};

use super::default_place::default_place;
use super::open_database::{Requested, create};
use super::rules::RuleArgs;
use crate::config::{
    Config, DATABASE, DatabaseArg, DatabaseConfig, Location, Place, bytes, milliseconds,
};

/// The flags of databases.
#[derive(Args)]
#[command(next_help_heading = "Database")]
pub(crate) struct DatabaseArgs {
    /// Database to serve; same as --db
    #[arg(value_name = "FILE", value_parser = DATABASE, help_heading = None::<&'static str>)]
    file: Option<DatabaseArg>,
    /// Database to serve [default: trunkline.db, created if missing]
    ///
    /// The flag is repeatable. A path of a SQLite file, or a URL: sqlite:PATH or postgres://USER@HOST/DATABASE. Other
    /// users of this machine can read passwords on command lines: use the variable or ~/.pgpass. With a name
    /// (NAME=URL), the name is part of the URIs of resources. With several databases, tools have the argument
    /// `database`; the default is the first. The name of a database without one is then the stem of the file or the
    /// name of the database. Databases of the configuration file are not served.
    ///
    /// With upstreams, no database is served by default, unless --writable or --sample is given.
    #[arg(
        long,
        value_name = "[NAME=]FILE",
        env = "TRUNKLINE_DB",
        hide_env_values = true,
        value_parser = DATABASE
    )]
    db: Vec<DatabaseArg>,
    /// Tools of databases: shared or separate
    ///
    /// Shared tools have the argument `database`. Separate ones have the name of their database as prefix.
    #[arg(
        long,
        value_name = "FORM",
        value_enum,
        hide_possible_values = true,
        default_value_t = DatabaseTools::Shared,
        env = "TRUNKLINE_DB_TOOLS"
    )]
    db_tools: DatabaseTools,
    /// Tools to list: core or full
    ///
    /// The core tools list, describe, read and change tables, and run SQL. The full toolset also has search_schema,
    /// explain_query, profile_table and database_health. All of them can be called with both.
    #[arg(
        long,
        value_name = "SET",
        value_enum,
        hide_possible_values = true,
        default_value_t = ToolsetArg::Core,
        env = "TRUNKLINE_TOOLSET"
    )]
    toolset: ToolsetArg,
    /// Let clients change the database
    ///
    /// Without this flag, clients can only read. A missing file is created.
    #[arg(long, env = "TRUNKLINE_WRITABLE", value_parser = BoolishValueParser::new())]
    pub(crate) writable: bool,
    #[command(flatten)]
    rules: RuleArgs,
    /// Fill a missing or empty database with sample data
    ///
    /// The data is a small TPC-H database of 8 tables, in the first database. One that has content is not changed. Also
    /// turns records on.
    #[cfg(feature = "sample")]
    #[arg(long, env = "TRUNKLINE_SAMPLE", value_parser = BoolishValueParser::new())]
    sample: bool,
}

/// The tools of several databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DatabaseTools {
    /// One set of tools with the argument `database`.
    Shared,
    /// A set for each database, with its name as prefix.
    Separate,
}

/// The operations that lists of tools contain.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ToolsetArg {
    Core,
    Full,
}

impl From<ToolsetArg> for Toolset {
    fn from(arg: ToolsetArg) -> Self {
        match arg {
            ToolsetArg::Core => Self::Core,
            ToolsetArg::Full => Self::Full,
        }
    }
}

/// The flags of limits of queries.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct QueryLimits {
    /// Maximum rows that one call returns
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 1_000,
        env = "TRUNKLINE_MAX_ROWS",
        value_parser = value_parser!(u64).range(1..=10_000_000)
    )]
    max_rows: u64,
    /// Maximum rows that one call changes
    ///
    /// Includes the changes of raw SQL, foreign keys and triggers. A call can set another limit.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 1_000,
        env = "TRUNKLINE_MAX_AFFECTED",
        value_parser = value_parser!(u64).range(1..=1_000_000_000_000)
    )]
    max_affected: u64,
    /// Maximum time of one query, in milliseconds
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 5_000,
        env = "TRUNKLINE_QUERY_TIMEOUT_MS",
        value_parser = milliseconds(1..=86_400_000)
    )]
    query_timeout_ms: u64,
    /// Maximum time of one export, in milliseconds
    ///
    /// For GET /db/NAME/query. An export also waits for its client. At most two run at the same time for each database.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 600_000,
        env = "TRUNKLINE_EXPORT_TIMEOUT_MS",
        value_parser = milliseconds(1..=86_400_000)
    )]
    export_timeout_ms: u64,
    /// Maximum rows of one export
    ///
    /// An export with more rows is aborted.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 100_000_000,
        env = "TRUNKLINE_MAX_EXPORT_ROWS",
        value_parser = value_parser!(u64).range(1..)
    )]
    max_export_rows: u64,
    /// Maximum memory of SQLite in bytes
    ///
    /// For all queries, records and conversations together.
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 256 << 20,
        env = "TRUNKLINE_HEAP_LIMIT",
        value_parser = bytes::<usize>(32 << 20..=1 << 40)
    )]
    heap_limit: usize,
}

/// The file that is served by default.
const DEFAULT: &str = "trunkline.db";

/// Open databases.
pub(crate) struct Opened {
    pub(crate) databases: Databases,
    /// Whether each database has its own tools.
    pub(crate) are_separate: bool,
    /// The places of the databases, in their order.
    pub(crate) served: Vec<Served>,
}

/// An open database, for the operator.
pub(crate) struct Served {
    /// None for a single database.
    pub(crate) name: Option<DatabaseName>,
    pub(crate) location: Location,
    pub(crate) is_writable: bool,
    /// The preparation of the file, if any.
    pub(crate) preparation: Option<String>,
}

impl DatabaseArgs {
    /// The positional argument.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.file {
            Some(DatabaseArg {
                name: None,
                place: Place { location: Location::File(path), .. },
            }) => Some(path),
            _ => None,
        }
    }

    /// Whether sample data is requested.
    pub(crate) fn is_sample(&self) -> bool {
        #[cfg(feature = "sample")]
        return self.sample;
        #[cfg(not(feature = "sample"))]
        false
    }

    /// Opens databases, which are created first if the flags request it. None without databases.
    pub(super) async fn open(
        &self,
        limits: &QueryLimits,
        requested: Vec<Requested>,
    ) -> anyhow::Result<Option<Opened>> {
        let are_several = requested.len() > 1;
        let mut entries = Vec::with_capacity(requested.len());
        let mut served = Vec::with_capacity(requested.len());
        for requested in requested {
            let preparation = self.prepare(&requested, entries.is_empty())?;
            let database = limits.open(&requested).await?;
            let Requested { name, location, is_writable, .. } = requested;
            entries.push((name.clone(), database));
            let name = are_several.then_some(name);
            served.push(Served { name, location, is_writable, preparation });
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let databases = self.together(entries)?;
        let are_separate = are_several && self.db_tools == DatabaseTools::Separate;
        Ok(Some(Opened { databases, are_separate, served }))
    }

    /// Databases that are served together, with the toolset of the flags.
    pub(super) fn together(
        &self,
        entries: Vec<(DatabaseName, Database)>,
    ) -> anyhow::Result<Databases> {
        let databases = Databases::new(entries).map_err(|error| match error {
            DatabasesError::Duplicate(name) => {
                anyhow!("duplicate database name `{name}`; name the databases: --db NAME=PATH")
            }
            error => error.into(),
        })?;
        self.rules.check(&databases)?;
        Ok(databases.with_toolset(self.toolset.into()))
    }

    /// The databases of the flags, or those of the configuration file, or the default one. None if neither a flag nor
    /// the file mentions a database, and upstreams are served.
    pub(super) fn requested(
        &self,
        config: &Config,
        has_upstreams: bool,
    ) -> anyhow::Result<Vec<Requested>> {
        let named = |arg: &DatabaseArg| (arg.name.clone(), DatabaseConfig::of(arg.place.clone()));
        let mut requested: Vec<_> = match (&self.file, self.db.as_slice()) {
            (Some(arg), _) => vec![named(arg)],
            (None, []) => {
                let named = |(name, config): (&DatabaseName, &DatabaseConfig)| {
                    (Some(name.clone()), config.clone())
                };
                config.databases().iter().map(named).collect()
            }
            (None, given) => given.iter().map(named).collect(),
        };
        let is_default = requested.is_empty();
        if is_default && (!has_upstreams || self.writable || self.is_sample()) {
            requested
                .push((None, DatabaseConfig::of(Location::File(default_place(DEFAULT)).into())));
        }
        let are_several = requested.len() > 1;
        let complete = |(name, config): (Option<DatabaseName>, DatabaseConfig)| {
            let DatabaseConfig { location, writable, rules, postgres } = config;
            let name = name.or_else(|| match are_several {
                true => location.default_name(),
                false => "main".parse().ok(),
            });
            let name = name
                .ok_or_else(|| anyhow!("database {location} needs a name: --db NAME={location}"))?;
            let is_writable = writable.unwrap_or(self.writable);
            let rules = self.rules.of(&name, rules);
            let may_create = is_default || is_writable;
            let issuer = None;
            Ok(Requested { name, location, is_writable, may_create, rules, postgres, issuer })
        };
        requested.into_iter().map(complete).collect()
    }

    /// Fills the first database, or creates a file, if the flags request it, and describes the result.
    fn prepare(&self, requested: &Requested, is_first: bool) -> anyhow::Result<Option<String>> {
        match &requested.location {
            Location::File(path) => {
                let filled = if is_first { self.fill(path)? } else { None };
                match filled {
                    None if requested.may_create && !path.exists() => create(path).map(Some),
                    preparation => Ok(preparation),
                }
            }
            #[cfg(feature = "postgres")]
            location @ Location::Postgres(_) => {
                ensure!(
                    !is_first || !self.is_sample(),
                    "--sample requires a SQLite database, but the first database is {location}"
                );
                Ok(None)
            }
        }
    }

    /// Writes the sample data if it is requested, and describes the result.
    #[cfg(feature = "sample")]
    fn fill(&self, path: &Path) -> anyhow::Result<Option<String>> {
        if !self.sample {
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
    fn fill(&self, _: &Path) -> anyhow::Result<Option<String>> {
        Ok(None)
    }
}

impl QueryLimits {
    /// The limits, for the console.
    pub(crate) fn described(&self) -> Vec<(String, String)> {
        [
            ("Rows per call", self.max_rows.to_string()),
            ("Changed rows per call", self.max_affected.to_string()),
            ("Time of a query", format!("{} ms", self.query_timeout_ms)),
            ("Time of an export", format!("{} ms", self.export_timeout_ms)),
            ("Memory of SQLite", format!("{} MiB", self.heap_limit >> 20)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Opens an existing database with these limits.
    pub(super) async fn open(&self, requested: &Requested) -> anyhow::Result<Database> {
        requested.open(self.of_calls(), self.heap_limit).await
    }

    fn of_calls(&self) -> trunkline_sql::QueryLimits {
        trunkline_sql::QueryLimits {
            max_rows: self.max_rows,
            max_affected: self.max_affected,
            timeout: Duration::from_millis(self.query_timeout_ms),
            export_timeout: Duration::from_millis(self.export_timeout_ms),
            max_export_rows: self.max_export_rows,
            ..trunkline_sql::QueryLimits::default()
        }
    }
}

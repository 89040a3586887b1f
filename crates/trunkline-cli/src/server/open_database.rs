//! A database of a server: how it is created and opened.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
#[cfg(feature = "postgres")]
use trunkline_sql::postgres::{Pooling, Postgres, PostgresConfig, PostgresUrl, RoleRule};
use trunkline_sql::sqlite::{OpenError, Sqlite, SqliteConfig, create_empty};
use trunkline_sql::{Database, DatabaseName, QueryLimits, VisibilityRules};

use super::default_place::{self, create_parent};
use super::rules::check_match;
#[cfg(feature = "postgres")]
use crate::config::RoleClaim;
use crate::config::{Location, Position, PostgresSettings, RoleConfig};

/// The claim that identifies a caller among the tokens of one issuer.
const SUBJECT: &str = "sub";

/// A database to serve.
pub(super) struct Requested {
    pub(super) name: DatabaseName,
    pub(super) location: Location,
    pub(super) is_writable: bool,
    /// Whether a missing file is created.
    pub(super) may_create: bool,
    pub(super) rules: VisibilityRules,
    pub(super) postgres: PostgresSettings,
    /// The issuer of the subjects of callers. `None` if it is unknown.
    pub(super) issuer: Option<String>,
}

impl Requested {
    /// The place of a role that the subject of a caller decides.
    pub(super) fn subject_rule(&self) -> Option<Position> {
        match &self.postgres.role {
            Some((RoleConfig::Claim(rule), position)) if rule.claim == SUBJECT => Some(*position),
            _ => None,
        }
    }

    /// Opens an existing database. `heap_limit` is the maximum memory of SQLite in bytes.
    pub(super) async fn open(
        &self,
        limits: QueryLimits,
        heap_limit: usize,
    ) -> anyhow::Result<Database> {
        let Self { name, location, is_writable: writable, rules, .. } = self;
        let database = match location {
            Location::File(path) => {
                let (writable, rules) = (*writable, rules.clone());
                let defaults = SqliteConfig::default();
                open_file(path, SqliteConfig { writable, rules, limits, heap_limit, ..defaults })?
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => {
                let config = PostgresConfig {
                    writable: *writable,
                    rules: rules.clone(),
                    limits,
                    ..self.postgres_config()
                };
                open_postgres(url, config).await?
            }
        };
        if !rules.is_empty() {
            check_match(name, &database).await?;
        }
        Ok(database)
    }

    /// The settings of the configuration file.
    #[cfg(feature = "postgres")]
    fn postgres_config(&self) -> PostgresConfig {
        let PostgresSettings {
            ca_file,
            connections,
            allow_privileged_role,
            transaction_pooling,
            role,
        } = self.postgres.clone();
        let defaults = PostgresConfig::default();
        let config = PostgresConfig {
            ca_file,
            connections: connections.unwrap_or(defaults.connections),
            allow_privileged_role,
            pooling: transaction_pooling.map_or(Pooling::Detect, Pooling::from),
            ..defaults
        };
        match role {
            None => config,
            Some((RoleConfig::Fixed(role), _)) => PostgresConfig { role: Some(role), ..config },
            Some((RoleConfig::Claim(RoleClaim { claim, allow, map, default }), _)) => {
                let issuer = self.issuer.clone().filter(|_| claim == SUBJECT);
                let mut rule = RoleRule { issuer, default, ..RoleRule::new(claim, allow) };
                rule.roles.extend(map);
                PostgresConfig { role_rule: Some(rule), ..config }
            }
        }
    }
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &PostgresUrl, config: PostgresConfig) -> anyhow::Result<Database> {
    let database = Postgres::connect(url, config).await;
    let database = database.with_context(|| format!("cannot serve {url}"))?;
    for warning in database.warnings() {
        tracing::warn!(database = %url, "{warning}");
    }
    Ok(database.into())
}

fn open_file(path: &Path, config: SqliteConfig) -> anyhow::Result<Database> {
    match Sqlite::open(path, config) {
        Ok(database) => Ok(database.into()),
        Err(OpenError::Missing { path }) => Err(missing(&path)),
        Err(error) if error.is_locked() => bail!(
            "{} is locked by another process; end its transaction, and try again",
            path.display()
        ),
        Err(error) => Err(error.into()),
    }
}

/// Creates an empty database, and describes the result.
pub(super) fn create(path: &Path) -> anyhow::Result<String> {
    create_parent(path);
    create_empty(path).with_context(|| {
        let remedy = default_place::remedy();
        format!("cannot create {}; give another file with --db{remedy}", path.display())
    })?;
    let remedy = with_sample("; --sample fills it with sample data");
    Ok(format!("created {}, which is empty{remedy}", path.display()))
}

/// The error for a missing file, with a file of a similar name if there is one.
fn missing(path: &Path) -> anyhow::Error {
    let remedy = with_sample(", or --sample to create it with sample data");
    let file = path.display();
    // SQLAlchemy counts the slashes of `sqlite:///FILE` in another way.
    if let Ok(relative) = path.strip_prefix("/")
        && relative.is_file()
    {
        let relative = relative.display();
        return anyhow!(
            "database file {file} does not exist; did you mean the relative path {relative}?"
        );
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.exists()) {
        return anyhow!(
            "database file {file} does not exist, nor does its directory {}; check the path",
            directory.display()
        );
    }
    match similar_file(path) {
        Some(similar) => anyhow!(
            "database file {file} does not exist; did you mean {}?",
            path.with_file_name(similar).display()
        ),
        None => anyhow!(
            "database file {file} does not exist; check the path, or give --writable to create it empty{remedy}"
        ),
    }
}

/// The file in the same directory with the most similar name.
fn similar_file(path: &Path) -> Option<String> {
    const SIMILAR: f64 = 0.85;
    let name = path.file_name().and_then(OsStr::to_str)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = directory.unwrap_or(Path::new(".")).read_dir().ok()?;
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    // SQLite writes these next to a database.
    let is_database =
        |name: &String| !["-wal", "-shm", "-journal"].iter().any(|suffix| name.ends_with(suffix));
    let names = names.filter(is_database);
    let similar = names.map(|other| (strsim::jaro_winkler(name, &other), other));
    let (similarity, similar) = similar.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (similarity >= SIMILAR).then_some(similar)
}

/// Part of a message that is about `--sample`; empty in a build without it.
fn with_sample(part: &str) -> &str {
    if cfg!(feature = "sample") { part } else { "" }
}

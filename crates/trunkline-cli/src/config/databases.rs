//! `[databases.NAME]`, and `--db`.

use std::fmt;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
#[cfg(feature = "postgres")]
use trunkline_sql::postgres::PostgresUrl;
use trunkline_sql::{DatabaseName, VisibilityRules};

use super::folder::Folder;
use super::problem::{Position, Problems};
use super::roles::RoleConfig;
use super::rules::{MaskEntry, RuleKeys};
use super::secret::Secret;
use super::value::Value;
use crate::terminal::Sensitive;

/// The databases of the file, in the order of their names.
pub(crate) type DatabaseConfigs = IndexMap<DatabaseName, DatabaseConfig>;

/// A database that is served.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseConfig {
    pub(crate) location: Location,
    /// Whether clients may change it. `None` if `--writable` decides.
    pub(crate) writable: Option<bool>,
    /// The tables that clients see, and the columns that are masked.
    pub(crate) rules: VisibilityRules,
    pub(crate) postgres: PostgresSettings,
}

/// The settings of a database that only PostgreSQL has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PostgresSettings {
    /// File of root certificates.
    pub(crate) ca_file: Option<PathBuf>,
    /// Maximum number of connections.
    pub(crate) connections: Option<usize>,
    pub(crate) allow_privileged_role: bool,
    /// Whether the sessions of the server are shared by a pooler. `None` if it is detected.
    pub(crate) transaction_pooling: Option<bool>,
    /// The roles of callers, and their place in the file.
    pub(crate) role: Option<(RoleConfig, Position)>,
}

/// The place of a database. `Display` is for the operator, without passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A file of SQLite.
    File(PathBuf),
    /// A database of PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresUrl>),
}

/// A database of the command line: `PATH`, `URL`, `NAME=PATH` or `NAME=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseArg {
    pub(crate) name: Option<DatabaseName>,
    pub(crate) location: Location,
}

/// A database.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DatabaseSection {
    #[schemars(with = "Option<Value>")]
    url: Option<Spanned<Value>>,
    writable: Option<bool>,
    #[schemars(with = "Option<PathBuf>")]
    ca_file: Option<Spanned<PathBuf>>,
    #[schemars(with = "Option<usize>")]
    connections: Option<Spanned<usize>>,
    #[schemars(with = "Option<bool>")]
    allow_privileged_role: Option<Spanned<bool>>,
    #[schemars(with = "Option<bool>")]
    transaction_pooling: Option<Spanned<bool>>,
    #[schemars(with = "Option<RoleConfig>")]
    role: Option<Spanned<RoleConfig>>,
    #[schemars(with = "Vec<String>")]
    allow_tables: Vec<Spanned<String>>,
    #[schemars(with = "Vec<String>")]
    deny_tables: Vec<Spanned<String>>,
    #[schemars(with = "Vec<MaskEntry>")]
    mask: Vec<Spanned<MaskEntry>>,
    #[schemars(with = "Option<Secret>")]
    mask_key: Option<Spanned<Secret>>,
    allow_unmatched_rules: bool,
}

/// The forms of databases in error messages.
const SCHEMES: &str = match cfg!(feature = "postgres") {
    true => "a path, sqlite:PATH or postgres://USER@HOST/DATABASE",
    false => "a path or sqlite:PATH (this build has no support for other databases)",
};

/// Maximum of `connections`.
const MAX_CONNECTIONS: usize = 1_000;

/// The valid databases of the file. The others are among the problems.
pub(super) fn read(
    sections: IndexMap<Spanned<String>, DatabaseSection>,
    folder: &Folder,
    problems: &mut Problems<'_>,
) -> DatabaseConfigs {
    let mut databases = DatabaseConfigs::new();
    for (key, mut section) in sections {
        let (span, name) = (key.span(), key.into_inner());
        let parsed = name.parse::<DatabaseName>();
        if let Err(error) = &parsed {
            problems.add(&span, format!("invalid name `{name}` in `databases`: {error}"));
        }
        let is_same = |other: &&DatabaseName| other.as_str().eq_ignore_ascii_case(&name);
        if let Some(other) = databases.keys().find(is_same) {
            let message = format!("duplicate database `{name}`: case is ignored in `{other}`");
            problems.add(&span, message);
        }
        let rules = section.take_rules().read(&name, folder, problems);
        let location = match &section.url {
            None => {
                if !problems.concern(&format!("databases.{name}.url")) {
                    problems.add(&span, format!("`databases.{name}` requires `url`"));
                }
                None
            }
            Some(url) => {
                let location = url.get_ref().read(folder).and_then(|text| Location::parse(&text));
                let report = |error| {
                    problems.add(&url.span(), format!("`databases.{name}.url`: {error}"));
                };
                location.map_err(report).ok()
            }
        };
        section.check_engine(&name, location.as_ref(), problems);
        if let (Ok(parsed), Some(location)) = (parsed, location) {
            let config = DatabaseConfig {
                location: location.relative_to(folder),
                writable: section.writable,
                rules,
                postgres: section.postgres(folder, problems),
            };
            databases.insert(parsed, config);
        }
    }
    databases
}

impl DatabaseSection {
    /// Checks that the settings are those of the engine, if it is known, and valid.
    fn check_engine(&self, name: &str, location: Option<&Location>, problems: &mut Problems<'_>) {
        let Self { ca_file, connections, allow_privileged_role, transaction_pooling, role, .. } =
            self;
        let given = [
            ("ca_file", ca_file.as_ref().map(Spanned::span)),
            ("connections", connections.as_ref().map(Spanned::span)),
            ("allow_privileged_role", allow_privileged_role.as_ref().map(Spanned::span)),
            ("transaction_pooling", transaction_pooling.as_ref().map(Spanned::span)),
            ("role", role.as_ref().map(Spanned::span)),
        ];
        if matches!(location, Some(Location::File(_))) {
            for (key, span) in given {
                if let Some(span) = span {
                    let message =
                        format!("`databases.{name}.{key}` requires a PostgreSQL database");
                    problems.add(&span, message);
                }
            }
        }
        if let Some(role) = role
            && let Some(problem) = role.get_ref().problem()
        {
            problems.add(&role.span(), format!("`databases.{name}.role`: {problem}"));
        }
        if let Some(connections) = connections
            && !(1..=MAX_CONNECTIONS).contains(connections.get_ref())
        {
            let message =
                format!("`databases.{name}.connections`: expected 1 to {MAX_CONNECTIONS}");
            problems.add(&connections.span(), message);
        }
    }

    fn take_rules(&mut self) -> RuleKeys {
        RuleKeys {
            allow_tables: std::mem::take(&mut self.allow_tables),
            deny_tables: std::mem::take(&mut self.deny_tables),
            mask: std::mem::take(&mut self.mask),
            mask_key: self.mask_key.take(),
            allow_unmatched: self.allow_unmatched_rules,
        }
    }

    fn postgres(self, folder: &Folder, problems: &Problems<'_>) -> PostgresSettings {
        let role = self.role.map(|role| {
            let position = problems.position(role.span().start);
            (role.into_inner(), position)
        });
        PostgresSettings {
            ca_file: self.ca_file.map(|path| folder.path(path.get_ref())),
            connections: self.connections.map(Spanned::into_inner),
            allow_privileged_role: self.allow_privileged_role.is_some_and(Spanned::into_inner),
            transaction_pooling: self.transaction_pooling.map(Spanned::into_inner),
            role,
        }
    }
}

/// Reads `--db`, which may be a URL with a password.
pub(crate) const DATABASE: Sensitive<DatabaseArg> = Sensitive(|value| match value.to_str() {
    Some(text) => parse(text),
    None => Ok(DatabaseArg { name: None, location: Location::File(value.into()) }),
});

/// Reads a value of `--db`.
fn parse(text: &str) -> Result<DatabaseArg, String> {
    if let Some((name, location)) = text.split_once('=')
        && let Ok(name) = name.parse()
        && !Path::new(text).exists()
    {
        return Ok(DatabaseArg { name: Some(name), location: Location::parse(location)? });
    }
    Ok(DatabaseArg { name: None, location: Location::parse(text)? })
}

impl DatabaseConfig {
    /// A database whose access `--writable` decides.
    pub(crate) fn of(location: Location) -> Self {
        let rules = VisibilityRules::default();
        Self { location, writable: None, rules, postgres: PostgresSettings::default() }
    }
}

impl Location {
    /// Reads a path, or a URL: `sqlite:PATH` or `postgres://…`.
    fn parse(text: &str) -> Result<Self, String> {
        #[cfg(feature = "postgres")]
        if PostgresUrl::has_scheme(text) {
            let url = text.parse::<PostgresUrl>().map_err(|error| error.to_string())?;
            return Ok(Self::Postgres(Box::new(url)));
        }
        let path = match text.split_once(':') {
            Some(("sqlite", path)) => path.strip_prefix("//").unwrap_or(path),
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(format!("unknown scheme `{}`; use {SCHEMES}", scheme.escape_debug()));
            }
            _ => text,
        };
        if path.is_empty() {
            return Err("the path is empty".to_owned());
        }
        Ok(Self::File(path.into()))
    }

    fn relative_to(self, folder: &Folder) -> Self {
        match self {
            Self::File(path) => Self::File(folder.path(&path)),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => self,
        }
    }

    /// A name for a database without one: that of the file or the database.
    pub(crate) fn default_name(&self) -> Option<DatabaseName> {
        match self {
            Self::File(path) => path.file_stem()?.to_str()?.parse().ok(),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => url.database()?.parse().ok(),
        }
    }

    /// The name for clients, without directories and addresses.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::File(path) => path.file_name().unwrap_or_default().display().to_string(),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => url.database().unwrap_or("PostgreSQL").to_owned(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => write!(f, "{url}"),
        }
    }
}

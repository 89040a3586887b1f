//! `[databases.NAME]`, and `--db`.

use std::fmt;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Deserialize;
use toml::Spanned;
use trunkline_sql::DatabaseName;

use super::folder::Folder;
use super::problem::Problems;
use super::value::Value;

/// The databases of the file, in the order of their names.
pub(crate) type DatabaseConfigs = IndexMap<DatabaseName, DatabaseConfig>;

/// A database that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseConfig {
    pub(crate) location: Location,
    /// Whether clients may change it. `None` if `--writable` decides.
    pub(crate) writable: Option<bool>,
}

/// The place of a database. `Display` is for the operator, without passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A file of SQLite.
    File(PathBuf),
}

/// A database of the command line: `PATH`, `URL`, `NAME=PATH` or `NAME=URL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseArg {
    pub(crate) name: Option<DatabaseName>,
    pub(crate) location: Location,
}

/// A database.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DatabaseSection {
    url: Option<Spanned<Value>>,
    writable: Option<bool>,
}

/// The valid databases of the file. The others are among the problems.
pub(super) fn read(
    sections: IndexMap<Spanned<String>, DatabaseSection>,
    folder: &Folder,
    problems: &mut Problems<'_>,
) -> DatabaseConfigs {
    let mut databases = DatabaseConfigs::new();
    for (key, section) in sections {
        let (span, name) = (key.span(), key.into_inner());
        let parsed = match name.parse::<DatabaseName>() {
            Ok(parsed) => parsed,
            Err(error) => {
                problems.add(&span, format!("invalid name `{name}` in `databases`: {error}"));
                continue;
            }
        };
        let Some(url) = section.url else {
            problems.add(&span, format!("`databases.{name}` requires `url`"));
            continue;
        };
        let span = url.span();
        let location = url.into_inner().read(folder).and_then(|text| Location::parse(&text));
        match location {
            Ok(location) => {
                let location = location.relative_to(folder);
                databases.insert(parsed, DatabaseConfig { location, writable: section.writable });
            }
            Err(error) => problems.add(&span, format!("`databases.{name}.url`: {error}")),
        }
    }
    databases
}

/// Reads a value of `--db`.
pub(crate) fn parse(text: &str) -> Result<DatabaseArg, String> {
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
        Self { location, writable: None }
    }
}

impl Location {
    /// Reads a path, or a URL: `sqlite:PATH`.
    fn parse(text: &str) -> Result<Self, String> {
        let path = match text.split_once(':') {
            Some(("sqlite", path)) => path.strip_prefix("//").unwrap_or(path),
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(format!(
                    "unknown scheme `{}`; use a path or sqlite:PATH",
                    scheme.escape_debug()
                ));
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
        }
    }

    /// A name for a database without one: that of the file.
    pub(crate) fn default_name(&self) -> Option<DatabaseName> {
        match self {
            Self::File(path) => path.file_stem()?.to_str()?.parse().ok(),
        }
    }

    /// The name for clients, without directories.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::File(path) => path.file_name().unwrap_or_default().display().to_string(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

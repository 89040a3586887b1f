//! `[databases.NAME]`.

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use trunkline_sql::{DatabaseName, VisibilityRules};

use super::folder::Folder;
use super::location::{Location, Place};
use super::problem::{Position, Problems};
use super::roles::RoleConfig;
use super::rules::{MaskEntry, RuleKeys};
use super::secret::Secret;
use super::value::Value;

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
        let place = match &section.url {
            None => {
                if !problems.concern(&format!("databases.{name}.url")) {
                    problems.add(&span, format!("`databases.{name}` requires `url`"));
                }
                None
            }
            Some(url) => {
                let place = url.get_ref().read(folder).and_then(|text| Place::parse(&text));
                let place = place.map(|place| match url.get_ref().file(folder) {
                    Some(file) => place.read_from(file),
                    None => place,
                });
                let place = place.and_then(|place| match section.writable {
                    Some(true) if place.is_read_only => {
                        Err("`mode=ro` contradicts `writable = true`".to_owned())
                    }
                    _ => Ok(place),
                });
                let report = |error| {
                    problems.add(&url.span(), format!("`databases.{name}.url`: {error}"));
                };
                place.map_err(report).ok()
            }
        };
        section.check_engine(&name, place.as_ref().map(|place| &place.location), problems);
        if let (Ok(parsed), Some(place)) = (parsed, place) {
            let config = DatabaseConfig::of(place.relative_to(folder));
            let config = DatabaseConfig {
                writable: section.writable.or(config.writable),
                rules,
                postgres: section.postgres(folder, problems),
                ..config
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

impl DatabaseConfig {
    /// A database whose access `--writable` decides, unless its URL does.
    pub(crate) fn of(place: Place) -> Self {
        let Place { location, is_read_only } = place;
        let (writable, rules) = (is_read_only.then_some(false), VisibilityRules::default());
        Self { location, writable, rules, postgres: PostgresSettings::default() }
    }
}

//! `trunkline.toml`: sections, their values, and the mistakes in them.
//!
//! `settings.rs` lists the keys that have a flag. Their values become defaults of the flags (`flags.rs`), so a flag on
//! the command line and an environment variable take precedence over the file. The sections of databases, queries and
//! upstreams, which have names, are structs.

mod caller_roles;
mod changes;
mod clients;
mod command;
mod databases;
mod document;
mod flags;
mod folder;
mod location;
mod problem;
mod quantity;
mod queries;
mod roles;
mod rules;
mod schema;
mod secret;
mod settings;
mod show;
#[cfg(feature = "postgres")]
mod store;
mod template;
mod token_file;
mod upstreams;
mod value;
mod variables;
mod watched;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command};
use indexmap::IndexMap;
use serde::Deserialize;
use toml::Spanned;
use trunkline_mcp::tools::ClientResults;
use trunkline_sql::saved_query::SavedQuery;

pub(crate) use caller_roles::{CallerRole, Placed, claim_of, unknown};
pub(crate) use changes::{Changes, Snapshot};
pub(crate) use databases::{DatabaseConfig, PostgresSettings};
pub(crate) use location::{DATABASE, DatabaseArg, Location, Place};
pub(crate) use problem::{ConfigError, Position, Problem};
pub(crate) use quantity::{bytes, milliseconds};
pub(crate) use queries::QueryDatabase;
#[cfg(feature = "postgres")]
pub(crate) use roles::RoleClaim;
pub(crate) use roles::RoleConfig;
pub(crate) use rules::{RuleArg, RuleList};
pub(crate) use schema::schema;
pub(crate) use secret::SecretFile;
pub(crate) use settings::with_keys;
#[cfg(feature = "postgres")]
pub(crate) use store::{STORE, StoreUrl};
pub(crate) use template::TEMPLATE;
pub(crate) use upstreams::{Upstreams, parse as upstream};
pub(crate) use variables::{remove_blank_variables, without_empty_variables};
pub(crate) use watched::{FileChange, WatchedFiles};

use caller_roles::RoleSection;
use clients::ClientSection;
use databases::{DatabaseConfigs, DatabaseSection};
use flags::{EffectiveSetting, FlagValue, Origin};
use folder::Folder;
use problem::Problems;
use queries::QuerySection;
use upstreams::UpstreamSection;
use watched::Stamp;

/// The file that is read by default, if it exists.
const DEFAULT_FILE: &str = "trunkline.toml";

/// The flag of the configuration file.
#[derive(Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file [default: trunkline.toml, if it exists]
    ///
    /// A TOML file with the sections [server], [access], [roles.NAME], [databases.NAME], [queries.NAME],
    /// [upstreams.NAME] and [clients.NAME]. Flags and environment variables take precedence over it.
    #[arg(
        id = "config",
        long = "config",
        value_name = "FILE",
        env = "TRUNKLINE_CONFIG",
        help_heading = None::<&'static str>
    )]
    path: Option<PathBuf>,
}

/// The content of a configuration file.
#[derive(Debug, Default)]
pub(crate) struct Config {
    path: PathBuf,
    /// The values that have a flag.
    flags: Vec<FlagValue>,
    settings: Vec<EffectiveSetting>,
    /// The sections with names, as `config show` prints them.
    shown: Vec<show::Entry>,
    /// The same, to find changes.
    sections: Vec<(String, String)>,
    databases: DatabaseConfigs,
    queries: Vec<SavedQuery>,
    query_databases: Vec<QueryDatabase>,
    roles: Vec<CallerRole>,
    upstreams: Upstreams,
    clients: BTreeMap<String, ClientResults>,
    /// Remarks about files that the configuration refers to.
    warnings: Vec<String>,
    watched: WatchedFiles,
}

/// The sections with a table for each name.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Sections {
    databases: IndexMap<Spanned<String>, DatabaseSection>,
    queries: IndexMap<Spanned<String>, QuerySection>,
    roles: IndexMap<Spanned<String>, RoleSection>,
    upstreams: IndexMap<Spanned<String>, UpstreamSection>,
    clients: IndexMap<Spanned<String>, ClientSection>,
}

/// The names of the sections that contain a table for each name.
const NAMED_SECTIONS: [&str; 5] = ["databases", "queries", "roles", "upstreams", "clients"];

/// The names of all sections.
fn section_names() -> Vec<&'static str> {
    let mut names = settings::sections();
    names.extend(NAMED_SECTIONS);
    names
}

impl ConfigArgs {
    /// The path on the command line or in the environment.
    pub(crate) fn path(matches: &ArgMatches) -> Option<&Path> {
        matches.try_get_one::<PathBuf>("config").ok().flatten().map(PathBuf::as_path)
    }
}

impl Config {
    /// Reads a file, or the default one if it exists. `command` has the flags of all settings.
    ///
    /// # Errors
    /// When the file cannot be read, or has mistakes.
    pub(crate) fn read(path: Option<&Path>, command: &Command) -> Result<Self, ConfigError> {
        /// The maximum size of the file in bytes.
        const MAX_SIZE: u64 = 1 << 20;
        let is_required = path.is_some();
        let path = path.unwrap_or(Path::new(DEFAULT_FILE)).to_owned();
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if !is_required && error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => return Err(ConfigError::Unreadable { path, cause: source }),
        };
        // Opening a named pipe would wait for its writer.
        if !metadata.is_file() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            return Err(ConfigError::Unreadable { path, cause: source });
        }
        let mut text = String::new();
        // Before it is read, so that a change meanwhile is detected.
        let stamp = Stamp::of(&path);
        let read =
            File::open(&path).and_then(|file| file.take(MAX_SIZE + 1).read_to_string(&mut text));
        match read {
            Ok(size) if size as u64 > MAX_SIZE => {
                Err(ConfigError::TooLarge { path, max: MAX_SIZE })
            }
            Ok(_) => {
                let file = Some((path.clone(), stamp));
                let mut config = Self::parse(path, &text, command)?;
                config.watched.file = file;
                Ok(config)
            }
            Err(source) => Err(ConfigError::Unreadable { path, cause: source }),
        }
    }

    /// Parses the text of a file, to whose folder its paths are relative.
    ///
    /// # Errors
    /// When it has mistakes.
    pub(crate) fn parse(path: PathBuf, text: &str, command: &Command) -> Result<Self, ConfigError> {
        let mut problems = Problems::new(text);
        let folder = Folder::of(&path);
        let mut document = document::parse(text, &mut problems);
        document::check_names(&mut document, &section_names(), &mut problems);
        let flags = flags::take(&mut document, &folder, &mut problems);
        let shown = show::entries(&document, &NAMED_SECTIONS, &problems);
        let compared = changes::sections(&document, &NAMED_SECTIONS, &folder);
        let sections: Sections = document::read(document, &mut problems);
        for flag in &flags {
            flag.check(command, &mut problems);
        }
        let databases = databases::read(sections.databases, &folder, &mut problems);
        let (queries, query_databases) = queries::read(sections.queries, &mut problems);
        let tokens = flags.iter().flat_map(FlagValue::token_names).collect::<Vec<_>>();
        let roles = caller_roles::read(sections.roles, &tokens, &mut problems);
        let upstreams = upstreams::read(sections.upstreams, &folder, &mut problems);
        problems.check(&path)?;
        let (warnings, secrets) = folder.into_parts();
        Ok(Self {
            path,
            flags,
            settings: Vec::new(),
            shown,
            sections: compared,
            databases,
            queries,
            query_databases,
            roles,
            upstreams,
            clients: clients::read(sections.clients),
            warnings,
            watched: WatchedFiles { file: None, secrets },
        })
    }

    /// The command with the values of the file as defaults of its flags, also those of its subcommands.
    pub(crate) fn with_defaults(&self, command: Command) -> Command {
        flags::with_defaults(command, &self.flags)
    }

    /// Sets the values of the settings from the arguments of a command, which has the defaults of this file.
    /// `definition` is the command with all its variables, also empty ones.
    pub(crate) fn resolve(
        &mut self,
        definition: &Command,
        command: &Command,
        matches: &ArgMatches,
    ) {
        self.settings = flags::effective(&self.path, &self.flags, command, matches);
        let is_in_file = |id: &str| self.flags.iter().any(|flag| flag.is_of(id));
        self.warnings.extend(variables::warnings(definition, matches, is_in_file));
    }

    /// The effective settings, as a configuration file without secrets, with the origin of each value.
    pub(crate) fn show(&self) -> String {
        show::text(&self.path, &self.settings, &self.shown)
    }

    /// The values of all settings, to find changes.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.settings, &self.sections, |key| self.secret_file(key))
    }

    /// The path of the file, if one was read.
    pub(crate) fn path(&self) -> Option<&Path> {
        Some(self.path.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// The databases.
    pub(crate) fn databases(&self) -> &DatabaseConfigs {
        &self.databases
    }

    /// The saved queries.
    pub(crate) fn queries(&self) -> &[SavedQuery] {
        &self.queries
    }

    /// The databases that saved queries name.
    pub(crate) fn query_databases(&self) -> &[QueryDatabase] {
        &self.query_databases
    }

    /// The roles of callers.
    pub(crate) fn roles(&self) -> &[CallerRole] {
        &self.roles
    }

    /// The error for mistakes that depend on flags, or on what is served.
    pub(crate) fn check(&self, mut found: Vec<Problem>) -> Result<(), ConfigError> {
        found.sort();
        match found.is_empty() {
            true => Ok(()),
            false => Err(ConfigError::Invalid { path: self.path.clone(), problems: found }),
        }
    }

    /// The upstream servers.
    pub(crate) fn upstreams(&self) -> &Upstreams {
        &self.upstreams
    }

    /// The results of MCP clients, by the names that they give.
    pub(crate) fn clients(&self) -> &BTreeMap<String, ClientResults> {
        &self.clients
    }

    /// The file of a setting that is a secret, if it applies.
    pub(crate) fn secret_file(&self, key: &str) -> Option<SecretFile> {
        let setting = self.settings.iter().find(|effective| effective.setting.key == key)?;
        matches!(setting.origin, Origin::File(..)).then(|| ())?;
        self.flags.iter().find_map(|flag| flag.secret_file(key)).cloned()
    }

    /// The files of secrets, to detect their changes.
    pub(crate) fn watched(&self) -> &WatchedFiles {
        &self.watched
    }

    /// Remarks about files that the configuration refers to.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Writes the warnings to the log, and at level DEBUG the origins of the settings that have no default value.
    pub(crate) fn log(&self) {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
        for EffectiveSetting { setting, origin, .. } in &self.settings {
            if *origin != Origin::Default {
                tracing::debug!(setting = setting.key, %origin, "configuration");
            }
        }
    }
}

#[cfg(test)]
mod tests;

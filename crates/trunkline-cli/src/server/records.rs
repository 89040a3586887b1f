//! The records that are served in addition to the database: their types, directory and tools.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use axum::Router;
use axum::routing::any;
use clap::Args;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use trunkline_mcp::McpConfig;
use trunkline_mcp::nodes::StoredNodes;
use trunkline_records::{OpenError, RecordType, RecordTypes, Records, RecordsConfig};
use trunkline_storage::Location;

use super::access::entries;
use super::default_place::default_place;
use super::{command_tools, history_resources};
use crate::config::Config;
#[cfg(feature = "postgres")]
use crate::config::{STORE, SecretFile, StoreUrl};

/// The flags of records.
#[derive(Args)]
#[command(next_help_heading = "Records")]
pub(crate) struct RecordArgs {
    /// Record types, as a TOML file [default: one type, todo]
    ///
    /// Turns records on. `trunkline records list` and `trunkline records describe NAME` show the types.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_RECORDS")]
    records: Option<PathBuf>,
    /// Directory of records, conversations, sessions, logs [default: .trunkline]
    ///
    /// Turns records on. The directory is created when something is first written to it. If the working directory cannot
    /// be written, the default is in $XDG_STATE_HOME/trunkline (default: ~/.local/state/trunkline).
    #[arg(long, value_name = "DIR", env = "TRUNKLINE_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL database of records, conversations and MCP sessions
    ///
    /// postgres://USER@HOST/DATABASE. Turns records on. Several servers with the same database can serve the same
    /// clients. Other users of this machine can read passwords on command lines: use the variable or ~/.pgpass.
    #[cfg(feature = "postgres")]
    #[arg(
        long,
        value_name = "URL",
        env = "TRUNKLINE_STORE",
        hide_env_values = true,
        hide_default_value = true,
        value_parser = STORE
    )]
    store: Option<StoreUrl>,
    /// The file of the URL, if it is in one.
    #[cfg(feature = "postgres")]
    #[arg(skip)]
    store_file: Option<SecretFile>,
    /// Record type whose commands are MCP tools; `*` for all
    ///
    /// Turns records on. The commands are tools like `todo_create`. Repeatable or comma-separated.
    #[arg(long, value_name = "NAME", env = "TRUNKLINE_EXPOSE", value_delimiter = ',')]
    expose: Vec<String>,
}

/// The default of `--data-dir`.
const DATA_DIR: &str = ".trunkline";

impl RecordArgs {
    /// Sets the files of secrets, which are read again.
    pub(super) fn set_secret_files(&mut self, config: &Config) {
        #[cfg(feature = "postgres")]
        {
            self.store_file = config.secret_file("store.url");
        }
        #[cfg(not(feature = "postgres"))]
        let _ = config;
    }

    /// Whether types or tools are requested.
    pub(crate) fn has_types(&self) -> bool {
        self.records.is_some() || entries(&self.expose).next().is_some()
    }

    /// Whether a setting turns records on.
    pub(crate) fn are_on(&self) -> bool {
        #[cfg(feature = "postgres")]
        let has_store = self.store.is_some();
        #[cfg(not(feature = "postgres"))]
        let has_store = false;
        self.has_types() || self.data_dir.is_some() || has_store
    }

    /// The place of records and conversations.
    pub(crate) fn location(&self) -> anyhow::Result<Location> {
        #[cfg(feature = "postgres")]
        if let Some(url) = &self.store {
            return url.location(self.store_file.as_ref());
        }
        Ok(self.data_dir().into())
    }

    /// The directory of everything that is written, except the database.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.data_dir.clone().unwrap_or_else(|| default_place(DATA_DIR))
    }

    /// Reads the declared types, and creates nothing.
    pub(crate) fn declared(&self, location: &Location) -> anyhow::Result<DeclaredRecords> {
        let types = types(self.records.as_deref())?;
        let exposed = exposed(&types, &self.expose)?;
        Ok(DeclaredRecords { types, location: location.clone(), exposed })
    }
}

/// The namespaces of other methods, and their owners. Record types cannot have these names: rules of `--require` for
/// the methods would apply to records.
const RESERVED: [(&str, &str); 5] = [
    ("db", "the database's"),
    (command_tools::NAMESPACE, "the command tools'"),
    ("agent", "the agent's"),
    ("gateway", "the gateway's"),
    (history_resources::NAMESPACE, "the history's"),
];

/// Record types, before their store is opened.
pub(crate) struct DeclaredRecords {
    types: RecordTypes,
    location: Location,
    exposed: Vec<String>,
}

/// Records that can be served.
#[derive(Clone)]
pub(crate) struct ServedRecords {
    pub(crate) store: Records,
    pub(crate) location: Location,
    /// The types that are MCP tools.
    pub(crate) exposed: Vec<String>,
}

/// The types of a file, or the default ones without a file.
pub(crate) fn types(file: Option<&Path>) -> anyhow::Result<RecordTypes> {
    let Some(file) = file else { return Ok(RecordTypes::default()) };
    let types = RecordTypes::read(file)?;
    for kind in types.iter() {
        let namespace = kind.name().split('.').next();
        let reserved = RESERVED.iter().find(|(name, _)| namespace == Some(name));
        if let Some((reserved, owner)) = reserved {
            let (file, name) = (file.display(), kind.name());
            bail!(
                "{file}: the record type {name:?} has the name of {owner} methods, {reserved}.*: give it another name"
            );
        }
    }
    Ok(types)
}

fn exposed(types: &RecordTypes, requested: &[String]) -> anyhow::Result<Vec<String>> {
    let names = || types.iter().map(RecordType::name);
    let requested: Vec<&str> = entries(requested).collect();
    if let Some(unknown) = requested.iter().find(|name| **name != "*" && types.get(name).is_none())
    {
        let known: Vec<_> = names().collect();
        bail!("--expose {unknown}: unknown record type; the known ones are {}", known.join(", "));
    }
    let is_requested = |name: &&str| requested.contains(&"*") || requested.contains(name);
    let exposed = || names().filter(is_requested);
    if let Some(conflict) = tool_conflict(exposed()) {
        bail!(conflict);
    }
    Ok(exposed().map(str::to_owned).collect())
}

/// The error for two types whose tools would have the same names.
pub(crate) fn tool_conflict<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<String> {
    let mut tools = HashMap::new();
    names.find_map(|name| {
        let tool = name.replace('.', "_");
        let conflict = format!(
            "{name:?} cannot both be tools: both would be called {tool}_create, and so on; give one \
             another name, or expose only one"
        );
        tools.insert(tool, name).map(|other| format!("the record types {other:?} and {conflict}"))
    })
}

impl DeclaredRecords {
    /// The names of the types.
    pub(crate) fn names(&self) -> Vec<String> {
        self.types.iter().map(|kind| kind.name().to_owned()).collect()
    }

    /// Opens the store, which the first change creates. If the disk prevents that, commands that write fail until it
    /// allows it.
    pub(crate) fn open(self) -> anyhow::Result<ServedRecords> {
        let Self { types, location, exposed } = self;
        let store = Records::deferred(location.clone(), types, RecordsConfig::default());
        tolerate_faults("records", &location, store.prepare())?;
        Ok(ServedRecords { store, location, exposed })
    }
}

/// The store of MCP sessions in a data directory, which the first change creates. None with a database, in which the sessions
/// are those of all nodes.
pub(super) fn session_store(location: &Location) -> anyhow::Result<Option<StoredNodes>> {
    let Location::Directory(_) = location else { return Ok(None) };
    let store = StoredNodes::deferred(location.clone(), McpConfig::new("", "").session_idle);
    tolerate_faults("sessions", location, store.prepare())?;
    Ok(Some(store))
}

/// The routes of native commands on a server without records: 404 with the remedy.
pub(super) fn disabled_routes() -> Router {
    const BODY: &str = r#"{"error":"records are off; start the server with --data-dir, --store, --records or --expose"}"#;
    let refuse =
        || any(async || (StatusCode::NOT_FOUND, [(CONTENT_TYPE, "application/json")], BODY));
    Router::new().route("/execute", refuse()).route("/repeat", refuse()).route("/revert", refuse())
}

/// Logs a fault of the disk or the database server. Another error prevents the start.
pub(super) fn tolerate_faults(
    component: &str,
    location: &Location,
    prepared: Result<(), OpenError>,
) -> anyhow::Result<()> {
    let Err(error) = prepared else { return Ok(()) };
    let remedy = remedy(&error, location);
    match error.disk_reason() {
        Some(reason) => {
            tracing::error!(%error, reason, %location, "{component} cannot be written; {remedy}");
            Ok(())
        }
        None => {
            Err(error).with_context(|| format!("cannot store {component} in {location}; {remedy}"))
        }
    }
}

/// The remedy for a store that cannot be opened.
pub(super) fn remedy(error: &OpenError, location: &Location) -> &'static str {
    let is_directory = matches!(location, Location::Directory(_));
    match (error, is_directory, error.disk_reason()) {
        (OpenError::Newer { .. }, true, _) => {
            "update this program, or give another directory with --data-dir"
        }
        (OpenError::Newer { .. }, false, _) => {
            "update this program, or give another database with --store"
        }
        (_, true, Some(_)) => "free the disk, or give another directory with --data-dir",
        (_, true, None) => "give another directory with --data-dir",
        (_, false, Some(_)) => "check the URL and that the database server runs",
        (_, false, None) => {
            "check the privileges of its user, or give another database with --store"
        }
    }
}

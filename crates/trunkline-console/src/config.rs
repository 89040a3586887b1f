//! The configuration of a console.

use trunkline::Rpc;
use trunkline::history::History;
use trunkline::history::endpoint::Readers;
use trunkline::layers::authorize::SharedRules;
use trunkline::server::Problems;

use crate::sessions::Sessions;

/// Configuration of a console: the parts of the service that its pages show. A part that is missing is a page that
/// explains how to turn it on.
#[derive(Clone)]
#[non_exhaustive]
pub struct ConsoleConfig {
    /// The name of the service.
    pub name: String,
    /// The version of the service.
    pub version: String,
    /// The service of the agent's operations (`agent.*`), which is separate from that of all others. Default: none.
    pub agent: Option<Rpc>,
    /// The name of the agent's model. Default: none.
    pub model: Option<String>,
    /// The databases. Default: none.
    pub databases: Vec<ConsoleDatabase>,
    /// The rules of the service, whose roles decide which databases a user sees. Default: none.
    pub rules: SharedRules,
    /// The types of records, as the prefixes of their operations. `None` if records are off, which is the default.
    pub record_types: Option<Vec<String>>,
    /// Whether command tools are served. Default: no.
    pub has_tools: bool,
    /// Whether upstream servers are served. Default: no.
    pub has_upstreams: bool,
    /// The history of calls. Default: none.
    pub history: Option<HistoryAccess>,
    /// The components whose last use failed. Default: none.
    pub problems: Problems,
    /// The limits of the service, as names and values. Default: none.
    pub limits: Vec<(String, String)>,
    /// The sessions of browsers, if the service requires a token. Default: none.
    pub sessions: Option<Sessions>,
    /// Whether clients use https. Default: no.
    pub is_https: bool,
}

/// A database of a console.
#[derive(Debug, Clone)]
pub struct ConsoleDatabase {
    /// The name.
    pub name: String,
    /// The engine, such as `SQLite`.
    pub engine: String,
    /// Whether clients can change it.
    pub is_writable: bool,
    /// The prefix of its operations, such as `db`.
    pub prefix: String,
    /// Whether its operations have the argument `database`.
    pub is_selected: bool,
}

/// A history, and the callers that may read it.
#[derive(Debug, Clone)]
pub struct HistoryAccess {
    /// The history.
    pub history: History,
    /// The callers that may read it.
    pub readers: Readers,
}

impl ConsoleConfig {
    /// The configuration of a service with this name and version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            agent: None,
            model: None,
            databases: Vec::new(),
            rules: SharedRules::default(),
            record_types: None,
            has_tools: false,
            has_upstreams: false,
            history: None,
            problems: Problems::default(),
            limits: Vec::new(),
            sessions: None,
            is_https: false,
        }
    }
}

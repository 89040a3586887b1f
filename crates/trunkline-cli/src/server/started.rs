//! The message at the start of a server.

use std::net::SocketAddr;
use std::path::Path;

use trunkline_resources::{ResourceType, Verb};
use trunkline_tools::ToolFolder;

use super::history::Recorder;
use super::records::Opened;
use crate::terminal::output::note;

/// What is served, and where.
pub(crate) struct Started<'a> {
    pub(crate) database: &'a Path,
    pub(crate) writable: bool,
    pub(crate) address: SocketAddr,
    /// Without those of resources.
    pub(crate) methods: &'a [String],
    pub(crate) records: &'a Opened,
    /// The command tools, if there is a folder of them.
    pub(crate) tools: Option<&'a ToolFolder>,
    pub(crate) token_needed: bool,
    pub(crate) is_https: bool,
    pub(crate) recorder: Option<&'a Recorder>,
}

/// What is served and how to try it.
pub(super) fn print(started: &Started<'_>) {
    let Started { database, writable, address, methods, records, .. } = started;
    let version = env!("CARGO_PKG_VERSION");
    let database = database.display();
    let writable = if *writable { "writable" } else { "read-only" };
    let url = format!("http{}://{address}", if started.is_https { "s" } else { "" });
    let history_door = match started.recorder {
        Some(recorder) if recorder.folder.is_some() => ", /history, /logs",
        Some(_) => ", /history",
        None => "",
    };
    let history = started.recorder.map(of_recorder).unwrap_or_default();
    let tools_door = if started.tools.is_some() { ", /tools" } else { "" };
    let methods = methods.join(", ");
    let (resources, directory) = (listed(records), records.directory.display());
    let legend = if records.exposed.is_empty() { "" } else { "; * are tools of MCP" };
    let commands = Verb::ALL.map(Verb::as_str).join(",");
    let tools = started.tools.map(of_folder).unwrap_or_default();
    let token = if started.token_needed { " -H 'Authorization: Bearer TOKEN'" } else { "" };
    note(&format!(
        "trunkline {version}
  serving   {database} ({writable})
  resources {resources}  (records in {directory}{legend}){tools}
  listening {url}  (POST /, /rpc, /jsonrpc: JSON-RPC; POST /execute, /repeat, /revert, GET /forms: commands; POST /api: agent; \
/mcp, GET /sse: MCP; GET /health, /ping, /metrics, /openrpc.json{tools_door}{history_door})
  methods   {methods}, RESOURCE.{{{commands}}}{history}
Try it:
  curl -s {url}/ -H 'Content-Type: application/json'{token} \\
    -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"db.list_tables\"}}'"
    ));
}

/// The line of command tools.
fn of_folder(folder: &ToolFolder) -> String {
    let (tools, rejected) = (folder.tools().len(), folder.rejected().len());
    let wrong = match rejected {
        0 => String::new(),
        files => format!(", {files} files are none: GET /tools says why"),
    };
    format!("\n  tools     {tools} of {}{wrong}", folder.path().display())
}

/// The line of the history.
fn of_recorder(recorder: &Recorder) -> String {
    let log = match (&recorder.folder, recorder.problem()) {
        (Some(folder), _) => format!("and in log files in {}", folder.display()),
        (None, Some(_)) => "none in files (the log cannot be written)".to_owned(),
        (None, None) => "none in files (--log)".to_owned(),
    };
    format!("\n  history   the newest {} calls in memory, {log}", recorder.entries)
}

/// The names of the resources; those that are tools have a star.
fn listed(records: &Opened) -> String {
    /// There may be a hundred.
    const SHOWN: usize = 20;
    let types = records.resources.types();
    let star =
        |name: &str| if records.exposed.iter().any(|exposed| exposed == name) { "*" } else { "" };
    let name = |kind: &ResourceType| format!("{}{}", kind.name(), star(kind.name()));
    let names: Vec<String> = types.iter().take(SHOWN).map(name).collect();
    let more = match types.iter().count().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.join(", ") + &more
}

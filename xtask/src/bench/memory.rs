//! The memory that idle connections, open subscriptions and abandoned sessions hold on a server.

use std::process::Command;

use anyhow::{Context, Result};

use super::connection::{Connection, Request};
use super::load::{CALLS, LATENCY, OURS, TOOLS};
use super::report::Figure;
use super::server::{self, Server};
use crate::workspace::{self, Workspace};

/// The default of `ServerConfig::connections`, and the connections of the other measurements.
const CONNECTIONS: usize = 10_000;
const STREAMS: usize = 5_000;
const SESSIONS: usize = 10_000;

const BYTES: &str = "bytes each";

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#;
const LISTEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const ACCEPT: &str = "Accept: application/json, text/event-stream";

/// Raises the limit of open files of this process, which its servers inherit.
pub(super) fn allow_files() -> Result<()> {
    let pid = std::process::id().to_string();
    let files = CONNECTIONS + 100;
    workspace::output(Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={files}:")]))
        .with_context(|| format!("{files} open files are required: `ulimit -Hn`"))?;
    Ok(())
}

/// Idle connections, each of which has made one call.
pub(super) fn connections(workspace: &Workspace) -> Result<Vec<Figure>> {
    let request = CALLS[0].request(workspace)?;
    let row = |(name, program): &(&str, &str)| {
        let bytes = growth(workspace, program, (CONNECTIONS, 1), &request)?;
        Ok(Figure::new(&format!("{CONNECTIONS} idle connections"), name, BYTES, bytes))
    };
    LATENCY.iter().map(row).collect()
}

/// Clients of MCP.
pub(super) fn streams(workspace: &Workspace) -> Result<Vec<Figure>> {
    let request = |headers, body: &str, expected| Request {
        line: "POST /mcp".to_owned(),
        headers,
        body: body.to_owned(),
        expected,
    };
    let listen: &[&str] =
        &[ACCEPT, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"];
    let rows = [
        (format!("{STREAMS} idle connections of MCP"), (STREAMS, 1), TOOLS[0].request(workspace)?),
        (format!("{STREAMS} subscriptions"), (STREAMS, 1), request(listen, LISTEN, "")),
        (
            format!("{SESSIONS} abandoned sessions"),
            (1, SESSIONS),
            request(&[ACCEPT], INITIALIZE, "\"result\""),
        ),
    ];
    rows.iter()
        .map(|(table, counts, request)| {
            let bytes = growth(workspace, "mcp_ours", *counts, request)?;
            Ok(Figure::new(table, OURS, BYTES, bytes))
        })
        .collect()
}

/// The growth of a new server's memory per client, while the connections are open.
fn growth(
    workspace: &Workspace,
    program: &str,
    (connections, exchanges): (usize, usize),
    request: &Request,
) -> Result<f64> {
    let server = Server::contender(&server::all_contenders(workspace)?, program)?;
    let before = server.resident_bytes()?;
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut connection = Connection::open(&server.address, request)?;
        (0..exchanges)
            .try_for_each(|_| connection.exchange().map(drop))
            .context(program.to_owned())?;
        open.push(connection);
    }
    Ok((server.resident_bytes()? - before) / (connections * exchanges) as f64)
}

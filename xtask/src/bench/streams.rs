//! The memory that clients of MCP hold on a server: idle connections, open subscriptions, abandoned sessions.

use std::fmt;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::connection::{Connection, RESULT, Request};
use super::contender::{Case, Contender};
use super::server::Server;
use super::spread::Spread;
use crate::workspace::Workspace;

const STREAMS: usize = 5_000;
const SESSIONS: usize = 10_000;

const SERVER: Contender = Contender::McpOurs;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}"#;

const LISTEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// The bytes per client in one round.
pub(super) struct Sample {
    idle: f64,
    listening: f64,
    /// For each `initialize` without a further message.
    abandoned: f64,
}

/// Measures each kind of client with a new server.
pub(super) fn round(workspace: &Workspace, binaries: &Path) -> Result<Sample> {
    let tool = Request::of(workspace, Case::LegacyTool)?;
    let idle = growth(binaries, STREAMS, |address| {
        let mut connections = Vec::with_capacity(STREAMS);
        for _ in 0..STREAMS {
            let mut connection = Connection::open(address, &tool)?;
            connection.exchange()?;
            connections.push(connection);
        }
        Ok(connections)
    })?;
    let listen = request(
        LISTEN,
        &[
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: subscriptions/listen",
        ],
    );
    let listening = growth(binaries, STREAMS, |address| {
        let mut connections = Vec::with_capacity(STREAMS);
        for _ in 0..STREAMS {
            let mut connection = Connection::open(address, &listen)?;
            connection.begin_events()?;
            connections.push(connection);
        }
        Ok(connections)
    })?;
    let initialize = request(INITIALIZE, &["Accept: application/json, text/event-stream"]);
    let abandoned = growth(binaries, SESSIONS, |address| {
        let mut connection = Connection::open(address, &initialize)?;
        for _ in 0..SESSIONS {
            connection.exchange()?;
        }
        Ok(vec![connection])
    })?;
    Ok(Sample { idle, listening, abandoned })
}

fn request(body: &str, headers: &'static [&'static str]) -> Request {
    Request { path: "/mcp", headers, body: body.to_owned(), expected: RESULT }
}

/// The growth of a new server's memory per client, while the connections are open.
fn growth(
    binaries: &Path,
    clients: usize,
    connect: impl FnOnce(&str) -> Result<Vec<Connection>>,
) -> Result<f64> {
    let server = Server::start(binaries, SERVER)?;
    let before = server.resident_bytes()?;
    let connections = connect(&server.address)?;
    let after = server.resident_bytes()?;
    drop(connections);
    Ok((after as f64 - before as f64) / clients as f64)
}

#[derive(Serialize)]
pub(super) struct Report {
    idle_bytes: Spread,
    listening_bytes: Spread,
    abandoned_bytes: Spread,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty.
    pub(super) fn of(rounds: &[Sample]) -> Self {
        let spread = |of: fn(&Sample) -> f64| Spread::of(rounds.iter().map(of));
        Self {
            idle_bytes: spread(|sample| sample.idle),
            listening_bytes: spread(|sample| sample.listening),
            abandoned_bytes: spread(|sample| sample.abandoned),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<36} {:>26}", "clients of MCP", "bytes per client")?;
        for (what, bytes) in [
            (format!("{STREAMS} idle connections"), &self.idle_bytes),
            (format!("{STREAMS} subscriptions"), &self.listening_bytes),
            (format!("{SESSIONS} abandoned sessions"), &self.abandoned_bytes),
        ] {
            writeln!(f, "  {what:<34} {:>26}", bytes.show(0))?;
        }
        Ok(())
    }
}

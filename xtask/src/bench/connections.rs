//! The memory of an idle connection.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;

use super::connection::{Connection, Request};
use super::contender::{Case, Contender};
use super::goals::Verdict;
use super::probe;
use super::server::Server;
use super::spread::Spread;
use crate::workspace::{self, Workspace};

const SERVERS: [Contender; 3] = [Contender::Ours, Contender::AxumSerde, Contender::PeerJsonrpsee];

/// The default of `ServerConfig::connections`.
const CONNECTIONS: usize = 10_000;

/// The connections, and other open files of a process.
const FILES: usize = CONNECTIONS + 100;

/// The bytes per connection of one server in one round.
pub(super) struct Sample {
    server: Contender,
    bytes: f64,
}

/// Raises the limit of open files of this process, which its servers inherit.
pub(super) fn allow_files() -> Result<()> {
    let pid = std::process::id().to_string();
    let limit = format!("--nofile={FILES}:");
    workspace::output(Command::new("prlimit").args(["--pid", &pid, &limit])).map(drop).with_context(
        || format!("{FILES} open files are required; raise the limit with `ulimit -Hn`"),
    )
}

/// Opens the connections to each server in turn, with a single call on each, and keeps them open.
pub(super) fn round(workspace: &Workspace, binaries: &Path) -> Result<Vec<Sample>> {
    let request = Request::of(workspace, Case::Single)?;
    let sample = |server| {
        let bytes = measure(workspace, &Server::start(binaries, server)?, &request);
        Ok(Sample { server, bytes: bytes.with_context(|| server.binary())? })
    };
    SERVERS.into_iter().map(sample).collect()
}

fn measure(workspace: &Workspace, server: &Server, request: &Request) -> Result<f64> {
    probe::check(workspace, server, Case::Single)?;
    let before = server.resident_bytes()?;
    let mut connections = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(&server.address, request)?;
        connection.exchange()?;
        connections.push(connection);
    }
    let after = server.resident_bytes()?;
    Ok((after as f64 - before as f64) / CONNECTIONS as f64)
}

/// Ratios for information.
///
/// # Panics
/// If `rounds` is empty.
pub(super) fn verdicts(rounds: &[Vec<Sample>]) -> Vec<Verdict> {
    let verdict = |over: Contender| {
        let ratios = rounds.iter().filter_map(|round| {
            let bytes = |server| round.iter().find(|s| s.server == server).map(|s| s.bytes);
            Some(bytes(Contender::Ours)? / bytes(over)?)
        });
        let what = format!("memory per connection, ours / {}", over.binary());
        Verdict::of(what, Spread::of(ratios), None)
    };
    SERVERS.into_iter().filter(|&server| server != Contender::Ours).map(verdict).collect()
}

#[derive(Serialize)]
pub(super) struct Report(Vec<Row>);

#[derive(Serialize)]
struct Row {
    server: Contender,
    bytes_per_connection: Spread,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty.
    pub(super) fn of(rounds: &[Vec<Sample>]) -> Self {
        let row = |server| {
            let samples = rounds.iter().flatten().filter(|sample| sample.server == server);
            Row { server, bytes_per_connection: Spread::of(samples.map(|sample| sample.bytes)) }
        };
        Self(SERVERS.map(row).into())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = format!("{CONNECTIONS} idle connections");
        writeln!(f, "\n{title:<36} {:>26}", "bytes per connection")?;
        for Row { server, bytes_per_connection } in &self.0 {
            writeln!(f, "  {:<34} {:>26}", server.about(), bytes_per_connection.show(0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_rounds_is_reported() {
        let round = |ours: f64| {
            let bytes = |server| if server == Contender::Ours { ours } else { 1_000.0 };
            SERVERS.map(|server| Sample { server, bytes: bytes(server) }).into()
        };
        let rounds: [Vec<Sample>; 3] = [round(900.0), round(1_500.0), round(2_000.0)];
        let Report(rows) = Report::of(&rounds);
        let medians: Vec<f64> = rows.iter().map(|row| row.bytes_per_connection.median).collect();
        assert_eq!(medians, [1_500.0, 1_000.0, 1_000.0]);
        for verdict in verdicts(&rounds) {
            assert_eq!((verdict.measured.median, verdict.reached), (1.5, None), "{}", verdict.what);
        }
    }
}

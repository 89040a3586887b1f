//! Servers under load over HTTP: CPU time, requests per second and latency. wrk posts one body repeatedly, on a separate
//! core.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::connection::{Connection, Request};
use super::report::Figure;
use super::server::{self, LOAD_CORE, Server, pinned};
use crate::workspace::{self, Workspace};

/// Servers with the same reply, each a program of `bench/`.
pub(super) type Field = [(&'static str, &'static str)];

pub(super) const OURS: &str = "trunkline";
pub(super) const HYPER: &str = "hyper";
pub(super) const AXUM: &str = "axum";
pub(super) const JSONRPSEE: &str = "jsonrpsee";
pub(super) const RMCP: &str = "rmcp on axum";

pub(super) const JSON_RPC: &Field = &[
    (HYPER, "floor"),
    (OURS, "ours"),
    (AXUM, "axum_serde"),
    (JSONRPSEE, "peer_jsonrpsee"),
    ("ajj on axum", "peer_ajj"),
];
/// A part of these servers, which are compared at several numbers of connections.
pub(super) const LATENCY: &Field = &[JSON_RPC[1], JSON_RPC[2], JSON_RPC[3]];
pub(super) const MCP: &Field = &[(OURS, "mcp_ours"), (RMCP, "mcp_rmcp")];

/// A request.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The name of its body in `bench/load`.
    body: &'static str,
    path: &'static str,
    /// Additional headers.
    headers: &'static [&'static str],
    /// A part of the reply.
    expected: &'static str,
}

const ACCEPT: &str = "Accept: application/json, text/event-stream";
const PLAIN: &[&str] = &["Accept: application/json"];
const LEGACY: &[&str] = &[ACCEPT, "MCP-Protocol-Version: 2025-11-25"];
const MODERN: &str = "MCP-Protocol-Version: 2026-07-28";

pub(super) const CALLS: [Case; 2] = [
    case("single call", "single", ("/", PLAIN), "\"result\":42"),
    case("batch of 100", "batch", ("/", PLAIN), "\"result\":102"),
];
pub(super) const TOOLS: [Case; 4] = [
    case("tools/call, 2025-11-25", "legacy_tool", ("/mcp", LEGACY), "{\"sum\":42}"),
    case(
        "tools/call, 2026-07-28",
        "modern_tool",
        ("/mcp", &[ACCEPT, MODERN, "Mcp-Method: tools/call", "Mcp-Name: add"]),
        "{\"sum\":42}",
    ),
    case("tools/list of 100, 2025-11-25", "legacy_list", ("/mcp", LEGACY), "\"add_99\""),
    case(
        "tools/list of 100, 2026-07-28",
        "modern_list",
        ("/mcp", &[ACCEPT, MODERN, "Mcp-Method: tools/list"]),
        "\"add_99\"",
    ),
];

pub(super) const fn case(
    name: &'static str,
    body: &'static str,
    (path, headers): (&'static str, &'static [&'static str]),
    expected: &'static str,
) -> Case {
    Case { name, body, path, headers, expected }
}

impl Case {
    fn file(&self, workspace: &Workspace) -> PathBuf {
        workspace.path("bench/load").join(self.body).with_extension("json")
    }

    pub(super) fn request(&self, workspace: &Workspace) -> Result<Request> {
        let body = std::fs::read_to_string(self.file(workspace)).context(self.body)?;
        let line = format!("POST {}", self.path);
        Ok(Request { line, headers: self.headers, body, expected: self.expected })
    }
}

/// Measures each server with each case, at each of these numbers of connections. Measurements that are compared follow each
/// other, since load on the machine changes slowly.
pub(super) fn round(
    workspace: &Workspace,
    field: &Field,
    cases: &[Case],
    (connections, seconds): (&[u32], u32),
) -> Result<Vec<Figure>> {
    let binaries = server::all_contenders(workspace)?;
    let mut figures = Vec::new();
    for case in cases {
        for &connections in connections {
            let table = format!("{}, connections: {connections}", case.name);
            for (name, program) in field {
                let server = Server::contender(&binaries, program)?;
                let load = Load { workspace, server: &server, case, connections, seconds };
                figures.extend(load.measure(&table, name)?);
            }
        }
    }
    Ok(figures)
}

pub(super) struct Load<'l> {
    pub(super) workspace: &'l Workspace,
    pub(super) server: &'l Server,
    pub(super) case: &'l Case,
    /// Number of persistent connections, each with one request at a time.
    pub(super) connections: u32,
    pub(super) seconds: u32,
}

/// The output of `bench/load/post.lua`.
#[derive(Deserialize)]
struct Posted {
    requests: f64,
    micros: f64,
    failed: u64,
    bad_status: u64,
    latency_p50_us: f64,
    latency_p99_us: f64,
}

pub(super) const CPU: &str = "CPU us/request";

impl Load<'_> {
    /// Checks a reply, and posts for this number of seconds.
    pub(super) fn measure(&self, table: &str, row: &str) -> Result<[Figure; 4]> {
        let what = || format!("{table}, {row}");
        let request = self.case.request(self.workspace)?;
        Connection::open(&self.server.address, &request)?.exchange().with_context(what)?;
        let before = self.server.cpu_micros()?;
        let posted = self.post().with_context(what)?;
        let cpu = self.server.cpu_micros()? - before;
        let figure = |name, value| Figure::new(table, row, name, value);
        Ok([
            figure(CPU, cpu / posted.requests),
            figure("requests/s", posted.requests * 1e6 / posted.micros),
            figure("p50 us", posted.latency_p50_us),
            figure("p99 us", posted.latency_p99_us),
        ])
    }

    fn post(&self) -> Result<Posted> {
        let Self { workspace, server, case, connections, seconds } = self;
        let mut wrk = pinned(LOAD_CORE, "wrk");
        wrk.args(["-t1", &format!("-c{connections}"), &format!("-d{seconds}s"), "-s"]);
        wrk.arg(workspace.path("bench/load/post.lua"));
        wrk.args([&format!("http://{}{}", server.address, case.path), "--"]);
        let printed = workspace::output(wrk.arg(case.file(workspace)).args(case.headers));
        let printed = printed.context("wrk is missing or failed: `apt-get install wrk`")?;
        let line = printed.lines().find(|line| line.starts_with('{')).unwrap_or_default();
        let posted: Posted =
            serde_json::from_str(line).with_context(|| format!("wrk printed {printed:?}"))?;
        ensure!(
            posted.failed + posted.bad_status == 0 && posted.requests > 0.0,
            "requests failed: {line}"
        );
        Ok(posted)
    }
}

/// A round of a program of `bench/` that measures several contenders in one process, and prints figures.
pub(super) fn program(
    workspace: &Workspace,
    name: &str,
    core: Option<&str>,
) -> Result<Vec<Figure>> {
    let program = server::all_contenders(workspace)?.join(name);
    let mut command =
        core.map_or_else(|| workspace.command(&program), |core| pinned(core, &program));
    Figure::parse_all(&workspace::output(&mut command)?)
}

//! User instructions per request, counted by callgrind. They are reproducible within a percent.

mod callgrind;
mod recorded;

use std::fmt;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use self::callgrind::{Counted, Load, Row};
use super::build;
use super::connection::{RESULT, Request};
use super::contender::{Contender, Field, JSON_RPC, MCP};
use super::goals::{Goal, Verdict};
use super::spread::Spread;
use crate::workspace::Workspace;

pub(super) use self::callgrind::require;
pub(super) use self::recorded::check;

#[derive(Serialize)]
pub(super) struct Report(Vec<Row>);

const SERVE: &str = "trunkline serve";
const SERVE_WITHOUT_HISTORY: &str = "trunkline serve --no-history";
const SERVE_WITH_TRACES: &str = "trunkline serve, traces and metrics by OTLP";
const SERVE_WITH_METRICS: &str = "trunkline serve, metrics by OTLP";
/// Nothing listens on this port. The cost includes the serialization of spans, but not their transfer.
const COLLECTOR: &str = "http://127.0.0.1:9";
const UNKNOWN: &str = "unknown method";
const SELECT: &str = "5-row SELECT";

const UNKNOWN_BODY: &str =
    r#"{"jsonrpc":"2.0","method":"unknown.method","params":{"a":40,"b":2},"id":1}"#;
const SELECT_BODY: &str = r#"{"jsonrpc":"2.0","method":"db.execute_raw_query","params":{"query":"SELECT c_custkey, c_name, c_acctbal FROM customer LIMIT 5"},"id":1}"#;

/// A case, the two compared servers, and the maximum ratio.
const GOALS: [(&str, &str, &str, f64); 5] = [
    ("single call", "ours", "axum_serde", 0.95),
    ("batch of 100", "ours", "axum_serde", 0.90),
    ("batch of 100", "ours", "peer_jsonrpsee", 0.24),
    (UNKNOWN, SERVE, "ours", 1.5),
    (SELECT, SERVE, SERVE_WITHOUT_HISTORY, 1.15),
];

/// Maximum ratio of the cost of `tools/call` to that of rmcp, each minus the cost of a minimal HTTP server.
const TOOL_GOAL: f64 = 0.13;

/// Maximum cost of the SELECT without history, minus the cost of an unknown method.
const SELECT_GOAL: f64 = 40_000.0;

/// The number of counted single calls.
const SINGLES: u32 = 1_000;

/// Measures the servers of `bench/`, which are already built, and the binary.
pub(super) fn measure(workspace: &Workspace, binaries: &Path) -> Result<Report> {
    let mut rows = Vec::new();
    let of_field = |field: &Field| {
        field.contenders.iter().map(|contender| (*contender, field.cases)).collect::<Vec<_>>()
    };
    for (contender, cases) in of_field(&JSON_RPC).into_iter().chain(of_field(&MCP)) {
        let loads = cases.iter().map(|case| Load::of(workspace, *case, SINGLES));
        let mut loads = loads.collect::<Result<Vec<_>>>()?;
        if contender == Contender::Ours {
            loads.push(unknown());
        }
        rows.extend(Counted::contender(workspace, binaries, contender)?.rows(&loads)?);
    }
    eprintln!("building the server as it would be distributed");
    let binary = build::ours(workspace, &["--package=trunkline-cli"])?.join("trunkline");
    let servers: [(_, &[&str]); 4] = [
        (SERVE, &[]),
        (SERVE_WITHOUT_HISTORY, &["--no-history"]),
        (SERVE_WITH_TRACES, &["--otlp-endpoint", COLLECTOR]),
        (SERVE_WITH_METRICS, &["--otlp-endpoint", COLLECTOR, "--sample-ratio", "0"]),
    ];
    for (name, extra) in servers {
        let folder = workspace.fresh_folder("target/bench/instructions")?;
        let mut server = Counted::listening(workspace, name, |callgrind, address| {
            callgrind.arg(&binary).args(["serve", "--sample", "--listen", address]).args(extra);
            callgrind.arg("--db").arg(folder.join("sample.db"));
            callgrind.arg("--data-dir").arg(folder.join("data"));
            // With these variables, the server does not restart itself to set them.
            callgrind.env("MALLOC_TRIM_THRESHOLD_", "1048576");
        })?;
        rows.extend(server.rows(&[unknown(), select()])?);
    }
    Ok(Report(rows))
}

fn unknown() -> Load {
    load(UNKNOWN, UNKNOWN_BODY, "-32601")
}

fn select() -> Load {
    load(SELECT, SELECT_BODY, RESULT)
}

fn load(case: &'static str, body: &str, expected: &'static str) -> Load {
    let request = Request { path: "/", headers: &[], body: body.to_owned(), expected };
    Load { case, request, count: SINGLES }
}

impl Report {
    fn of(&self, server: &str, case: &str) -> Option<f64> {
        let row = self.0.iter().find(|row| row.server == server && row.case == case)?;
        Some(row.instructions)
    }

    /// The ratios with goals.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |what: String, figure: Option<f64>, goal| {
            Some(Verdict::of(what, Spread::of([figure?]), Some(Goal::AtMost(goal))))
        };
        let ratios = GOALS.iter().filter_map(|&(case, of, over, goal)| {
            let ratio = self.of(of, case)? / self.of(over, case)?;
            verdict(format!("instructions, {case}, {of} / {over}"), Some(ratio), goal)
        });
        let tools = MCP.cases.iter().filter_map(|case| {
            let above_floor =
                |server| Some(self.of(server, case.about())? - self.of("floor", "single call")?);
            let ratio = above_floor("mcp_ours")? / above_floor("mcp_rmcp")?;
            verdict(
                format!("instructions, {} above the floor / rmcp", case.about()),
                Some(ratio),
                TOOL_GOAL,
            )
        });
        let select =
            self.of(SERVE_WITHOUT_HISTORY, SELECT).zip(self.of(SERVE_WITHOUT_HISTORY, UNKNOWN));
        let select = verdict(
            "instructions, 5-row SELECT above an unknown method".to_owned(),
            select.map(|(select, unknown)| select - unknown),
            SELECT_GOAL,
        );
        ratios.chain(tools).chain(select).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<62} {:>12}", "user instructions per request", "callgrind")?;
        for Row { server, case, instructions } in &self.0 {
            writeln!(f, "  {:<60} {instructions:>12.0}", format!("{server}, {case}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_compare_servers_of_the_same_run() {
        let row = |server, case, instructions| Row { server, case, instructions };
        let report = Report(vec![
            row("floor", "single call", 10.0),
            row("axum_serde", "single call", 20.0),
            row("ours", "single call", 19.0),
            row("mcp_ours", "tools/call, 2025-11-25", 20.0),
            row("mcp_rmcp", "tools/call, 2025-11-25", 60.0),
        ]);
        let verdicts = report.verdicts();
        let found: Vec<_> =
            verdicts.iter().map(|verdict| (verdict.measured.median, verdict.reached)).collect();
        assert_eq!(found, [(0.95, Some(true)), (0.2, Some(false))]);
    }
}

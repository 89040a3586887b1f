//! The official conformance suite, against the example server and the example client of `trunkline-mcp`.
//!
//! The expected results are in lists. A scenario that passes unexpectedly fails the step as well, so that the lists stay
//! correct.

mod expected;
mod report;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use self::expected::Expected;
use self::report::Report;
use crate::peers::Node;
use crate::sdk;
use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const DEADLINE: Duration = Duration::from_secs(300);

/// The requirement sets of the suite, and the expected results.
const SETS: [(Side, &str, &str); 4] = [
    (Side::Server, "2025-11-25", include_str!("2025-11-25.txt")),
    (Side::Server, "2026-07-28", include_str!("2026-07-28.txt")),
    (Side::Client, "2025-11-25", include_str!("client-2025-11-25.txt")),
    (Side::Client, "2026-07-28", include_str!("client-2026-07-28.txt")),
];

/// The program under test.
#[derive(Clone, Copy)]
enum Side {
    Server,
    Client,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    let mut wrong = Vec::new();
    for (side, revision, list) in SETS {
        let set = format!("{} {revision}", side.name());
        let expected = Expected::parse(list).with_context(|| format!("the list of {set}"))?;
        let report = match side {
            Side::Server => run_server(workspace, &node, revision)?,
            Side::Client => run_client(workspace, &node, revision)?,
        };
        println!("{set}: {report}");
        wrong.extend(expected.compare(&report).into_iter().map(|line| format!("{set} {line}")));
    }
    for line in &wrong {
        println!("{line}");
    }
    if !wrong.is_empty() {
        bail!("{} scenarios differ from xtask/src/conformance/*.txt", wrong.len());
    }
    Ok(())
}

fn run_server(workspace: &Workspace, node: &Node, revision: &str) -> Result<Report> {
    let program = workspace.build("conformance_server")?;
    let folder = workspace.fresh_folder(Path::new("target/conformance").join(revision))?;
    let server = ServerProcess::start(
        workspace.command(&program).args(["--listen", "127.0.0.1:0"]),
        &folder.join("server.log"),
    )?;
    run_suite(
        workspace,
        node,
        &folder,
        &["server", "--url", &server.url, "--requirements", revision],
    )
}

fn run_client(workspace: &Workspace, node: &Node, revision: &str) -> Result<Report> {
    let program = workspace.build("conformance_client")?;
    let program = program.to_str().context("the path of the client is not UTF-8")?;
    let folder = Path::new("target/conformance/client").join(revision);
    let folder = workspace.fresh_folder(folder)?;
    run_suite(
        workspace,
        node,
        &folder,
        &["client", "--command", program, "--requirements", revision],
    )
}

fn run_suite(
    workspace: &Workspace,
    node: &Node,
    folder: &Path,
    arguments: &[&str],
) -> Result<Report> {
    let results = folder.join("results");
    let log = std::fs::File::create(folder.join("suite.log"))?;
    let suite = workspace::run_within(
        DEADLINE,
        node.command(workspace, SUITE)
            .args(arguments)
            .arg("--output-dir")
            .arg(&results)
            .stdout(log.try_clone()?)
            .stderr(log),
    );
    // The exit code covers only the required scenarios of the revision; the report covers all.
    if !results.is_dir() {
        suite?;
    }
    Report::read(&results)
}

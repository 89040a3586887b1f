//! The official conformance suite, against the example server of `trunkline-mcp`.
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

/// A requirement set of the suite, and the expected results.
const SETS: [(&str, &str); 2] = [
    ("2025-11-25", include_str!("2025-11-25.txt")),
    ("2026-07-28", include_str!("2026-07-28.txt")),
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    let program = workspace.build("conformance_server")?;
    let mut wrong = Vec::new();
    for (revision, list) in SETS {
        let expected = Expected::parse(list).with_context(|| format!("the list of {revision}"))?;
        let report = run_set(workspace, &node, &program, revision)?;
        println!("{revision}: {report}");
        wrong
            .extend(expected.compare(&report).into_iter().map(|line| format!("{revision} {line}")));
    }
    for line in &wrong {
        println!("{line}");
    }
    if !wrong.is_empty() {
        bail!("{} scenarios differ from xtask/src/conformance/*.txt", wrong.len());
    }
    Ok(())
}

fn run_set(workspace: &Workspace, node: &Node, program: &Path, revision: &str) -> Result<Report> {
    let folder = workspace.fresh_folder(Path::new("target/conformance").join(revision))?;
    let results = folder.join("results");
    let server = ServerProcess::start(
        workspace.command(program).args(["--listen", "127.0.0.1:0"]),
        &folder.join("server.log"),
    )?;
    let suite = workspace::run_within(
        DEADLINE,
        node.command(workspace, SUITE)
            .args(["server", "--url", &server.url, "--requirements", revision, "--output-dir"])
            .arg(&results)
            .stdout(std::fs::File::create(folder.join("suite.log"))?),
    );
    // The exit code covers only the required scenarios of the revision; the report covers all.
    if !results.is_dir() {
        suite?;
    }
    Report::read(&results)
}

//! DBHub, a server for Node.js.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::bench::process::{SERVER_CORE, pinned};
use crate::peers::Node;
use crate::sdk;
use crate::workspace::{self, Workspace};

/// The declaration of the tools, with environment variables for the database and the statements.
pub(super) const CONFIG: &str = "bench/dbhub/dbhub.toml";

const PROGRAM: &str = "node_modules/@bytebase/dbhub/dist/index.js";

/// Installs the version of the lock file once.
pub(super) fn provide(workspace: &Workspace) -> Result<Node> {
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    node.with_packages(workspace, "dbhub", Path::new("bench/dbhub"))
}

pub(super) fn command(node: &Node) -> Command {
    let mut command = pinned(SERVER_CORE, node.binary());
    command.arg(node.folder().join(PROGRAM));
    command
}

pub(super) fn sqlite_url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

/// The size of its packages and of Node.js, in bytes.
pub(super) fn size(workspace: &Workspace, node: &Node) -> Result<u64> {
    let mut du = workspace.command("du");
    du.args(["--summarize", "--bytes", "--total"]).arg(node.folder()).arg(node.binary());
    let printed = workspace::output(&mut du)?;
    let total = printed.lines().last().and_then(|line| line.split_whitespace().next());
    total.and_then(|bytes| bytes.parse().ok()).with_context(|| format!("du printed {printed:?}"))
}

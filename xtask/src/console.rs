//! The web console in headless Chromium: every page, with its screenshots and checks of accessibility.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::agent;
use crate::peers::Node;
use crate::sample_db;
use crate::sdk;
use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

const PACKAGES: &str = "crates/trunkline-cli/tests/browser";

/// Deadline of the script, which takes half a minute.
const DEADLINE: Duration = Duration::from_secs(180);

const TOKEN: &str = "token-of-the-console";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    workspace::output(workspace.command("chromium").arg("--version"))
        .context("Chromium is missing (Debian package chromium)")?;
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    let browser = node.with_packages(workspace, "browser", Path::new(PACKAGES))?;
    let program = workspace.build("trunkline")?;
    let folder = workspace.fresh_folder("target/console")?;
    let database = folder.join("chinook.db");
    std::fs::copy(sample_db::cached(workspace)?, &database)?;
    let serve = || {
        let mut serve = workspace.command(&program);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(&database);
        serve
    };
    let script = workspace.path(agent::SCRIPTS).join("scripted.mjs");
    let mut scripted = node.command(workspace, script);
    let model = ServerProcess::start(
        scripted.args(["execute_raw_query", "pieces"]),
        &folder.join("model.log"),
    )?;
    let mut locked = serve();
    let locked = locked.args(["--bearer", TOKEN]);
    let locked = ServerProcess::start(locked, &folder.join("locked.log"))?;
    let other = ServerProcess::start(&mut serve(), &folder.join("other.log"))?;
    let mut open = serve();
    open.args(["--writable", "--expose", "*", "--agent-model", "scripted", "--agent-url"])
        .arg(format!("{}/v1", model.url))
        .arg("--command-tools")
        .arg(workspace.path("examples/tools"))
        .arg("--upstream")
        .arg(format!("catalog={}/mcp", other.url))
        // Nothing listens on this port.
        .args(["--upstream", "broken=http://127.0.0.1:9/mcp"]);
    let open = ServerProcess::start(&mut open, &folder.join("open.log"))?;
    let mut script = browser.command(workspace, "console.mjs");
    script.args([&open.url, &locked.url, TOKEN]).arg(&folder);
    workspace::run_within(DEADLINE, &mut script)
        .with_context(|| format!("log of the server:\n{}", open.log_tail()))?;
    println!("screenshots and the report of axe: {}", folder.display());
    Ok(())
}

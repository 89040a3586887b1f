//! The web console in headless Chromium: every page, with its screenshots and checks of accessibility.

use anyhow::{Context, Result};

use crate::agent;
use crate::peers::Node;
use crate::server_process::Stage;
use crate::workspace::{self, Workspace};

const PACKAGES: &str = "crates/trunkline-cli/tests/browser";
const TOKEN: &str = "token-of-the-console";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    workspace::output(workspace.command("chromium").arg("--version"))
        .context("Chromium is missing (Debian package chromium)")?;
    let browser = Node::with(workspace, "browser", PACKAGES)?;
    let stage = Stage::new(workspace, "console")?;
    let database = stage.sample("chinook")?;
    let mut model = browser.command(workspace, workspace.path(agent::SCRIPTS).join("scripted.mjs"));
    let model = stage.start("model", model.args(["execute_raw_query", "pieces"]))?;
    let locked = stage.start("locked", &mut stage.serve(&database, &["--bearer", TOKEN]))?;
    let other = stage.start("other", &mut stage.serve(&database, &[]))?;
    let mut open = stage.serve(&database, &["--writable", "--expose", "*"]);
    open.args(["--agent-model", "scripted", "--agent-url"]).arg(format!("{}/v1", model.url));
    open.arg("--tools").arg(workspace.path("examples/tools"));
    open.arg("--upstream").arg(format!("catalog={}/mcp", other.url));
    // Nothing listens on this port.
    open.args(["--upstream", "broken=http://127.0.0.1:9/mcp"]);
    let open = stage.start("open", &mut open)?;
    let mut script = browser.command(workspace, "console.mjs");
    open.run(script.args([&open.url, &locked.url, TOKEN]).arg(&stage.folder))?;
    println!("screenshots and the report of axe: {}", stage.folder.display());
    Ok(())
}

//! MCP servers of others, with the client of `trunkline-mcp`, and as upstreams of the gateway.
//!
//! The example `interop_client` sends the requests of a file to a server, directly and through the gateway. The commands
//! of `trunkline` send some of them.

mod command_line;
mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use self::server::{Launcher, SERVERS};
use crate::sample_db;
use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

/// Deadline of a run of the client, which takes about a second.
const DEADLINE: Duration = Duration::from_secs(60);

/// The revision between the client and the gateway.
const LATEST: &str = "2026-07-28";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let folder = workspace.fresh_folder("target/upstreams")?;
    let files = folder.join("files");
    std::fs::create_dir(&files)?;
    let launcher = Launcher::provide(workspace, files)?;
    let client = Client {
        workspace,
        program: workspace.build("interop_client")?,
        files: launcher.files(),
        folder: &folder,
    };
    let trunkline = workspace.build("trunkline")?;
    for (server, target) in SERVERS.iter().zip(launcher.start_all(&folder)?) {
        client
            .run(server.steps, &["--version", server.version], target.arguments())
            .and_then(|()| command_line::check(workspace, &trunkline, server, &target))
            .with_context(|| format!("{} failed", server.name))?;
    }

    let database = folder.join("gateway.db");
    std::fs::copy(sample_db::cached(workspace)?, &database)?;
    let mut serve = workspace.command(&trunkline);
    // Names in lists are those of the servers, after the prefix, also the longest ones.
    serve.args(["serve", "--listen", "127.0.0.1:0", "--max-tool-name", "64", "--db"]).arg(database);
    // The first clients have added tools to their servers.
    let targets = launcher.start_all(&folder)?;
    for (server, target) in SERVERS.iter().zip(&targets) {
        serve.arg("--upstream").arg(format!("{}={}", server.name, target.arguments().join(" ")));
    }
    let gateway = ServerProcess::start(&mut serve, &folder.join("gateway.log"))?;
    let url = [format!("{}/mcp", gateway.url)];
    for server in &SERVERS {
        let prefix = format!("{}__", server.name);
        client
            .run(server.steps, &["--version", LATEST, "--prefix", &prefix], &url)
            .with_context(|| format!("{} failed through the gateway", server.name))
            .with_context(|| format!("log of the gateway:\n{}", gateway.log_tail()))?;
    }
    println!("{} servers, directly and through the gateway", SERVERS.len());
    Ok(())
}

struct Client<'w> {
    workspace: &'w Workspace,
    program: PathBuf,
    /// The folder of the server of files.
    files: &'w Path,
    folder: &'w Path,
}

impl Client<'_> {
    fn run(&self, steps: &str, flags: &[&str], server: &[String]) -> Result<()> {
        let text = self.workspace.read(&Path::new(server::PACKAGES).join(steps))?;
        let file = self.folder.join(steps);
        std::fs::write(&file, text.replace("FOLDER", &self.files.display().to_string()))?;
        let mut command = self.workspace.command(&self.program);
        command.args(flags).arg(file).args(server);
        workspace::run_within(DEADLINE, &mut command)
    }
}

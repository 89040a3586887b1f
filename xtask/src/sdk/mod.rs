//! The official SDKs as clients of the `trunkline` binary, with all protocol versions and transports.

mod client;
mod script;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use self::client::{CLIENTS, Transport};
use self::script::Scripts;
pub(crate) use self::script::TYPESCRIPT;
use crate::sample_db;
use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

/// Deadline of one session, which takes about a second.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let scripts = Scripts::provide(workspace)?;
    let sample = sample_db::cached(workspace)?;
    let program = workspace.build("trunkline")?;
    let folder = workspace.fresh_folder("target/sdk")?;
    let mut runs = 0;
    for client in &CLIENTS {
        for (version, transport) in client.sessions() {
            let name = format!("{}-{version}-{}", client.name, transport.name());
            let database = folder.join(format!("{name}.db"));
            // Each client writes to its own copy.
            std::fs::copy(&sample, &database)
                .with_context(|| format!("cannot write {}", database.display()))?;
            let mut script = scripts.command(workspace, client)?;
            script.arg(version).arg(transport.name());
            run_session(
                workspace,
                script,
                transport,
                &Database { program: &program, path: &database },
            )
            .with_context(|| format!("{name} failed"))?;
            runs += 1;
        }
    }
    println!("{runs} sessions");
    Ok(())
}

/// The served database, and the server program.
struct Database<'p> {
    program: &'p Path,
    path: &'p Path,
}

fn run_session(
    workspace: &Workspace,
    mut script: Command,
    transport: Transport,
    database: &Database<'_>,
) -> Result<()> {
    let Some(path) = transport.path() else {
        script
            .arg(database.program)
            .args(["mcp", "--writable", "--output-schemas", "--db"])
            .arg(database.path);
        return workspace::run_within(DEADLINE, &mut script);
    };
    let server = ServerProcess::start(
        workspace
            .command(database.program)
            .args(["serve", "--listen", "127.0.0.1:0", "--writable", "--output-schemas", "--db"])
            .arg(database.path),
        &database.path.with_extension("log"),
    )?;
    script.arg(format!("{}{path}", server.url));
    workspace::run_within(DEADLINE, &mut script)
        .with_context(|| format!("log of the server:\n{}", server.log_tail()))
}

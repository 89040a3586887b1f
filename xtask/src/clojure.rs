//! Clojure: compares its EDN reader with ours, and runs a Clojure client that calls the server in EDN.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::sample_db;
use crate::server_process::ServerProcess;
use crate::suite;
use crate::workspace::{self, Workspace};

const CLIENT: &str = "crates/trunkline-cli/tests/clojure/client.clj";

/// Deadline of the client, which takes a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let version = workspace::output(workspace.command("clojure").args(["-e", "(clojure-version)"]))
        .context(
            "Clojure is missing: `apt-get install --no-install-recommends clojure` on Debian",
        )?;
    println!("Clojure {}", version.trim().trim_matches('"'));
    // The tests have their own deadline.
    suite::run(workspace, &["--test=jvm"], &["--include-ignored", "--nocapture"])?;
    run_client(workspace)
}

/// Runs the client against the server.
fn run_client(workspace: &Workspace) -> Result<()> {
    let folder = workspace.fresh_folder("target/clojure")?;
    let database = folder.join("sample.db");
    std::fs::copy(sample_db::cached(workspace)?, &database)
        .with_context(|| format!("cannot write {}", database.display()))?;
    let mut serve = workspace.command(workspace.build("trunkline")?);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(&database);
    let server = ServerProcess::start(&mut serve, &folder.join("server.log"))?;
    workspace::run_within(
        DEADLINE,
        workspace.command("clojure").arg(workspace.path(CLIENT)).arg(&server.url),
    )
    .with_context(|| format!("log of the server:\n{}", server.log_tail()))
}

//! Clojure itself: what its reader makes of EDN beside what ours does, and a client in it that speaks
//! EDN to the server.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::sample_db;
use crate::served::Served;
use crate::workspace::{self, Workspace};

const CLIENT: &str = "crates/trunkline-cli/tests/clojure/client.clj";

/// Of the client, which takes a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let version = workspace::output(workspace.command("clojure").args(["-e", "(clojure-version)"]))
        .context(
            "Clojure is needed: `apt-get install --no-install-recommends clojure` on Debian",
        )?;
    println!("Clojure {}", version.trim().trim_matches('"'));
    // The tests have a deadline of their own. (Of the workspace, so that nothing is built twice.)
    workspace::run(&mut workspace.cargo([
        "test",
        "--workspace",
        "--test=jvm",
        "--",
        "--include-ignored",
        "--nocapture",
    ]))?;
    converse(workspace)
}

/// Has the client talk to the server.
fn converse(workspace: &Workspace) -> Result<()> {
    let folder = workspace.fresh_folder("target/clojure")?;
    let database = folder.join("sample.db");
    std::fs::copy(sample_db::cached(workspace)?, &database)
        .with_context(|| format!("cannot write {}", database.display()))?;
    let mut serve = workspace.command(workspace.build("trunkline")?);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(&database);
    let server = Served::start(&mut serve, &folder.join("server.log"))?;
    workspace::run_within(
        DEADLINE,
        workspace.command("clojure").arg(workspace.path(CLIENT)).arg(&server.url),
    )
    .with_context(|| format!("the server said:\n{}", server.log_tail()))
}

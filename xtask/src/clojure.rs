//! Clojure: compares its EDN reader with ours, and runs a Clojure client that calls the server in EDN.

use anyhow::{Context, Result};

use crate::server_process::Stage;
use crate::suite;
use crate::workspace::{self, Workspace};

const CLIENT: &str = "crates/trunkline-cli/tests/clojure/client.clj";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut clojure = workspace.command("clojure");
    workspace::output(clojure.args(["-e", "(clojure-version)"])).context(
        "Clojure is missing: `apt-get install --no-install-recommends clojure` on Debian",
    )?;
    // The tests have their own deadline.
    suite::run(workspace, &["--test=jvm"], &["--include-ignored", "--nocapture"])?;
    let stage = Stage::new(workspace, "clojure")?;
    let server = stage.start("server", &mut stage.serve(&stage.sample("sample")?, &[]))?;
    server.run(workspace.command("clojure").arg(workspace.path(CLIENT)).arg(&server.url))
}

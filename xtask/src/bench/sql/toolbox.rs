//! Google's MCP Toolbox, which is published as an npm package.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::case::{ROWS_FROM, ROWS_OF_SENSOR};
use crate::peers;
use crate::workspace::{self, Workspace};

/// The declaration of the tools, with environment variables for the statements.
pub(super) const CONFIG: &str = "bench/toolbox/tools.yaml";
pub(super) const DATABASE: &str = "BENCH_DATABASE";

const SOURCES: &str = "bench/toolbox";
const MANIFEST: &str = "package.json";
const LOCK: &str = "package-lock.json";

/// Installs the version of the lock file once, and returns the path of the program.
pub(super) fn provide(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/peers/toolbox");
    let sources = Path::new(SOURCES);
    let [manifest, lock] = [MANIFEST, LOCK].map(|name| workspace.read(&sources.join(name)));
    let (manifest, lock) = (manifest?, lock?);
    peers::create_once(&folder, &(manifest.clone() + &lock), || {
        std::fs::write(folder.join(MANIFEST), &manifest)?;
        std::fs::write(folder.join(LOCK), &lock)?;
        let npm = workspace::output(
            workspace
                .command("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
                .current_dir(&folder),
        );
        npm.context("npm is missing or failed (Debian packages nodejs and npm)").map(drop)
    })?;
    let program = folder.join("node_modules/@toolbox-sdk/server-linux-x64/bin/toolbox");
    ensure!(
        program.is_file(),
        "Toolbox is published for x86-64 only; select other parts with `--only`"
    );
    Ok(program)
}

/// The environment variables of the configuration.
pub(super) fn variables() -> [(&'static str, &'static str); 2] {
    [("BENCH_ROWS_OF_SENSOR", ROWS_OF_SENSOR), ("BENCH_ROWS_FROM", ROWS_FROM)]
}

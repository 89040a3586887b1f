//! Google's MCP Toolbox, which is published as an npm package.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::side::Engine;
use crate::peers;
use crate::workspace::Workspace;

/// The declaration of the tools, with environment variables for the statements.
pub(super) fn config(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "bench/toolbox/sqlite.yaml",
        Engine::Postgres => "bench/toolbox/postgres.yaml",
    }
}

/// Installs the version of the lock file once, and returns the path of the program.
pub(super) fn provide(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/peers/toolbox");
    peers::install_packages(workspace, &folder, Path::new("bench/toolbox"), &[])?;
    let program = folder.join("node_modules/@toolbox-sdk/server-linux-x64/bin/toolbox");
    ensure!(
        program.is_file(),
        "Toolbox is published for x86-64 only; select other parts with `--only`"
    );
    Ok(program)
}

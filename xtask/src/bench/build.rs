//! Release builds of the measured programs.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::{self, Workspace};

/// Builds programs of `bench/`, selected by arguments of `cargo build`, and returns their folder, which is always in
/// `bench/target`.
pub(super) fn contenders(workspace: &Workspace, chosen: &[&str]) -> Result<PathBuf> {
    let target = workspace.path("bench/target");
    workspace::output(
        workspace
            .cargo(["build", "--release", "--manifest-path=bench/Cargo.toml", "--target-dir"])
            .arg(&target)
            .args(chosen),
    )?;
    Ok(target.join("release"))
}

/// Builds programs or examples of the workspace, and returns the folder of the programs.
pub(super) fn ours(workspace: &Workspace, chosen: &[&str]) -> Result<PathBuf> {
    let target = workspace.path("target/bench");
    let mut command = workspace.cargo(["build", "--release", "--target-dir"]);
    workspace::output(command.arg(&target).args(chosen))?;
    Ok(target.join("release"))
}

//! Optimized builds of the measured programs.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::{self, Workspace};

/// The profile of programs that are compared: that of distributed packages.
pub(super) const DIST: &str = "dist";

/// The profile of the step `instructions`, which is built in less time.
pub(super) const INSTRUCTIONS: &str = "instructions";

/// Builds packages of `bench/` and returns the folder of their programs, which is always in `bench/target`.
pub(super) fn contenders(
    workspace: &Workspace,
    profile: &str,
    packages: &[&str],
) -> Result<PathBuf> {
    let target = workspace.path("bench/target");
    let mut command = workspace.cargo(["build", "--locked", "--manifest-path=bench/Cargo.toml"]);
    for package in packages {
        command.args(["--package", package]);
    }
    workspace::output(command.args(["--profile", profile, "--target-dir"]).arg(&target))?;
    Ok(target.join(profile))
}

/// Builds programs or examples of the workspace, and returns the folder of the programs.
pub(super) fn ours(workspace: &Workspace, chosen: &[&str]) -> Result<PathBuf> {
    let target = workspace.path("target/bench");
    let mut command = workspace.cargo(["build", "--profile", DIST, "--target-dir"]);
    workspace::output(command.arg(&target).args(chosen))?;
    Ok(target.join(DIST))
}

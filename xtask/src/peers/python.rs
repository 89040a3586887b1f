//! A Python virtual environment with exactly the packages of a lock file.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::stamp;
use crate::workspace::{self, Workspace};

pub(crate) struct Python {
    folder: PathBuf,
}

impl Python {
    /// An environment with only pip.
    pub(crate) fn bare(workspace: &Workspace, name: &str) -> Result<Self> {
        let python = Self::in_peers(workspace, name);
        let source = version(workspace)?;
        stamp::create_once(&python.folder, &source, || python.create(workspace))?;
        Ok(python)
    }

    /// An environment with the packages of the lock file, a path relative to the root.
    pub(crate) fn with(workspace: &Workspace, name: &str, lock: &Path) -> Result<Self> {
        let python = Self::in_peers(workspace, name);
        let source = version(workspace)? + &workspace.read(lock)?;
        stamp::create_once(&python.folder, &source, || {
            python.create(workspace)?;
            workspace::run(
                python
                    .pip(workspace)
                    .args(["install", "--quiet", "--no-deps", "--only-binary=:all:"])
                    .args(["--require-hashes", "--requirement"])
                    .arg(lock),
            )
        })?;
        Ok(python)
    }

    pub(crate) fn command(&self, workspace: &Workspace) -> Command {
        workspace.command(self.folder.join("bin/python"))
    }

    pub(crate) fn pip(&self, workspace: &Workspace) -> Command {
        let mut command = self.command(workspace);
        command.args(["-m", "pip", "--disable-pip-version-check"]);
        command
    }

    fn in_peers(workspace: &Workspace, name: &str) -> Self {
        Self { folder: workspace.path("target/peers").join(name) }
    }

    fn create(&self, workspace: &Workspace) -> Result<()> {
        workspace::run(workspace.command("python3").args(["-m", "venv"]).arg(&self.folder))
            .context("Python cannot create a virtual environment (Debian package python3-venv)")
    }
}

/// An environment works only with the Python version that created it.
fn version(workspace: &Workspace) -> Result<String> {
    workspace::output(workspace.command("python3").arg("--version"))
        .context("python3 is missing (Debian package python3)")
}

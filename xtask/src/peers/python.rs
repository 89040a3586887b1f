//! A Python virtual environment with exactly the packages of a lock file.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::provide;
use crate::workspace::{self, Workspace};

pub(crate) struct Python {
    folder: PathBuf,
}

impl Python {
    /// An environment with only pip.
    pub(crate) fn bare(workspace: &Workspace, name: &str) -> Result<Self> {
        let create = |folder: &Path| create(workspace, folder);
        Ok(Self { folder: provide(name, &version(workspace)?, create)? })
    }

    /// An environment with the packages of the lock file, a path relative to the root.
    pub(crate) fn with(workspace: &Workspace, name: &str, lock: &Path) -> Result<Self> {
        let source = version(workspace)? + &workspace.read(lock)?;
        let folder = provide(name, &source, |folder| {
            create(workspace, folder)?;
            let python = Self { folder: folder.to_owned() };
            workspace::run(
                python
                    .pip(workspace)
                    .args(["install", "--quiet", "--no-deps", "--only-binary=:all:"])
                    .args(["--require-hashes", "--requirement"])
                    .arg(lock),
            )
        })?;
        Ok(Self { folder })
    }

    /// The folder of the programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.folder.join("bin")
    }

    pub(crate) fn command(&self, workspace: &Workspace) -> Command {
        workspace.command(self.programs().join("python"))
    }

    pub(crate) fn pip(&self, workspace: &Workspace) -> Command {
        let mut command = self.command(workspace);
        command.args(["-m", "pip", "--disable-pip-version-check"]);
        command
    }
}

fn create(workspace: &Workspace, folder: &Path) -> Result<()> {
    workspace::run(workspace.command("python3").args(["-m", "venv"]).arg(folder))
        .context("Python cannot create a virtual environment (Debian package python3-venv)")
}

/// An environment works only with the Python version that created it.
fn version(workspace: &Workspace) -> Result<String> {
    workspace::output(workspace.command("python3").arg("--version"))
        .context("python3 is missing (Debian package python3)")
}

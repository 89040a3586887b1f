//! Third-party tools of packages, at pinned versions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::peers::{self, Python};
use crate::workspace::Workspace;

const SOURCES: &str = "packaging/tools";

pub(super) struct Tools {
    python: Python,
    node_modules: PathBuf,
}

impl Tools {
    pub(super) fn install(workspace: &Workspace) -> Result<Self> {
        let lock = Path::new(SOURCES).join("requirements.txt");
        Ok(Self {
            python: Python::with(workspace, "packaging-python", Some(&lock))?,
            node_modules: node_modules(workspace)?,
        })
    }

    /// A module of Python, such as `wheel`.
    pub(super) fn python_module(&self, workspace: &Workspace, module: &str) -> Command {
        let mut command = self.python.command(workspace);
        command.args(["-m", module]);
        command
    }

    /// A program of a Python package.
    pub(super) fn python_program(&self, workspace: &Workspace, name: &str) -> Command {
        workspace.command(self.python.programs().join(name))
    }

    /// PATH with the programs of the Python packages.
    pub(super) fn python_path(&self) -> Result<OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.python.programs()).chain(std::env::split_paths(&path));
        std::env::join_paths(folders).context("invalid PATH")
    }

    /// The command that checks, packs and unpacks MCP bundles.
    pub(super) fn mcpb(&self, workspace: &Workspace) -> Command {
        mcpb(workspace, &self.node_modules)
    }
}

/// The same, without the tools of Python.
pub(super) fn mcpb_only(workspace: &Workspace) -> Result<Command> {
    Ok(mcpb(workspace, &node_modules(workspace)?))
}

fn mcpb(workspace: &Workspace, node_modules: &Path) -> Command {
    workspace.command(node_modules.join(".bin/mcpb"))
}

fn node_modules(workspace: &Workspace) -> Result<PathBuf> {
    let folder = peers::install_packages(workspace, "packaging-node", Path::new(SOURCES), &[])?;
    Ok(folder.join("node_modules"))
}

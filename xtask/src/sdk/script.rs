//! The scripts of the clients, and their interpreters.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::client::{CLIENTS, Client, Language};
use crate::peers::{Node, Python};
use crate::workspace::{self, Workspace};

pub(crate) const TYPESCRIPT: &str = "crates/trunkline-cli/tests/sdk/typescript";
const PROGRAMS: &str = "target/bench-check";
pub(crate) const PYTHON: &str = "crates/trunkline-cli/tests/sdk/python";

pub(super) struct Scripts {
    node: Node,
    /// By the name of the client.
    pythons: Vec<(&'static str, Python)>,
    /// The folder of the programs in Rust.
    programs: PathBuf,
}

impl Scripts {
    pub(super) fn provide(workspace: &Workspace) -> Result<Self> {
        let mut pythons = Vec::new();
        for Client { name, language, .. } in &CLIENTS {
            if let Language::Python { lock } = language {
                let lock = Path::new(PYTHON).join(lock);
                pythons.push((*name, Python::with(workspace, name, &lock)?));
            }
        }
        let node = Node::with(workspace, Path::new(TYPESCRIPT))?;
        Ok(Self { node, pythons, programs: workspace.path(PROGRAMS).join("debug") })
    }

    pub(super) fn command(&self, workspace: &Workspace, client: &Client) -> Result<Command> {
        match client.language {
            Language::Rust => Ok(workspace.command(self.programs.join(client.script))),
            Language::TypeScript => Ok(self.node.command(workspace, client.script)),
            Language::Python { .. } => {
                let python = self.pythons.iter().find(|(name, _)| *name == client.name);
                let (_, python) = python.context("every Python client has its Python")?;
                let mut command = python.command(workspace);
                command.arg(Path::new(PYTHON).join(client.script));
                // Avoids compiled files in the checkout.
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                Ok(command)
            }
        }
    }

    /// Builds the clients in Rust. The workspace `bench` has dependencies that are not those of the project.
    pub(super) fn build_programs(&self, workspace: &Workspace) -> Result<()> {
        let mut build = workspace.cargo(["build", "--manifest-path=bench/Cargo.toml", "--locked"]);
        for client in &CLIENTS {
            if let Language::Rust = client.language {
                build.args(["--package", client.script]);
            }
        }
        workspace::run(build.args(["--target-dir", PROGRAMS]))
    }
}

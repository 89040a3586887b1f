//! The programs of both sides, and their command lines.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::side::Side;
use super::{database, toolbox};
use crate::bench::build;
use crate::bench::process::{SERVER_CORE, pinned};
use crate::workspace::{self, Workspace};

pub(super) struct Programs {
    ours: PathBuf,
    toolbox: PathBuf,
    /// The program of Toolbox.
    config: PathBuf,
    database: PathBuf,
}

/// Size in bytes; ours without symbols.
pub(crate) struct Sizes {
    pub(super) ours: u64,
    pub(super) toolbox: u64,
}

impl Programs {
    pub(super) fn provide(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            ours: build::ours(workspace, &["--package=trunkline-cli"])?.join("trunkline"),
            toolbox: toolbox::provide(workspace)?,
            config: workspace.path(toolbox::CONFIG),
            database: database::provide(workspace)?,
        })
    }

    pub(super) fn sizes(&self, workspace: &Workspace) -> Result<Sizes> {
        let stripped = workspace.path("target/bench/trunkline.stripped");
        workspace::output(workspace.command("strip").arg("-o").args([&stripped, &self.ours]))
            .context("strip is missing or failed (Debian package binutils)")?;
        Ok(Sizes { ours: stripped.metadata()?.len(), toolbox: self.toolbox.metadata()?.len() })
    }

    /// Starts a server on this address, with its output in the log.
    pub(super) fn http(&self, side: Side, address: &str, log: &Path) -> Result<Command> {
        let mut command = match side {
            Side::Ours => {
                let mut command = pinned(SERVER_CORE, &self.ours);
                command.args(["serve", "--listen", address, "--db"]).arg(&self.database);
                command
            }
            Side::Toolbox => {
                let (host, port) = address.rsplit_once(':').context("an address has a port")?;
                let mut command = self.toolbox();
                command.args(["--address", host, "--port", port]);
                command
            }
        };
        let data = log.with_extension("data");
        let log = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        command.env("TRUNKLINE_DATA_DIR", data);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// A server on stdin and stdout.
    pub(super) fn stdio(&self, side: Side) -> Command {
        match side {
            Side::Ours => {
                let mut command = pinned(SERVER_CORE, &self.ours);
                command.args(["mcp", "--db"]).arg(&self.database);
                command
            }
            Side::Toolbox => {
                let mut command = self.toolbox();
                command.arg("--stdio");
                command
            }
        }
    }

    fn toolbox(&self) -> Command {
        let mut command = pinned(SERVER_CORE, &self.toolbox);
        command
            // Stdin and stdout without work for calls.
            .args(["--disable-reload", "--disable-version-check", "--config"])
            .arg(&self.config)
            .envs(toolbox::variables())
            .env(toolbox::DATABASE, &self.database);
        command
    }
}

//! Tools from crates.io, installed at exact versions when missing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::{self, Workspace};

pub(crate) const CYCLONEDX: Tool =
    Tool { name: "cargo-cyclonedx", version: "0.5.9", subcommand: &["cyclonedx"] };

pub(crate) const MDBOOK: Tool = Tool { name: "mdbook", version: "0.5.4", subcommand: &[] };

pub(crate) const SEMVER_CHECKS: Tool =
    Tool { name: "cargo-semver-checks", version: "0.51.0", subcommand: &[] };

pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
    /// The arguments before `--version`.
    subcommand: &'static [&'static str],
}

impl Tool {
    /// The path of the program: the one on PATH if it has this version, or one that is installed once per machine.
    pub(crate) fn ensure(&self, workspace: &Workspace) -> Result<PathBuf> {
        let on_path = PathBuf::from(self.name);
        if self.is(workspace, &on_path) {
            return Ok(on_path);
        }
        let folder = cargo_home()?
            .join("trunkline-command-tools")
            .join(format!("{}-{}", self.name, self.version));
        let own = folder.join("bin").join(self.name);
        if !self.is(workspace, &own) {
            self.install(workspace, &folder)?;
        }
        Ok(own)
    }

    fn is(&self, workspace: &Workspace, candidate: &PathBuf) -> bool {
        let mut command = workspace.command(candidate);
        workspace::output(command.args(self.subcommand).arg("--version")).is_ok_and(|printed| {
            printed.split_whitespace().any(|word| word.trim_start_matches('v') == self.version)
        })
    }

    fn install(&self, workspace: &Workspace, folder: &Path) -> Result<()> {
        let build = workspace.fresh_folder("target/tools")?;
        workspace::run(
            workspace
                .cargo(["install", "--locked", "--force", "--root"])
                .arg(folder)
                .args([self.name, "--version", self.version])
                .env("CARGO_TARGET_DIR", &build)
                // They run for a second, so build time matters more.
                .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
                .env("CARGO_PROFILE_RELEASE_LTO", "off")
                .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
        )?;
        std::fs::remove_dir_all(&build)
            .with_context(|| format!("cannot remove {}", build.display()))
    }
}

/// The folder of cargo for the user, in which tools and peers are kept for all checkouts.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).context("HOME is not set")
}

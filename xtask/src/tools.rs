//! Tools from crates.io, installed at exact versions when missing.

use std::path::PathBuf;

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
    /// The path of the program: the one on PATH if it has this version, or one that is built under `target/tools`.
    pub(crate) fn ensure(&self, workspace: &Workspace) -> Result<PathBuf> {
        let on_path = PathBuf::from(self.name);
        let own = workspace.path("target/tools/bin").join(self.name);
        for candidate in [on_path, own.clone()] {
            if self.is(workspace, &candidate) {
                return Ok(candidate);
            }
        }
        self.install(workspace)?;
        Ok(own)
    }

    fn is(&self, workspace: &Workspace, candidate: &PathBuf) -> bool {
        let mut command = workspace.command(candidate);
        workspace::output(command.args(self.subcommand).arg("--version")).is_ok_and(|printed| {
            printed.split_whitespace().any(|word| word.trim_start_matches('v') == self.version)
        })
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        let tools = workspace.path("target/tools");
        let build = tools.join("build");
        workspace::run(
            workspace
                .cargo(["install", "--locked", "--force", "--root"])
                .arg(&tools)
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

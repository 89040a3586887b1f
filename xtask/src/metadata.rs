//! The parts of `cargo metadata` that tasks read.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::workspace::{self, Workspace};

/// The supported platforms.
pub(crate) const PLATFORMS: [&str; 4] = [
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
];

#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) target_directory: String,
    /// `workspace.metadata` of the root manifest.
    pub(crate) metadata: Value,
    pub(crate) resolve: Value,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    /// `package.metadata` of its manifest.
    pub(crate) metadata: Value,
    /// Such as `description`.
    #[serde(flatten)]
    pub(crate) others: Value,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) src_path: PathBuf,
    pub(crate) kind: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` is a normal dependency; the others are `dev` and `build`.
    pub(crate) kind: Option<String>,
    pub(crate) optional: bool,
}

impl Package {
    /// Whether one of its targets is of this kind: `lib`, `proc-macro`, `bin` and so on.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.targets.iter().flat_map(|target| &target.kind).any(|known| known == kind)
    }
}

impl Metadata {
    /// Reads the metadata with all features enabled, so that rules apply to every configuration, for the supported
    /// platforms.
    pub(crate) fn load(workspace: &Workspace) -> Result<Self> {
        let mut command = workspace.cargo(["metadata", "--format-version=1", "--all-features"]);
        command.args(PLATFORMS.iter().flat_map(|platform| ["--filter-platform", platform]));
        let json = workspace::output(&mut command)?;
        serde_json::from_str(&json).context("unexpected output of cargo metadata")
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

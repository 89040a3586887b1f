//! The software bill of materials: the crates that the program contains, in CycloneDX.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::release::{Release, TARGET};
use crate::peers;
use crate::workspace::run;

/// A crate that the program contains, and one that only tests use.
const CONTAINED: &str = "rusqlite";
const NOT_CONTAINED: &str = "rcgen";

pub(super) fn write(release: &Release<'_>) -> Result<()> {
    let workspace = release.workspace;
    let program = peers::cargo_tool(workspace, "cargo-cyclonedx", "0.5.9", &["cyclonedx"])?;
    let name = format!("trunkline-{}.cdx", release.get("version"));
    run(workspace
        .command(program)
        .args(["cyclonedx", "--manifest-path=crates/trunkline-cli/Cargo.toml", "--format=json"])
        .arg("--no-build-deps")
        .args(["--target", TARGET, "--spec-version=1.5", "--override-filename", &name]))?;
    let name = format!("{name}.json");
    let file = release.file(&name);
    // A file is written next to each manifest.
    for folder in fs::read_dir(workspace.path("crates"))?.chain(fs::read_dir(workspace.path("."))?)
    {
        let written = folder?.path().join(&name);
        if !written.exists() {
            continue;
        }
        if written.parent() == Some(&workspace.path("crates/trunkline-cli")) {
            // Crates of the workspace are named by their paths.
            let root = workspace.path("").to_string_lossy().into_owned();
            fs::write(&file, fs::read_to_string(&written)?.replace(&root, "/"))?;
        }
        fs::remove_file(&written)?;
    }
    let text = fs::read_to_string(&file).context("cargo-cyclonedx wrote no file")?;
    check(release, &serde_json::from_str(&text)?)
}

fn check(release: &Release<'_>, bill: &Value) -> Result<()> {
    let component = &bill["metadata"]["component"];
    ensure!(
        bill["bomFormat"] == "CycloneDX" && component["version"] == release.get("version"),
        "unexpected bill of materials for {component}"
    );
    let components = bill["components"].as_array().context("no components")?;
    let has = |name: &str| components.iter().any(|component| component["name"] == name);
    ensure!(has(CONTAINED), "{CONTAINED} is not in the bill of materials");
    ensure!(
        !has(NOT_CONTAINED),
        "{NOT_CONTAINED}, which only tests use, is in the bill of materials"
    );
    println!("{} components", components.len());
    Ok(())
}

//! Packages of npm: one with a launcher, and one with the program for each platform. They have no install scripts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::program::Program;
use super::release::{Installed, Release, copy};
use super::session;
use crate::server_process::ServerProcess;
use crate::workspace::{command, output, run};

/// Templates, and their paths. The package of the platform is published first: a launcher without it fails.
const FILES: [&str; 5] = [
    "platform/package.json",
    "platform/README.md",
    "trunkline/package.json",
    "trunkline/README.md",
    "trunkline/bin/trunkline.js",
];

/// An address at which no program listens.
const NO_REGISTRY: &str = "http://127.0.0.1:9";

pub(super) fn build(release: &Release<'_>, program: &Program) -> Result<Vec<PathBuf>> {
    stage(release, program)?.iter().map(|folder| pack(release, folder)).collect()
}

/// Writes the content of the packages to two folders: that of the platform, and that of the launcher.
pub(super) fn stage(release: &Release<'_>, program: &Program) -> Result<[PathBuf; 2]> {
    let folder = release.staging("npm")?;
    for file in FILES {
        release.write(&format!("npm/{file}"), &folder.join(file))?;
    }
    let folders = [folder.join("platform"), folder.join("trunkline")];
    copy(&program.path, &folders[0].join("bin/trunkline"))?;
    for folder in &folders {
        release.copy_licences(folder)?;
        let manifest: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("package.json"))?)?;
        // Install scripts are blocked by npm 12, and by many users.
        ensure!(manifest.get("scripts").is_none(), "{} has scripts", folder.display());
    }
    Ok(folders)
}

/// Tests the launcher with a shell script instead of the program.
pub(super) fn test_launcher(release: &Release<'_>, launcher: &Path) -> Result<()> {
    let script = "packaging/npm/test/launcher.test.mjs";
    let mut node = command!(release.workspace, "node", "--test", "--test-reporter=spec", script);
    run(node.env("PACKAGE", launcher))
        .context("Node.js is missing, or the launcher failed (Debian package nodejs)")
}

fn pack(release: &Release<'_>, folder: &Path) -> Result<PathBuf> {
    let mut pack = release.workspace.command("npm");
    pack.args(["pack", "--json", "--ignore-scripts", "--pack-destination"]);
    let packed: Value = serde_json::from_str(&output(pack.arg(&release.folder).arg(folder))?)?;
    let name = packed[0]["filename"].as_str().context("unexpected output of npm pack")?;
    // npm 6 to 8 report the name of a scoped package with its slash.
    Ok(release.file(&name.replace('@', "").replace('/', "-")))
}

/// Runs the packages with npx and an empty cache, from a registry on this machine.
pub(super) fn check(release: &Release<'_>, files: &[PathBuf]) -> Result<Installed> {
    let workspace = release.workspace;
    let folder = release.staging("npm-installed")?;
    let mut registry = command!(workspace, "node", "packaging/npm/test/registry.mjs");
    let registry = ServerProcess::start(registry.args(files), &folder.join("registry.log"))?;
    let npm = |program: &str| {
        let mut command = workspace.command(program);
        command.current_dir(&folder).env("npm_config_registry", &registry.url);
        command.env("npm_config_cache", folder.join("cache")).env("npm_config_audit", "false");
        command
    };
    let database = session::database(&folder)?;
    let npx =
        || session::mcp(npm("npx").args(["--yes", "trunkline", "mcp", "--db", "app.db"]), &folder);
    let (first, first_answer) = (npx()?, npx()?);

    // Installed globally from the files, without a registry.
    let prefix = folder.join("prefix");
    let mut install = npm("npm");
    install.env("npm_config_registry", NO_REGISTRY).env("npm_config_fetch_retries", "0");
    run(install.args(["install", "--silent", "--global", "--prefix"]).arg(&prefix).args(files))?;
    let program = prefix.join("bin/trunkline");
    session::mcp(&mut command!(workspace, program, "mcp", "--db", database), &folder)?;
    Ok(Installed { install: first.saturating_sub(first_answer), first_answer })
}

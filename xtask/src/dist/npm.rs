//! Packages of npm: one with a launcher, and one with the program for each platform. They have no install scripts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::format::Installed;
use super::program::Program;
use super::release::{Release, copy};
use super::session;
use super::tools::Tools;
use crate::workspace::{Workspace, output, run};

const LAUNCHER: [&str; 3] = ["package.json", "README.md", "bin/trunkline.js"];
const PLATFORM: [&str; 2] = ["package.json", "README.md"];

/// An address at which no program listens.
const NO_REGISTRY: &str = "http://127.0.0.1:9";

/// The folders of the packages.
pub(super) struct Staged {
    pub(super) platform: PathBuf,
    pub(super) launcher: PathBuf,
}

pub(super) fn build(
    release: &Release<'_>,
    program: &Program,
    _tools: &Tools,
) -> Result<Vec<PathBuf>> {
    let Staged { platform, launcher } = stage(release, program)?;
    // In the order of publishing: a launcher without its platform fails.
    [platform, launcher].iter().map(|folder| pack(release, folder)).collect()
}

/// Writes the content of the packages to folders.
pub(super) fn stage(release: &Release<'_>, program: &Program) -> Result<Staged> {
    let folder = release.staging("npm")?;
    let staged = Staged { platform: folder.join("platform"), launcher: folder.join("trunkline") };
    for name in LAUNCHER {
        release.write(&format!("npm/trunkline/{name}"), &staged.launcher.join(name))?;
    }
    for name in PLATFORM {
        release.write(&format!("npm/platform/{name}"), &staged.platform.join(name))?;
    }
    copy(&program.path, &staged.platform.join("bin/trunkline"))?;
    for folder in [&staged.platform, &staged.launcher] {
        release.copy_licences(folder)?;
        check_manifest(folder)?;
    }
    Ok(staged)
}

/// Install scripts are blocked by npm 12, and by many users.
fn check_manifest(folder: &Path) -> Result<()> {
    let manifest: Value = serde_json::from_str(&fs::read_to_string(folder.join("package.json"))?)?;
    ensure!(manifest.get("scripts").is_none(), "{} has scripts", folder.display());
    Ok(())
}

/// Tests the launcher with a shell script instead of the program.
pub(super) fn test_launcher(workspace: &Workspace, launcher: &Path) -> Result<()> {
    run(workspace
        .command("node")
        .args(["--test", "--test-reporter=spec", "packaging/npm/test/launcher.test.mjs"])
        .env("PACKAGE", launcher))
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
pub(super) fn check(release: &Release<'_>, _tools: &Tools, files: &[PathBuf]) -> Result<Installed> {
    let workspace = release.workspace;
    let folder = release.staging("npm-installed")?;
    let registry = Registry::start(workspace, files)?;
    let npm = |program: &str| {
        let mut command = workspace.command(program);
        command.current_dir(&folder).env("npm_config_registry", &registry.url);
        command.env("npm_config_cache", folder.join("cache")).env("npm_config_audit", "false");
        command
    };
    session::database(&folder)?;
    let first = session::mcp(npm("npx").args(["--yes", "trunkline", "mcp", "--db", "app.db"]))?;
    let first_answer =
        session::mcp(npm("npx").args(["--yes", "trunkline", "mcp", "--db", "app.db"]))?;

    // Installed globally from the files, without a registry.
    let prefix = folder.join("prefix");
    let mut install = npm("npm");
    install.env("npm_config_registry", NO_REGISTRY).env("npm_config_fetch_retries", "0");
    install.args(["install", "--silent", "--global", "--prefix"]).arg(&prefix).args(files);
    run(&mut install)?;
    let program = prefix.join("bin/trunkline");
    session::mcp(workspace.command(&program).args(["mcp", "--db"]).arg(folder.join("app.db")))?;

    let omitted = folder.join("omitted");
    let mut install = npm("npm");
    install.args(["install", "--silent", "--omit=optional", "--prefix"]).arg(&omitted);
    run(install.arg("trunkline"))?;
    let launcher = omitted.join("node_modules/.bin/trunkline");
    let failed = workspace.command(launcher).arg("--version").output()?;
    let message = String::from_utf8_lossy(&failed.stderr);
    ensure!(
        failed.status.code() == Some(1) && message.contains(release.get("npm_platform")),
        "the launcher does not name the missing package: {message}"
    );
    Ok(Installed { install: first.saturating_sub(first_answer), first_answer })
}

/// A registry with only these packages, which ends when dropped.
struct Registry {
    process: Child,
    url: String,
}

impl Registry {
    fn start(workspace: &Workspace, files: &[PathBuf]) -> Result<Self> {
        let mut command = workspace.command("node");
        command.arg("packaging/npm/test/registry.mjs").args(files);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdout = process.stdout.take().context("stdout is piped")?;
        let mut registry = Self { process, url: String::new() };
        BufReader::new(stdout).read_line(&mut registry.url)?;
        registry.url = registry.url.trim().to_owned();
        ensure!(registry.url.starts_with("http://"), "the registry did not start");
        Ok(registry)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

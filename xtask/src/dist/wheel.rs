//! A wheel of PyPI with the program, for pip, pipx and uvx.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::format::{Installed, timed};
use super::program::Program;
use super::release::{Release, copy};
use super::session;
use super::tools::Tools;
use crate::workspace::run;

pub(super) fn build(
    release: &Release<'_>,
    program: &Program,
    tools: &Tools,
) -> Result<Vec<PathBuf>> {
    let content = stage(release, program)?;
    // `wheel pack` writes the list of files, and names the file by its tag.
    run(tools
        .python_module(release.workspace, "wheel")
        .arg("pack")
        .arg("--dest-dir")
        .args([&release.folder, &content]))?;
    let (version, platform) = (release.get("version"), release.get("wheel_platform"));
    let file = release.file(&format!("trunkline-{version}-py3-none-{platform}.whl"));
    ensure!(file.exists(), "`wheel pack` did not write {}", file.display());
    Ok(vec![file])
}

/// Writes the content of the wheel to a folder.
pub(super) fn stage(release: &Release<'_>, program: &Program) -> Result<PathBuf> {
    let name = format!("trunkline-{}", release.get("version"));
    let content = release.staging("wheel")?.join(&name);
    let info = content.join(format!("{name}.dist-info"));
    for file in ["METADATA", "WHEEL"] {
        release.write(&format!("pypi/{file}"), &info.join(file))?;
    }
    release.copy_licences(&info.join("licenses"))?;
    let scripts = content.join(format!("{name}.data/scripts"));
    copy(&program.path, &scripts.join("trunkline"))?;
    Ok(content)
}

/// Installs the wheel with pip in a new environment, and runs it with uvx and an empty cache.
pub(super) fn check(release: &Release<'_>, tools: &Tools, _files: &[PathBuf]) -> Result<Installed> {
    let workspace = release.workspace;
    let folder = release.staging("wheel-installed")?;
    let database = session::database(&folder)?;
    let venv = folder.join("venv");
    run(workspace.command("python3").args(["-m", "venv"]).arg(&venv))
        .context("Python cannot create a virtual environment (Debian package python3-venv)")?;
    let from_files = ["--no-index", "--find-links"];
    let mut pip = workspace.command(venv.join("bin/python"));
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]);
    let install = timed(|| run(pip.args(from_files).arg(&release.folder).arg("trunkline")))?;
    let mut installed = workspace.command(venv.join("bin/trunkline"));
    let first_answer = session::mcp(installed.args(["mcp", "--db"]).arg(&database))?;
    let mut uvx = tools.python_program(workspace, "uvx");
    uvx.args(from_files).arg(&release.folder).arg("--cache-dir").arg(folder.join("cache"));
    uvx.env("UV_PYTHON_DOWNLOADS", "never").args(["--quiet", "trunkline", "mcp", "--db"]);
    session::mcp(uvx.arg(&database)).context("uvx failed")?;
    Ok(Installed { install, first_answer })
}

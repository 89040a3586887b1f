//! A wheel of PyPI with the program, for pip, pipx and uvx.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::program::Program;
use super::release::{Installed, Release, copy, timed};
use super::session;
use crate::workspace::{command, run};

pub(super) fn build(release: &Release<'_>, program: &Program) -> Result<Vec<PathBuf>> {
    let content = stage(release, program)?;
    // `wheel pack` writes the list of files, and names the file by its tag.
    let mut wheel = release.python()?.command(release.workspace);
    wheel.args(["-m", "wheel", "pack", "--dest-dir"]);
    run(wheel.args([&release.folder, &content]))?;
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
    copy(&program.path, &content.join(format!("{name}.data/scripts/trunkline")))?;
    Ok(content)
}

/// Installs the wheel with pip in a new environment, and runs it with uvx and an empty cache.
pub(super) fn check(release: &Release<'_>, _files: &[PathBuf]) -> Result<Installed> {
    let workspace = release.workspace;
    let folder = release.staging("wheel-installed")?;
    let database = session::database(&folder)?;
    let venv = folder.join("venv");
    run(&mut command!(workspace, "python3", "-m", "venv", &venv))
        .context("Python cannot create a virtual environment (Debian package python3-venv)")?;
    let mut pip = command!(workspace, venv.join("bin/python"), "-m", "pip", "--quiet", "install");
    pip.args(["--no-index", "--find-links"]).arg(&release.folder).arg("trunkline");
    let ((), install) = timed(|| run(&mut pip))?;
    let mut installed = command!(workspace, venv.join("bin/trunkline"), "mcp", "--db", &database);
    let first_answer = session::mcp(&mut installed, &folder)?;
    let uvx = release.python()?.programs().join("uvx");
    let mut uvx = command!(workspace, uvx, "--no-index", "--find-links", &release.folder);
    uvx.arg("--cache-dir").arg(folder.join("cache")).env("UV_PYTHON_DOWNLOADS", "never");
    uvx.args(["--quiet", "trunkline", "mcp", "--db"]).arg(&database);
    session::mcp(&mut uvx, &folder).context("uvx failed")?;
    Ok(Installed { install, first_answer })
}

//! An archive of the program, its completions, man pages and licences, which cargo-binstall can install.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::program::Program;
use super::release::{Installed, Release, TARGET, copy, file_name, timed};
use super::session;
use crate::metadata::Metadata;
use crate::workspace::{command, run};

pub(super) fn build(release: &Release<'_>, program: &Program) -> Result<Vec<PathBuf>> {
    let workspace = release.workspace;
    let folder = release.staging("archive")?;
    let name = name(release);
    let content = folder.join(&name);
    copy(&program.path, &content.join("trunkline"))?;
    release.copy_licences(&content)?;
    for document in ["README.md", "CHANGELOG.md"] {
        copy(&workspace.path(document), &content.join(document))?;
    }
    run(&mut command!(workspace, "cp", "-r", &program.completions, &program.man_pages, &content))?;
    let file = file(release);
    let mut tar = command!(workspace, "tar", "--sort=name", "--owner=root:0", "--group=root:0");
    run(tar.args(["-czf"]).arg(&file).arg("-C").args([folder.as_os_str(), name.as_ref()]))?;
    Ok(vec![file])
}

/// Unpacks the archive, and uses the program at the path of the metadata of cargo-binstall.
pub(super) fn check(release: &Release<'_>, files: &[PathBuf]) -> Result<Installed> {
    let file = files.first().context("no file")?;
    let folder = release.staging("archive-installed")?;
    let program = folder.join(check_binstall(release, file)?);
    let mut unpack = command!(release.workspace, "tar", "-xf", file, "-C", &folder);
    let ((), install) = timed(|| run(&mut unpack))?;
    let database = session::database(&folder)?;
    let mut server = command!(release.workspace, program, "mcp", "--db", database);
    Ok(Installed { install, first_answer: session::mcp(&mut server, &folder)? })
}

fn name(release: &Release<'_>) -> String {
    format!("trunkline-{}-{TARGET}", release.get("version"))
}

/// The file of a release with this program.
pub(super) fn file(release: &Release<'_>) -> PathBuf {
    release.file(&format!("{}.tar.gz", name(release)))
}

/// Checks that the metadata of cargo-binstall describes this archive, and returns the path of the program in it.
pub(super) fn check_binstall(release: &Release<'_>, file: &Path) -> Result<PathBuf> {
    let metadata = Metadata::load(release.workspace)?;
    let package = metadata.members().find(|member| member.name == "trunkline-cli");
    let binstall = &package.context("no package trunkline-cli")?.metadata["binstall"];
    let rendered = |key: &str| {
        let template = binstall[key].as_str().with_context(|| format!("no {key} of binstall"))?;
        release.render(&template.replace("{ ", "{{").replace(" }", "}}")).context(key.to_owned())
    };
    let (url, expected) = (rendered("pkg-url")?, release.url(&file_name(file)?));
    ensure!(url == expected, "pkg-url of binstall is {url}, not {expected}");
    Ok(rendered("bin-dir")?.into())
}

//! An archive of the program, its completions, man pages and licences, which cargo-binstall can install.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::format::{Installed, timed};
use super::program::Program;
use super::release::{Release, TARGET, copy};
use super::session;
use super::tools::Tools;
use crate::metadata::Metadata;
use crate::workspace::run;

pub(super) fn build(
    release: &Release<'_>,
    program: &Program,
    _tools: &Tools,
) -> Result<Vec<PathBuf>> {
    let workspace = release.workspace;
    let name = name(release);
    let folder = release.staging("archive")?;
    let content = folder.join(&name);
    copy(&program.path, &content.join("trunkline"))?;
    release.copy_licences(&content)?;
    for document in ["README.md", "CHANGELOG.md"] {
        copy(&workspace.path(document), &content.join(document))?;
    }
    run(workspace.command("cp").arg("-r").args([
        &program.completions,
        &program.man_pages,
        &content,
    ]))?;
    let file = release.file(&format!("{name}.tar.gz"));
    run(workspace
        .command("tar")
        .args(["--sort=name", "--owner=root:0", "--group=root:0", "--create", "--gzip", "--file"])
        .arg(&file)
        .arg("--directory")
        .args([folder.as_os_str(), name.as_ref()]))?;
    Ok(vec![file])
}

/// Unpacks the archive, and uses the program at the path of the metadata of cargo-binstall.
pub(super) fn check(release: &Release<'_>, _tools: &Tools, files: &[PathBuf]) -> Result<Installed> {
    let [file] = files else { unreachable!("`build` returns one file") };
    let workspace = release.workspace;
    let folder = release.staging("archive-installed")?;
    let program = folder.join(check_binstall(release, file)?);
    let mut unpack = workspace.command("tar");
    unpack.arg("--extract").arg("--file").arg(file).arg("--directory").arg(&folder);
    let install = timed(|| run(&mut unpack))?;
    let database = session::database(&folder)?;
    let first_answer =
        session::mcp(workspace.command(program).args(["mcp", "--db"]).arg(database))?;
    Ok(Installed { install, first_answer })
}

fn name(release: &Release<'_>) -> String {
    format!("trunkline-{}-{TARGET}", release.get("version"))
}

/// Checks that the metadata of cargo-binstall describes this archive, and returns the path of the program in it.
pub(super) fn check_binstall(release: &Release<'_>, file: &Path) -> Result<PathBuf> {
    let metadata = Metadata::load(release.workspace)?;
    let package = metadata.members().find(|member| member.name == "trunkline-cli");
    let binstall = &package.context("no package trunkline-cli")?.metadata["binstall"];
    let rendered = |key: &str| {
        let template = binstall[key].as_str().with_context(|| format!("no {key} of binstall"))?;
        let text = template.replace("{ ", "{{").replace(" }", "}}");
        release.render(&text).with_context(|| format!("invalid {key} of binstall"))
    };
    let url = rendered("pkg-url")?;
    let expected = format!("{}/{}", release_url(release), file_name(file)?);
    ensure!(url == expected, "pkg-url of binstall is {url}, not {expected}");
    Ok(rendered("bin-dir")?.into())
}

/// The URL of the files of the release.
pub(super) fn release_url(release: &Release<'_>) -> String {
    format!("{}/releases/download/v{}", release.get("repository"), release.get("version"))
}

pub(super) fn file_name(file: &Path) -> Result<String> {
    let name = file.file_name().context("the path has no file name")?;
    Ok(name.to_string_lossy().into_owned())
}

/// The file of a release with this program.
pub(super) fn file(release: &Release<'_>) -> PathBuf {
    release.file(&format!("{}.tar.gz", name(release)))
}

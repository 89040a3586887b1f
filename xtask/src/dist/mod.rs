//! `cargo xtask dist`: the packages of the program, each installed and used as by a new user.
//!
//! `dist-check` checks the templates of packages without building the program.

mod archive;
mod deb;
mod format;
mod mcpb;
mod npm;
mod oci;
mod program;
mod registry;
mod release;
mod sbom;
mod session;
mod tools;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use self::archive::{check_binstall, file_name};
use self::format::{Format, Installed};
use self::program::Program;
use self::release::Release;
use self::tools::Tools;
use crate::workspace::{Workspace, output, run};

const FORMATS: [Format; 6] = [
    Format { name: "archive, binstall", build: archive::build, check: archive::check },
    Format { name: "Debian package", build: deb::build, check: deb::check },
    Format { name: "OCI image", build: oci::build, check: oci::check },
    Format { name: "npm, npx", build: npm::build, check: npm::check },
    Format { name: "PyPI wheel, uvx", build: wheel::build, check: wheel::check },
    Format { name: "MCP bundle", build: mcpb::build, check: mcpb::check },
];

const CHECKSUMS: &str = "SHA256SUMS";
const PLACEHOLDER: &str = "https://github.com/OWNER/";

/// Writes the files of a release to `target/dist`, from a program that is built already or from a new build.
pub(crate) fn run_all(workspace: &Workspace, args: &[String]) -> Result<()> {
    let tools = Tools::install(workspace)?;
    let start = Instant::now();
    let built = match args {
        [] => program::build(workspace, &tools)?,
        [program] => PathBuf::from(program).canonicalize().context("the program is missing")?,
        _ => bail!("usage: cargo xtask dist [PROGRAM]"),
    };
    println!("the program was built in {}", seconds(start.elapsed()));
    let mut release = Release::new(workspace, "target/dist")?;
    let program = Program::prepare(&mut release, &built)?;
    let mut rows = Vec::new();
    for format in &FORMATS {
        let failed = || format!("{} failed", format.name);
        let start = Instant::now();
        let files = (format.build)(&release, &program, &tools).with_context(failed)?;
        let build = start.elapsed();
        let installed = (format.check)(&release, &tools, &files).with_context(failed)?;
        rows.push(Row { name: format.name, files, build, installed });
    }
    let bundle = mcpb::file(&release);
    registry::write(&mut release, &bundle)?;
    sbom::write(&release)?;
    write_checksums(&release)?;

    println!("\nprogram: {}, glibc {} or later\n", mib(program.size()?), release.get("glibc"));
    println!(
        "| format | file | size | build | installation | first answer |\n|---|---|---|---|---|---|"
    );
    for row in &rows {
        row.print()?;
    }
    println!("\n{}", release.folder.display());
    if release.get("repository").starts_with(PLACEHOLDER) {
        println!(
            "not to be published: `repository` in [workspace.metadata.dist] of Cargo.toml is a placeholder"
        );
    }
    Ok(())
}

/// Checks the templates: they render, JSON files follow their rules, the launcher of npm works, the unit is valid.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut release = Release::new(workspace, "target/dist-check")?;
    let program = Program::stub(&mut release)?;
    check_binstall(&release, &archive::file(&release))?;
    deb::stage(&release, &program)?;
    release.template("oci/config.txt")?;
    wheel::stage(&release, &program)?;
    mcpb::stage(&release, &program, tools::mcpb_only(workspace)?)?;
    let bundle = mcpb::file(&release);
    registry::write_with(&mut release, &bundle, &"0".repeat(64))?;
    let packages = npm::stage(&release, &program)?;
    npm::test_launcher(workspace, &packages.launcher)
}

/// The files of a format, and the times of its installation.
struct Row {
    name: &'static str,
    files: Vec<PathBuf>,
    build: Duration,
    installed: Installed,
}

impl Row {
    fn print(&self) -> Result<()> {
        let Installed { install, first_answer } = self.installed;
        let times = [self.build, install, first_answer].map(seconds).join(" | ");
        let mut files = Vec::new();
        let mut size = 0;
        for file in &self.files {
            size += fs::metadata(file)?.len();
            files.push(format!("`{}`", file_name(file)?));
        }
        println!("| {} | {} | {} | {times} |", self.name, files.join(", "), mib(size));
        Ok(())
    }
}

fn write_checksums(release: &Release<'_>) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(&release.folder)? {
        files.push(file_name(&entry?.path())?);
    }
    files.sort();
    ensure!(files.len() > FORMATS.len(), "files are missing");
    let mut sum = release.workspace.command("sha256sum");
    let sums = output(sum.current_dir(&release.folder).args(&files))?;
    fs::write(release.file(CHECKSUMS), sums)?;
    run(release
        .workspace
        .command("sha256sum")
        .current_dir(&release.folder)
        .args(["--check", "--strict", "--quiet"])
        .arg(Path::new(CHECKSUMS)))
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

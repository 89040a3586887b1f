//! `cargo xtask dist`: the packages of the program, each installed and used as by a new user.
//!
//! `dist-check` checks the templates of packages without building the program.

mod archive;
mod deb;
mod mcpb;
mod npm;
mod oci;
mod program;
mod registry;
mod release;
mod sbom;
mod session;
mod wheel;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use self::program::Program;
use self::release::{Installed, Release, file_name, timed};
use crate::workspace::{Workspace, output, run};

/// A format of packages: its name, how its files are built, and how they are installed and used.
type Format = (
    &'static str,
    fn(&Release<'_>, &Program) -> Result<Vec<PathBuf>>,
    fn(&Release<'_>, &[PathBuf]) -> Result<Installed>,
);

const FORMATS: [Format; 6] = [
    ("archive, binstall", archive::build, archive::check),
    ("Debian package", deb::build, deb::check),
    ("OCI image", oci::build, oci::check),
    ("npm, npx", npm::build, npm::check),
    ("PyPI wheel, uvx", wheel::build, wheel::check),
    ("MCP bundle", mcpb::build, mcpb::check),
];

const CHECKSUMS: &str = "SHA256SUMS";
const PLACEHOLDER: &str = "https://github.com/OWNER/";

/// Writes the files of a release to `target/dist`, from a program that is built already or from a new build.
pub(crate) fn run_all(workspace: &Workspace, args: &[String]) -> Result<()> {
    let mut release = Release::new(workspace, "target/dist")?;
    let (built, time) = timed(|| match args {
        [] => program::build(&release),
        [program] => PathBuf::from(program).canonicalize().context("the program is missing"),
        _ => bail!("usage: cargo xtask dist [PROGRAM]"),
    })?;
    println!("the program was built in {}", seconds(time));
    let program = Program::prepare(&mut release, &built)?;
    let mut rows = String::new();
    for (name, build, check) in FORMATS {
        let (files, time) = timed(|| build(&release, &program)).context(name)?;
        let Installed { install, first_answer } = check(&release, &files).context(name)?;
        let mut names = Vec::new();
        let mut size = 0;
        for file in &files {
            size += fs::metadata(file)?.len();
            names.push(format!("`{}`", file_name(file)?));
        }
        let times = [time, install, first_answer].map(seconds).join(" | ");
        rows += &format!("| {name} | {} | {} | {times} |\n", names.join(", "), mib(size));
    }
    let bundle = mcpb::file(&release);
    registry::write(&mut release, &bundle)?;
    sbom::write(&release)?;
    write_checksums(&release)?;

    println!("\nprogram: {}, glibc {} or later\n", mib(program.size()?), release.get("glibc"));
    println!(
        "| format | file | size | build | installation | first answer |\n|---|---|---|---|---|---|"
    );
    println!("{rows}\n{}", release.folder.display());
    if release.get("repository").starts_with(PLACEHOLDER) {
        println!("not to be published: `repository` in Cargo.toml is a placeholder");
    }
    Ok(())
}

/// Checks the templates: they render, JSON files follow their rules, the launcher of npm works, the unit is valid.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut release = Release::new(workspace, "target/dist-check")?;
    let program = Program::stub(&mut release)?;
    archive::check_binstall(&release, &archive::file(&release))?;
    deb::stage(&release, &program)?;
    release.template("oci/config.txt")?;
    wheel::stage(&release, &program)?;
    mcpb::stage(&release, &program)?;
    let bundle = mcpb::file(&release);
    registry::write_with(&mut release, &bundle, &"0".repeat(64))?;
    let [_, launcher] = npm::stage(&release, &program)?;
    npm::test_launcher(&release, &launcher)
}

fn write_checksums(release: &Release<'_>) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(&release.folder)? {
        files.push(file_name(&entry?.path())?);
    }
    files.sort();
    ensure!(files.len() > FORMATS.len(), "files are missing");
    let sum = || {
        let mut sum = release.workspace.command("sha256sum");
        sum.current_dir(&release.folder);
        sum
    };
    fs::write(release.file(CHECKSUMS), output(sum().args(&files))?)?;
    run(sum().args(["--check", "--strict", "--quiet", CHECKSUMS]))
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

//! Checks that crates can be published, and that releases have no breaking changes.

use std::path::Path;

use anyhow::{Result, bail};

use crate::metadata::{Metadata, Package};
use crate::tools;
use crate::workspace::{self, Workspace, run};

/// Files that every package must contain.
const IN_EVERY_PACKAGE: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Packages every crate, and checks its files and metadata. Nothing is compiled, unlike in
/// `cargo xtask publish-dry-run`, which takes minutes.
pub(crate) fn packages(workspace: &Workspace) -> Result<()> {
    let mut missing = Vec::new();
    for package in published(&Metadata::load(workspace)?) {
        missing
            .extend(package.missing_metadata().map(|what| format!("{}: no {what}", package.name)));
        let mut list = workspace.cargo(["package", "--list", "--allow-dirty", "--package"]);
        let listed = workspace::output(list.arg(&package.name))?;
        missing.extend(faults(&listed).map(|fault| format!("{}: {fault}", package.name)));
        println!("{}: {} files", package.name, listed.lines().count());
    }
    for line in &missing {
        println!("{line}");
    }
    if !missing.is_empty() {
        bail!("{} problems prevent publishing", missing.len());
    }
    run(&mut workspace.cargo([
        "package",
        "--workspace",
        "--exclude=xtask",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
    ]))
}

/// Publishes without the upload: every crate is compiled from its package.
pub(crate) fn dry_run(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(["publish", "--workspace", "--exclude=xtask", "--dry-run"]))
}

/// Compares the public API with that of the last release.
pub(crate) fn semver(workspace: &Workspace) -> Result<()> {
    if !workspace.path(".git").exists() {
        println!("not a git checkout: no release to compare with");
        return Ok(());
    }
    let tags = workspace::output(workspace.command("git").args([
        "tag",
        "--list",
        "v[0-9]*",
        "--sort=-version:refname",
        "--merged",
    ]))?;
    let Some(release) = tags.lines().next() else {
        println!("no release to compare with (no tag like v0.1.0)");
        return Ok(());
    };
    let program = tools::SEMVER_CHECKS.ensure(workspace)?;
    let mut command = workspace.command(program);
    command.args(["semver-checks", "check-release", "--baseline-rev", release]);
    for package in published(&Metadata::load(workspace)?).filter(|package| package.has("lib")) {
        command.arg("--package").arg(&package.name);
    }
    run(&mut command)
}

fn published(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    metadata.members().filter(|member| member.publish.as_ref().is_none_or(|to| !to.is_empty()))
}

impl Package {
    /// Missing metadata that a registry shows.
    fn missing_metadata(&self) -> impl Iterator<Item = &'static str> {
        [
            ("description", self.description.is_none()),
            ("license", self.license.is_none()),
            ("readme", self.readme.is_none()),
            ("keywords", self.keywords.is_empty()),
            ("categories", self.categories.is_empty()),
        ]
        .into_iter()
        .filter_map(|(what, is_missing)| is_missing.then_some(what))
    }
}

/// Errors in the list of files of a package.
fn faults(listed: &str) -> impl Iterator<Item = String> {
    let missing = IN_EVERY_PACKAGE
        .into_iter()
        .filter(|file| !listed.lines().any(|line| line == *file))
        .map(|file| format!("{file} is not in the package"));
    let tests = listed.lines().filter(|line| Path::new(line).starts_with("tests"));
    missing.chain(tests.map(|file| format!("{file} is in the package, but users do not run tests")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listed: &[&str], expected: &[&str]) {
        let found: Vec<String> = faults(&listed.join("\n")).collect();
        assert_eq!(found, expected, "{listed:?}");
    }

    #[test]
    fn checks_files_of_packages() {
        let complete = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];
        check(&complete, &[]);
        check(&complete[..3], &["README.md is not in the package"]);
        check(&complete[1..], &["Cargo.toml is not in the package"]);
        let with_tests = [complete.as_slice(), &["tests/it/main.rs", "src/tests.rs"]].concat();
        check(&with_tests, &["tests/it/main.rs is in the package, but users do not run tests"]);
    }
}

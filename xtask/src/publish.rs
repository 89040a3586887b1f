//! Checks that crates can be published, and that releases have no breaking changes.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::metadata::{Metadata, Package};
use crate::peers;
use crate::workspace::{self, Workspace, run};

/// Files that every package must contain.
const IN_EVERY_PACKAGE: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Metadata that a registry shows.
const METADATA: [&str; 5] = ["description", "license", "readme", "keywords", "categories"];

/// Packages every crate, and checks its files and metadata. Nothing is compiled, unlike in
/// `cargo xtask publish-dry-run`, which takes minutes.
pub(crate) fn packages(workspace: &Workspace) -> Result<()> {
    let mut problems = Vec::new();
    for Package { name, others, .. } in published(&Metadata::load(workspace)?) {
        let is_missing = |key: &&str| others[key].is_null() || others[key] == json!([]);
        let missing = METADATA.iter().filter(|key| is_missing(key));
        problems.extend(missing.map(|key| format!("{name}: no {key}")));
        let mut list = workspace.cargo(["package", "--list", "--allow-dirty", "--package", name]);
        let listed = workspace::output(&mut list)?;
        problems.extend(faults(&listed).map(|fault| format!("{name}: {fault}")));
        println!("{name}: {} files", listed.lines().count());
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    let all =
        ["package", "--workspace", "--exclude=xtask", "--no-verify", "--allow-dirty", "--quiet"];
    run(&mut workspace.cargo(all))
}

/// Publishes without the upload: every crate is compiled from its package.
pub(crate) fn dry_run(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(["publish", "--workspace", "--exclude=xtask", "--dry-run"]))
}

/// Compares the public API with that of the last release.
pub(crate) fn semver(workspace: &Workspace) -> Result<()> {
    let mut git = workspace.command("git");
    git.args(["tag", "--list", "v[0-9]*", "--sort=-version:refname", "--merged"]);
    let tags = workspace::output(&mut git)?;
    let Some(release) = tags.lines().next() else {
        println!("no release to compare with (no tag like v0.1.0)");
        return Ok(());
    };
    let program = peers::cargo_tool(workspace, "cargo-semver-checks", "0.51.0")?;
    let mut command = workspace.command(program);
    command.args(["semver-checks", "check-release", "--baseline-rev", release]);
    for package in published(&Metadata::load(workspace)?).filter(|package| package.has("lib")) {
        command.arg("--package").arg(&package.name);
    }
    run(&mut command)
}

fn published(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    metadata.members().filter(|member| member.others["publish"] != json!([]))
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

//! Limits on dependencies: the number of crates that a user of the library compiles, and crates that the core must not use.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::metadata::PLATFORMS;
use crate::tidy::finding::Finding;
use crate::workspace::{self, Workspace};

/// The maximum number of crates with the default features. Users compile, review and update every one of them.
pub(super) const LIMITS: [(&str, usize); 2] = [("trunkline", 80), ("trunkline-cli", 216)];

/// Crates that the core must not depend on: runtimes and HTTP.
const NOT_IN_CORE: &[&str] = &["tokio", "tokio-util", "hyper", "hyper-util", "http", "http-body"];

/// The name of a crate, and its version as `v1.2.3`.
pub(super) type Dependency = (String, String);

/// The crates that `cargo` compiles for `package` with its default features, itself included.
pub(super) fn of(workspace: &Workspace, package: &str) -> Result<BTreeSet<Dependency>> {
    tree(workspace, &["--edges=normal,build", "--package", package])
}

/// The crates that are compiled for the whole workspace with all features, on the supported platforms.
pub(super) fn of_workspace(workspace: &Workspace) -> Result<BTreeSet<Dependency>> {
    let targets = PLATFORMS.iter().flat_map(|platform| ["--target", platform]);
    tree(
        workspace,
        &["--workspace", "--all-features"].into_iter().chain(targets).collect::<Vec<_>>(),
    )
}

fn tree(workspace: &Workspace, selection: &[&str]) -> Result<BTreeSet<Dependency>> {
    let mut command = workspace.cargo(["tree", "--prefix=none", "--format={p}"]);
    Ok(distinct(&workspace::output(command.args(selection))?))
}

pub(super) fn check_count(package: &str, count: usize, most: usize) -> Option<Finding> {
    (count > most).then(|| {
        let message = format!(
            "a user compiles {count} crates, {most} at most are allowed: put what is new behind a feature \
             (`cargo tree -p {package} -e normal,build` shows all)"
        );
        Finding::in_crate(package, message)
    })
}

/// Checks the number of crates of the library in the README.
pub(super) fn check_readme(count: usize, readme: &str) -> Option<Finding> {
    let stated = format!("its dependencies are {count} crates");
    (!readme.contains(&stated))
        .then(|| Finding::in_crate("trunkline", format!("README.md does not state that {stated}")))
}

pub(super) fn check_core(dependencies: &BTreeSet<Dependency>) -> Vec<Finding> {
    let unwanted = dependencies.iter().filter(|(name, _)| NOT_IN_CORE.contains(&&**name));
    let finding = |(name, _): &Dependency| {
        let message =
            format!("depends on {name} (`cargo tree -p trunkline-core -i {name}` shows the path)");
        Finding::in_crate("trunkline-core", message)
    };
    unwanted.map(finding).collect()
}

fn distinct(tree: &str) -> BTreeSet<Dependency> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    };
    tree.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "trunkline v0.1.0 (/here)\nbytes v1.0.0\nhttp v1.5.0\nbytes v1.0.0 (*)\n\n";

    #[test]
    fn counts_each_version_once() {
        assert_eq!(distinct(TREE).len(), 3);
        assert_eq!(distinct(&format!("{TREE}bytes v2.0.0")).len(), 4);
    }

    #[test]
    fn rejects_more_than_the_limit() {
        assert!(check_count("trunkline", 80, 80).is_none());
        assert!(check_count("trunkline", 81, 80).is_some());
    }

    #[test]
    fn compares_the_readme() {
        let readme = "`trunkline` and its dependencies are 78 crates.";
        assert!(check_readme(78, readme).is_none());
        assert!(check_readme(7, readme).is_some());
        assert!(check_readme(79, readme).is_some());
    }

    #[test]
    fn rejects_runtimes_and_http_in_the_core() {
        let found = |tree| check_core(&distinct(tree)).iter().map(ToString::to_string).collect();
        let none: Vec<String> =
            found("trunkline-core v0.1.0 (/here)\nbytes v1.0.0\ntokio-stream v0.1.0");
        assert_eq!(none, [""; 0]);
        let http: Vec<String> = found(TREE);
        let expected = "trunkline-core: depends on http (`cargo tree -p trunkline-core -i http` shows the path)";
        assert_eq!(http, [expected]);
    }
}

//! What our crates bring along: how many crates a user of the library compiles, and what the core does without.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::tidy::finding::Finding;
use crate::workspace::{self, Workspace};

/// With the default features. Each crate is compiled, reviewed and updated by everybody who depends on us.
const MOST: usize = 80;

/// The core has neither a runtime nor HTTP.
const NOT_IN_CORE: &[&str] = &["tokio", "tokio-util", "hyper", "hyper-util", "http", "http-body"];

/// A crate's name and its version.
type Dependency = (String, String);

/// The crates that `cargo` compiles for `package` with its default features, itself included.
pub(super) fn of(workspace: &Workspace, package: &str) -> Result<BTreeSet<Dependency>> {
    let package = format!("--package={package}");
    let tree = workspace::output(&mut workspace.cargo([
        "tree",
        &*package,
        "--edges=normal,build",
        "--prefix=none",
        "--format={p}",
    ]))?;
    Ok(distinct(&tree))
}

pub(super) fn check_count(count: usize) -> Option<Finding> {
    (count >= MOST).then(|| {
        let message = format!(
            "a user compiles {count} crates, and has to compile fewer than {MOST}: put what is new \
             behind a feature (`cargo tree -p trunkline -e normal,build` shows all)"
        );
        Finding::in_crate("trunkline", message)
    })
}

pub(super) fn check_core(dependencies: &BTreeSet<Dependency>) -> Vec<Finding> {
    let unwanted = dependencies.iter().filter(|(name, _)| NOT_IN_CORE.contains(&&**name));
    let finding = |(name, _): &Dependency| {
        let message = format!(
            "depends on {name} (`cargo tree -p trunkline-core -i {name}` shows through what)"
        );
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
    fn a_crate_counts_once_for_each_version() {
        assert_eq!(distinct(TREE).len(), 3);
        assert_eq!(distinct(&format!("{TREE}bytes v2.0.0")).len(), 4);
    }

    #[test]
    fn the_limit_is_too_many() {
        assert!(check_count(MOST - 1).is_none());
        assert!(check_count(MOST).is_some());
    }

    #[test]
    fn the_core_does_without_a_runtime_and_without_http() {
        let found = |tree| check_core(&distinct(tree)).iter().map(ToString::to_string).collect();
        let none: Vec<String> =
            found("trunkline-core v0.1.0 (/here)\nbytes v1.0.0\ntokio-stream v0.1.0");
        assert_eq!(none, [""; 0]);
        let http: Vec<String> = found(TREE);
        let expected = "trunkline-core: depends on http (`cargo tree -p trunkline-core -i http` shows through what)";
        assert_eq!(http, [expected]);
    }
}

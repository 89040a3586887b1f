//! How many crates a user of the library compiles.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::tidy::finding::Finding;
use crate::workspace::{self, Workspace};

/// With the default features. Each crate is compiled, reviewed and updated by everybody who depends
/// on us. axum and tower-http are 8 of them: most who serve HTTP compile those anyway.
const MOST: usize = 80;

/// The crates that `cargo` compiles for `trunkline`, itself included.
pub(super) fn count(workspace: &Workspace) -> Result<usize> {
    let tree = workspace::output(&mut workspace.cargo([
        "tree",
        "--package=trunkline",
        "--edges=normal,build",
        "--prefix=none",
        "--format={p}",
    ]))?;
    Ok(distinct(&tree))
}

pub(super) fn check(count: usize) -> Option<Finding> {
    (count >= MOST).then(|| {
        let message = format!(
            "a user compiles {count} crates, and has to compile fewer than {MOST}: put what is new \
             behind a feature (`cargo tree -p trunkline -e normal,build` shows all)"
        );
        Finding::in_crate("trunkline", message)
    })
}

fn distinct(tree: &str) -> usize {
    let names = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    names.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_for_each_version() {
        let tree = "trunkline v0.1.0 (/here)\nbytes v1.0.0\nhttp v1.5.0\nbytes v1.0.0 (*)\n\n";
        assert_eq!(distinct(tree), 3);
        assert_eq!(distinct(&format!("{tree}bytes v2.0.0")), 4);
    }

    #[test]
    fn the_limit_is_too_many() {
        assert!(check(MOST - 1).is_none());
        assert!(check(MOST).is_some());
    }
}

//! Modules import downwards: each crate declares the order of its modules, and no module uses a later one.
//!
//! The order is declared in the manifest of the crate, from the lowest module to the highest:
//!
//! ```toml
//! [package.metadata.modules]
//! order = ["id", "error", "call", "router"]
//! recursive = { "value" = "a value contains values" }
//! ```
//!
//! ```toml
//! [package.metadata.modules.only]
//! tokio = ["client", "server"]
//! ```
//!
//! `only` lists the modules that may use an external crate, in addition to the root file.
//!
//! The root file may use all modules, and no module may use items that it defines. The files of a module must not have
//! cycles, except for recursive types that are declared with a reason.

mod graph;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;
use std::slice;

use anyhow::{Context, Result};
use serde::Deserialize;

use self::graph::Edge;
use self::tree::Tree;
use crate::metadata::Package;
use crate::workspace::Workspace;

/// The declaration in a manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    /// The modules of the crate root, lowest first.
    order: Vec<String>,
    /// Folders whose files may have cycles, with the reason.
    #[serde(default)]
    recursive: BTreeMap<String, String>,
    /// External crates, with the modules that may use them.
    #[serde(default)]
    only: BTreeMap<String, Vec<String>>,
}

pub(super) fn check(workspace: &Workspace, package: &Package) -> Result<Vec<String>> {
    let declared = Declaration::deserialize(&package.metadata["modules"])
        .with_context(|| format!("package.metadata.modules of {}", package.name))?;
    let mut findings = Vec::new();
    for root in &package.targets {
        if root.kind.iter().any(|kind| ["lib", "bin", "proc-macro"].contains(&&**kind)) {
            let path = root.src_path.strip_prefix(workspace.path(""))?;
            let tree = tree::read(path, &|file| workspace.read(file))
                .with_context(|| format!("the modules of {}", package.name))?;
            findings.extend(check_tree(&tree, &declared, path.parent().unwrap_or(path)));
        }
    }
    Ok(findings)
}

fn check_tree(tree: &Tree, declared: &Declaration, folder: &Path) -> Vec<String> {
    let place = folder.display();
    let mut findings = Vec::new();
    // Inline modules belong to the root file.
    let modules = tree[""].children.iter().filter(|module| tree[*module].file != tree[""].file);
    for module in modules.filter(|module| !declared.order.contains(module)) {
        findings.push(format!("{place}: `{module}` is missing in the order of modules"));
    }
    for module in declared.order.iter().filter(|module| !tree[""].children.contains(*module)) {
        findings.push(format!("{place}: `{module}` in the order of modules does not exist"));
    }
    let (edges, crates) = graph::edges(tree);
    let at = |module: &str, line| format!("{}:{line}", folder.join(&tree[module].file).display());
    for (module, line, name) in crates {
        if declared.only.get(&name).is_some_and(|allowed| !is_in(&module, allowed)) {
            let allowed = declared.only[&name].join(", ");
            findings.push(format!(
                "{}: `{name}` here, but only {allowed} may use it",
                at(&module, line)
            ));
        }
    }
    let rank = |module: &str| {
        let top = module.split("::").next().unwrap_or(module);
        let place = declared.order.iter().position(|name| name == top);
        if top.is_empty() { Some(usize::MAX) } else { place }
    };
    let mut within = Vec::new();
    for edge in edges {
        let Edge { from, to, line, path } = &edge;
        if rank(to) > rank(from) && rank(from).is_some() {
            let to = if to.is_empty() { "the root of the crate" } else { to };
            let at = at(from, *line);
            findings.push(format!("{at}: `{path}` is in {to}, which is above this module"));
        } else if rank(to) == rank(from) {
            within.push(edge);
        }
    }
    let is_within =
        |edge: &Edge, folder| [&edge.from, &edge.to].iter().all(|module| is_in(module, folder));
    for exception in declared.recursive.keys() {
        let folder = slice::from_ref(exception);
        let (inside, others) = within.into_iter().partition(|edge| is_within(edge, folder));
        if graph::cyclic(inside).is_empty() {
            findings
                .push(format!("{place}: `{exception}` is declared recursive, but has no cycle"));
        }
        within = others;
    }
    for Edge { from, to, line, path } in graph::cyclic(within) {
        findings.push(format!("{}: `{path}`, in {to}, is a use in a cycle", at(&from, line)));
    }
    findings
}

/// Whether a module is the root file, one of `folders`, or below one.
fn is_in(module: &str, folders: &[String]) -> bool {
    module.is_empty()
        || folders.iter().any(|folder| {
            let rest = module.strip_prefix(&folder.replace('/', "::"));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
}

#[cfg(test)]
mod tests;

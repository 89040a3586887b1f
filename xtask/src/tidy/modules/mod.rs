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

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::slice;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::metadata::Package;
use crate::tidy::finding::Finding;
use crate::workspace::Workspace;
use graph::Edge;
use tree::Tree;

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

pub(super) fn check(workspace: &Workspace, package: &Package) -> Result<Vec<Finding>> {
    let Some(declared) = package.metadata.get("modules") else {
        let message = "the manifest has no order of modules ([package.metadata.modules])";
        return Ok(vec![Finding::in_crate(&package.name, message)]);
    };
    let declared = Declaration::deserialize(declared)
        .with_context(|| format!("package.metadata.modules of {}", package.name))?;
    let mut findings = Vec::new();
    let roots = package.targets.iter().filter(|target| {
        target.kind.iter().any(|kind| matches!(kind.as_str(), "lib" | "bin" | "proc-macro"))
    });
    for root in roots {
        let path = Path::new(&root.src_path);
        let path = path.strip_prefix(workspace.path("")).unwrap_or(path);
        let tree = tree::read(path, &|file| workspace.read(file))
            .with_context(|| format!("the modules of {}", package.name))?;
        let folder = path.parent().unwrap_or(path);
        findings.extend(check_tree(&tree, &declared, folder));
    }
    Ok(findings)
}

fn check_tree(tree: &Tree, declared: &Declaration, folder: &Path) -> Vec<Finding> {
    let edges = graph::edges(tree);
    let mut findings = stale(tree, declared, folder);
    let rank = |module: &str| {
        let top = module.split("::").next().unwrap_or(module);
        let place = declared.order.iter().position(|name| name == top);
        if top.is_empty() { Some(usize::MAX) } else { place }
    };
    for edge in &edges {
        if rank(&edge.to) > rank(&edge.from) && rank(&edge.from).is_some() {
            let to = if edge.to.is_empty() { "the root of the crate" } else { &edge.to };
            let message = format!("`{}` is in {to}, which is above this module", edge.path);
            findings.push(Finding::in_file(
                &folder.join(&tree[&edge.from].file),
                edge.line,
                message,
            ));
        }
    }
    for (module, line, name) in graph::crates(tree) {
        let allowed = declared.only.get(name);
        if allowed.is_some_and(|allowed| !is_in(module, allowed)) {
            let allowed = allowed.map(|allowed| allowed.join(", ")).unwrap_or_default();
            let message = format!("`{name}` here, but only {allowed} may use it");
            findings.push(Finding::in_file(&folder.join(&tree[module].file), line, message));
        }
    }
    // Cycles between modules of the root have an upward edge, which is reported already.
    let within: Vec<Edge> =
        edges.into_iter().filter(|edge| rank(&edge.from) == rank(&edge.to)).collect();
    let mut used = BTreeSet::new();
    for cycle in graph::cycles(&within) {
        let folders = declared.recursive.keys();
        let exception = folders
            .into_iter()
            .find(|folder| cycle.iter().all(|module| is_in(module, slice::from_ref(*folder))));
        if let Some(exception) = exception {
            used.insert(exception.clone());
            continue;
        }
        let inside =
            within.iter().filter(|edge| cycle.contains(&edge.from) && cycle.contains(&edge.to));
        let uses: Vec<String> = inside
            .map(|edge| {
                let file = folder.join(&tree[&edge.from].file);
                format!("{}:{}: `{}`, in {}", file.display(), edge.line, edge.path, edge.to)
            })
            .collect();
        let count = cycle.len();
        let message = format!("{count} modules use each other:\n    {}", uses.join("\n    "));
        findings.push(Finding::in_crate(&folder.display().to_string(), message));
    }
    for exception in declared.recursive.keys().filter(|folder| !used.contains(*folder)) {
        let message = format!("`{exception}` is declared recursive, but has no cycle");
        findings.push(Finding::in_crate(&folder.display().to_string(), message));
    }
    findings
}

/// Whether a module is the root file, one of `folders`, or below one.
fn is_in(module: &str, folders: &[String]) -> bool {
    module.is_empty()
        || folders.iter().any(|folder| {
            let folder = folder.replace('/', "::");
            module == folder || module.starts_with(&format!("{folder}::"))
        })
}

/// Modules without a declaration, and declarations without a module.
fn stale(tree: &Tree, declared: &Declaration, folder: &Path) -> Vec<Finding> {
    let place = folder.display().to_string();
    let root = &tree[""];
    let modules = &root.children;
    // Inline modules belong to the root file.
    let missing = modules.iter().filter(|module| tree[*module].file != root.file);
    let missing = missing.filter(|module| !declared.order.contains(module));
    let missing = missing.map(|module| format!("`{module}` is missing in the order of modules"));
    let extra = declared.order.iter().filter(|module| !modules.contains(*module));
    let extra = extra.map(|module| format!("`{module}` in the order of modules does not exist"));
    missing.chain(extra).map(|message| Finding::in_crate(&place, message)).collect()
}

#[cfg(test)]
mod tests;

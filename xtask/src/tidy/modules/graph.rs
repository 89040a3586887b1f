//! The uses between the modules of a crate.

use std::collections::BTreeMap;

use super::tree::{Module, Tree, join};

/// A use of one module by another.
#[derive(Clone)]
pub(super) struct Edge {
    pub(super) from: String,
    pub(super) to: String,
    /// The line of the first use in the file of `from`.
    pub(super) line: usize,
    /// The used path.
    pub(super) path: String,
}

/// Maximum length of a chain of re-exports.
const MAX_REEXPORTS: usize = 16;

/// The uses, one for each pair of modules, and the external crates that modules use: module, line and crate. Re-exports do
/// not count: importing through one uses the module that defines the item.
pub(super) fn edges(tree: &Tree) -> (Vec<Edge>, Vec<(String, usize, String)>) {
    let mut edges: BTreeMap<(String, String), Edge> = BTreeMap::new();
    let mut crates = Vec::new();
    for (from, module) in tree {
        for it in module.imports.iter().chain(&module.mentions) {
            let line = it.line;
            match resolve(tree, from, &it.path, 0) {
                None if it.import.is_some() || it.path.len() > 1 => {
                    crates.extend(it.path.first().map(|first| (from.clone(), line, first.clone())));
                }
                // Modules in one file count as one.
                Some(Target { module: to, is_item: true })
                    if !it.is_public && tree[&to].file != module.file =>
                {
                    let path = it.path.join("::");
                    let edge = Edge { from: from.clone(), to: to.clone(), line, path };
                    let first = edges.entry((from.clone(), to)).or_insert_with(|| edge.clone());
                    if line < first.line {
                        *first = edge;
                    }
                }
                _ => {}
            }
        }
    }
    (edges.into_values().collect(), crates)
}

/// The target of a path.
struct Target {
    module: String,
    /// Whether the path names an item of the module, and not the module itself.
    is_item: bool,
}

/// Resolves a path in a module, if its target is in this crate.
fn resolve(tree: &Tree, from: &str, path: &[String], reexports: usize) -> Option<Target> {
    let (first, mut rest) = path.split_first()?;
    match first.as_str() {
        "crate" => find(tree, "", rest, reexports),
        "self" => find(tree, from, rest, reexports),
        "super" => {
            let mut module = parent(from);
            while let Some((_, others)) = rest.split_first().filter(|(first, _)| *first == "super")
            {
                (module, rest) = (parent(module), others);
            }
            find(tree, module, rest, reexports)
        }
        // Imports of external crates have no target in this crate.
        _ if tree[from].has(first) => find(tree, from, path, reexports)
            .filter(|target| target.module != from || tree[from].items.contains(first)),
        _ => in_globs(tree, from, path, reexports),
    }
}

impl Module {
    /// Whether the module defines or imports a name.
    fn has(&self, name: &str) -> bool {
        let is_imported = self.imports.iter().any(|it| it.import.as_deref() == Some(name));
        self.children.contains(name) || self.items.contains(name) || is_imported
    }
}

/// Resolves a path relative to a module.
fn find(tree: &Tree, module: &str, path: &[String], reexports: usize) -> Option<Target> {
    let Some((first, rest)) = path.split_first() else {
        return Some(Target { module: module.to_owned(), is_item: false });
    };
    let here = &tree[module];
    if here.children.contains(first) {
        // A function or a macro may have the name of a module. The next segment decides.
        return find(tree, &join(module, first), rest, reexports);
    }
    let item = Some(Target { module: module.to_owned(), is_item: true });
    if here.items.contains(first) || reexports == MAX_REEXPORTS {
        return item;
    }
    match here.imports.iter().find(|it| it.import.as_ref() == Some(first)) {
        // A name imported from a crate of the same name.
        Some(import) if import.path.first() == Some(first) => item,
        Some(import) => {
            resolve(tree, module, &[&*import.path, rest].concat(), reexports + 1).or(item)
        }
        None => in_globs(tree, module, path, reexports).or(item),
    }
}

fn in_globs(tree: &Tree, module: &str, path: &[String], reexports: usize) -> Option<Target> {
    if reexports == MAX_REEXPORTS {
        return None;
    }
    let globs = tree[module].imports.iter().filter(|it| it.import.as_deref() == Some("*"));
    globs.into_iter().find_map(|it| {
        let there = resolve(tree, module, &it.path, reexports + 1)?.module;
        let search = if tree[&there].has(path.first()?) { find } else { in_globs };
        search(tree, &there, path, reexports + 1)
    })
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// The uses within cycles, and between them: what is left without the modules that use no other, or are used by none.
pub(super) fn cyclic(mut edges: Vec<Edge>) -> Vec<Edge> {
    loop {
        let known = edges.clone();
        edges.retain(|edge| {
            known.iter().any(|it| it.from == edge.to) && known.iter().any(|it| it.to == edge.from)
        });
        if edges.len() == known.len() {
            return edges;
        }
    }
}

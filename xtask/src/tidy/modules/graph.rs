//! The uses between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Tree, join};

/// A use of one module by another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

/// All uses, one for each pair of modules. Re-exports do not count: importing through one uses the module that defines the
/// item.
pub(super) fn edges(tree: &Tree) -> Vec<Edge> {
    let mut edges: BTreeMap<(String, String), Edge> = BTreeMap::new();
    for (from, module) in tree {
        let imports = module.imports.iter().filter(|import| !import.is_public);
        let imports = imports.map(|import| (&import.path, import.line));
        let mentions = module.mentions.iter().map(|mention| (&mention.path, mention.line));
        for (path, line) in imports.chain(mentions) {
            let Some(Target { module: to, is_item: true }) = resolve(tree, from, path, 0) else {
                continue;
            };
            // Modules in one file count as one.
            if tree[&to].file == module.file {
                continue;
            }
            let edge = Edge { from: from.clone(), to: to.clone(), line, path: path.join("::") };
            let first = edges.entry((from.clone(), to)).or_insert_with(|| edge.clone());
            if line < first.line {
                *first = edge;
            }
        }
    }
    edges.into_values().collect()
}

/// The external crates that modules use: module, line and crate.
pub(super) fn crates(tree: &Tree) -> Vec<(&str, usize, &str)> {
    let mut crates = Vec::new();
    for (from, module) in tree {
        let imports = module.imports.iter().map(|import| (&import.path, import.line));
        let mentions = module.mentions.iter().filter(|mention| mention.path.len() > 1);
        let mentions = mentions.map(|mention| (&mention.path, mention.line));
        for (path, line) in imports.chain(mentions) {
            if resolve(tree, from, path, 0).is_none() {
                crates.extend(path.first().map(|first| (from.as_str(), line, first.as_str())));
            }
        }
    }
    crates
}

/// The target of a path.
struct Target {
    module: String,
    /// Whether the path names an item of the module, and not the module itself.
    is_item: bool,
}

/// Resolves a path in a module, if its target is in this crate.
fn resolve(tree: &Tree, from: &str, path: &[String], reexports: usize) -> Option<Target> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => return find(tree, "", rest, reexports),
        "self" => return find(tree, from, rest, reexports),
        "super" => {
            let (mut module, mut rest) = (parent(from), rest);
            while let Some((first, others)) = rest.split_first()
                && first == "super"
            {
                (module, rest) = (parent(module), others);
            }
            return find(tree, module, rest, reexports);
        }
        _ => {}
    }
    let module = &tree[from];
    let is_known = module.children.contains(first)
        || module.items.contains(first)
        || module.imports.iter().any(|import| import.name == *first);
    if is_known {
        // Imports of external crates have no target in this crate.
        return find(tree, from, path, reexports)
            .filter(|target| target.module != from || module.items.contains(first));
    }
    in_globs(tree, from, path, reexports)
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
    let item = Target { module: module.to_owned(), is_item: true };
    if here.items.contains(first) || reexports == MAX_REEXPORTS {
        return Some(item);
    }
    if let Some(import) = here.imports.iter().find(|import| import.name == *first) {
        // A name imported from a crate of the same name.
        if import.path.first() == Some(first) {
            return Some(item);
        }
        let path = [&*import.path, rest].concat();
        return resolve(tree, module, &path, reexports + 1).or(Some(item));
    }
    in_globs(tree, module, path, reexports).or(Some(item))
}

fn in_globs(tree: &Tree, module: &str, path: &[String], reexports: usize) -> Option<Target> {
    if reexports == MAX_REEXPORTS {
        return None;
    }
    let globs = tree[module].imports.iter().filter(|import| import.name == "*");
    globs.into_iter().find_map(|import| {
        let target = resolve(tree, module, &import.path, reexports + 1)?;
        let first = path.first()?;
        let there = &tree[&target.module];
        let is_there = there.items.contains(first)
            || there.children.contains(first)
            || there.imports.iter().any(|import| import.name == *first);
        if is_there {
            return find(tree, &target.module, path, reexports + 1);
        }
        in_globs(tree, &target.module, path, reexports + 1)
    })
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// The sets of at least two modules that use each other.
pub(super) fn cycles(edges: &[Edge]) -> Vec<BTreeSet<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in edges {
        next.entry(&edge.from).or_default().push(&edge.to);
        next.entry(&edge.to).or_default();
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        next.keys().map(|module| (*module, reachable(&next, module))).collect();
    let mut cycles = BTreeSet::new();
    for (module, targets) in &reached {
        if targets.contains(module) {
            let members = targets.iter().filter(|target| reached[*target].contains(module));
            cycles.insert(members.map(|member| (*member).to_owned()).collect());
        }
    }
    cycles.into_iter().collect()
}

fn reachable<'a>(next: &BTreeMap<&'a str, Vec<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), next[from].clone());
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&next[module]);
        }
    }
    reached
}

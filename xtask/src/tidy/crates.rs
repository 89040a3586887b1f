//! The allowed dependencies between crates, which ARCHITECTURE.md explains, and dependencies that a crate does not use.

use std::path::PathBuf;

use crate::metadata::{Metadata, Package};

/// Each crate, with those that it may depend on; `?` marks optional ones, which a feature enables. A new crate needs a row
/// here.
const GRAPH: &str = "
trunkline-macros:
trunkline-postgres:
trunkline-test-postgres:
trunkline-core:
xtask:
trunkline-storage: trunkline-postgres?
trunkline-edn: trunkline-core?
trunkline-client: trunkline-core
trunkline-access: trunkline-core trunkline-client?
trunkline-history: trunkline-core trunkline-access
trunkline-server: trunkline-core trunkline-client trunkline-access trunkline-history
trunkline: trunkline-core trunkline-client trunkline-access trunkline-history trunkline-macros trunkline-server trunkline-edn?
trunkline-mcp: trunkline trunkline-storage?
trunkline-sql: trunkline trunkline-mcp? trunkline-postgres?
trunkline-records: trunkline trunkline-storage trunkline-mcp?
trunkline-command-tools: trunkline
trunkline-gateway: trunkline trunkline-mcp
trunkline-agent: trunkline trunkline-mcp trunkline-storage
trunkline-console: trunkline
trunkline-cli: trunkline trunkline-console trunkline-edn trunkline-mcp trunkline-sql trunkline-records trunkline-command-tools \
    trunkline-gateway trunkline-agent trunkline-storage
";

/// `texts` are the sources of the whole repository, and its documentation, which has examples.
pub(super) fn check(metadata: &Metadata, texts: &[(PathBuf, String)]) -> Vec<String> {
    let members: Vec<&str> = metadata.members().map(|member| &*member.name).collect();
    let mut findings = Vec::new();
    for member in metadata.members() {
        if !GRAPH.contains(&format!("\n{}:", member.name)) {
            findings.push(format!("{}: missing in xtask/src/tidy/crates.rs", member.name));
        }
        for dependency in member.dependencies.iter().filter(|it| members.contains(&&*it.name)) {
            let kind = dependency.kind.as_deref();
            if kind != Some("dev")
                && !is_allowed(&member.name, &dependency.name, dependency.optional)
            {
                let of = &dependency.name;
                findings.push(format!(
                    "{}: may not depend on {of}, or only optionally (xtask/src/tidy/crates.rs)",
                    member.name
                ));
            }
        }
        let folder = member.manifest_path.parent().unwrap_or(&member.manifest_path);
        let own: Vec<_> = texts.iter().filter(|(path, _)| path.starts_with(folder)).collect();
        for name in names(metadata, member) {
            if !own.iter().any(|(_, text)| uses(text, name)) {
                findings.push(format!("{}: the dependency {name} is not used", member.name));
            }
        }
    }
    findings
}

fn is_allowed(member: &str, dependency: &str, is_optional: bool) -> bool {
    let row = GRAPH.lines().find_map(|row| row.strip_prefix(member)?.strip_prefix(':'));
    row.into_iter().flat_map(str::split_whitespace).any(|allowed| {
        allowed == dependency || (is_optional && allowed.strip_suffix('?') == Some(dependency))
    })
}

/// The names of its dependencies in code.
fn names<'m>(metadata: &'m Metadata, member: &Package) -> impl Iterator<Item = &'m str> {
    let nodes = metadata.resolve["nodes"].as_array();
    let node = nodes.and_then(|nodes| nodes.iter().find(|node| node["id"] == *member.id));
    let edges = node.and_then(|node| node["deps"].as_array()).into_iter().flatten();
    let id = member.id.clone();
    edges.filter(move |edge| edge["pkg"] != *id).filter_map(|edge| edge["name"].as_str())
}

/// Whether a path begins with the crate, or a `use` names it.
fn uses(text: &str, name: &str) -> bool {
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        // Not the last segment of a path, or a module.
        let is_root = !before.ends_with("crate::") && !before.ends_with("self::");
        let is_use = ["use ", "extern crate "].iter().any(|start| before.ends_with(start));
        is_word && is_root && (after.starts_with("::") || is_use)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_edge(from: &str, to: &str, is_optional: bool, expected: bool) {
        assert_eq!(is_allowed(from, to, is_optional), expected, "{from} {to}");
    }

    #[test]
    fn edges_are_those_of_the_table() {
        check_edge("trunkline-sql", "trunkline", false, true);
        check_edge("trunkline", "trunkline-sql", false, false);
        check_edge("xtask", "trunkline", false, false);
        check_edge("trunkline", "trunkline-edn", true, true);
        check_edge("trunkline", "trunkline-edn", false, false);
        check_edge("trunkline-cli", "trunkline-storage", false, true);
        check_edge("trunkline-new", "trunkline", true, false);
    }

    #[track_caller]
    fn check_use(text: &str, expected: bool) {
        assert_eq!(uses(text, "http_body"), expected, "{text:?}");
    }

    #[test]
    fn paths_and_imports_are_uses() {
        check_use("use http_body::Body;", true);
        check_use("pub use http_body;", true);
        check_use("fn a() -> http_body::Frame {}", true);
        check_use("use {bytes::Bytes, http_body::Body};", true);
        check_use("/// [`http_body::Body`]", true);
        check_use("use http_body_util::Body;", false);
        check_use("use crate::http_body::Body;", false);
        check_use("let http_body = 1;", false);
        check_use("// the crate http_body", false);
    }
}

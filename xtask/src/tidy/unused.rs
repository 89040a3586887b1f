//! Dependencies that a crate does not use.

use std::path::PathBuf;

use crate::metadata::{Metadata, Package};
use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Checks one crate. `sources` are the files of the whole repository, and its documentation, which has examples.
pub(super) fn check(
    metadata: &Metadata,
    member: &Package,
    sources: &[(PathBuf, Source)],
) -> Vec<Finding> {
    let folder = member.manifest_path.parent().unwrap_or(&member.manifest_path);
    let own: Vec<&Source> = sources
        .iter()
        .filter(|(path, _)| path.starts_with(folder))
        .map(|(_, source)| source)
        .collect();
    let unused =
        names(metadata, member).filter(|(_, name)| !own.iter().any(|source| uses(source, name)));
    unused
        .map(|(package, _)| {
            Finding::in_crate(&member.name, format!("the dependency {package} is not used"))
        })
        .collect()
}

/// The packages that the crate depends on, with their names in code.
fn names<'m>(
    metadata: &'m Metadata,
    member: &'m Package,
) -> impl Iterator<Item = (&'m str, &'m str)> {
    let node = metadata.resolve.nodes.iter().find(|node| node.id == member.id);
    let edges = node.into_iter().flat_map(|node| &node.deps);
    edges.filter(|edge| edge.pkg != member.id).filter_map(|edge| {
        let package = metadata.packages.iter().find(|package| package.id == edge.pkg)?;
        Some((&*package.name, &*edge.name))
    })
}

/// Whether a path begins with the crate, or a `use` names it. In comments, only paths count, which are examples or links.
fn uses(source: &Source, name: &str) -> bool {
    let Source { code, comments } = source;
    words(code, name).any(|(before, after)| {
        after.starts_with("::") || before.ends_with("use ") || before.ends_with("extern crate ")
    }) || words(comments, name)
        .any(|(before, after)| after.starts_with("::") || before.ends_with("use "))
}

/// The texts before and after each place where the word is.
fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    text.match_indices(word)
        .map(move |(at, _)| (&text[..at], &text[at + word.len()..]))
        .filter(move |(before, after)| !before.ends_with(is_part) && !after.starts_with(is_part))
        // Not the last segment of a path, or a module.
        .filter(|(before, _)| !before.ends_with("crate::") && !before.ends_with("self::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_use(text: &str, expected: bool) {
        assert_eq!(uses(&Source::parse(text), "http_body"), expected, "{text:?}");
    }

    #[test]
    fn paths_and_imports_are_uses() {
        check_use("use http_body::Body;", true);
        check_use("use http_body as body;", true);
        check_use("pub use http_body;", true);
        check_use("fn a() -> http_body::Frame {}", true);
        check_use("#[http_body::test]", true);
        check_use("use {bytes::Bytes, http_body::Body};", true);
        check_use("/// ```\n/// use http_body::Body;\n/// ```", true);
        check_use("/// [`http_body::Body`]", true);
        check_use("use http_body_util::Body;", false);
        check_use("use crate::http_body::Body;", false);
        check_use("let http_body = 1;", false);
        check_use("// the crate http_body", false);
        check_use("let a = \"http_body::Body\";", false);
    }
}

//! Checks that relative links in Markdown files lead to existing files.

use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};

pub(super) fn check(path: &Path, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    // Markdown in `src` is API documentation, whose links rustdoc checks.
    if path.iter().any(|part| part == "src") {
        return Vec::new();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut findings = Vec::new();
    for (event, place) in Parser::new(text).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url: target, .. } | Tag::Image { dest_url: target, .. }) =
            event
        else {
            continue;
        };
        let file = target.split(['#', '?']).next().unwrap_or_default();
        if file.is_empty() || has_scheme(file) {
            continue;
        }
        let resolved = match file.strip_prefix('/') {
            Some(from_root) => resolve(Path::new(""), from_root),
            None => resolve(folder, file),
        };
        if !resolved.is_some_and(|file| exists(&file)) {
            let line = text[..place.start].matches('\n').count() + 1;
            findings.push(format!("{}:{line}: broken link `{target}`", path.display()));
        }
    }
    findings
}

/// Whether the target has a scheme like `https:` or `mailto:`.
fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Resolves `.` and `..`. Returns `None` for paths outside of the checkout.
fn resolve(folder: &Path, relative: &str) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for part in folder.join(relative).components() {
        match part {
            Component::ParentDir if !resolved.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[&str] = &["README.md", "docs/config.md", "docs"];

    #[track_caller]
    fn check_links(file: &str, text: &str, lines: &[usize]) {
        let exists = |target: &Path| FILES.iter().any(|known| Path::new(known) == target);
        let found = check(Path::new(file), text, exists);
        assert_eq!(found.len(), lines.len(), "{text:?}: {found:?}");
        for (finding, line) in found.iter().zip(lines) {
            assert!(finding.starts_with(&format!("{file}:{line}: ")), "{text:?}: {finding}");
        }
    }

    #[test]
    fn rejects_broken_links() {
        check_links("README.md", "[a](docs/config.md)", &[]);
        check_links("README.md", "[a](docs/)", &[]);
        check_links("README.md", "[a](docs/confg.md)", &[1]);
        check_links("README.md", "b\n[a](docs/config.md) [b](no.md)", &[2]);
        check_links("README.md", "[a](docs/config.md#part \"title\")", &[]);
        check_links("README.md", "![a](<no such.png>)", &[1]);
        check_links("README.md", "[a]\n\n[a]: docs/config.md", &[]);
        check_links("README.md", "[a]\n\n[a]: no.md", &[1]);
        check_links("docs/config.md", "[a](../README.md)", &[]);
        check_links("docs/config.md", "[a](/README.md)", &[]);
        check_links("docs/config.md", "[a](README.md)", &[1]);
        check_links("docs/config.md", "[a](../../outside.md)", &[1]);
    }

    #[test]
    fn ignores_other_links() {
        check_links("README.md", "[a](https://example.com/b.md)", &[]);
        check_links("README.md", "[a](mailto:a@example.com)", &[]);
        check_links("README.md", "[a](#part)", &[]);
        check_links("README.md", "`[a](no.md)`", &[]);
        check_links("README.md", "```text\n[a](no.md)\n```\n[b](no.md)", &[4]);
        check_links("README.md", "[^a]: a note", &[]);
        check_links("crates/trunkline/src/docs/router.md", "[a](Router)", &[]);
    }
}

//! A domain knows no JSON-RPC.

use std::path::Path;

use crate::tidy::finding::{Finding, in_crate_source, is_test_file};
use crate::tidy::source::{Source, is_identifier};

/// Domain crates, each with the rooms of its `src` that register it with the protocol.
const DOMAINS: &[(&str, &[&str])] = &[
    ("trunkline-sql", &["lib", "operations"]),
    ("trunkline-jobs", &["lib", "adapter", "door", "operations"]),
];

/// What a domain may not mention outside those rooms.
const PROTOCOL: &[&str] = &["trunkline::", "use trunkline"];

pub(super) fn check(path: &Path, source: &Source) -> Vec<Finding> {
    let Some((name, inside)) = in_crate_source(path) else {
        return Vec::new();
    };
    let room = room(inside);
    if is_test_file(inside) {
        return Vec::new();
    }
    let domain = DOMAINS.iter().find(|(domain, _)| *domain == name);
    if domain.is_some_and(|(_, doors)| !doors.contains(&room)) {
        return mentions(path, source, PROTOCOL, "the domain knows no JSON-RPC");
    }
    Vec::new()
}

/// `router` for `router.rs` and for `router/method.rs`.
fn room(inside: &Path) -> &str {
    let first = inside.components().next();
    let first = first.and_then(|part| part.as_os_str().to_str());
    let first = first.unwrap_or_default();
    first.strip_suffix(".rs").unwrap_or(first)
}

fn mentions(path: &Path, source: &Source, words: &[&str], rule: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in source.code_before_tests() {
        if let Some(word) = words.iter().find(|word| mentions_word(line, word)) {
            findings.push(Finding::in_file(path, number, format!("`{word}` here, but {rule}")));
        }
    }
    findings
}

/// Whether the word stands there whole: `http::` is in `crate::http::Body`, not in `tower_http::`.
fn mentions_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open_end = word.ends_with(is_identifier) && after.is_some_and(is_identifier);
        !before.is_some_and(is_identifier) && !open_end
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `lines` are the ones with a finding.
    #[track_caller]
    fn check_file(file: &str, text: &str, lines: &[usize]) {
        let found = check(Path::new(file), &Source::parse(text));
        let places: Vec<String> = found.into_iter().map(|finding| finding.place).collect();
        let expected: Vec<String> = lines.iter().map(|line| format!("{file}:{line}")).collect();
        assert_eq!(places, expected, "{text:?}");
    }

    #[test]
    fn a_domain_knows_no_json_rpc() {
        let speaks = "use std::io;\nuse trunkline::Router;";
        check_file("crates/trunkline-sql/src/database.rs", speaks, &[2]);
        check_file("crates/trunkline-sql/src/sqlite/pool.rs", speaks, &[2]);
        check_file("crates/trunkline-sql/src/pool.rs", "fn a() -> trunkline::Error {}", &[1]);
        check_file("crates/trunkline-sql/src/pool.rs", "use trunkline as rpc;", &[1]);
        check_file("crates/trunkline-sql/src/pool.rs", "use trunkline_sql::a;", &[]);
        check_file("crates/trunkline-sql/src/lib.rs", speaks, &[]);
        check_file("crates/trunkline-sql/src/operations.rs", speaks, &[]);
        check_file("crates/trunkline-sql/src/operations/query.rs", speaks, &[]);
        check_file("crates/trunkline-jobs/src/resources/mod.rs", speaks, &[2]);
        check_file("crates/trunkline-jobs/src/adapter/native.rs", speaks, &[]);
    }
}

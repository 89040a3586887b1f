//! The packages that may enter the dependency graph: their licences, versions and sources.

use std::collections::{BTreeMap, BTreeSet};

use crate::metadata::{Metadata, Package};
use crate::tidy::dependencies::Dependency;
use crate::tidy::finding::Finding;

/// Permissive licences only: a binary of this project can be shipped with nothing but their texts.
const LICENCES: &[&str] = &["Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Older versions that are allowed in addition to newer ones, with the crate that requires them. Two versions of one crate
/// cost build time and split types.
const DUPLICATES: &[(&str, &str, &str)] = &[
    ("base64", "0.22", "postgres-protocol, of tokio-postgres; pem, in tests, has 0.23"),
    ("fallible-iterator", "0.2", "postgres-protocol, of tokio-postgres; rusqlite has 0.3"),
    ("getrandom", "0.2", "ring, which rustls computes with; the rest has 0.4"),
    ("getrandom", "0.3", "rand 0.9, of opentelemetry_sdk, in tests; the rest has 0.4"),
    ("rand", "0.9", "opentelemetry_sdk, in tests; tokio-postgres has 0.10"),
    ("rand_core", "0.9", "rand 0.9, of opentelemetry_sdk"),
    ("syn", "2", "tracing-attributes and prost-derive; it runs when compiling and is in no binary"),
];

/// TLS is rustls; nothing links a system library.
const BANNED: &[&str] = &["native-tls", "openssl-sys"];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks the packages in `graph`: names and versions of what is compiled with all features. The resolved graph of the
/// metadata also has packages that no feature enables.
pub(super) fn check(metadata: &Metadata, graph: &BTreeSet<Dependency>) -> Vec<Finding> {
    let is_compiled = |package: &&Package| {
        graph.contains(&(package.name.clone(), format!("v{}", package.version)))
    };
    let packages: Vec<&Package> = metadata.packages.iter().filter(is_compiled).collect();
    let mut findings = check_versions(&packages, DUPLICATES);
    findings.extend(check_licences(&packages, LICENCES));
    for package in packages {
        if package.source.as_ref().is_some_and(|source| source != CRATES_IO) {
            findings.push(Finding::in_crate(&package.name, "is not from crates.io"));
        }
        if BANNED.contains(&&*package.name) {
            findings.push(Finding::in_crate(&package.name, "links a system library for TLS"));
        }
        for dependency in &package.dependencies {
            if dependency.req == "*" && dependency.path.is_none() {
                let message = format!("the version of {} has no minimum", dependency.name);
                findings.push(Finding::in_crate(&package.name, message));
            }
        }
    }
    findings
}

fn check_licences(packages: &[&Package], allowed: &[&str]) -> Vec<Finding> {
    let is_allowed = |package: &Package, allowed: &[&str]| {
        is_satisfied(package.license.as_deref().unwrap_or_default(), allowed)
    };
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| !is_allowed(package, allowed)) {
        let licence = package.license.as_deref().unwrap_or("(unknown)");
        let message = format!("the licence {licence} is not allowed");
        findings.push(Finding::in_crate(&package.name, message));
    }
    for licence in allowed {
        let others: Vec<&str> = allowed.iter().copied().filter(|other| other != licence).collect();
        if packages
            .iter()
            .all(|package| is_allowed(package, &others) || !is_allowed(package, allowed))
        {
            findings.push(Finding::in_crate(licence, "no dependency needs this licence"));
        }
    }
    findings
}

fn check_versions(packages: &[&Package], expected: &[(&str, &str, &str)]) -> Vec<Finding> {
    let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    let is = |version: &str, start: &str| {
        version.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut findings = Vec::new();
    for (name, start, _) in expected {
        let found = versions.get(name);
        if found.is_none_or(|found| found.len() < 2 || !found.iter().any(|it| is(it, start))) {
            let message = format!("version {start} is not a duplicate, and need not be allowed");
            findings.push(Finding::in_crate(name, message));
        }
    }
    for (name, found) in versions {
        let is_expected =
            |version: &str| expected.iter().any(|(of, start, _)| *of == name && is(version, start));
        let others: Vec<&str> = found.into_iter().filter(|version| !is_expected(version)).collect();
        if others.len() > 1 {
            let message = format!(
                "has several versions: {} (`cargo tree -i {name}@VERSION` shows by which crate)",
                others.join(", ")
            );
            findings.push(Finding::in_crate(name, message));
        }
    }
    findings
}

/// Whether these licences satisfy an SPDX expression, or the older form with `/` for `OR`. An exception permits more than
/// its licence.
fn is_satisfied(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let is_satisfied = any(&mut rest, allowed);
    is_satisfied == Some(true) && rest.is_empty()
}

fn any(words: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    let mut result = all(words, allowed)?;
    while let ["OR", rest @ ..] = words {
        *words = rest;
        result |= all(words, allowed)?;
    }
    Some(result)
}

fn all(words: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    let mut result = one(words, allowed)?;
    while let ["AND", rest @ ..] = words {
        *words = rest;
        result &= one(words, allowed)?;
    }
    Some(result)
}

fn one(words: &mut &[&str], allowed: &[&str]) -> Option<bool> {
    match words {
        ["(", rest @ ..] => {
            *words = rest;
            let result = any(words, allowed);
            let [")", rest @ ..] = words else { return None };
            *words = rest;
            result
        }
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => {
            let result = allowed.contains(licence);
            *words = rest;
            Some(result)
        }
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{self, Resolve};

    fn package(name: &str, version: &str, licence: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some(licence.to_owned()),
            ..Package::default()
        }
    }

    #[track_caller]
    fn check_findings(found: &[Finding], expected: &[&str]) {
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn expressions_are_evaluated() {
        #[track_caller]
        fn check(expression: &str, expected: bool) {
            assert_eq!(is_satisfied(expression, &["A", "B"]), expected, "{expression}");
        }
        check("A", true);
        check("C", false);
        check("A OR C", true);
        check("C/A", true);
        check("C / D", false);
        check("A AND C", false);
        check("A AND B", true);
        check("(A OR C) AND B", true);
        check("C OR A AND B", true);
        check("C OR D AND B", false);
        check("A WITH x OR C", true);
        check("C WITH x OR D", false);
        check("", false);
        check("A OR", false);
        check("(A", false);
        check("A B", false);
    }

    #[test]
    fn licences_are_allowed_and_needed() {
        let [a, b] = [package("a", "1.0.0", "MIT OR ISC"), package("b", "1.0.0", "GPL-3.0")];
        check_findings(&check_licences(&[&a], &["MIT"]), &[]);
        check_findings(
            &check_licences(&[&a, &b], &["MIT", "Zlib"]),
            &["b: the licence GPL-3.0 is not allowed", "Zlib: no dependency needs this licence"],
        );
        let unknown = Package { license: None, ..package("c", "1.0.0", "") };
        check_findings(
            &check_licences(&[&a, &unknown], &["MIT"]),
            &["c: the licence (unknown) is not allowed"],
        );
    }

    #[test]
    fn duplicates_need_a_reason() {
        let [old, new, other] =
            ["0.2.1", "0.3.0", "0.20.0"].map(|version| package("a", version, "MIT"));
        let reason = [("a", "0.2", "because")];
        check_findings(&check_versions(&[&old, &new], &reason), &[]);
        check_findings(
            &check_versions(&[&old, &new], &[]),
            &[
                "a: has several versions: 0.2.1, 0.3.0 (`cargo tree -i a@VERSION` shows by which crate)",
            ],
        );
        let unneeded = "a: version 0.2 is not a duplicate, and need not be allowed";
        check_findings(&check_versions(&[&old], &reason), &[unneeded]);
        check_findings(&check_versions(&[&new], &reason), &[unneeded]);
        check_findings(
            &check_versions(&[&new, &other], &reason),
            &[
                unneeded,
                "a: has several versions: 0.20.0, 0.3.0 (`cargo tree -i a@VERSION` shows by which crate)",
            ],
        );
    }

    #[test]
    fn sources_and_names_are_checked() {
        let of = |source: &str, name: &str, dependency: metadata::Dependency| {
            let package = Package {
                source: Some(source.to_owned()),
                dependencies: vec![dependency],
                ..package(name, "1.0.0", "MIT")
            };
            let metadata = Metadata {
                packages: vec![package],
                workspace_members: Vec::new(),
                target_directory: String::new(),
                metadata: serde_json::Value::Null,
                resolve: Resolve { nodes: Vec::new() },
            };
            let graph = BTreeSet::from([(name.to_owned(), "v1.0.0".to_owned())]);
            let mut found = check(&metadata, &graph);
            found.retain(|finding| finding.place == name);
            found
        };
        let dependency = |req: &str| metadata::Dependency {
            name: "b".to_owned(),
            req: req.to_owned(),
            ..metadata::Dependency::default()
        };
        check_findings(&of(CRATES_IO, "a", dependency("^1")), &[]);
        check_findings(&of("git+https://a", "a", dependency("^1")), &["a: is not from crates.io"]);
        check_findings(
            &of(CRATES_IO, "openssl-sys", dependency("^1")),
            &["openssl-sys: links a system library for TLS"],
        );
        check_findings(
            &of(CRATES_IO, "a", dependency("*")),
            &["a: the version of b has no minimum"],
        );
        let path = metadata::Dependency { path: Some("b".into()), ..dependency("*") };
        check_findings(&of(CRATES_IO, "a", path), &[]);
    }
}

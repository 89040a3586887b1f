//! The packages that may enter the dependency graph: their number, licences, versions, sources and features.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};

use crate::metadata::PLATFORMS;
use crate::workspace::{self, Workspace};

/// The maximum number of crates with the default features. Users compile, review and update every one of them.
const LIMITS: [(&str, usize); 2] = [("trunkline", 80), ("trunkline-cli", 216)];

/// Crates that the core must not depend on: runtimes and HTTP.
const NOT_IN_CORE: &[&str] = &["tokio", "tokio-util", "hyper", "hyper-util", "http", "http-body"];

/// TLS is rustls; nothing links a system library.
const BANNED: &[&str] = &["native-tls", "openssl-sys"];

/// Features that change how all crates parse numbers, since Cargo unifies features over the whole graph.
const BANNED_FEATURE: (&str, &str) = ("serde_json", "arbitrary_precision");

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

/// A line of `cargo tree`: the name, the version, the place unless it is crates.io, the licence and the features.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    place: String,
    licence: String,
    features: String,
}

pub(super) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let readme = workspace.read(Path::new("README.md"))?;
    for (name, most) in LIMITS {
        let packages = tree(workspace, &["--edges=normal,build", "--package", name])?;
        let distinct = packages.iter().map(|it| (&it.name, &it.version)).collect::<BTreeSet<_>>();
        let count = distinct.len();
        println!("crates that are compiled with default features of {name}: {count}");
        if count > most {
            findings.push(format!(
                "{name}: a user compiles {count} crates, more than {most}: put what is new behind a feature \
                 (`cargo tree -p {name} -e normal,build` shows all)"
            ));
        }
        let stated = format!("its dependencies are {count} crates");
        if name == "trunkline" && !readme.contains(&stated) {
            findings.push(format!("README.md does not state that {stated}"));
        }
    }
    for Package { name, .. } in
        tree(workspace, &["--edges=normal,build", "--package=trunkline-core"])?
    {
        if NOT_IN_CORE.contains(&&*name) {
            findings.push(format!(
                "trunkline-core: depends on {name} (`cargo tree -p trunkline-core -i {name}`)"
            ));
        }
    }
    // Of the whole workspace with all features, on the supported platforms.
    let targets = PLATFORMS.iter().flat_map(|platform| ["--target", platform]);
    let selection: Vec<&str> =
        ["--workspace", "--all-features"].into_iter().chain(targets).collect();
    let packages = tree(workspace, &selection)?;
    findings.extend(packages.iter().filter_map(Package::fault));
    for licence in LICENCES {
        if !packages.iter().any(|package| package.licence.contains(licence)) {
            findings.push(format!("{licence}: no dependency needs this licence"));
        }
    }
    findings.extend(check_versions(&packages, DUPLICATES));
    Ok(findings)
}

fn tree(workspace: &Workspace, selection: &[&str]) -> Result<BTreeSet<Package>> {
    let mut command = workspace.cargo(["tree", "--prefix=none", "--format={p}|{l}|{f}"]);
    let printed = workspace::output(command.args(selection))?;
    let lines = printed.lines().map(|line| line.trim_end_matches(" (*)"));
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| parse(line).with_context(|| format!("cargo tree printed {line:?}"))).collect()
}

fn parse(line: &str) -> Option<Package> {
    let [package, licence, features] = line.split('|').collect::<Vec<_>>()[..] else { return None };
    let mut words = package.splitn(3, ' ').map(str::to_owned);
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?.to_owned());
    let place = words.next().unwrap_or_default().replace("(proc-macro)", "").trim().to_owned();
    Some(Package {
        name,
        version,
        place,
        licence: licence.to_owned(),
        features: features.to_owned(),
    })
}

impl Package {
    fn fault(&self) -> Option<String> {
        let Self { name, licence, .. } = self;
        let (package, feature) = BANNED_FEATURE;
        Some(if !is_permissive(licence) {
            format!("{name}: the licence `{licence}` is not allowed")
        } else if self.place.contains("://") {
            format!("{name}: is not from crates.io")
        } else if BANNED.contains(&&**name) {
            format!("{name}: links a system library for TLS")
        } else if name == package && self.features.split(',').any(|enabled| enabled == feature) {
            format!(
                "{name}: {feature} is enabled (`cargo tree -e features -i {name}` shows by which crate)"
            )
        } else {
            return None;
        })
    }
}

/// Whether an SPDX expression, or the older form with `/` for `OR`, is satisfied by the allowed licences. Each part of a
/// conjunction must have an allowed alternative, which is stricter than the expression if `OR` is not in parentheses. An
/// exception permits more than its licence.
fn is_permissive(expression: &str) -> bool {
    let alternatives = |part: &str| {
        let plain = part.replace('/', " OR ").replace(['(', ')'], "");
        plain
            .split(" OR ")
            .any(|it| LICENCES.contains(&it.split_whitespace().next().unwrap_or_default()))
    };
    expression.split(" AND ").all(alternatives)
}

fn check_versions(packages: &BTreeSet<Package>, allowed: &[(&str, &str, &str)]) -> Vec<String> {
    let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
    for Package { name, version, .. } in packages {
        versions.entry(name).or_default().insert(version);
    }
    let is = |version: &str, start: &str| {
        version.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut findings = Vec::new();
    for (name, start, _) in allowed {
        let found = versions.get(name).filter(|found| found.len() > 1);
        if !found.is_some_and(|found| found.iter().any(|version| is(version, start))) {
            findings.push(format!(
                "{name}: version {start} is not a duplicate, and need not be allowed"
            ));
        }
    }
    for (name, mut found) in versions {
        found.retain(|version| {
            !allowed.iter().any(|(of, start, _)| *of == name && is(version, start))
        });
        if found.len() > 1 {
            let found: Vec<_> = found.into_iter().collect();
            findings.push(format!(
                "{name}: has several versions: {} (`cargo tree -i`)",
                found.join(", ")
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_licence(expression: &str, expected: bool) {
        assert_eq!(is_permissive(expression), expected, "{expression}");
    }

    #[test]
    fn licences_are_expressions() {
        check_licence("MIT", true);
        check_licence("GPL-3.0", false);
        check_licence("", false);
        check_licence("MIT/Apache-2.0", true);
        check_licence("GPL-3.0 OR MIT", true);
        check_licence("MIT AND GPL-3.0", false);
        check_licence("(MIT OR GPL-3.0) AND Unicode-3.0", true);
        check_licence("GPL-3.0 OR (MIT AND BSD-2-Clause)", false);
        check_licence("Apache-2.0 WITH LLVM-exception", true);
    }

    #[track_caller]
    fn check_line(line: &str, expected: Option<&str>) {
        let fault = parse(line).unwrap().fault();
        assert_eq!(fault.as_deref(), expected, "{line}");
    }

    #[test]
    fn sources_names_and_features_are_checked() {
        check_line("a v1.0.0|MIT|default", None);
        check_line("a v1.0.0 (proc-macro)|MIT|default", None);
        check_line("a v1.0.0 (/path)|MIT|", None);
        check_line("a v1.0.0 (https://host/a#1)|MIT|", Some("a: is not from crates.io"));
        check_line("a v1.0.0||", Some("a: the licence `` is not allowed"));
        check_line("openssl-sys v1.0.0|MIT|", Some("openssl-sys: links a system library for TLS"));
        let enabled = "serde_json: arbitrary_precision is enabled (`cargo tree -e features -i serde_json` shows by which crate)";
        check_line("serde_json v1.0.0|MIT|default,arbitrary_precision", Some(enabled));
        check_line("serde_json v1.0.0|MIT|default,raw_value", None);
        check_line("other v1.0.0|MIT|arbitrary_precision", None);
    }

    #[track_caller]
    fn check_duplicates(found: &[&str], expected: &[&str]) {
        let packages = found.iter().map(|version| parse(&format!("a v{version}|MIT|")).unwrap());
        let findings = check_versions(&packages.collect(), &[("a", "0.2", "because")]);
        assert_eq!(findings, expected, "{found:?}");
    }

    #[test]
    fn duplicates_need_a_reason() {
        let unneeded = "a: version 0.2 is not a duplicate, and need not be allowed";
        let several = "a: has several versions: 0.20.0, 0.3.0 (`cargo tree -i`)";
        check_duplicates(&["0.2.1", "0.3.0"], &[]);
        check_duplicates(&["0.2.1"], &[unneeded]);
        check_duplicates(&["0.20.0", "0.3.0"], &[unneeded, several]);
        check_duplicates(&["0.2.1", "0.20.0", "0.3.0"], &[several]);
    }
}

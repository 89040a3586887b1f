//! The allowed dependencies between crates. ARCHITECTURE.md explains them.

use crate::metadata::{Metadata, Package};
use crate::tidy::finding::Finding;

struct Rule {
    name: &'static str,
    may_need: &'static [&'static str],
    /// Optional dependencies, enabled by a feature of the crate.
    may_offer: &'static [&'static str],
}

/// A new crate needs a row here.
const RULES: &[Rule] = &[
    rule("trunkline-macros", &[]),
    rule("trunkline-postgres", &[]),
    Rule { name: "trunkline-storage", may_need: &[], may_offer: &["trunkline-postgres"] },
    rule("trunkline-core", &[]),
    Rule { name: "trunkline-edn", may_need: &[], may_offer: &["trunkline-core"] },
    rule("trunkline-client", &["trunkline-core"]),
    Rule {
        name: "trunkline-access",
        may_need: &["trunkline-core"],
        may_offer: &["trunkline-client"],
    },
    rule("trunkline-history", &["trunkline-core", "trunkline-access"]),
    rule(
        "trunkline-server",
        &["trunkline-core", "trunkline-client", "trunkline-access", "trunkline-history"],
    ),
    Rule {
        name: "trunkline",
        may_need: &[
            "trunkline-core",
            "trunkline-client",
            "trunkline-access",
            "trunkline-history",
            "trunkline-macros",
            "trunkline-server",
        ],
        may_offer: &["trunkline-edn"],
    },
    Rule { name: "trunkline-mcp", may_need: &["trunkline"], may_offer: &["trunkline-storage"] },
    Rule {
        name: "trunkline-sql",
        may_need: &["trunkline"],
        may_offer: &["trunkline-mcp", "trunkline-postgres"],
    },
    Rule {
        name: "trunkline-records",
        may_need: &["trunkline", "trunkline-storage"],
        may_offer: &["trunkline-mcp"],
    },
    rule("trunkline-command-tools", &["trunkline"]),
    rule("trunkline-gateway", &["trunkline", "trunkline-mcp"]),
    rule("trunkline-agent", &["trunkline", "trunkline-mcp", "trunkline-storage"]),
    rule("trunkline-console", &["trunkline"]),
    rule(
        "trunkline-cli",
        &[
            "trunkline",
            "trunkline-console",
            "trunkline-edn",
            "trunkline-mcp",
            "trunkline-sql",
            "trunkline-records",
            "trunkline-command-tools",
            "trunkline-gateway",
            "trunkline-agent",
            "trunkline-storage",
        ],
    ),
    rule("trunkline-test-postgres", &[]),
    rule("xtask", &[]),
];

const fn rule(name: &'static str, may_need: &'static [&'static str]) -> Rule {
    Rule { name, may_need, may_offer: &[] }
}

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let names: Vec<&str> = metadata.members().map(|member| &*member.name).collect();
    metadata.members().flat_map(|member| check_member(member, &names)).collect()
}

fn check_member(member: &Package, members: &[&str]) -> Vec<Finding> {
    let Some(rule) = RULES.iter().find(|rule| rule.name == member.name) else {
        return vec![Finding::in_crate(
            &member.name,
            "missing in the crate graph (xtask/src/tidy/crate_graph.rs)",
        )];
    };
    let mut findings = Vec::new();
    for dependency in &member.dependencies {
        let name = dependency.name.as_str();
        let only_tests = dependency.kind.as_deref() == Some("dev");
        if only_tests || !members.contains(&name) || rule.may_need.contains(&name) {
            continue;
        }
        if !rule.may_offer.contains(&name) {
            let message = format!("may not depend on {name}");
            findings.push(Finding::in_crate(&member.name, message));
        } else if !dependency.optional {
            let message = format!("may depend on {name} only as an optional dependency");
            findings.push(Finding::in_crate(&member.name, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    const MEMBERS: &[&str] = &["trunkline", "trunkline-edn", "trunkline-sql", "xtask"];

    fn normal(name: &str) -> Dependency {
        Dependency { name: name.to_owned(), ..Dependency::default() }
    }

    #[track_caller]
    fn check_edge(from: &str, to: Dependency, expected: Option<&str>) {
        let member = Package {
            id: from.to_owned(),
            name: from.to_owned(),
            dependencies: vec![to],
            ..Package::default()
        };
        let found = check_member(&member, MEMBERS);
        let messages: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(messages, Vec::from_iter(expected));
    }

    #[test]
    fn rejects_edges_outside_of_the_table() {
        check_edge("trunkline-sql", normal("trunkline"), None);
        check_edge("trunkline-sql", normal("serde"), None);
        check_edge(
            "trunkline",
            normal("trunkline-sql"),
            Some("trunkline: may not depend on trunkline-sql"),
        );
        check_edge("xtask", normal("trunkline"), Some("xtask: may not depend on trunkline"));
        check_edge(
            "trunkline",
            normal("trunkline-edn"),
            Some("trunkline: may depend on trunkline-edn only as an optional dependency"),
        );
        check_edge(
            "trunkline-new",
            normal("serde"),
            Some("trunkline-new: missing in the crate graph (xtask/src/tidy/crate_graph.rs)"),
        );
    }

    #[test]
    fn the_kind_of_an_edge_matters() {
        let optional = Dependency { optional: true, ..normal("trunkline-edn") };
        check_edge("trunkline", optional, None);
        let dev = Dependency { kind: Some("dev".to_owned()), ..normal("trunkline-sql") };
        check_edge("trunkline", dev, None);
        let build = Dependency { kind: Some("build".to_owned()), ..normal("trunkline-sql") };
        check_edge("trunkline", build, Some("trunkline: may not depend on trunkline-sql"));
    }
}

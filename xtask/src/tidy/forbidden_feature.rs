//! Features that must not be enabled by any crate, since Cargo unifies features over the whole graph.

use crate::metadata::Metadata;
use crate::tidy::finding::Finding;

struct ForbiddenFeature {
    package: &'static str,
    feature: &'static str,
    because: &'static str,
}

const FORBIDDEN: &[ForbiddenFeature] = &[ForbiddenFeature {
    package: "serde_json",
    feature: "arbitrary_precision",
    because: "it changes how all crates parse numbers",
}];

pub(super) fn check(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in FORBIDDEN {
        for package in metadata.packages.iter().filter(|p| p.name == rule.package) {
            let enabled = metadata
                .resolve
                .nodes
                .iter()
                .filter(|node| node.id == package.id)
                .any(|node| node.features.iter().any(|on| on == rule.feature));
            if enabled {
                findings.push(Finding::in_crate(
                    rule.package,
                    format!(
                        "the feature `{}` is enabled ({}); `cargo tree -e features -i {}` shows by which crate",
                        rule.feature, rule.because, rule.package
                    ),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Node, Package, Resolve};

    #[track_caller]
    fn check_features(name: &str, features: &[&str], fails: bool) {
        let metadata = Metadata {
            packages: vec![Package {
                id: "the id".to_owned(),
                name: name.to_owned(),
                ..Package::default()
            }],
            workspace_members: Vec::new(),
            target_directory: String::new(),
            metadata: serde_json::Value::Null,
            resolve: Resolve {
                nodes: vec![Node {
                    id: "the id".to_owned(),
                    features: features.iter().map(ToString::to_string).collect(),
                    ..Node::default()
                }],
            },
        };
        assert_eq!(check(&metadata).len(), usize::from(fails), "{features:?}");
    }

    #[test]
    fn rejects_arbitrary_precision() {
        check_features("serde_json", &["default", "raw_value"], false);
        check_features("serde_json", &["default", "arbitrary_precision"], true);
        check_features("another", &["arbitrary_precision"], false);
    }
}

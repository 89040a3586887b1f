//! Changes of lists and resources, which nodes send to each other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::resource::decoded;

/// Resources that have changed. URIs are compared without percent-encoding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangedResource {
    /// The resource with this URI.
    One(String),
    /// The resource with this URI, and those with the URI and a query.
    WithQuery(String),
    /// The resource with this URI, and those whose URI continues with a path or a query. The case of ASCII letters is
    /// ignored.
    Under(String),
}

impl ChangedResource {
    /// `uri` is without percent-encoding.
    fn affects(&self, uri: &str) -> bool {
        match self {
            Self::One(changed) => uri == changed,
            Self::WithQuery(changed) => uri
                .strip_prefix(&**changed)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('?')),
            Self::Under(changed) => {
                uri.split_at_checked(changed.len()).is_some_and(|(start, rest)| {
                    start.eq_ignore_ascii_case(changed)
                        && (rest.is_empty() || rest.starts_with(['/', '?']))
                })
            }
        }
    }
}

/// A set of changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ChangeSet {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tools: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) prompts: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) resource_list: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) all_resources: bool,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) resources: BTreeSet<ChangedResource>,
}

/// The maximum number of resources in a set. With more, all resources count as changed.
const MAX_RESOURCES: usize = 256;

impl ChangeSet {
    /// All lists and resources, for changes that are not known.
    pub(crate) fn all() -> Self {
        Self {
            tools: true,
            prompts: true,
            resource_list: true,
            all_resources: true,
            resources: BTreeSet::new(),
        }
    }

    pub(crate) fn of(resources: impl IntoIterator<Item = ChangedResource>) -> Self {
        Self { resources: resources.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tools |= other.tools;
        self.prompts |= other.prompts;
        self.resource_list |= other.resource_list;
        self.all_resources |= other.all_resources;
        self.resources.extend(other.resources);
        self.all_resources |= self.resources.len() > MAX_RESOURCES;
        if self.all_resources {
            self.resources.clear();
        }
    }

    /// Whether the resource with this URI has changed.
    pub(crate) fn affects(&self, uri: &str) -> bool {
        if self.all_resources || self.resources.is_empty() {
            return self.all_resources;
        }
        let decoded = decoded(uri);
        let uri = decoded.as_deref().unwrap_or(uri);
        self.resources.iter().any(|changed| changed.affects(uri))
    }
}

#[cfg(test)]
mod tests {
    use super::ChangedResource::{One, Under, WithQuery};
    use super::{ChangeSet, ChangedResource, MAX_RESOURCES};

    #[track_caller]
    fn check(changed: ChangedResource, uri: &str, expected: bool) {
        assert_eq!(ChangeSet::of([changed]).affects(uri), expected, "{uri}");
    }

    #[test]
    fn resources_are_compared_by_their_uris() {
        let uri = || "r://a/b c".to_owned();
        for (uri, [one, query, under]) in [
            ("r://a/b%20c", [true, true, true]),
            ("r://a/b c", [true, true, true]),
            ("r://a/b%20c?x=1", [false, true, true]),
            ("r://a/b%20c/d", [false, false, true]),
            ("R://A/B%20C", [false, false, true]),
            ("r://a/b%20cd", [false, false, false]),
            ("r://a", [false, false, false]),
            ("r://a/é", [false, false, false]),
        ] {
            check(One("r://a/b c".to_owned()), uri, one);
            check(WithQuery("r://a/b c".to_owned()), uri, query);
            check(Under("r://a/b c".to_owned()), uri, under);
        }
        assert!(!ChangeSet::default().affects(&uri()));
        assert!(ChangeSet::all().affects(&uri()));
    }

    #[test]
    fn many_resources_are_all_resources() {
        let mut changes = ChangeSet::default();
        for number in 0..=MAX_RESOURCES {
            assert!(!changes.affects("r://other"), "{number}");
            changes.add(ChangeSet::of([One(format!("r://{number}"))]));
        }
        assert!(changes.affects("r://other"));
        let text = serde_json::to_string(&changes).unwrap();
        assert_eq!(serde_json::from_str::<ChangeSet>(&text).unwrap(), changes);
    }
}

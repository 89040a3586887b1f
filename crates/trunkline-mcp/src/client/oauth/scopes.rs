use std::fmt;

use serde::{Deserialize, Serialize};

/// The limits of a set of scopes, which servers choose.
const MAX_SCOPES: usize = 100;
const MAX_LENGTH: usize = 200;

/// A set of scopes (RFC 6749, section 3.3), in the order of the first occurrence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) struct Scopes(Vec<String>);

impl Scopes {
    /// The valid scopes of a list. Other elements are omitted.
    pub(super) fn new<S: AsRef<str>>(list: impl IntoIterator<Item = S>) -> Self {
        let mut scopes = Self::default();
        scopes.extend(list);
        scopes
    }

    /// The set with the scopes of `other`.
    pub(super) fn union(mut self, other: &Self) -> Self {
        self.extend(&other.0);
        self
    }

    pub(super) fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|known| known == scope)
    }

    pub(super) fn contains_all(&self, other: &Self) -> bool {
        other.0.iter().all(|scope| self.contains(scope))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the parameter `scope`, or `None` for an empty set.
    pub(super) fn parameter(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.to_string())
    }

    fn extend<S: AsRef<str>>(&mut self, list: impl IntoIterator<Item = S>) {
        for scope in list {
            let scope = scope.as_ref();
            if self.0.len() < MAX_SCOPES && is_valid(scope) && !self.contains(scope) {
                self.0.push(scope.to_owned());
            }
        }
    }
}

fn is_valid(scope: &str) -> bool {
    let is_allowed = |byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
    (1..=MAX_LENGTH).contains(&scope.len()) && scope.bytes().all(is_allowed)
}

impl From<&str> for Scopes {
    fn from(text: &str) -> Self {
        Self::new(text.split_ascii_whitespace())
    }
}

impl From<String> for Scopes {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Scopes::from(text).to_string(), expected, "{text:?}");
    }

    #[test]
    fn parses_scopes() {
        check("", "");
        check("a", "a");
        check("  files:read\tmail  files:read", "files:read mail");
        check("a\"b c\\d é e", "e");
        check(&"x".repeat(201), "");
        let many: String = (0..200).map(|number| format!("s{number} ")).collect();
        assert_eq!(Scopes::from(many.as_str()).0.len(), MAX_SCOPES);
    }

    #[test]
    fn unites_scopes() {
        let (ab, bc) = (Scopes::from("a b"), Scopes::from("b c"));
        assert_eq!(ab.clone().union(&bc), Scopes::from("a b c"));
        assert!(ab.contains_all(&Scopes::from("b")) && !ab.contains_all(&bc));
        assert_eq!((ab.parameter().as_deref(), Scopes::default().parameter()), (Some("a b"), None));
    }
}

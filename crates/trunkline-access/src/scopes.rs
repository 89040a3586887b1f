//! Scopes of tokens (RFC 6749, section 3.3).

use std::fmt;
use std::sync::Arc;

/// A set of scopes, in the order in which they were added.
///
/// A scope consists of visible ASCII characters except `"` and `\`. No token has a scope with other characters, so a
/// requirement that contains one is never met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// A set of these scopes, without duplicates.
    pub fn new<I>(scopes: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        scopes.into_iter().map(Into::into).collect()
    }

    /// Whether the set has no scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The scopes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether a text is a valid scope.
    #[must_use]
    pub fn is_valid(scope: &str) -> bool {
        let is_part = |byte: u8| byte.is_ascii_graphic() && !b"\"\\".contains(&byte);
        !scope.is_empty() && scope.bytes().all(is_part)
    }
}

impl FromIterator<String> for Scopes {
    fn from_iter<I: IntoIterator<Item = String>>(scopes: I) -> Self {
        let mut set = Self::default();
        set.extend(scopes);
        set
    }
}

impl Extend<String> for Scopes {
    fn extend<I: IntoIterator<Item = String>>(&mut self, scopes: I) {
        for scope in scopes {
            if !self.0.contains(&scope) {
                self.0.push(scope);
            }
        }
    }
}

/// Displays the scopes separated by spaces, as in the claim and the parameter `scope`.
impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// The scopes that broader scopes include. Cloning is cheap.
///
/// ```
/// # use trunkline::access::{Principal, ScopeHierarchy, Scopes};
/// let hierarchy = ScopeHierarchy::new([("files:write", "files:read")]);
/// let principal = Principal::new("ada").with_scopes(&Scopes::new(["files:write"]));
/// assert!(!principal.has_scope("files:read"));
/// assert!(principal.with_scope_hierarchy(hierarchy).has_scope("files:read"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScopeHierarchy(Option<Arc<[(String, String)]>>);

impl ScopeHierarchy {
    /// A hierarchy of pairs of a broader scope and a narrower one that it includes, also transitively.
    pub fn new<I, B, N>(pairs: I) -> Self
    where
        I: IntoIterator<Item = (B, N)>,
        B: Into<String>,
        N: Into<String>,
    {
        Self(Some(pairs.into_iter().map(|(broad, narrow)| (broad.into(), narrow.into())).collect()))
    }

    /// Whether `is_granted` holds for the scope, or for a broader one.
    pub(super) fn grants(&self, scope: &str, is_granted: impl Fn(&str) -> bool) -> bool {
        let Some(pairs) = &self.0 else { return is_granted(scope) };
        let mut sufficient = vec![scope];
        let mut next = 0;
        while let Some(scope) = sufficient.get(next).copied() {
            if is_granted(scope) {
                return true;
            }
            for (broad, narrow) in &**pairs {
                if narrow == scope && !sufficient.contains(&broad.as_str()) {
                    sufficient.push(broad);
                }
            }
            next += 1;
        }
        false
    }
}

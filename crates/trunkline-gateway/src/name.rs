//! Names of upstreams, and of their tools.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ring::digest::{SHA256, digest};

/// The name of an upstream, the prefix of the names of its tools: 1 to 32 of the characters `A-Z a-z 0-9 _ -`. It begins
/// and ends with a letter or digit and does not contain `__`, which separates it from the name of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UpstreamName(Arc<str>);

/// The error for an invalid [`UpstreamName`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a name of an upstream has 1 to 32 letters, digits, `-` or `_`, begins and ends with a letter or digit, and has no `__`"
)]
pub struct UpstreamNameError;

/// The separator of the names of an upstream and its tool.
const SEPARATOR: &str = "__";

impl UpstreamName {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The exposed name of a tool, without the prefix.
    ///
    /// A name with other characters than `A-Z a-z 0-9 _ -`, or that is too long, is shortened: each other character
    /// becomes `_`, and the first 32 bits of the name's SHA-256 are appended in hexadecimal. This depends on the name
    /// only, so it does not change when other tools are added.
    pub(crate) fn exposed(&self, tool: &str) -> String {
        /// The limit of several clients for the whole name.
        const MAX: usize = 64;
        const DIGEST_BYTES: usize = 4;
        let room = MAX - self.0.len() - SEPARATOR.len();
        if !tool.is_empty() && tool.len() <= room && tool.chars().all(is_allowed) {
            return tool.to_owned();
        }
        let kept = tool.chars().take(room - 1 - 2 * DIGEST_BYTES);
        let kept: String = kept.map(|one| if is_allowed(one) { one } else { '_' }).collect();
        let digest = digest(&SHA256, tool.as_bytes());
        let digits = digest.as_ref().iter().take(DIGEST_BYTES);
        digits.fold(kept + "_", |name, byte| format!("{name}{byte:02x}"))
    }

    /// The name of a tool for language models.
    pub(crate) fn prefixed(&self, exposed: &str) -> String {
        format!("{self}{SEPARATOR}{exposed}")
    }
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

impl FromStr for UpstreamName {
    type Err = UpstreamNameError;

    fn from_str(text: &str) -> Result<Self, UpstreamNameError> {
        const MAX: usize = 32;
        let is_end = |character: char| character.is_ascii_alphanumeric();
        let is_valid = (1..=MAX).contains(&text.len())
            && text.chars().all(is_allowed)
            && text.starts_with(is_end)
            && text.ends_with(is_end)
            && !text.contains(SEPARATOR);
        is_valid.then(|| Self(text.into())).ok_or(UpstreamNameError)
    }
}

impl fmt::Display for UpstreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_upstreams() {
        for valid in ["a", "github", "my-server", "my_server", "A1", &"a".repeat(32)] {
            assert_eq!(valid.parse::<UpstreamName>().unwrap().as_str(), valid);
        }
        for invalid in ["", "a__b", "_a", "a_", "-a", "a.b", "a b", "é", &"a".repeat(33)] {
            assert_eq!(invalid.parse::<UpstreamName>(), Err(UpstreamNameError), "{invalid}");
        }
    }

    #[track_caller]
    fn check(upstream: &str, tool: &str, expected: &str) {
        let upstream: UpstreamName = upstream.parse().unwrap();
        let name = upstream.prefixed(&upstream.exposed(tool));
        assert_eq!(name, expected, "{tool}");
        assert!(name.len() <= 64, "{name}");
    }

    #[test]
    fn names_of_tools() {
        check("github", "create_issue", "github__create_issue");
        check("github", "Create-Issue", "github__Create-Issue");
        check("a", "__b", "a____b");
        check("a", &"x".repeat(61), &format!("a__{}", "x".repeat(61)));
        // The digests are those of `printf %s NAME | sha256sum`.
        check("a", "repo.search", "a__repo_search_65621cfa");
        check("a", "repo/search", "a__repo_search_913c34ad");
        check("a", "", "a___e3b0c442");
        check("a", &"x".repeat(62), &format!("a__{}_21210f96", "x".repeat(52)));
        check("a", "é", "a____4a99557e");
    }
}

//! The tools of an upstream that are offered.

use std::str::FromStr;

/// A pattern of tool names, in which each `*` matches any text: `read_*`, `*_issue`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern(Vec<String>);

/// The tools of an upstream that are offered: those that match a pattern of `allow`, or all if it is empty, and none of
/// `deny`. The names are those of the upstream, without a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// The patterns of offered tools. Default: none, so all tools are offered.
    pub allow: Vec<ToolPattern>,
    /// The patterns of tools that are not offered. Default: none. An upstream without a tool that is named here, without
    /// `*`, is not served, since the tool may have another name.
    pub deny: Vec<ToolPattern>,
}

impl ToolPattern {
    /// A pattern.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        Self(pattern.split('*').map(str::to_owned).collect())
    }

    /// The name that the pattern is, without a `*`.
    pub(crate) fn name(&self) -> Option<&str> {
        match self.0.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    /// Whether a name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, others)) = self.0.split_first() else { return false };
        let Some(rest) = name.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = others.split_last() else { return rest.is_empty() };
        // The first place of each part leaves the most for the following ones.
        let rest = middle.iter().try_fold(rest, |rest, part| {
            rest.find(part.as_str()).and_then(|at| rest.get(at + part.len()..))
        });
        rest.is_some_and(|rest| rest.ends_with(last.as_str()))
    }
}

impl ToolFilter {
    /// Whether the tool of this name is offered.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        let has_match = |patterns: &[ToolPattern]| patterns.iter().any(|one| one.matches(tool));
        (self.allow.is_empty() || has_match(&self.allow)) && !has_match(&self.deny)
    }
}

impl FromStr for ToolPattern {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let rows = [
            ("*", "", true),
            ("*", "any", true),
            ("read_*", "read_file", true),
            ("read_*", "read", false),
            ("read", "read", true),
            ("read", "reads", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a*ba", "aba", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(ToolPattern::new(pattern).matches(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn filters() {
        let patterns = |texts: &[&str]| texts.iter().map(|text| ToolPattern::new(text)).collect();
        let rows: [(&[&str], &[&str], &str, bool); 6] = [
            (&[], &[], "read", true),
            (&["read*"], &[], "read", true),
            (&["read*"], &[], "write", false),
            (&[], &["write*"], "write", false),
            (&[], &["write*"], "read", true),
            (&["*"], &["*_secret"], "read_secret", false),
        ];
        for (allow, deny, tool, expected) in rows {
            let filter = ToolFilter { allow: patterns(allow), deny: patterns(deny) };
            assert_eq!(filter.offers(tool), expected, "{allow:?} {deny:?} {tool}");
        }
    }
}
